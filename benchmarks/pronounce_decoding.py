"""Greedy decoding of the test words through the real command: seconds, and memory by length.

Runs `seqloom predict RUN -f WORDS` in a process of its own, start-up included, on 3,000, 12,000 and
48,000 words (the test words, repeated as needed). Peak memory is that of each process alone. This
script does not import torch, because a process inherits the peak of its parent. The command reads
some thousands of lines at a time, so only lists of at least one such chunk show whether memory
grows with length: shorter ones are reported, but not tested.

    python benchmarks/pronounce_decoding.py --run runs/pronounce

Without --run, a small training comes first: two epochs on a tenth of the words.
"""

import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from surroundings import arguments, in_words, machine, positive, pronunciations, report, say, table

from seqloom.cli.inputs import AT_ONCE

SIZES = (3_000, 12_000, 48_000)
TEST_WORDS, LIMIT_SECONDS = 12_000, 60
FLAT = 1.1  # limit of peak memory of the longest list over that of the shortest tested
MEGABYTE = 2**20
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, kibibytes elsewhere


def main() -> None:
    """Find or train a run, let it answer lists of several lengths, report."""
    parser = arguments(__doc__)
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="a trained run")
    parser.add_argument(
        "--sizes", type=positive, nargs="+", default=list(SIZES), help="how many words"
    )
    given = parser.parse_args()
    files = pronunciations()
    facts = machine(given.threads)
    words = files.words.read_text(encoding="utf-8").split()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run = given.run or small_run(files.train, place, given.threads)
        rows = [decode(run, words, size, place, given.threads) for size in given.sizes]
    named = str(given.run) if given.run else "two epochs on a tenth of the words"
    results = {"run": named, "rows": rows, "machine": facts}
    report(shown(results), results, given.json)


def small_run(train: Path, folder: Path, threads: int) -> Path:
    """The recipe `pronounce`, trained for a moment: enough to give answers of a sensible length."""
    say("training a small run")
    lines = train.read_text(encoding="utf-8").split("\n")
    tenth = folder / "tenth.tsv"
    tenth.write_text("\n".join(line for line in lines[::10] if line) + "\n", encoding="utf-8")
    command = ["train", "pronounce", str(tenth), "--set", "training.epochs=2", "--name", "small"]
    command += ["--runs-dir", str(folder), "--quiet"]
    subprocess.run(_seqloom(command), env=_environment(threads), check=True, stdout=sys.stderr)
    return folder / "small"


def decode(run: Path, words: list[str], size: int, folder: Path, threads: int) -> dict[str, Any]:
    """One whole command: its wall and CPU seconds and its peak memory."""
    asked, answered = folder / f"{size}.words", folder / f"{size}.answers"
    asked.write_text("\n".join(islice(cycle(words), size)) + "\n", encoding="utf-8")
    command = _seqloom(["predict", str(run), "-f", str(asked), "--quiet"])
    with answered.open("wb") as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, env=_environment(threads), stdout=output)
        _, status, usage = os.wait4(process.pid, 0)  # unlike RUSAGE_CHILDREN, of this child alone
        seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"seqloom predict ended with exit code {process.returncode}")
    lines = answered.read_bytes().count(b"\n")
    if lines != size:
        raise SystemExit(f"{size:,} words were asked, {lines:,} lines came back")
    say(f"{size:,} words: {seconds:.1f} s")
    return {
        "words": size,
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_megabytes": usage.ru_maxrss * RSS_UNIT / MEGABYTE,
    }


def shown(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    rows = [
        [
            f"{row['words']:,}",
            f"{row['seconds']:.1f}",
            f"{row['cpu_seconds']:.1f}",
            f"{row['words'] / row['seconds']:,.0f}",
            f"{row['peak_megabytes']:.0f}",
        ]
        for row in results["rows"]
    ]
    head = ["words", "wall seconds", "CPU seconds", "words/s", "peak memory, MiB"]
    lines = [
        f"# Greedy decoding, {results['run']}\n",
        table(head, rows, words=0) + "\n",
        "Each row is a whole `seqloom predict RUN -f WORDS`, from start to exit.",
        in_words(results["machine"]),
        *_verdicts(results["rows"]),
    ]
    return "\n".join(lines)


def _verdicts(rows: list[dict[str, Any]]) -> list[str]:
    lines = []
    for row in rows:
        if row["words"] == TEST_WORDS:
            verdict = "reached" if row["seconds"] < LIMIT_SECONDS else "missed"
            aim = f"aim under {LIMIT_SECONDS} s: {verdict}"
            lines.append(f"The test words took {row['seconds']:.1f} s, {aim}.")
    judged = sorted((row for row in rows if row["words"] >= AT_ONCE), key=lambda row: row["words"])
    if len(judged) > 1:
        least, most = judged[0], judged[-1]
        growth = most["peak_megabytes"] / least["peak_megabytes"]
        verdict = "flat" if growth <= FLAT else "NOT FLAT"
        sizes = f"From {least['words']:,} to {most['words']:,} words"
        lines.append(f"{sizes} memory grows {growth:.2f} times: {verdict} (up to {FLAT:g}).")
    return lines


def _seqloom(command: list[str]) -> list[str]:
    return [sys.executable, "-m", "seqloom", *command]


def _environment(threads: int) -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": str(threads)}


if __name__ == "__main__":
    main()
