"""Checking and reading data files, against a plain pass over their lines or records.

Each row is a process of its own: `seqloom check FILE`, the reading before a training (files,
splits, vocabularies), and a Python loop that reads the file and does nothing. Files are drawn from
20,000 random words. Seconds are those of the processor, start of Python and imports included;
memory is the most that the process held.

    python benchmarks/check_speed.py
    python benchmarks/check_speed.py --megabytes 2
"""

import os
import random
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from surroundings import arguments, in_words, machine, positive, report, say, table

LINES = "for line in open({file!r}, encoding='utf-8'): pass"
RECORDS = "import csv\nfor row in csv.reader(open({file!r}, encoding='utf-8', newline='')): pass"
PREPARE = """
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts
recipe = Recipe(data={{"train": {file!r}}}, task={{"name": {task!r}}})
task = recipe.build_task()
task.prepare(read_parts(task, recipe.build_data()).train)
"""
MEMORY = """
import atexit, sys, time
status = lambda: next(l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM'))
atexit.register(lambda: print(time.process_time(), int(status()) / 1024, file=sys.stderr))
"""


def main() -> None:
    """Write the files, check and read each, and print the table."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--megabytes", type=positive, default=20, help="size of files (20)")
    parser.add_argument("--repeats", type=positive, default=3, help="the best counts (3)")
    given = parser.parse_args()
    facts = machine(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = [one for name in FILES for one in measured(name, Path(folder), given)]
    head = [
        "file",
        "MB",
        "what",
        "processor seconds",
        "MB a second",
        "against the plain pass",
        "MiB",
    ]
    text = table(
        head,
        [
            [
                r["file"],
                f"{r['megabytes']:.0f}",
                r["what"],
                f"{r['seconds']:.2f}",
                f"{r['megabytes'] / r['seconds']:.0f}",
                f"{r['ratio']:.1f}×",
                f"{r['memory']:.0f}",
            ]
            for r in rows
        ],
        words=3,
    )
    report(f"{text}\n\n{in_words(facts)}", {"rows": rows, "machine": facts}, given.json)


def measured(name: str, folder: Path, given: Namespace) -> list[dict[str, Any]]:
    """The rows of one kind of file."""
    write, task, plain, times = FILES[name]
    path = folder / name
    with path.open("w", encoding="utf-8") as file:
        write(file, given.megabytes * times * 10**6)
    check = f"from seqloom.cli.main import main\nmain(['check', {str(path)!r}])"
    programs = {
        "plain pass": plain.format(file=str(path)),
        "seqloom check": check,
        "reading before training": PREPARE.format(file=str(path), task=task),
    }
    rows: list[dict[str, Any]] = []
    for what, program in programs.items():
        say(f"{name}: {what}")
        seconds, memory = min(run(program) for _ in range(given.repeats))
        found = {"file": name, "what": what, "seconds": seconds, "memory": memory}
        found["megabytes"] = path.stat().st_size / 1e6
        found["ratio"] = seconds / (rows[0]["seconds"] if rows else seconds)
        rows.append(found)
    path.unlink()
    return rows


def run(program: str) -> tuple[float, float]:
    """The processor seconds and the MiB of a program in a process of its own."""
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MEMORY + program],
        check=True,
        env=env,
        capture_output=True,
        text=True,
    )
    seconds, memory = done.stderr.split()[-2:]
    return float(seconds), float(memory)


CHANCE = random.Random(1)
WORDS = ["".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz", k=n % 8 + 2)) for n in range(20_000)]


def sentence() -> str:
    """A few random words."""
    return " ".join(CHANCE.choices(WORDS, k=CHANCE.randint(4, 16)))


def text(file: TextIO, size: int) -> None:
    """Lines of text."""
    while file.tell() < size:
        file.writelines(f"{sentence()}\n" for _ in range(1000))


def pairs(file: TextIO, size: int) -> None:
    """Sentence pairs, separated by a tab."""
    while file.tell() < size:
        file.writelines(f"{sentence()}\t{sentence()}\n" for _ in range(1000))


def reviews(file: TextIO, size: int) -> None:
    """Quoted texts and their labels."""
    file.write("text,label\n")
    while file.tell() < size:
        rows = (
            f'"{sentence()}, {sentence()}",{CHANCE.choice(("good", "bad"))}\n' for _ in range(1000)
        )
        file.writelines(rows)


# The writer, the task, the plain pass, and how many times larger than the others.
FILES: dict[str, tuple[Callable[[TextIO, int], None], str, str, int]] = {
    "text.txt": (text, "language", LINES, 1),
    "large.txt": (text, "language", LINES, 10),
    "pairs.tsv": (pairs, "translate", LINES, 1),
    "reviews.csv": (reviews, "classify", RECORDS, 1),
}

if __name__ == "__main__":
    main()
