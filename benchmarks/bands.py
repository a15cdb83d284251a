"""Coverage of prediction intervals: held-out values in the 80 % and 95 % intervals.

The protocol was fixed before any measurement and is the same for all models. Each series is split
in time into five blocks; each of the last four is held out in turn, and models are trained on what
comes before it. A season is forecast from every origin in the block. Passengers are
log-transformed (multiplicative growth), sunspots square-root-transformed (counts), temperatures
unchanged. Among several candidates of a model, the one with the highest validation likelihood is
selected. The validation set is the end of the training data: a sixth of all rows up to the end of
the block, and at least a season. The held-out block is never used for selection. Coverage is over
all values of all four blocks.

    SEQLOOM_DATA=… python benchmarks/bands.py
    SEQLOOM_DATA=… python benchmarks/bands.py --only kalman
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy comes

import tempfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from surroundings import arguments, data_set, in_words, machine, report, say, table

import seqloom
from seqloom.evaluation.evaluate import Evaluation
from seqloom.metrics import value_of

SERIES: dict[str, dict[str, Any]] = {
    "airline-passengers": {"task.transform": "log"},
    "monthly-sunspots": {"task.transform": "sqrt"},
    "daily-min-temperatures": {},
}
CHANGES = ("none", "step", "season")
STRUCTURES = (
    {"model.structure": "local-level", "model.seasonal": False},
    {"model.structure": "local-level", "model.seasonal": True},
    {"model.structure": "local-trend", "model.seasonal": True},
    {"model.structure": "autoregression", "model.order": 3},
)
CANDIDATES: dict[str, tuple[str, list[dict[str, Any]]]] = {  # the recipe or task, and the settings
    "autoregressive": ("forecast", [{"model.differences": kind} for kind in CHANGES]),
    "kalman": ("forecast", [*STRUCTURES]),
    "recurrent": ("series-recurrent", [{}]),
}
FOLDS, VALID = 4, 1 / 6
METRICS = ("coverage_80", "coverage_95", "mase")
BOUND = 0.04


def main() -> None:
    """Train, judge and report."""
    parser = arguments(__doc__)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="models, such as k*")
    given = parser.parse_args()
    files = data_set(*(f"series/{name}.csv" for name in SERIES))
    facts = machine(1)
    rows = [
        measured(model, name, path)
        for model in CANDIDATES
        if fnmatch(model, given.only)
        for name, path in zip(SERIES, files, strict=True)
    ]
    report(shown(rows, facts), {"rows": rows, "machine": facts}, given.json)


def measured(model: str, name: str, path: Path) -> dict[str, Any]:
    """A model on all blocks of a series."""
    found, taken = [], []
    for fold in range(1, FOLDS + 1):
        common = {"data.folds": FOLDS, "data.fold": fold, "data.valid_fraction": VALID}
        best, settings = chosen(model, path, common | {"task.stride": 1} | SERIES[name])
        found.append(best)
        taken.append(" ".join(str(value) for value in settings.values()))
        say(f"{model}, {name}, block {fold}: {best.values()['coverage_80']:.1%}  {taken[-1]}")
    row: dict[str, Any] = {"model": model, "series": name, "taken": taken}
    row["values"] = int(sum(t[1] for one in found for t in one.tallies["coverage_80"]))
    for metric in METRICS:
        row[metric] = value_of(metric, [t for one in found for t in one.tallies[metric]])
        row[f"{metric}_blocks"] = [one.values()[metric] for one in found]
    return row


def chosen(model: str, path: Path, common: dict[str, Any]) -> tuple[Evaluation, dict[str, Any]]:
    """Evaluation on the test set of the candidate with the highest validation likelihood."""
    start, candidates = CANDIDATES[model]
    tried, named = [], model if start == "forecast" else ""
    with tempfile.TemporaryDirectory() as folder:
        for number, settings in enumerate(candidates):
            run = seqloom.train(
                start, path, model=named, name=f"run-{number}", runs=folder,
                settings=common | settings,
            )  # fmt: skip
            losses = [event["loss"] for event in run.events() if event["kind"] == "eval"]
            tried.append((min(losses), number, run))
        _, number, best = min(tried, key=lambda one: one[:2])
        return best.evaluate(), candidates[number]


def shown(rows: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    """The table, what is outside the bound being marked, and the machine."""
    lines = []
    for row in rows:
        shares = []
        for metric, aim in (("coverage_80", 0.8), ("coverage_95", 0.95)):
            mark = " *" * (abs(row[metric] - aim) > BOUND)
            blocks = ", ".join(f"{100 * share:.0f}" for share in row[f"{metric}_blocks"])
            shares.append(f"{100 * row[metric]:.1f}{mark} ({blocks})")
        lines.append([row["model"], row["series"], *shares, f"{row['mase']:.2f}"])
    head = ["model", "series", "in 80 % (by block)", "in 95 % (by block)", "MASE"]
    note = f"* more than {100 * BOUND:.0f} points off"
    return f"{table(head, lines, 2)}\n\n{note}\n{in_words(facts)}"


if __name__ == "__main__":
    main()
