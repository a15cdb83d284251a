"""Names of runs and files, and as arguments of the commands that messages suggest."""

import os
import re
from pathlib import Path
from shlex import quote

from ..errors import UsageError

RUNS = Path("runs")
RECIPE = "recipe.toml"  # the file of a run folder without which it is none


def run_name(name: str) -> str:
    """A name for a new run, or none; an error for one that no run can have."""
    if name and not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", name):
        raise UsageError(
            "U009", f"{name!r} cannot name a run: use a-z, 0-9 and -, at most 64 of them"
        )
    return name


def model_stem(model: str) -> str:
    """The name of a model as the beginning of the name of a run."""
    return re.sub(r"[^a-z0-9]+", "-", Path(model).stem.lower()).strip("-") or "run"


def refuse_taken(folder: Path) -> None:
    """Raise an error if a run has this folder already."""
    if (folder / RECIPE).exists():
        raise UsageError(
            "U009",
            f"there is a run called {folder.name!r} already",
            help=[f"seqloom train --resume {run_argument(folder)}   resume it", "--name ANOTHER"],
        )


def is_run(name: str, runs: Path = RUNS) -> bool:
    """Whether there is a run of this name, or with this folder."""
    return any((folder / RECIPE).is_file() for folder in (Path(name), runs / name))


def run_argument(folder: Path) -> str:
    """The name of a run: its name if it is in the usual folder, or else the path of its folder."""
    usual = Path(os.environ.get("SEQLOOM_RUNS") or RUNS)
    return folder.name if folder.parent == usual else file_argument(folder)


def file_argument(file: str | Path) -> str:
    """The name of a file, which no shell and no parser of options takes for something else."""
    text = str(file)
    return quote(f"./{text}" if text.startswith("-") else text)
