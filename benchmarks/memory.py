"""Long-term dependencies: the adding problem over 200, 100 and 50 steps, copy memory over 100.

Each cell is trained on the same generated examples, from several seeds, until the problem is solved
on validation, or the time or the steps are over. In the adding problem a constant prediction of 1
has a squared error of 0.167; below 0.001 the problem counts as solved. Random guessing in copy
memory has a token error rate of 7/8.

    python benchmarks/memory.py
    python benchmarks/memory.py --only adding/lstm --seeds 1 --max-time 5m
"""

import tempfile
from argparse import Namespace
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from typing import Any

import torch
from surroundings import arguments, in_words, machine, positive, report, say, table

from seqloom import train
from seqloom.runs.train import Callback
from seqloom.training.events import Event

ELMAN = {"model.cell": "elman", "model.forget_bias": 0.0}
RELU = ELMAN | {"model.activation": "relu", "model.start": "identity"}
GRU = {"model.cell": "gru", "model.forget_bias": 0.0}
SKIP = ELMAN | {"model.skip": 20}
HALF, QUARTER = {"task.length": 100}, {"task.length": 50}


@dataclass(frozen=True)
class Trial:
    """A recipe with settings of its own, and what counts as solved."""

    name: str
    recipe: str
    settings: dict[str, Any]
    metric: str
    solved: float


def adding(name: str, settings: dict[str, Any]) -> Trial:
    return Trial(f"adding/{name}", "adding", settings, "squared_error", 1e-3)


TRIALS = [
    adding("lstm", {}),
    adding("gru", GRU),
    adding("elman", ELMAN),
    adding("elman, ReLU and identity", RELU),
    adding("elman, skip 20", SKIP),
    adding("100 steps/lstm", HALF),
    adding("100 steps/gru", GRU | HALF),
    adding("100 steps/elman", ELMAN | HALF),
    adding("100 steps/elman, ReLU and identity", RELU | HALF),
    adding("100 steps/elman, skip 20", SKIP | HALF),
    adding("50 steps/elman", ELMAN | QUARTER),
    Trial("copy/lstm", "copy-memory", {}, "symbol_error", 0.01),
]


def main() -> None:
    """Train every trial from every seed, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=positive, default=3, metavar="N", help="(default: 3)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="such as adding/*")
    parser.add_argument("--steps", type=positive, help="the most steps for each (default: all)")
    parser.add_argument("--max-time", default="10m", metavar="TIME", help="for each (default: 10m)")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rows = [measured(trial, given) for trial in TRIALS if fnmatch(trial.name, given.only)]
    results = {"rows": rows, "max_time": given.max_time, "machine": machine(given.threads)}
    report(shown(results), results, given.json)


def measured(trial: Trial, given: Namespace) -> dict[str, Any]:
    """The test error from each seed, and when validation first fell below what counts as solved."""
    errors, minutes = [], []
    for seed in range(1, given.seeds + 1):
        say(f"{trial.name}, seed {seed}")
        settings = {"training.seed": seed, "training.max_time": given.max_time}
        settings["training.clock"] = "process"
        settings |= {"training.max_steps": given.steps} if given.steps else {}
        with tempfile.TemporaryDirectory() as folder:
            watcher = _until_solved(trial)
            settings |= trial.settings
            run = train(trial.recipe, runs=Path(folder), settings=settings, callback=watcher)
            errors.append(run.evaluate().with_intervals()[trial.metric].value)
            minutes.append(_solved(run.events(), trial))
        say(f"{errors[-1]:.5f}, {minutes[-1]}")
    return {"trial": trial.name, "errors": errors, "solved_minutes": minutes}


def _until_solved(trial: Trial) -> Callback:
    """Stops training at the first evaluation that is good enough."""
    good: list[float] = []

    def tell(event: Event) -> None:
        if event.kind == "eval" and event.values[trial.metric] < trial.solved:
            good.append(event.values[trial.metric])

    return Callback(tell, lambda: bool(good))


def _solved(events: list[dict[str, Any]], trial: Trial) -> float | None:
    """Minutes until validation was good enough; None where it never was."""
    begun = next(event["t"] for event in events if event["kind"] == "start")
    good = [e for e in events if e["kind"] == "eval" and e[trial.metric] < trial.solved]
    return (good[0]["t"] - begun) / 60 if good else None


def shown(results: dict[str, Any]) -> str:
    """The table, and the machine below it."""
    lines = []
    for row in results["rows"]:
        solved = sum(minutes is not None for minutes in row["solved_minutes"])
        each = ", ".join(f"{error:.5f}" for error in row["errors"])
        of = f"{solved} of {len(row['errors'])}"
        if solved:
            of += f", after {', '.join(f'{m:.1f}' for m in row['solved_minutes'] if m)} minutes"
        lines.append([row["trial"], f"{median(row['errors']):.5f}", each, of])
    head = ["trial", "median error", "from each seed", "solved"]
    return f"{table(head, lines)}\n\n{in_words(results['machine'])}"


if __name__ == "__main__":
    main()
