"""The process of a job: it trains one run after another and writes down how each has ended.

    python -m seqloom.server.job_worker FOLDER

It has a session of its own, so it goes on when the server ends, and it holds the job's lock, which
it inherits, until its own end.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ..training.checkpoints import write_whole

JOB = "job.json"


def main(folder: Path) -> None:
    """Train every run of a job."""
    # A shell lets what it starts in the background ignore Ctrl-C; training must hear it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    told: dict[str, Any] = json.loads((folder / JOB).read_text(encoding="utf-8"))
    for step in told["steps"]:
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
            _keep(folder, told)
            code = process.wait()
        step |= {"exit_code": code, "ended": time.time()}
        _keep(folder, told)


def _keep(folder: Path, told: dict[str, Any]) -> None:
    write_whole(folder / JOB, json.dumps(told).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
