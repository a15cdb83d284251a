"""Speaker classification: accuracy of the recipes for Japanese vowels, over several seeds.

270 utterances for training, a tenth of them for validation; 370 for test. The seed determines the
validation set and the initial weights. SEQLOOM_DATA is the folder that contains japanese-vowels.

    python benchmarks/vowels.py --seeds 3
"""

import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

from surroundings import arguments, data_set, in_words, machine, positive, report, say, table

import seqloom
from seqloom.evaluation.evaluate import evaluate
from seqloom.model import Search

AIMS = {"vowels-hmm": 0.954, "vowels": 0.97}
FILES = "japanese-vowels/JapaneseVowels_TRAIN.ts", "japanese-vowels/JapaneseVowels_TEST.ts"


def main() -> None:
    """Train both recipes with every seed, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=positive, default=3, help="(default: %(default)s)")
    given = parser.parse_args()
    train, test = data_set(*FILES)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in AIMS:
            for seed in range(1, given.seeds + 1):
                say(f"{name}, seed {seed}")
                rows.append(trained(name, train, test, seed, Path(folder)))
    results = {"rows": rows, "machine": machine(1)}
    report(shown(results), results, given.json)


def trained(name: str, train: Path, test: Path, seed: int, folder: Path) -> dict[str, Any]:
    """One run, evaluated on the test file."""
    began = time.perf_counter()
    seeds = {"training.seed": seed, "data.split_seed": seed}
    run = seqloom.train(name, train, runs=folder, settings={"data.test": str(test), **seeds})
    seconds = time.perf_counter() - began
    values = evaluate(run.model, run.task, run.parts.test, Search()).values()
    return {"recipe": name, "seed": seed, "accuracy": values["accuracy"], "seconds": seconds}


def shown(results: dict[str, Any]) -> str:
    lines = []
    for name, aim in AIMS.items():
        mine = [row for row in results["rows"] if row["recipe"] == name]
        each = ", ".join(f"{100 * row['accuracy']:.1f}" for row in mine)
        middle = mean(row["accuracy"] for row in mine)
        lines.append([name, each, f"{100 * middle:.1f}", f"{100 * aim:.1f}",
                      "yes" if middle >= aim else "NO",
                      f"{mean(row['seconds'] for row in mine):.0f}"])  # fmt: skip
    head = ["recipe", "accuracy of each seed, %", "mean", "aim", "met", "seconds each"]
    return f"{table(head, lines)}\n\n{in_words(results['machine'])}"


if __name__ == "__main__":
    main()
