"""Training steps per second of a small GPT on tinyshakespeare, against nanoGPT's loop.

The setting is nanoGPT's for a CPU: 4 layers, 4 heads, hidden size 128, context of 64 characters,
batches of 12, no dropout. `nanogpt_rival.py` is a reimplementation of that model and loop. Both are
trained on the same random segments, interleaved in one process, so that the load of the machine
affects both alike; first it is checked that with the same weights they compute the same loss and
gradients.

    python benchmarks/nanogpt.py --rounds 8 --steps 20
    python benchmarks/nanogpt.py --learn 2000
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from nanogpt_rival import GPT, Loop, Shape
from surroundings import arguments, in_words, machine, positive, report, say, shakespeare, table

from seqloom.batch import Batch, Item
from seqloom.data.loading.bptt import BPTTLoader, BPTTSegment
from seqloom.data.text.vocabulary import Vocabulary
from seqloom.models.transformer import Transformer
from seqloom.nn.token_options import TokenOptions
from seqloom.nn.transformer.layers import TransformerOptions
from seqloom.signature import Form, Signature, Tokens
from seqloom.training.gradient_descent import GradientDescent
from seqloom.training.options import Training

SHAPE = Shape(symbols=65, context=64, layers=4, heads=4, width=128)
BATCH, STEPS, RATE = 12, 2000, 1e-3
SPECIAL = 4  # PAD, BEGIN, END and UNKNOWN come before the characters
TOLERANCE = 1e-4
WARM_UP_STEPS = 5


class Drawn(BPTTLoader):
    """Windows that begin anywhere, drawn once for both contestants."""

    def __init__(self, text: np.ndarray, steps: int, seed: int) -> None:
        super().__init__([Item(text, text)], BATCH, SHAPE.context, seed, in_order=False)
        chance = np.random.default_rng(seed)
        starts = 1 + chance.integers(len(text) - SHAPE.context, size=(steps, BATCH))
        self.drawn = [BPTTSegment(row, SHAPE.context) for row in starts]

    def epoch(self, number: int) -> list[BPTTSegment]:
        return self.drawn


def texts() -> tuple[np.ndarray, np.ndarray]:
    """The first nine tenths to learn from, and the last; as the rival splits them."""
    text = shakespeare().read_text(encoding="utf-8")
    vocabulary = Vocabulary()
    vocabulary.learn([list(text)], 1)
    symbols = np.array(vocabulary.encode(list(text)))
    if len(np.unique(symbols)) != SHAPE.symbols:
        raise SystemExit(f"expected a text of {SHAPE.symbols} characters")
    cut = int(len(symbols) * 0.9)
    return symbols[:cut], symbols[cut:]


def own_model() -> Transformer:
    """The same model, with four more symbols and a bias at the output."""
    space = Tokens(SHAPE.symbols + SPECIAL)
    torch.manual_seed(1)
    return Transformer(
        Signature(Form.NEXT, space, space),
        hidden_size=SHAPE.width,
        num_layers=SHAPE.layers,
        context=SHAPE.context,
        transformer_options=TransformerOptions(num_heads=SHAPE.heads),
        token_options=TokenOptions(tie_embeddings=True),
    )


def pair(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """What the rival reads and predicts: characters from 0 on."""
    return (
        torch.from_numpy(batch.source.values - SPECIAL),
        torch.from_numpy(batch.target.values - SPECIAL),
    )


def agree(batch: Batch) -> float:
    """The largest difference of the losses and gradients of both, given the same weights."""
    rival, own = GPT(SHAPE), own_model()
    with torch.no_grad():
        own.input.table.weight[SPECIAL:] = rival.symbols.weight
        own.output.scores.bias[:SPECIAL] = -1e4  # the rival has no such symbols
        own.body.positions.table.copy_(rival.places.weight)
        own.body.norm.weight.copy_(rival.norm.weight)
        for layer, block in zip(own.body.layers, rival.blocks, strict=True):
            layer.attention_norm.weight.copy_(block.first_norm.weight)
            layer.attention.read.weight.copy_(block.attention.read.weight)
            layer.attention.join.weight.copy_(block.attention.join.weight)
            layer.feed_norm.weight.copy_(block.second_norm.weight)
            layer.widen.weight.copy_(block.widen.weight)
            layer.narrow.weight.copy_(block.narrow.weight)
    loss = own.loss_from(batch, own.begin(batch.source))[0]
    other = rival.loss(*pair(batch))
    loss.backward()
    other.backward()
    pairs = [
        (loss, other),
        (own.input.table.weight.grad[SPECIAL:], rival.symbols.weight.grad),
        (own.body.positions.table.grad, rival.places.weight.grad),
        (
            own.body.layers[0].attention.read.weight.grad,
            rival.blocks[0].attention.read.weight.grad,
        ),
    ]
    return max((one - two).abs().max().item() for one, two in pairs)


def contestants(windows: Drawn) -> tuple[Transformer, GPT, dict[str, Callable[[], Any]]]:
    """Both models, and what makes each take its next step."""
    own, settings = (
        own_model(),
        Training(
            epochs=10**6,
            max_steps=STEPS,
            learning_rate=RATE,
            warmup_ratio=0.05,
            max_grad_norm=1.0,
            batch_size=BATCH,
            bptt=SHAPE.context,
        ),
    )
    torch.manual_seed(1)
    rival = GPT(SHAPE)
    loop = Loop(rival, STEPS, RATE)
    steps = GradientDescent(own, windows, settings).steps()
    batches: Iterator[BPTTSegment] = iter(windows.drawn)
    return (
        own,
        rival,
        {
            "Seqloom": lambda: next(steps),
            "nanoGPT's loop": lambda: loop.step(*pair(windows.batch(next(batches)))),
        },
    )


def speed(windows: Drawn, rounds: int, steps: int) -> dict[str, Any]:
    """Steps per second by turns, and the median ratio."""
    _, _, runners = contestants(windows)
    for run in runners.values():
        for _ in range(WARM_UP_STEPS):
            run()
    found: dict[str, list[float]] = {name: [] for name in runners}
    for number in range(rounds):
        order = list(runners) if number % 2 else list(runners)[::-1]
        for name in order:
            began = time.perf_counter()
            for _ in range(steps):
                runners[name]()
            found[name].append(steps / (time.perf_counter() - began))
        say(f"round {number + 1}: " + ", ".join(f"{k} {v[-1]:.1f}/s" for k, v in found.items()))
    own, rival = found.values()
    ratios = [one / other for one, other in zip(own, rival, strict=True)]
    return {"steps_per_second": found, "ratio": statistics.median(ratios), "ratios": ratios}


def learned(windows: Drawn, judged: Drawn, steps: int) -> dict[str, float]:
    """Nats per character of both after so many steps, on the same random windows."""
    own, rival, runners = contestants(windows)
    for name, run in runners.items():
        began = time.perf_counter()
        for _ in range(steps):
            run()
        say(f"{name}: {steps} steps in {time.perf_counter() - began:.0f} s")
    totals = np.zeros(2)
    with own.inference_mode(), torch.no_grad():
        for which in judged.drawn:
            batch = judged.batch(which)
            totals += own.loss_from(batch, own.begin(batch.source))[0].item(), 0
            totals += 0, rival.loss(*pair(batch)).item()
    return dict(zip(runners, (totals / len(judged.drawn)).tolist(), strict=True))


def main() -> None:
    """Measure, or learn."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--rounds", type=positive, default=8, help="(default: %(default)s)")
    parser.add_argument("--steps", type=positive, default=20, help="of each in a round")
    parser.add_argument("--learn", type=int, default=0, metavar="STEPS", help="as 2000; also judge")
    parser.add_argument("--judged", type=positive, default=200, help="batches to judge by")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    facts = machine(given.threads)
    train, valid = texts()
    count = max(given.learn, given.rounds * given.steps + WARM_UP_STEPS)
    windows = Drawn(train, count, seed=1)
    apart = agree(windows.batch(windows.drawn[0]))
    if apart > TOLERANCE:
        raise SystemExit(f"the two do not compute the same: {apart:.2g} apart")
    results: dict[str, Any] = {"machine": facts, "apart": apart}
    results |= speed(windows, given.rounds, given.steps)
    rows = [
        [name, f"{statistics.median(v):.1f}"] for name, v in results["steps_per_second"].items()
    ]
    head = ["who", "steps/s"]
    if given.learn:
        results["loss"] = learned(windows, Drawn(valid, given.judged, seed=2), given.learn)
        head.append(f"nats per character after {given.learn} steps")
        rows = [[*row, f"{results['loss'][row[0]]:.4f}"] for row in rows]
    text = f"{table(head, rows)}\n\nSeqloom / nanoGPT's loop: {results['ratio']:.2f}×, the median "
    text += f"of {given.rounds} rounds; with the same weights they are {apart:.1g} apart.\n"
    report(f"{text}{in_words(facts)}", results, given.json)


if __name__ == "__main__":
    main()
