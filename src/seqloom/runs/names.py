"""Names of runs and files, and as arguments of the commands that messages suggest."""

import os
from pathlib import Path
from shlex import quote

RUNS = Path("runs")
RECIPE = "recipe.toml"  # the file of a run folder without which it is none


def run_argument(folder: Path) -> str:
    """The name of a run: its name if it is in the usual folder, or else the path of its folder."""
    usual = Path(os.environ.get("SEQLOOM_RUNS") or RUNS)
    return folder.name if folder.parent == usual else file_argument(folder)


def file_argument(file: str | Path) -> str:
    """The name of a file, which no shell and no parser of options takes for something else."""
    text = str(file)
    return quote(f"./{text}" if text.startswith("-") else text)
