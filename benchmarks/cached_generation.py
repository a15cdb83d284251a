"""Tokens per second of Transformer generation, with and without a KV cache.

One text at a time, sampled token by token. Without the cache the whole text is read again for each
token. If the package `transformers` is installed, its GPT-2 of the same shape takes part with
`generate`. Rounds are interleaved in one process; the ratio is the median over rounds.

    python benchmarks/cached_generation.py --length 256 --rounds 5
"""

import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from surroundings import arguments, in_words, machine, positive, report, say, table

from seqloom.models.transformer import Transformer
from seqloom.nn.token_options import TokenOptions
from seqloom.nn.transformer.layers import TransformerOptions
from seqloom.signature import BEGIN, END, PAD, Form, Signature, Tokens

OWN, AGAIN, THEIRS = "Seqloom", "Seqloom, all read again", "transformers' generate"
TARGETS = {AGAIN: 2.0, THEIRS: 1.5}


def own_model(given: Any) -> Transformer:
    """An untrained model: it is as fast as a trained one."""
    torch.manual_seed(1)
    space = Tokens(given.symbols)
    return Transformer(
        Signature(Form.NEXT, space, space),
        hidden_size=given.width,
        num_layers=given.layers,
        context=given.context,
        transformer_options=TransformerOptions(num_heads=given.heads),
        token_options=TokenOptions(tie_embeddings=True),
    )


def drawn(log_probs: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """A symbol by its probability; a text never ends."""
    scores = log_probs + chance.gumbel(size=log_probs.shape)
    scores[:, [PAD, BEGIN, END]] = -np.inf
    return np.asarray(scores.argmax(1))


def with_cache(model: Transformer, length: int) -> list[int]:
    """By steps, as `seqloom generate` takes them for one text."""
    chance, text = np.random.default_rng(1), [BEGIN]
    stepper = model.stepper()
    state = stepper.begin()
    for _ in range(length):
        log_probs, state = stepper.step(text[-1], state)
        text.append(int(drawn(log_probs[None], chance)[0]))
    return text[1:]


def without_cache(model: Transformer, length: int) -> list[int]:
    """The whole text so far for each symbol."""
    chance, text = np.random.default_rng(1), [BEGIN]
    with model.inference_mode():
        for _ in range(length):
            read = torch.tensor([text])
            states = model.body(model.input(read), torch.tensor([len(text)]))
            text.append(int(drawn(model.output(states[:, -1]).numpy(), chance)[0]))
    return text[1:]


def theirs(given: Any) -> Callable[[], int] | None:
    """GPT-2 of the same shape, where it can be had."""
    if importlib.util.find_spec("transformers") is None:
        say("transformers is not installed: left out")
        return None
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415 - an optional rival

    shape = GPT2Config(
        vocab_size=given.symbols,
        n_positions=given.context,
        n_embd=given.width,
        n_layer=given.layers,
        n_head=given.heads,
        bos_token_id=BEGIN,
        eos_token_id=None,
        pad_token_id=PAD,
    )
    model = GPT2LMHeadModel(shape).eval()
    prompt = torch.tensor([[BEGIN]])

    def write() -> int:
        with torch.no_grad():
            found = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=True,
                top_k=0,
                max_new_tokens=given.length,
                min_new_tokens=given.length,
                use_cache=True,
            )
        return int(found.shape[1]) - 1

    return write


def main() -> None:
    """Measure."""
    parser = arguments(__doc__ or "")
    for name, default in {
        "length": 256,
        "rounds": 5,
        "layers": 6,
        "heads": 6,
        "width": 384,
        "context": 512,
        "symbols": 69,
    }.items():
        parser.add_argument(f"--{name}", type=positive, default=default, help="(%(default)s)")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    facts, model = machine(given.threads), own_model(given)
    if with_cache(model, 40) != without_cache(model, 40):
        raise SystemExit("with and without keys and values kept, another text is drawn")
    runners: dict[str, Callable[[], Any]] = {
        OWN: lambda: with_cache(model, given.length),
        AGAIN: lambda: without_cache(model, given.length),
    }
    if rival := theirs(given):
        runners[THEIRS] = rival
    speeds: dict[str, list[float]] = {name: [] for name in runners}
    for number in range(given.rounds + 1):
        for name, run in runners.items():
            began = time.perf_counter()
            run()
            if number:  # the first round warms up
                speeds[name].append(given.length / (time.perf_counter() - began))
    ratios = {
        name: statistics.median(a / b for a, b in zip(speeds[OWN], speeds[name], strict=True))
        for name in runners
        if name != OWN
    }
    rows = [
        [
            name,
            f"{statistics.median(found):.0f}",
            f"{ratios[name]:.2f}×" if name in ratios else "",
            f"{TARGETS[name]:g}×" if name in TARGETS else "",
        ]
        for name, found in speeds.items()
    ]
    text = table(["who", "symbols/s", "Seqloom is quicker", "to reach"], rows)
    text += f"\n\n{given.layers} layers of {given.heads} heads, {given.width} wide, "
    text += f"{given.length} symbols of {given.symbols} kinds, batch 1. {in_words(facts)}"
    report(text, {"machine": facts, "symbols_per_second": speeds, "ratios": ratios}, given.json)


if __name__ == "__main__":
    main()
