"""Real processes of the command line, to be watched, interrupted and killed."""

import os
import subprocess
import sys
import traceback
from pathlib import Path


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
