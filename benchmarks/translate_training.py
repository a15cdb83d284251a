"""Training throughput of translation, in source and target tokens per second, against JoeyNMT.

Multi30k, German to English, minimum word frequency 2, batches of 64 sentences, float32, Adam.
Seqloom's whole training step (`GradientDescent`) and JoeyNMT's step, in a process of its own
(`joeynmt_rival.py`), train models of the same shape. Rounds are interleaved, so that the load of
the machine affects both alike. JoeyNMT needs an environment of its own:

    python -m venv joey && joey/bin/pip install torch==2.13.0 joeynmt==2.3.0 importlib_metadata
    python benchmarks/translate_training.py --joeynmt joey/bin/python
"""

import json
import statistics
import subprocess
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from surroundings import arguments, in_words, machine, multi30k, positive, report, say, table

from seqloom.data.loading.batching import BucketLoader
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts
from seqloom.training.gradient_descent import GradientDescent

AIM = 2.0
COMMON = {
    "batch_size": 64,
    "min_frequency": 2,
    "learning_rate": 0.001,
    "max_grad_norm": 1.0,
    "label_smoothing": 0.1,
}
RECURRENT = {"kind": "recurrent", "embedding_size": 256, "hidden_size": 256, "dropout": 0.5}
SHAPES: dict[str, dict[str, Any]] = {
    "recurrent, attention": {**RECURRENT, "input_feeding": False},
    "recurrent, input feeding": {**RECURRENT, "input_feeding": True},
    "Transformer": {
        "kind": "transformer",
        "embedding_size": 256,
        "hidden_size": 256,
        "feed_forward": 512,
        "num_heads": 8,
        "layers": 3,
        "dropout": 0.1,
    },
}
RIVAL = Path(__file__).with_name("joeynmt_rival.py")


def main() -> None:
    """Compare both on each model."""
    parser = arguments(__doc__)
    parser.add_argument("--joeynmt", required=True, metavar="PYTHON", help="that has JoeyNMT")
    parser.add_argument("--rounds", type=positive, default=6, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=6.0, help="a turn (default: %(default)s)")
    parser.add_argument("--only", choices=list(SHAPES), help="(default: all)")
    given = parser.parse_args()
    files, facts = multi30k(), machine(given.threads)
    torch.set_num_threads(given.threads)
    rows = [
        compared(name, shape | COMMON, files, given)
        for name, shape in SHAPES.items()
        if given.only in (None, name)
    ]
    results = {"rows": rows, "machine": facts, "rounds": given.rounds, "seconds": given.seconds}
    report(shown(results), results, given.json)


def compared(
    name: str, shape: dict[str, Any], files: dict[str, str], given: Namespace
) -> dict[str, Any]:
    """Speeds of both in every round."""
    say(name)
    own, size = seqloom(shape, files["train"])
    told = shape | {"threads": given.threads, "languages": ["de", "en"]}
    told["train"] = files["train"].partition(".{")[0]
    command = [given.joeynmt, str(RIVAL), json.dumps(told)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as rival:
        assert rival.stdin is not None and rival.stdout is not None
        facts = json.loads(rival.stdout.readline())
        speeds: dict[str, list[float]] = {"seqloom": [], "joeynmt": []}
        for number in range(given.rounds + 1):
            mine = own(given.seconds)
            rival.stdin.write(f"{given.seconds}\n")
            rival.stdin.flush()
            theirs = json.loads(rival.stdout.readline())
            if number:  # the first round warms up
                speeds["seqloom"].append(mine)
                speeds["joeynmt"].append(theirs["symbols"] / theirs["seconds"])
                say(f"{mine:,.0f} and {speeds['joeynmt'][-1]:,.0f} a second")
        rival.stdin.close()
    ratios = [a / b for a, b in zip(*speeds.values(), strict=True)]
    sizes = {"seqloom": size, "joeynmt": facts["weights"]}
    return {"shape": name, "speeds": speeds, "ratios": ratios, "weights": sizes}


def seqloom(shape: dict[str, Any], train: str) -> tuple[Callable[[float], float], int]:
    """A function that trains for some seconds and returns tokens per second; model size."""
    recipe = Recipe(
        data={"train": train},
        task={"name": "translate", "min_frequency": shape["min_frequency"]},
        model=model_of(shape),
        training={
            "batch_size": shape["batch_size"],
            "learning_rate": shape["learning_rate"],
            "max_grad_norm": shape["max_grad_norm"],
            "schedule": "constant",
            "epochs": 1000,
        },
    ).checked()
    task = recipe.build_task()
    pairs = read_parts(task, recipe.build_data()).train
    task.prepare(pairs)
    items = [task.encode(pair) for pair in pairs]
    torch.manual_seed(1)
    model, settings = recipe.build_model(task.signature()), recipe.build_training()
    batches = Counted(items, settings.batch_size, 0, settings.seed)
    steps = GradientDescent(model, batches, settings).steps()

    def turn(seconds: float) -> float:
        began, batches.symbols = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            next(steps)
        return batches.symbols / (time.perf_counter() - began)

    return turn, model.num_parameters()


class Counted(BucketLoader):
    """Counts tokens of source and target, with end tokens as JoeyNMT does, without padding."""

    symbols = 0

    def batch(self, which: Any) -> Any:
        found = super().batch(which)
        self.symbols += int(found.source.lengths.sum()) + int(found.target.lengths.sum())
        return found


def model_of(shape: dict[str, Any]) -> dict[str, Any]:
    """The [model] table of the same shape."""
    same = {name: shape[name] for name in ("hidden_size", "dropout", "label_smoothing")}
    if shape["kind"] == "transformer":
        layers = {f"{side}_layers": shape["layers"] for side in ("encoder", "decoder")}
        other = {name: shape[name] for name in ("num_heads", "feed_forward")}
        return {"name": "transformer-encoder-decoder", **same, **layers, **other}
    attention = {"attention": "additive", "attention_width": shape["hidden_size"]}
    own = {name: shape[name] for name in ("embedding_size", "input_feeding")}
    return {"name": "encoder-decoder", "cell": "gru", **same, **attention, **own}


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = [
        [
            row["shape"],
            f"{statistics.median(row['speeds']['seqloom']):,.0f}",
            f"{statistics.median(row['speeds']['joeynmt']):,.0f}",
            f"{statistics.median(row['ratios']):.2f}×",
            f"{min(row['ratios']):.2f}-{max(row['ratios']):.2f}",
            " and ".join(f"{size / 1e6:.2f} M" for size in row["weights"].values()),
        ]
        for row in results["rows"]
    ]
    head = ["model", "Seqloom, tokens/s", "JoeyNMT", "ratio", "range over rounds", "parameters"]
    return (
        f"# Translation: training throughput, target {AIM:g}×\n\n{table(head, rows)}\n\n"
        f"{results['rounds']} rounds of {results['seconds']:g} seconds each."
        f" {in_words(results['machine'])}"
    )


if __name__ == "__main__":
    main()
