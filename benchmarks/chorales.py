"""Nats per frame of the recipes for Bach's chorales, on the standard test set.

Each row trains a shipped recipe on the quarter-note chorales (229 for training, 76 for validation)
and evaluates it on the 77 of the test set: summed over 88 keys, averaged over frames from the
second on. With --runs, runs in that folder that have the name of a recipe are not trained again.

    python benchmarks/chorales.py --only jsb-gru       one row; may be given several times
    python benchmarks/chorales.py                      all: a quarter of an hour
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from surroundings import arguments, data_set, in_words, machine, report, say, table

import seqloom
from seqloom.runs.run import RECIPE

AIMS = {  # at most, and as published for models of about this size
    "jsb-elman": (9.1, 8.9),
    "jsb-gru": (8.6, 8.5),
    "jsb-lstm": (8.6, 8.5),
    "jsb-convolutional": (8.3, 8.1),
}
CHORALES = "jsb-chorales/jsb-chorales-quarter.json"


def measured(name: str, file: Path, runs: Path) -> dict[str, Any]:
    """What a recipe comes to on the test part; it is trained unless its run is there."""
    began, is_there = time.process_time(), (runs / name / RECIPE).is_file()
    run = seqloom.load(runs / name) if is_there else seqloom.train(name, file, name=name, runs=runs)
    seconds = None if is_there else time.process_time() - began
    values = {metric: vars(one) for metric, one in run.evaluate().with_intervals().items()}
    say(f"{name}: {values}")
    return {"row": name, "values": values, "seconds": seconds, "size": run.model.num_parameters()}


def shown(result: dict[str, Any]) -> list[str]:
    """A line of the table."""
    nats, _, accuracy = result["values"].values()
    seconds = result["seconds"]
    return [
        result["row"],
        f"{result['size']:,}",
        *(f"{figure:.1f}" for figure in AIMS[result["row"]]),
        f"{nats['value']:.3f} ({nats['low']:.3f}-{nats['high']:.3f})",
        f"{100 * accuracy['value']:.1f} %",
        "-" if seconds is None else f"{seconds / 60:.1f}",
    ]


def main() -> None:
    """The rows that were asked for, or all."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", action="append", choices=AIMS, metavar="ROW", help=str([*AIMS]))
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where runs are, or shall be kept")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    facts, (file,) = machine(given.threads), data_set(CHORALES)
    with tempfile.TemporaryDirectory() as folder:
        runs = given.runs or Path(folder)
        results = [measured(name, file, runs) for name in AIMS if name in (given.only or AIMS)]
    head = ["recipe", "weights", "at most", "published", "test nats per frame", "frame accuracy"]
    text = table([*head, "minutes"], list(map(shown, results)))
    report(f"{text}\n\n{in_words(facts)}", {"machine": facts, "results": results}, given.json)


if __name__ == "__main__":
    main()
