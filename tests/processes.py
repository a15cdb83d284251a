"""Real processes of the command line, to be watched, interrupted and killed."""

import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

from seqloom.training.events import read_events

PATIENCE = 120  # seconds; a busy machine takes long to import torch


def start(folder: Path, *arguments: str) -> subprocess.Popen:
    """A command that runs in a folder; it takes Ctrl-C (see conftest)."""
    return subprocess.Popen(
        [sys.executable, "-m", "seqloom", *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path, kind: str, process: subprocess.Popen | None = None) -> None:
    """Wait until a run's events tell of one of this kind; who writes them must be alive."""
    for _ in range(20 * PATIENCE):
        if any(event["kind"] == kind for event in read_events(path)):
            return
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)
    if process is not None:
        process.kill()
        process.communicate()
    raise AssertionError(f"no {kind} in {PATIENCE} seconds")


def in_a_process_of_its_own(work) -> int:
    """Fork and run; a fork needs no second import of torch, and is as killable as any process."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child
