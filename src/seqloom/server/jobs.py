"""Trainings that the studio has started: each job is a process of its own that outlives the server.

.studio/jobs/JOB/job.json      the runs it trains, one after another, and how each ended
.studio/jobs/JOB/lock          held by the process of the job as long as it lives
.studio/jobs/JOB/RUN.toml      the recipe of a run
.studio/jobs/JOB/RUN.log       what its training said
.studio/jobs/JOB/RUN.json      its result, as `seqloom train --json` prints it
.studio/jobs/JOB/RUN.left      it is not to be begun, or no longer to be shown
.studio/jobs/JOB/RUN.renamed   what the run is called now; the other files keep their names
"""

import contextlib
import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..runs.record import is_locked
from ..training.checkpoints import write_whole

JOB, LOCK = "job.json", "lock"
LOG_LINES, LOG_BYTES = 20, 64_000


@dataclass(frozen=True)
class Step:
    """One training of a job: which run, by which command, and how it stands."""

    job: str
    folder: Path  # of the job
    run: str  # what it is called now
    stem: str  # what it was called when it was asked for: the files of the job still are
    task: str
    model: str
    command: tuple[str, ...]
    is_alive: bool  # the process of the job
    asked: float
    pid: int | None = None
    ended: float = 0.0
    exit_code: int | None = None

    def age(self) -> float:
        """Seconds since it was asked for, or since it ended."""
        return max(0.0, time.time() - (self.ended or self.asked))

    def log(self) -> list[str]:
        """The last lines that training has said."""
        text = _tail(self.folder / f"{self.stem}.log")
        lines = [line for line in text.splitlines() if line.strip()]
        return [line for line in lines if not line.startswith('{"error"')][-LOG_LINES:]

    def error(self) -> dict[str, Any] | None:
        """The error that ended it, as the command line tells it to machines."""
        for line in reversed(_tail(self.folder / f"{self.stem}.log").splitlines()):
            if line.startswith('{"error"'):
                with contextlib.suppress(ValueError, KeyError):
                    return dict(json.loads(line)["error"])
        return None

    def result(self) -> dict[str, Any] | None:
        """What training printed at its end; None where it did not come so far."""
        try:
            found = json.loads(_tail(self.folder / f"{self.stem}.json"))
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class Order:
    """One training that is asked for; `arguments` are those of `seqloom train`."""

    run: str
    task: str
    model: str
    arguments: tuple[str, ...]
    recipe: str = ""  # its TOML, where it is a new run


class Jobs:
    """The jobs of a studio, as their folders tell: a restart of the server loses none."""

    def __init__(self, kept: Path, runs: Path) -> None:
        self._folder, self._runs = kept / "jobs", runs
        self._processes: list[subprocess.Popen[bytes]] = []
        self._read: dict[Path, tuple[int, list[Step]]] = {}  # jobs that are over do not change
        self._lock = threading.Lock()

    def steps(self) -> dict[str, Step]:
        """The newest training of each run that a job has worked on."""
        self._reap()
        found: dict[str, Step] = {}
        for folder in self._jobs():
            for step in self._steps(folder):
                if not (folder / f"{step.stem}.left").exists():
                    found[step.run] = step
        return found

    def _steps(self, folder: Path) -> list[Step]:
        """The trainings of a job, read again only while it may still change."""
        try:
            changed = (folder / JOB).stat().st_mtime_ns
        except OSError:
            return []
        before, steps = self._read.get(folder, (0, []))
        if before != changed or any(step.is_alive for step in steps):
            steps = _read(folder)
            self._read[folder] = changed, steps
        return steps

    def start(self, orders: Sequence[Order]) -> str:
        """Train these one after another, in a process that goes on without the server."""
        name = f"{time.time_ns():020d}-{secrets.token_hex(3)}"
        folder = self._folder / name
        folder.mkdir(parents=True)
        steps = []
        for order in orders:
            if order.recipe:
                write_whole(folder / f"{order.run}.toml", order.recipe.encode())
            given = [str(folder / f"{order.run}.toml")] if order.recipe else []
            command = [*given, *order.arguments, "--runs-dir", str(self._runs.resolve()), "--json"]
            about = {"run": order.run, "task": order.task, "model": order.model}
            steps.append({**about, "command": command})
        write_whole(folder / JOB, json.dumps({"asked": time.time(), "steps": steps}).encode())
        self._begin(folder)
        return name

    def stop(self, step: Step) -> None:
        """End a training in order; one that has not begun never will."""
        if step.pid is None:
            (step.folder / f"{step.stem}.left").touch()
        elif step.exit_code is None and step.is_alive:
            interrupt(step.pid)

    def forget(self, run: str) -> None:
        """The run is deleted: none of the jobs that worked on it shows it any more."""
        for step in self._of(run):
            (step.folder / f"{step.stem}.left").touch()

    def rename(self, run: str, name: str) -> None:
        """The run has another name from now on; a job that is under way knows only the old one."""
        for step in self._of(run):
            write_whole(step.folder / f"{step.stem}.renamed", name.encode())
            self._read.pop(step.folder, None)

    def _of(self, run: str) -> list[Step]:
        """Every training of a run, also those that are no longer shown."""
        return [step for folder in self._jobs() for step in _read(folder) if step.run == run]

    def running(self) -> int:
        """How many jobs have a process."""
        return sum(_is_held(folder) for folder in self._jobs())

    def close(self) -> None:
        """Let go of the processes, which go on."""
        self._reap()
        with self._lock:
            for process in self._processes:
                process.returncode = 0  # Python would otherwise complain that nobody waited
            self._processes = []

    def _jobs(self) -> list[Path]:
        """The folders of jobs, oldest first: their names begin with the time."""
        return sorted(path.parent for path in self._folder.glob(f"*/{JOB}"))

    def _begin(self, folder: Path) -> None:
        """The process of a job; it inherits the lock, so that nobody sees it without one."""
        with (folder / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen(
                [sys.executable, "-m", "seqloom.server.job_worker", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[lock.fileno()],
                start_new_session=True,  # Ctrl-C in the server's terminal is not for it
            )
        with self._lock:
            self._processes.append(process)

    def _reap(self) -> None:
        """Let the system forget processes that have ended."""
        with self._lock:
            self._processes = [one for one in self._processes if one.poll() is None]


def interrupt(pid: int) -> None:
    """What Ctrl-C does: the step is finished, the run is saved."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)


def holder(folder: Path) -> int | None:
    """The process that trains in a run folder, wherever it was started."""
    if not is_locked(folder):
        return None
    try:
        return int((folder / LOCK).read_text())
    except (OSError, ValueError):
        return None


def _read(folder: Path) -> list[Step]:
    """The trainings of a job; a damaged file has none."""
    try:
        told = json.loads((folder / JOB).read_text(encoding="utf-8"))
        is_alive, asked = _is_held(folder), float(told["asked"])
        return [
            Step(
                folder.name,
                folder,
                **{**one, "run": _called(folder, one["run"]), "command": tuple(one["command"])},
                stem=one["run"],
                is_alive=is_alive,
                asked=asked,
            )
            for one in told["steps"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _called(folder: Path, run: str) -> str:
    """What a run is called now."""
    try:
        return (folder / f"{run}.renamed").read_text(encoding="utf-8")
    except OSError:
        return run


def _is_held(folder: Path) -> bool:
    """Whether the process of a job lives; run folders have the same kind of lock."""
    return is_locked(folder)


def _tail(path: Path) -> str:
    """The end of a file of words."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
