"""Training jobs: each job is a detached process that trains its runs in order.

A job outlives the server; everything about it is in files, so a restarted server finds it again.

.studio/jobs/JOB/job.json      its steps (one run each), with their PIDs and exit codes
.studio/jobs/JOB/lock          file lock, held by the process of the job as long as it lives
.studio/jobs/JOB/RUN.toml      the recipe of a run
.studio/jobs/JOB/RUN.log       stderr of its training
.studio/jobs/JOB/RUN.json      its result, as `seqloom train --json` prints it
.studio/jobs/JOB/RUN.left      marker: do not start this step, or no longer list it
.studio/jobs/JOB/RUN.renamed   the new name of the run; the other files keep their names
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
from ..training.files import write_whole

JOB, LOCK = "job.json", "lock"
LOG_LINES, LOG_BYTES = 20, 64_000


@dataclass(frozen=True)
class JobStep:
    """One step of a job: the training of one run, with its command, process and exit code."""

    job: str
    folder: Path  # of the job
    run: str  # its current name
    stem: str  # its name when the job was created, which the job's files keep
    task: str
    model: str
    command: tuple[str, ...]
    is_alive: bool  # the process of the job
    requested_at: float
    pid: int | None = None
    ended: float = 0.0
    exit_code: int | None = None

    def age(self) -> float:
        """Seconds since it ended, or else since it was requested."""
        return max(0.0, time.time() - (self.ended or self.requested_at))

    def log(self) -> list[str]:
        """The last lines of its log."""
        text = _tail(self.folder / f"{self.stem}.log")
        lines = [line for line in text.splitlines() if line.strip()]
        return [line for line in lines if not line.startswith('{"error"')][-LOG_LINES:]

    def error(self) -> dict[str, Any] | None:
        """The error that ended it, as `--json` prints errors."""
        for line in reversed(_tail(self.folder / f"{self.stem}.log").splitlines()):
            if line.startswith('{"error"'):
                with contextlib.suppress(ValueError, KeyError):
                    return dict(json.loads(line)["error"])
        return None

    def result(self) -> dict[str, Any] | None:
        """The result that training printed at its end; None if it did not get that far."""
        try:
            result = json.loads(_tail(self.folder / f"{self.stem}.json"))
        except ValueError:
            return None
        return result if isinstance(result, dict) else None


@dataclass(frozen=True)
class TrainingRequest:
    """A run to be trained; `arguments` are those of `seqloom train`."""

    run: str
    task: str
    model: str
    arguments: tuple[str, ...]
    recipe: str = ""  # as TOML, for a new run


class Jobs:
    """All jobs of a studio, read from their folders: a restart of the server loses none."""

    def __init__(self, studio_dir: Path, runs: Path) -> None:
        self._folder, self._runs = studio_dir / "jobs", runs
        self._processes: list[subprocess.Popen[bytes]] = []
        self._cache: dict[Path, tuple[int, list[JobStep]]] = {}  # finished jobs do not change
        self._lock = threading.Lock()

    def steps(self) -> dict[str, JobStep]:
        """The newest step of each run, by run id."""
        self._reap()
        newest: dict[str, JobStep] = {}
        for folder in self._jobs():
            for step in self._steps(folder):
                if not (folder / f"{step.stem}.left").exists():
                    newest[step.run] = step
        return newest

    def _steps(self, folder: Path) -> list[JobStep]:
        """The steps of a job, read again only while it may still change."""
        try:
            changed = (folder / JOB).stat().st_mtime_ns
        except OSError:
            return []
        before, steps = self._cache.get(folder, (0, []))
        if before != changed or any(step.is_alive for step in steps):
            steps = _read_job(folder)
            self._cache[folder] = changed, steps
        return steps

    def start(self, requests: Sequence[TrainingRequest]) -> str:
        """Train these runs in order, in a process that outlives the server; the id of the job."""
        name = f"{time.time_ns():020d}-{secrets.token_hex(3)}"
        folder = self._folder / name
        folder.mkdir(parents=True)
        steps = []
        for one in requests:
            if one.recipe:
                write_whole(folder / f"{one.run}.toml", one.recipe.encode())
            recipe = [str(folder / f"{one.run}.toml")] if one.recipe else []
            command = [*recipe, *one.arguments, "--runs-dir", str(self._runs.resolve()), "--json"]
            run = {"run": one.run, "task": one.task, "model": one.model}
            steps.append({**run, "command": command})
        write_whole(folder / JOB, json.dumps({"asked": time.time(), "steps": steps}).encode())
        self._spawn(folder)
        return name

    def stop(self, step: JobStep) -> None:
        """Interrupt a training; a step that has not started is cancelled."""
        if step.pid is None:
            (step.folder / f"{step.stem}.left").touch()
        elif step.exit_code is None and step.is_alive:
            interrupt(step.pid)

    def forget(self, run: str) -> None:
        """Drop a deleted run from all jobs."""
        for step in self._steps_of(run):
            (step.folder / f"{step.stem}.left").touch()

    def rename(self, run: str, name: str) -> None:
        """Record the new name of a run; the process of a job knows only the old one."""
        for step in self._steps_of(run):
            write_whole(step.folder / f"{step.stem}.renamed", name.encode())
            self._cache.pop(step.folder, None)

    def _steps_of(self, run: str) -> list[JobStep]:
        """All steps of a run, also those that are no longer listed."""
        return [step for folder in self._jobs() for step in _read_job(folder) if step.run == run]

    def running(self) -> int:
        """The number of jobs with a live process."""
        return sum(_is_alive(folder) for folder in self._jobs())

    def close(self) -> None:
        """Detach from the processes, which go on."""
        self._reap()
        with self._lock:
            for process in self._processes:
                process.returncode = 0  # else Popen warns at exit that nobody waited for it
            self._processes = []

    def _jobs(self) -> list[Path]:
        """The folders of all jobs, oldest first: their names begin with the time in ns."""
        return sorted(path.parent for path in self._folder.glob(f"*/{JOB}"))

    def _spawn(self, folder: Path) -> None:
        """Start the process of a job; it inherits the lock, so that it is never without one."""
        with (folder / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen(
                [sys.executable, "-m", "seqloom.server.job_worker", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[lock.fileno()],
                start_new_session=True,  # so Ctrl-C in the server's terminal does not reach it
            )
        with self._lock:
            self._processes.append(process)

    def _reap(self) -> None:
        """Poll the processes, so that those that have ended do not stay as zombies."""
        with self._lock:
            self._processes = [one for one in self._processes if one.poll() is None]


def interrupt(pid: int) -> None:
    """Send SIGINT, as Ctrl-C does: training finishes its step and saves a checkpoint."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)


def lock_owner(folder: Path) -> int | None:
    """The PID of the process that trains in a run folder, wherever it was started."""
    if not is_locked(folder):
        return None
    try:
        return int((folder / LOCK).read_text())
    except (OSError, ValueError):
        return None


def _read_job(folder: Path) -> list[JobStep]:
    """The steps of a job; none if its file is damaged."""
    try:
        job = json.loads((folder / JOB).read_text(encoding="utf-8"))
        is_alive, requested_at = _is_alive(folder), float(job["asked"])
        return [
            JobStep(
                folder.name,
                folder,
                **{
                    **one,
                    "run": _current_name(folder, one["run"]),
                    "command": tuple(one["command"]),
                },
                stem=one["run"],
                is_alive=is_alive,
                requested_at=requested_at,
            )
            for one in job["steps"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _current_name(folder: Path, run: str) -> str:
    """The name of a run, which may have been renamed since the job was created."""
    try:
        return (folder / f"{run}.renamed").read_text(encoding="utf-8")
    except OSError:
        return run


def _is_alive(folder: Path) -> bool:
    """Whether the process of a job lives: job folders have the same kind of lock as run folders."""
    return is_locked(folder)


def _tail(path: Path) -> str:
    """The end of a text file."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LOG_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
