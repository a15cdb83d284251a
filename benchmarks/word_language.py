"""The recipe `words` against the word-language-model example of PyTorch: speed, memory, perplexity.

The plain baseline is a reimplementation of that example: two LSTM layers of size 200, tied weights,
dropout 0.2, log-softmax over all words at every position, gradient clipping, and plain SGD with
truncated BPTT. Keras 3 with the torch backend takes part if it is installed: the same layers, not
tied, and each segment with a zero initial state, because with this backend a stateful layer fails
in the backward pass (Keras 3.15). All are trained on the same segments, interleaved in one process.
Memory is the peak of a process of its own, minus its memory before the first step.

    python benchmarks/word_language.py                  speed and memory
    python benchmarks/word_language.py --learn words    trains the recipe on Penn Treebank
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")  # before Keras is imported

import importlib.util
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from surroundings import (
    arguments,
    in_words,
    machine,
    peak,
    penn_treebank,
    positive,
    report,
    say,
    table,
)
from torch import Tensor, nn

from seqloom import train
from seqloom.batch import Item
from seqloom.data.loading.bptt import BPTTLoader
from seqloom.runs.train import recipe_by_name
from seqloom.signature import Form, Signature, Tokens
from seqloom.training.gradient_descent import GradientDescent

SMALL, LARGE = 10_000, 33_278  # the words of Penn Treebank and of WikiText-2
WIDTH, LAYERS, DROPOUT, ROWS, LENGTH, CLIP = 200, 2, 0.2, 20, 35, 0.25
SGD = {"training.optimizer": "sgd", "training.momentum": 0.0}
AIMS = {"plain": 1.2, "Keras": 2.0}
Step = Callable[[], object]


def main() -> None:
    """Speed and memory, or what is learned."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--learn", metavar="RECIPE", help="train words or window-words on Penn Treebank"
    )
    parser.add_argument("--rounds", type=positive, default=8, help="(default: %(default)s)")
    parser.add_argument("--peak", choices=["own", "plain"], help="one process of the memory part")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.peak:
        print(taken(given.peak))
        return
    if given.learn:
        results = learned(given.learn)
    else:
        results = {"speed": speeds(given.rounds), "memory": memory(given.threads)}
    results["machine"] = machine(given.threads)
    report(shown(results), results, given.json)


class Plain(nn.Module):
    """Embedding, LSTM, and the embedding again, with dropout between."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.drop = nn.Dropout(DROPOUT)
        self.read = nn.Embedding(words, WIDTH)
        self.recur = nn.LSTM(WIDTH, WIDTH, LAYERS, dropout=DROPOUT)
        self.write = nn.Linear(WIDTH, words)
        self.write.weight = self.read.weight
        nn.init.uniform_(self.read.weight, -0.1, 0.1)
        nn.init.zeros_(self.write.bias)

    def forward(self, words: Tensor, state: Any) -> tuple[Tensor, Any]:
        output, state = self.recur(self.drop(self.read(words)), state)
        scores = self.write(self.drop(output))
        return scores.view(-1, scores.shape[-1]).log_softmax(1), state


def plain_step(words: int) -> Step:
    """A window of the well-known loop."""
    model, loss = Plain(words), nn.NLLLoss()
    windows, order = text(words)
    state: Any = tuple(torch.zeros(LAYERS, ROWS, WIDTH) for _ in range(2))

    def step() -> None:
        nonlocal state
        batch = windows.batch(next(order))
        source = torch.from_numpy(batch.source.values).t().contiguous()
        target = torch.from_numpy(batch.target.values).t().reshape(-1)
        model.zero_grad()
        state = tuple(part.detach() for part in state)
        output, state = model(source, state)
        loss(output, target).backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for weight in model.parameters():
            weight.data.add_(weight.grad, alpha=-20)

    return step


def own_step(words: int) -> Step:
    """Seqloom's own training loop."""
    recipe = recipe_by_name("words", "unused")
    model = recipe.build_model(Signature(Form.NEXT, Tokens(words), Tokens(words)))
    windows, _ = text(words)
    settings = recipe.with_settings(SGD).build_training()  # the plain loop keeps no moments either
    steps = GradientDescent(model, windows, settings).steps()
    return lambda: next(steps)


