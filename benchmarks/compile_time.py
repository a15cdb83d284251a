"""Compile time of the kernels: the first use on a machine, and every later one.

Each family trains a few steps in processes of its own: first with an empty cache of machine code,
then with what that left. What is beyond the later ones is what a person waits for once. Times are
CPU seconds, which other processes hardly change.

    python benchmarks/compile_time.py
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from surroundings import arguments, in_words, machine, positive, report, say, table

PROGRAM = """
import sys, time
from pathlib import Path
import seqloom
task, file, model, folder = sys.argv[1:5]
Path(folder).mkdir(exist_ok=True)
began = time.process_time()
seqloom.train(task, file, model=model, runs=Path(folder), settings={"training.max_steps": 2})
print(time.process_time() - began)
"""
FAMILIES = {
    "LSTM": ("language", "text.txt", "recurrent"),
    "n-gram": ("language", "text.txt", "ngram"),
    "hidden Markov model": ("language", "text.txt", "hmm"),
    "Kalman filter": ("forecast", "series.csv", "kalman"),
    "Gaussian HMM": ("forecast", "series.csv", "gaussian-hmm"),
}


def main() -> None:
    """Every family, cold and warm."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--rounds", type=positive, default=3, help="warm starts (%(default)s)")
    given = parser.parse_args()
    facts, rows = machine(given.threads), []
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder))
        for name, words in FAMILIES.items():
            with tempfile.TemporaryDirectory() as cache:
                cold = seconds(words, Path(folder), cache)
                warm = statistics.median(
                    seconds(words, Path(folder), cache) for _ in range(given.rounds)
                )
            say(f"{name}: {cold:.1f} s at first, {warm:.1f} s later")
            rows.append({"family": name, "first": cold, "later": warm})
    text = table(
        ["family", "first training, s", "later ones, s", "compiling, s"],
        [
            [
                r["family"],
                f"{r['first']:.1f}",
                f"{r['later']:.1f}",
                f"{r['first'] - r['later']:.1f}",
            ]
            for r in rows
        ],
    )
    report(f"{text}\n\n{in_words(facts)}", {"rows": rows, "machine": facts}, given.json)


def write_data(folder: Path) -> None:
    """A small text and a small series."""
    nouns, verbs = ["cat", "dog", "bird", "fish", "horse"], ["sees", "hears", "meets", "wants"]
    lines = [f"the {a} {verb} a {b}\n" for a in nouns for verb in verbs for b in nouns]
    text = "".join(lines)
    (folder / "text.txt").write_text(text, encoding="utf-8")
    numbers = "".join(f"{(7 * n) % 13 + n / 50:.2f}\n" for n in range(300))
    (folder / "series.csv").write_text("value\n" + numbers, encoding="utf-8")


def seconds(words: tuple[Any, ...], folder: Path, cache: str) -> float:
    """CPU seconds of a training in a process of its own, imports left out."""
    task, file, model = words
    runs = tempfile.mkdtemp(dir=folder)
    typed = [sys.executable, "-c", PROGRAM, task, str(folder / file), model, runs]
    env = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(typed, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
