"""Worker process of a job: runs `seqloom train` for each step and records PIDs and exit codes.

    python -m seqloom.server.job_worker FOLDER

It is the leader of its own session, so it goes on when the server ends, and it holds the inherited
lock of the job until it exits.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ..training.files import write_whole

JOB = "job.json"


def main(folder: Path) -> None:
    """Train all runs of a job."""
    # Shells start background processes with SIGINT ignored; training must be interruptible.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    job: dict[str, Any] = json.loads((folder / JOB).read_text(encoding="utf-8"))
    for step in job["steps"]:
        if (folder / f"{step['run']}.left").exists():
            continue
        with (
            (folder / f"{step['run']}.log").open("wb") as log,
            (folder / f"{step['run']}.json").open("wb") as result,
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", "seqloom", "train", *step["command"]],
                stdin=subprocess.DEVNULL,
                stdout=result,
                stderr=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
            step["pid"] = process.pid
            _write_job(folder, job)
            code = process.wait()
        step |= {"exit_code": code, "ended": time.time()}
        _write_job(folder, job)


def _write_job(folder: Path, job: dict[str, Any]) -> None:
    write_whole(folder / JOB, json.dumps(job).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
