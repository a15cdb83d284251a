"""Training times as `seqloom train --estimate` tells them, against those that training takes.

Every model of the studio's examples, as the studio trains it (until its time is over) and for a few
passes over its data (until they are done). Each is estimated in one process and trained in another,
by the clock: reading, training with all evaluations, and the evaluation on the test set, without
the start of Python and the import of torch. On a busy machine the ratio varies with what other
programs do in between.

    SEQLOOM_DATA=… python benchmarks/estimates.py
    SEQLOOM_DATA=… python benchmarks/estimates.py --only 'shakespeare*' --epochs 2
"""

import math
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from surroundings import arguments, in_words, machine, positive, report, say, table

from seqloom.examples import EXAMPLES, Example
from seqloom.recipe import Recipe

TARGET = 1.5  # the estimate is right within this factor, either way
LEAST_SECONDS = 5.0  # nobody waits for less
READ = """
import sys, time, torch, seqloom
from pathlib import Path
from seqloom.recipe import Recipe
recipe, runs = Recipe.read(Path(sys.argv[1])), sys.argv[2]
"""
ESTIMATE = """
from seqloom.experiments.estimate import estimate
print(estimate(recipe).seconds)
"""
TRAIN = """
began = time.monotonic()
seqloom.train(recipe, runs=runs).evaluate()
print(time.monotonic() - began)
"""
UNLIMITED = {"training.max_time": "", "training.evaluate_seconds": 0.0, "training.patience": 0}


def main() -> None:
    """Estimate and train all that are asked for, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="such as copy")
    parser.add_argument("--epochs", type=positive, default=2, metavar="N", help="passes (2)")
    given = parser.parse_args()
    rows = []
    for example in EXAMPLES.values():
        if fnmatch(example.name, given.only):
            with tempfile.TemporaryDirectory() as folder:
                file = example.write(Path(folder))
                for model in example.models:
                    rows += measured(example, model, file, Path(folder), given)
    results = {"rows": rows, "machine": machine(given.threads)}
    report(written(results), results, given.json)


def measured(
    example: Example, model: str, file: Path | None, folder: Path, given: Namespace
) -> list[dict[str, Any]]:
    """A model by the clock, and for a few passes."""
    timed = example.recipe(model, file)
    passes = timed.with_settings({**UNLIMITED, "training.epochs": given.epochs})
    rows = []
    for ends, recipe in (("time", timed), (f"{given.epochs} passes", passes)):
        say(f"{example.name}, {model}, {ends}")
        rows.append(
            {
                "example": example.name,
                "model": model,
                "ends": ends,
                **compared(recipe, folder, given.threads),
            }
        )
    return rows


def compared(recipe: Recipe, folder: Path, threads: int) -> dict[str, float]:
    """The seconds that were told, and those that training took."""
    path = folder / "recipe.toml"
    path.write_text(recipe.to_toml(), encoding="utf-8")
    told, took = (seconds(READ + code, path, folder, threads) for code in (ESTIMATE, TRAIN))
    return {"told": told, "took": took}


def seconds(code: str, recipe: Path, folder: Path, threads: int) -> float:
    """What a program in a process of its own prints."""
    command = [sys.executable, "-c", code, str(recipe), str(folder / "runs")]
    surroundings = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=surroundings)
    return float(done.stdout.splitlines()[-1])


def written(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = results["rows"]
    head = ["example", "model", "until", "told", "taken", "told / taken"]
    lines = [
        [row["example"], row["model"], row["ends"]]
        + [f"{row['told']:.0f} s", f"{row['took']:.0f} s", f"{row['told'] / row['took']:.2f}"]
        for row in rows
    ]
    long = [row for row in rows if max(row["told"], row["took"]) >= LEAST_SECONDS]
    far = [row for row in long if abs(math.log(row["told"] / row["took"])) > math.log(TARGET)]
    words = (
        f"Within a factor of {TARGET}: {len(long) - len(far)} of {len(long)} that take or were told"
        f" at least {LEAST_SECONDS:g} s."
    )
    return f"{table(head, lines, words=3)}\n\n{words} {in_words(results['machine'])}"


if __name__ == "__main__":
    main()