def keras_step(words: int) -> Step | None:
    """The same layers in Keras with torch behind it; None where it is not installed."""
    if importlib.util.find_spec("keras") is None:
        return None
    import keras  # noqa: PLC0415 - a rival that need not be there

    read = keras.layers.Embedding(words, WIDTH)
    cells = [keras.layers.LSTM(WIDTH, return_sequences=True) for _ in range(LAYERS)]
    x = inputs = keras.Input(batch_shape=(ROWS, LENGTH), dtype="int64")
    x = keras.layers.Dropout(DROPOUT)(read(x))
    for cell in cells:
        x = keras.layers.Dropout(DROPOUT)(cell(x))
    scores = keras.layers.Dense(words)(x)
    model = keras.Model(inputs, scores)
    descent = keras.optimizers.SGD(0.1, clipnorm=CLIP)
    model.compile(descent, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    windows, order = text(words)

    def step() -> None:
        batch = windows.batch(next(order))
        model.train_on_batch(batch.source.values, batch.target.values)

    return step


def text(words: int) -> tuple[BPTTLoader, Any]:
    """Words drawn as unevenly as in a language, in windows of the same size."""
    chance = np.random.default_rng(1)
    drawn = 4 + (chance.zipf(1.3, 400 * ROWS * LENGTH) - 1) % (words - 4)
    windows = BPTTLoader([Item(drawn, drawn)], ROWS, LENGTH, 1, in_order=True)
    full = [window for window in windows.epoch(0) if window.length == LENGTH]
    return windows, iter(full * 100)


def speeds(rounds: int) -> dict[str, Any]:
    """Seqloom's speed over each rival's, at the size of Penn Treebank, by turns."""
    steps = {"own": own_step(SMALL), "plain": plain_step(SMALL), "Keras": keras_step(SMALL)}
    steps = {name: step for name, step in steps.items() if step is not None}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            begin = time.perf_counter()
            for _ in range(4):
                step()
            if number:  # the first round warms up
                times[name].append(time.perf_counter() - begin)
    say(f"{rounds} rounds done")
    return {
        name: statistics.median(np.array(times[name]) / np.array(times["own"]))
        for name in steps
        if name != "own"
    }


def memory(threads: int) -> dict[str, float]:
    """MiB of each, at the size of WikiText-2."""
    found = {}
    for name in ("own", "plain"):
        command = [sys.executable, __file__, "--peak", name, "--threads", str(threads)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[name] = float(output)
    return found


def taken(name: str) -> float:
    """MiB above what this process held when all was ready but the model."""
    make = {"own": own_step, "plain": plain_step}[name]
    before = resident()
    step = make(LARGE)
    for _ in range(3):
        step()
    return peak() - before


def resident() -> float:
    """MiB this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def learned(recipe: str) -> dict[str, Any]:
    """A recipe on Penn Treebank: perplexity, and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        files = penn_treebank(Path(folder))
        settings = {f"data.{name}": str(path) for name, path in files.items()}
        run = train(recipe, runs=Path(folder), settings=settings)
        valid = run.evaluate(files["valid"]).with_intervals()["perplexity"]
        test = run.evaluate(files["test"]).with_intervals()["perplexity"]
        seconds = run.events()[-1]["seconds"]
    processor = time.process_time() / 60
    return {
        "valid": vars(valid),
        "test": vars(test),
        "minutes": seconds / 60,
        "processor_minutes": processor,
    }


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    if "test" in results:
        rows = [[name, f"{results[name]['value']:.2f}"] for name in ("valid", "test")]
        body = table(["Penn Treebank", "perplexity"], rows)
        body += f"\n\n{results['minutes']:.1f} minutes, "
        body += f"{results['processor_minutes']:.1f} of processor with the evaluation."
    else:
        rows = [[k, f"{v:.2f} ×", f"{AIMS[k]:g} ×"] for k, v in results["speed"].items()]
        body = table(["rival", "Seqloom's speed", "aim"], rows)
        own, plain = results["memory"]["own"], results["memory"]["plain"]
        body += f"\n\nPeak memory: {own:.0f} MiB; plain {plain:.0f} MiB: {own / plain:.2f} of it."
    return f"# Words\n\n{body}\n\n{in_words(results['machine'])}"


if __name__ == "__main__":
    main()
