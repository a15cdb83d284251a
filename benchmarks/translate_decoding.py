"""Tokens per second of Transformer translation: greedy and beam search, batch sizes 1 and 32.

Weights are random and outputs never end, so all have the same number of tokens. If the package
`transformers` is installed, its Marian of the same shape takes part with `generate`: it has the
same architecture (post-norm, sinusoidal positions), so the weights are copied, with biases of zero,
and the outputs must be identical. So must those of CTranslate2, if installed. It runs in a process
of its own, since in one process its threads and torch's wait for each other. Rounds are
interleaved; a ratio is the median over rounds.

    python benchmarks/translate_decoding.py --rounds 5
"""

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from surroundings import arguments, clock, in_words, machine, positive, report, say, table

from seqloom.batch import Sequences
from seqloom.export.ctranslate2 import specification
from seqloom.model import Search
from seqloom.models.transformer_encoder_decoder import ORIGINAL, TransformerEncoderDecoder
from seqloom.nn.transformer.layers import TransformerOptions
from seqloom.signature import BEGIN, END, PAD, Form, Signature, Tokens

OWN, MARIAN, ENGINE = "Seqloom", "transformers' generate", "CTranslate2, float32"
TARGETS = {(1, 1): 2.0, (32, 1): 1.5, (1, 4): 1.5, (32, 4): 1.5}  # of generate, by batch and beam
NEVER = -1e9
ENGINE_PROGRAM = """
import json, sys, time
import ctranslate2
folder, threads, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
translator = ctranslate2.Translator(
    folder, compute_type="float32", inter_threads=1, intra_threads=threads
)
for line in sys.stdin:
    words, beam = json.loads(line)
    now = time.process_time if threads == 1 else time.perf_counter
    began = now()
    found = translator.translate_batch(
        words, beam_size=beam, max_decoding_length=length, max_batch_size=len(words)
    )
    print(json.dumps([[one.hypotheses[0] for one in found], now() - began]), flush=True)
"""
Writer = Callable[[list[list[int]], int], list[list[int]]]
Timed = Callable[[list[list[int]], int], tuple[list[list[int]], float]]  # with its seconds


def own_model(given: Any) -> TransformerEncoderDecoder:
    """A model that was taught nothing, with vectors large enough for it to write various things."""
    torch.manual_seed(1)
    space = Tokens(given.symbols)
    model = TransformerEncoderDecoder(
        Signature(Form.TRANSDUCE, space, space),
        hidden_size=given.width,
        encoder_layers=given.layers,
        decoder_layers=given.layers,
        share_embeddings=True,
        transformer_options=TransformerOptions(num_heads=given.heads, **_paper()),
    ).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2:
                torch.nn.init.normal_(weight, std=0.06 if "input" in name else 0.1)
        model.output.scores.bias[[PAD, BEGIN, END]] = NEVER
    return model


def _paper() -> dict[str, Any]:
    return {name: getattr(ORIGINAL, name) for name in ("norm", "positions", "activation")}


def ours(model: TransformerEncoderDecoder, given: Any) -> Writer:
    """By `predict`, as every task uses it."""

    def write(sources: list[list[int]], beam: int) -> list[list[int]]:
        read = Sequences.pad([np.array(source) for source in sources])
        with model.inference_mode():
            return model.predict(read, Search(beam=beam, limit=given.length)).target.rows()

    return write


def marian(model: TransformerEncoderDecoder, given: Any) -> Writer | None:
    """Marian with the same weights, where it can be had."""
    if importlib.util.find_spec("transformers") is None:
        say("transformers is not installed: left out")
        return None
    from transformers import MarianConfig, MarianMTModel  # noqa: PLC0415 - an optional rival

    shape = MarianConfig(
        vocab_size=given.symbols,
        d_model=given.width,
        encoder_layers=given.layers,
        decoder_layers=given.layers,
        encoder_attention_heads=given.heads,
        decoder_attention_heads=given.heads,
        encoder_ffn_dim=4 * given.width,
        decoder_ffn_dim=4 * given.width,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BEGIN,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_eos_token_id=None,
        max_position_embeddings=256,
    )
    theirs = MarianMTModel(shape).eval()
    with torch.no_grad():
        copy_across(model, theirs)

    def write(sources: list[list[int]], beam: int) -> list[list[int]]:
        read = torch.tensor(sources)
        with torch.inference_mode():
            found = theirs.generate(
                read,
                attention_mask=torch.ones_like(read),
                num_beams=beam,
                do_sample=False,
                max_new_tokens=given.length,
                use_cache=True,
            )
        return found[:, 1:].tolist()

    return write


def copy_across(model: TransformerEncoderDecoder, theirs: Any) -> None:
    """Our weights into Marian's places; its biases become zero."""
    for name, weight in theirs.named_parameters():
        if name.endswith("bias"):
            weight.zero_()
    theirs.model.shared.weight.copy_(model.source_input.table.weight)
    theirs.tie_weights()
    theirs.final_logits_bias.copy_(model.output.scores.bias[None])
    for ours, other in (
        (model.encoder, theirs.model.encoder),
        (model.decoder, theirs.model.decoder),
    ):
        waves = ours.positions.waves
        other.embed_positions.weight[: len(waves)].copy_(waves)
        for layer, its in zip(ours.blocks(), other.layers, strict=True):
            _copy_attention(layer.attention.read.weight.chunk(3), layer.attention, its.self_attn)
            its.self_attn_layer_norm.weight.copy_(layer.attention_norm.weight)
            if (cross := layer.cross_attention) is not None:
                _copy_attention(
                    (cross.ask.weight, *cross.read.weight.chunk(2)), cross, its.encoder_attn
                )
                its.encoder_attn_layer_norm.weight.copy_(layer.cross_norm.weight)
            its.fc1.weight.copy_(layer.widen.weight)
            its.fc2.weight.copy_(layer.narrow.weight)
            its.final_layer_norm.weight.copy_(layer.feed_norm.weight)


