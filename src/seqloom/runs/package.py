"""A run as one file: the work behind `seqloom export RUN -o NAME.zip` and `seqloom import`.

It holds what it takes to use the run, and its story: not the checkpoint, which only goes on with
the data, and not the folders in which the data lay on this computer.

What is taken in may come from anybody. It must hold one folder with the files of a run and nothing
else; names in it are only compared, never used as paths. What is unpacked is read once before it
becomes a run, so that a damaged one is told now and leaves nothing behind.

Another name for a run: the work behind `seqloom rename`.
"""

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from ..errors import ModelError, SeqloomError, UsageError
from ..recipe import Recipe
from ..training.checkpoints import cannot_write, locked, write_whole
from .run import CARD, EVENTS, RECIPE, TASK, WEIGHTS, load
from .train import new_folder

NEEDED, TOLD = (RECIPE, TASK, WEIGHTS.name), (EVENTS, CARD)
WHEN = (1980, 1, 1, 0, 0, 0)  # the same run gives the same bytes
RIGHTS = 0o644 << 16
PIECE = 1 << 20
CODE = ".py:"  # how a class in a Python file is named
# What zipfile raises on damage, on a way of packing that it does not know, and on a password.
UNREADABLE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
MOST = {WEIGHTS.name: 16 << 30}  # bytes; a bomb is a small file that becomes a large one
MOST_ELSE = 256 << 20


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


def unpack(file: Path, runs: Path, name: str = "") -> Path:
    """Make a run of a zip file; it is called as in the file unless it is named."""
    if not file.is_file():
        raise UsageError("U008", f"there is no file {file}")
    try:
        with zipfile.ZipFile(file) as archive:
            parts = _parts(archive, file)
            called = name or parts[RECIPE].filename.split("/")[0]
            target = new_folder(Recipe(), called, runs)
            if target.exists():
                raise UsageError("U009", f"there is a folder called {called!r} already")
            runs.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".import-", dir=runs) as folder:
                half = Path(folder) / called
                half.mkdir()
                for part, entry in parts.items():
                    _write(archive, entry, half / part, file)
                _try(half, file)
                shutil.move(half, target)
    except UNREADABLE as error:
        raise _strange(file, f"it cannot be unpacked ({error})") from error
    except OSError as error:
        raise cannot_write(runs, error) from error
    return target


def _parts(archive: zipfile.ZipFile, file: Path) -> dict[str, zipfile.ZipInfo]:
    """The files of the run, by name."""
    found: dict[str, zipfile.ZipInfo] = {}
    folders = set()
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        path = PurePosixPath(entry.filename)
        if len(path.parts) != 2 or path.name not in (*NEEDED, *TOLD) or path.name in found:  # noqa: PLR2004
            raise _strange(file, f"it has {entry.filename!r} inside, which is no part of a run")
        folders.add(path.parts[0])
        found[path.name] = entry
    missing = [part for part in NEEDED if part not in found]
    if missing or len(folders) != 1:
        raise _strange(file, f"{missing[0]} is missing" if missing else "it holds several runs")
    return found


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, file: Path) -> None:
    """A file of the run, no larger than it may be."""
    left = MOST.get(path.name, MOST_ELSE)
    with archive.open(entry) as source, path.open("wb") as into:
        while piece := source.read(PIECE):
            left -= len(piece)
            if left < 0:
                raise _strange(file, f"{path.name} in it is too large")
            into.write(piece)


def _try(folder: Path, file: Path) -> None:
    """Whether it can be used. A name that means somebody's Python file is not even looked up."""
    try:
        recipe = Recipe.read(folder / RECIPE)
        for value in _values([recipe.data, recipe.task, recipe.model, recipe.training]):
            if CODE in value:
                raise _strange(file, f"it needs the code of {value}, which is not in it")
        load(folder)
    except SeqloomError as error:
        if error.code == "U052":
            raise
        raise _strange(file, str(error.problem)) from error


def _values(table: object) -> Iterator[str]:
    """Every text in a recipe: a cell may be somebody's own class as well as a model."""
    if isinstance(table, Mapping):
        table = list(table.values())
    if isinstance(table, list | tuple):
        for value in table:
            yield from _values(value)
    elif isinstance(table, str):
        yield table


def _strange(file: Path, why: str) -> UsageError:
    return UsageError(
        "U052",
        f"{file} is not a run that can be used here: {why}",
        help=["seqloom export RUN -o NAME.zip   makes one"],
    )


def rename(folder: Path, name: str) -> Path:
    """Give a run another name beside its own; refused while it is trained, or where that is taken.

    Its card begins with the name, so it is written anew.
    """
    if not name:
        raise UsageError("U009", "a run cannot be called nothing: use a-z, 0-9 and -")
    target = new_folder(Recipe(), name, folder.parent)
    if os.path.lexists(target):
        raise UsageError("U009", f"there is a folder called {name!r} already")
    with locked(folder):
        try:
            folder.rename(target)
        except OSError as error:
            raise cannot_write(target, error) from error
        _retitle(target / CARD, folder.name, name)
    return target


def _retitle(card: Path, old: str, new: str) -> None:
    """The first line of a card is the name; one that somebody has changed stays as it is."""
    if card.is_file():
        title, _, rest = card.read_text(encoding="utf-8", errors="replace").partition("\n")
        if title == f"# {old}":
            write_whole(card, f"# {new}\n{rest}".encode())
