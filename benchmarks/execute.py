"""Learning to execute: no, naive, mixed and combined curriculum, under equal time budgets.

Every curriculum trains the recipe `programs` (four digits, one operation) from each seed, with the
same model, time and examples, and is evaluated on the same test programs of the last level. The
control is trained on programs with scrambled characters: what it gets right needs no execution.

    python benchmarks/execute.py
    python benchmarks/execute.py --only naive --seeds 1 --max-time 2m --set task.nesting=2
"""

import tempfile
import tomllib
from argparse import Namespace
from fnmatch import fnmatch
from pathlib import Path
from statistics import median
from typing import Any, get_args

import torch
from surroundings import arguments, in_words, machine, positive, report, say, table

from seqloom import train
from seqloom.data.loading.curriculum import CurriculumName

RECIPE = "programs"
METRICS = ("sequence_error", "symbol_error")
TRIALS: dict[str, dict[str, Any]] = {
    name: {"training.curriculum": name} for name in get_args(CurriculumName)
}
TRIALS["none, scrambled"] = {"training.curriculum": "none", "task.scrambled": True}


def main() -> None:
    """Train every curriculum from every seed, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=positive, default=1, metavar="N", help="(default: 1)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="such as n*")
    parser.add_argument("--max-time", default="20m", metavar="TIME", help="for each (default: 20m)")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rows = [measured(name, given) for name in TRIALS if fnmatch(name, given.only)]
    results = {"rows": rows, "max_time": given.max_time, "set": given.set}
    results["machine"] = machine(given.threads)
    report(shown(results), results, given.json)


def measured(name: str, given: Namespace) -> dict[str, Any]:
    """The share of wrong answers and of wrong characters from each seed."""
    row: dict[str, Any] = {"curriculum": name, "steps": []} | {metric: [] for metric in METRICS}
    for seed in range(1, given.seeds + 1):
        say(f"{name}, seed {seed}")
        settings = {"training.seed": seed, "training.max_time": given.max_time}
        settings["training.clock"] = "process"
        settings |= dict(map(setting, given.set)) | TRIALS[name]
        with tempfile.TemporaryDirectory() as folder:
            run = train(RECIPE, runs=Path(folder), settings=settings)
            found = run.evaluate().values()
            row["steps"].append(run.events()[-1]["step"])
        for metric in METRICS:
            row[metric].append(found[metric])
        say(f"{found['sequence_error']:.2%} of answers wrong")
    return row


def setting(text: str) -> tuple[str, Any]:
    """What is laid over the recipe of every trial."""
    path, _, value = text.partition("=")
    return path, tomllib.loads(f"value = {value}")["value"]


def shown(results: dict[str, Any]) -> str:
    """The table, and the machine below it."""
    lines = []
    for row in results["rows"]:
        wrong, symbols = (median(row[metric]) for metric in METRICS)
        each = ", ".join(f"{1 - error:.1%}" for error in row["sequence_error"])
        steps = f"{median(row['steps']):,.0f}"
        lines.append([row["curriculum"], f"{1 - wrong:.1%}", each, f"{1 - symbols:.1%}", steps])
    head = ["curriculum", "answers right", "from each seed", "characters right", "steps"]
    budget = f"{results['max_time']} for each. " + " ".join(results["set"])
    return f"{table(head, lines)}\n\n{budget.strip()}\n{in_words(results['machine'])}"


if __name__ == "__main__":
    main()
