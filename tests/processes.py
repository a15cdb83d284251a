"""Real processes of the command line, to be watched, interrupted and killed."""

import os
import subprocess
import sys
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
