"""Training time and results of the studio's examples.

Each model of each example is trained as on the studio's first page, but for as many processor
seconds instead of those on the clock, with one thread, and evaluated on the test set. CPU time
includes reading data, training and all evaluations. If SEQLOOM_DATA is set, real data is used for
the examples that have some.

    SEQLOOM_DATA=… python benchmarks/examples.py
    SEQLOOM_DATA=… python benchmarks/examples.py --only copy
"""

import tempfile
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from surroundings import arguments, in_words, machine, report, say, table

import seqloom
from seqloom.examples import EXAMPLES, Example
from seqloom.metrics import METRICS
from seqloom.runs.record import shown_metric


def main() -> None:
    """Train all that are asked for, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="such as copy")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for example in EXAMPLES.values():
        if fnmatch(example.name, given.only):
            with tempfile.TemporaryDirectory() as folder:
                file = example.write(Path(folder))
                for model in example.models:
                    say(f"{example.name}, {model}")
                    rows.append(trained(example, model, file, Path(folder)))
    results = {"rows": rows, "machine": machine(1)}
    report(written(results), results, given.json)


def trained(example: Example, model: str, file: Path | None, folder: Path) -> dict[str, Any]:
    """One model as the studio trains it."""
    clock, processor = time.perf_counter(), time.process_time()
    recipe = example.recipe(model, file).with_settings({"training.clock": "process"})
    run = seqloom.train(recipe, name=model, runs=folder)
    values = run.evaluate().values()
    metric = next(iter(values))
    return {
        "example": example.name,
        "model": model,
        "data": example.as_dict()["source"],
        "metric": metric,
        "value": values[metric],
        "steps": run.events()[-1]["step"],
        "seconds": time.perf_counter() - clock,
        "processor_seconds": time.process_time() - processor,
    }


def written(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    head = ["example", "model", "data", "metric", "value", "steps", "seconds", "of a processor"]
    lines = [
        [
            row["example"],
            row["model"],
            row["data"],
            METRICS[row["metric"]].title,
            shown_metric(row["metric"], row["value"]),
            f"{row['steps']:,}",
            f"{row['seconds']:.0f}",
            f"{row['processor_seconds']:.0f}",
        ]
        for row in results["rows"]
    ]
    return table(head, lines, words=4) + "\n\n" + in_words(results["machine"])


if __name__ == "__main__":
    main()