def _copy_attention(parts: Any, ours: Any, theirs: Any) -> None:
    for weight, place in zip(parts, (theirs.q_proj, theirs.k_proj, theirs.v_proj), strict=True):
        place.weight.copy_(weight)
    theirs.out_proj.weight.copy_(ours.join.weight)


def engine(model: TransformerEncoderDecoder, given: Any, folder: str) -> Timed | None:
    """CTranslate2 in single precision, alone in its process, where it can be had."""
    if importlib.util.find_spec("ctranslate2") is None:
        say("ctranslate2 is not installed: left out")
        return None
    names = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{n}" for n in range(4, given.symbols))]
    numbers = {name: number for number, name in enumerate(names)}
    specification(model, names, names).save(folder)
    typed = [sys.executable, "-c", ENGINE_PROGRAM, folder, str(given.threads), str(given.length)]
    process = subprocess.Popen(typed, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    asked, told = process.stdin, process.stdout

    def write(sources: list[list[int]], beam: int) -> tuple[list[list[int]], float]:
        words = [[names[i] for i in source[:-1]] for source in sources]  # it adds the end itself
        asked.write(json.dumps([words, beam]) + "\n")
        asked.flush()
        rows, seconds = json.loads(told.readline())
        return [[numbers[name] for name in row] for row in rows], seconds

    return write


def timed(write: Writer | None, given: Any) -> Timed | None:
    """A writer of this process, with the seconds that it takes."""
    if write is None:
        return None
    now = clock(given.threads)

    def run(sources: list[list[int]], beam: int) -> tuple[list[list[int]], float]:
        began = now()
        return write(sources, beam), now() - began

    return run


def measured(
    writers: dict[str, Timed], given: Any, batch: int, beam: int
) -> dict[str, list[float]]:
    """Symbols per second of each, round by round; all must write the same."""
    chance = np.random.default_rng(batch)
    rows = chance.integers(4, given.symbols, (batch, given.source))
    sources = [[*row, END] for row in rows.tolist()]
    answers = {name: write(sources, beam)[0] for name, write in writers.items()}  # warms up, too
    for name, found in answers.items():
        same = sum(one == other for one, other in zip(found, answers[OWN], strict=True))
        if same < batch:
            say(f"batch {batch}, beam {beam}: {name} writes {same} of them as Seqloom does")
    speeds: dict[str, list[float]] = {name: [] for name in writers}
    for _ in range(given.rounds):
        for name, write in writers.items():
            speeds[name].append(batch * given.length / write(sources, beam)[1])
    return speeds


def main() -> None:
    """Measure."""
    parser = arguments(__doc__ or "")
    for name, default in {
        "length": 32,
        "source": 20,
        "rounds": 5,
        "layers": 3,
        "heads": 8,
        "width": 256,
        "symbols": 8000,
    }.items():
        parser.add_argument(f"--{name}", type=positive, default=default, help="(%(default)s)")
    parser.add_argument("--batches", type=positive, nargs="+", default=[1, 32], help="(1 32)")
    parser.add_argument("--beams", type=positive, nargs="+", default=[1, 4], help="(1 4)")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    facts, model = machine(given.threads), own_model(given)
    rows, results = [], []
    with tempfile.TemporaryDirectory() as folder:
        found = {
            OWN: timed(ours(model, given), given),
            MARIAN: timed(marian(model, given), given),
            ENGINE: engine(model, given, folder),
        }
        writers = {name: write for name, write in found.items() if write is not None}
        for beam in given.beams:
            for batch in given.batches:
                speeds = measured(writers, given, batch, beam)
                results.append({"batch": batch, "beam": beam, "symbols_per_second": speeds})
                rows += shown(speeds, batch, beam)
    text = table(
        ["batch", "beam", "who", "symbols/s", "Seqloom is quicker", "to reach"], rows, words=3
    )
    text += f"\n\n{given.layers}+{given.layers} layers of {given.heads} heads, {given.width} wide, "
    text += f"{given.symbols:,} symbols, {given.source} read and {given.length} written. "
    text += in_words(facts)
    report(text, {"machine": facts, "results": results}, given.json)


def shown(speeds: dict[str, list[float]], batch: int, beam: int) -> list[list[str]]:
    """A row for each."""
    rows = []
    for name, found in speeds.items():
        ratio = statistics.median(a / b for a, b in zip(speeds[OWN], found, strict=True))
        aim = TARGETS.get((batch, beam)) if name == MARIAN else None
        row = [str(batch), str(beam), name, f"{statistics.median(found):,.0f}"]
        rows.append([*row, "" if name == OWN else f"{ratio:.2f}×", f"{aim:g}×" if aim else ""])
    return rows


if __name__ == "__main__":
    main()
