"""A training that runs beside the one on the screen, in a process and on cores of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from ..errors import TrainingError
from ..recipe import Recipe
from ..run import RECIPE
from ..training.checkpoints import write_whole


class Beside:
    """A second `seqloom train`; asked to stop, it saves its place like the first."""

    def __init__(self, recipe: Recipe, folder: Path, notes: Path) -> None:
        self.name, self._log = folder.name, notes / f"{folder.name}.log"
        file = notes / f"{folder.name}.toml"
        write_whole(file, recipe.to_toml().encode())
        what = (
            ["--resume", self.name] if (folder / RECIPE).exists() else [file, "--name", self.name]
        )
        command = [sys.executable, "-m", "seqloom", "train", *map(str, what)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--runs-dir", str(folder.parent), "--quiet"],
                env={**os.environ, "OMP_NUM_THREADS": str(half_the_cores())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches it through `stop`, not twice
            )

    def wait(self) -> None:
        """Until it has ended; an error if it did not end well."""
        if self._process.wait():
            told = self._log.read_text(encoding="utf-8", errors="replace").strip().split("\n")
            raise TrainingError(
                "T140",
                f"{self.name} could not be trained",
                notes=told[-6:],
                help=[f"seqloom train --resume {self.name}   goes on with it alone"],
            )

    def stop(self) -> None:
        """Ask it to save and end, and wait for that."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def half_the_cores() -> int:
    """So many threads that two trainings do not stand in each other's way."""
    return max(1, (os.cpu_count() or 1) // 2)
