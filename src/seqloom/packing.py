"""A run as one file to give away: the work behind `seqloom export RUN -o NAME.zip`.

It holds what it takes to use the run, and its story: not the checkpoint, which only goes on with
the data, and not the folders in which the data lay on this computer. Unpacked it is a run again.
"""

import zipfile
from pathlib import Path
from typing import IO

from .errors import ModelError
from .recipe import Recipe
from .run import CARD, EVENTS, RECIPE, TASK, WEIGHTS

NEEDED, TOLD = (RECIPE, TASK, WEIGHTS.name), (EVENTS, CARD)
WHEN = (1980, 1, 1, 0, 0, 0)  # the same run gives the same bytes
RIGHTS = 0o644 << 16
PIECE = 1 << 20


def pack(folder: Path, file: IO[bytes], name: str = "") -> None:
    """Write a run as a zip file that holds one folder, called as the run unless it is named."""
    for part in NEEDED:
        if not (folder / part).is_file():
            raise ModelError(
                "M113",
                f"{folder / part} is missing or damaged",
                help=["train it first:  seqloom train --resume RUN"],
            )
    name = name or folder.resolve().name
    with zipfile.ZipFile(file, "w") as archive:
        recipe = Recipe.read(folder / RECIPE).with_files(lambda path: Path(Path(path).name))
        archive.writestr(_entry(f"{name}/{RECIPE}"), recipe.to_toml())
        for part in (*NEEDED[1:], *TOLD):
            if (folder / part).is_file():
                _copy(folder / part, archive, f"{name}/{part}")


def _copy(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """A file, piece by piece: weights may be large."""
    with path.open("rb") as source, archive.open(_entry(name), "w", force_zip64=True) as into:
        while piece := source.read(PIECE):
            into.write(piece)


def _entry(name: str) -> zipfile.ZipInfo:
    """How a file stands in the archive."""
    about = zipfile.ZipInfo(name, WHEN)
    # Weights are as good as random: to pack them takes long and gains little.
    is_packed = not name.endswith(WEIGHTS.suffix)
    about.compress_type = zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED
    about.external_attr = RIGHTS
    return about
