"""Packaging of runs: export to a zip file, import from one, and rename.

`pack` and `unpack` are used by `seqloom export RUN -o NAME.zip` and `seqloom import`, `rename` by
`seqloom rename`. The zip file holds the recipe, task, weights, event log, card and split record. It
has no checkpoint, which is of use only with the training data, and no paths of this machine.

An imported file is untrusted. It must hold exactly one folder with the files of a run; names of its
entries are only compared, never used as paths. The run is loaded from a temporary folder before it
is moved to its place, so a damaged file is reported and leaves nothing behind.
"""

import errno
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np

from ..cancellation import check_cancelled
from ..config import parse_toml
from ..data.text.files import is_file
from ..errors import ModelError, SeqloomError, UsageError
from ..recipe import CODE, Recipe
from ..training.checkpoints import load_arrays
from ..training.events import first_wrong_line
from ..training.files import cannot_write, flush, locked, make_folder, write_whole
from .names import RECIPE, run_argument
from .run import CARD, EVENTS, TASK, WEIGHTS, load, read_task
from .split_record import SPLIT, SplitRecord
from .train import new_folder

REQUIRED, OPTIONAL = (RECIPE, TASK, WEIGHTS.name), (EVENTS, CARD, SPLIT.name)
PYTHON = ".py"
TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # constant, so that the same run gives the same bytes
FILE_MODE = 0o644 << 16
CHUNK_BYTES = 1 << 20
MAX_CODE_BYTES = 1 << 20
# What zipfile raises for damage, an unknown compression method and a password.
UNREADABLE = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
# Bytes that a part may unpack to: guards against zip bombs.
MAX_BYTES = {WEIGHTS.name: 16 << 30, SPLIT.name: 256 << 20, RECIPE: 1 << 20}
MAX_OTHER_BYTES = 64 << 20
MAX_JSON_VALUES = 4_000_000  # of task.json: each takes up to 100 bytes of memory, and 2 in the file


def pack(folder: Path, file: IO[bytes], name: str = "") -> None:
    """Write a run as a zip file with one folder, named as the run or `name`."""
    for part in REQUIRED:
        if not (folder / part).is_file():
            raise ModelError(
                "M113",
                f"{folder / part} is missing or damaged",
                help=[f"train it first:  seqloom train --resume {run_argument(folder)}"],
            )
    name = name or folder.resolve().name
    with zipfile.ZipFile(file, "w") as archive:
        recipe = Recipe.read(folder / RECIPE)
        archive.writestr(_entry(f"{name}/{RECIPE}"), _without_folders(recipe).to_toml())
        for code in recipe.code_files():
            _copy(code, archive, f"{name}/{code.name}")
        for part in (*REQUIRED[1:], *OPTIONAL):
            if (folder / part).is_file():
                _copy(folder / part, archive, f"{name}/{part}")


def _copy(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Copy a file in chunks: weights may be large."""
    with path.open("rb") as source, archive.open(_entry(name), "w", force_zip64=True) as into:
        while chunk := source.read(CHUNK_BYTES):
            check_cancelled()
            into.write(chunk)


def _entry(name: str) -> zipfile.ZipInfo:
    """The archive entry of a file."""
    about = zipfile.ZipInfo(name, TIMESTAMP)
    # Weights hardly compress: deflating them is slow and saves little.
    is_compressed = not name.endswith(WEIGHTS.suffix)
    about.compress_type = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
    about.external_attr = FILE_MODE
    return about


def unpack(file: Path, runs: Path, name: str = "") -> Path:
    """Import a run from a zip file, under its name in the file or `name`."""
    if not is_file(file):
        raise UsageError("U008", f"there is no file {file}")
    try:
        with zipfile.ZipFile(file) as archive:
            parts = _parts(archive, file)
            run_name = name or parts[RECIPE].filename.split("/")[0]
            target = new_folder(Recipe(), run_name, runs)
            if target.exists():
                raise UsageError("U009", f"there is a folder called {run_name!r} already")
            make_folder(runs)
            with tempfile.TemporaryDirectory(prefix=".import-", dir=runs) as folder:
                half = Path(folder) / run_name
                half.mkdir()
                for part, entry in parts.items():
                    _write(archive, entry, half / part, file)
                _validate(half, file)
                flush(half)
                _move(half, target)
    except UNREADABLE as error:
        raise _not_a_run(file, f"it cannot be unpacked ({error})") from error
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
        is_part = path.name in (*REQUIRED, *OPTIONAL) or path.suffix == PYTHON
        if len(path.parts) != 2 or not is_part or path.name in found:  # noqa: PLR2004
            raise _not_a_run(file, f"it holds {entry.filename!r}, which is no part of a run")
        folders.add(path.parts[0])
        found[path.name] = entry
    missing = [part for part in REQUIRED if part not in found]
    if missing or len(folders) != 1:
        raise _not_a_run(file, f"{missing[0]} is missing" if missing else "it holds several runs")
    return found


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path, file: Path) -> None:
    """Extract a file of the run, up to its size limit."""
    most = MAX_CODE_BYTES if path.suffix == PYTHON else MAX_OTHER_BYTES
    left, values = MAX_BYTES.get(path.name, most), MAX_JSON_VALUES
    with archive.open(entry) as source, path.open("wb") as into:
        while chunk := source.read(CHUNK_BYTES):
            left -= len(chunk)
            if path.name == TASK:
                values -= sum(chunk.count(mark) for mark in (b"[", b"{", b","))
            if left < 0 or values < 0:
                raise _not_a_run(file, f"{path.name} in it is too large")
            into.write(chunk)
        into.flush()
        os.fsync(into.fileno())


def _validate(folder: Path, file: Path) -> None:
    """Read every file once. Python files are never run here: who wants their code allows it."""
    try:
        has_code = _check_code(folder, file)
        _check_events(folder / EVENTS, file)
        if has_code:
            read_task(folder)
            load_arrays(folder / WEIGHTS)
        else:
            _check_weights(load(folder).model.weights(), file)
        _forget_folders(folder / RECIPE)
        SplitRecord.read(folder)
    except SeqloomError as error:
        if error.code == "U052":
            raise
        raise _not_a_run(file, str(error.problem)) from error


def _check_code(folder: Path, file: Path) -> bool:
    """Whether the run has Python files; those in it must be those that its recipe names."""
    recipe = Recipe.read(folder / RECIPE)
    named, found = set(recipe.code_files()), set(folder.glob(f"*{PYTHON}"))
    for value in _texts([recipe.data, recipe.task, recipe.model, recipe.training]):
        if CODE in value and Path(value.rpartition(":")[0]) not in named:
            raise _not_a_run(file, f"it needs the code of {value}, which is not in the file")
    if missing := sorted(named - found):
        raise _not_a_run(file, f"it needs the code of {missing[0]}, which is not in the file")
    if unused := sorted(found - named):
        raise _not_a_run(file, f"it holds {unused[0].name!r}, which is no part of a run")
    return bool(found)


def _check_weights(weights: Mapping[str, np.ndarray], file: Path) -> None:
    """Refuse weights that are no numbers: training stops before it writes any."""
    for name, array in weights.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise _not_a_run(file, f"the weights {name!r} are not a number (NaN)")


def _check_events(path: Path, file: Path) -> None:
    """Refuse an event log with fields of the wrong kind: training writes none."""
    if path.is_file() and (number := first_wrong_line(path)) is not None:
        raise _not_a_run(file, f"line {number} of {EVENTS} is no event of a training")


def _forget_folders(path: Path) -> None:
    """Take the folders of data files out of a recipe, as `pack` does.

    Files that a recipe names are read as the owner's own choice, for example by the studio; an
    archive from somebody else must not choose files of this machine.
    """
    tables = parse_toml(path.read_text(encoding="utf-8-sig"))
    recipe = Recipe.of_tables(tables, str(path))
    write_whole(path, _without_folders(recipe).to_toml().encode())


def _without_folders(recipe: Recipe) -> Recipe:
    """The recipe with the names of its files alone."""
    recipe = recipe.with_files(lambda name: Path(Path(name).name))
    return recipe.with_code(lambda code: Path(code.name))


def _texts(table: object) -> Iterator[str]:
    """Every string in a recipe: a cell may be a user-defined class as well as a model."""
    if isinstance(table, Mapping):
        table = list(table.values())
    if isinstance(table, list | tuple):
        for value in table:
            yield from _texts(value)
    elif isinstance(table, str):
        yield table


def _not_a_run(file: Path, why: str) -> UsageError:
    return UsageError(
        "U052",
        f"{file} is not a run that can be imported: {why}",
        help=["seqloom export RUN -o NAME.zip   makes one"],
    )


def rename(folder: Path, name: str) -> Path:
    """Rename a run; an error while it is trained, or if the name is taken.

    The title of its card is updated.
    """
    if not name:
        raise UsageError("U009", "the name of a run cannot be empty: use a-z, 0-9 and -")
    target = new_folder(Recipe(), name, folder.parent)
    if os.path.lexists(target):
        raise UsageError("U009", f"there is a folder called {name!r} already")
    with locked(folder):
        try:
            _move(folder, target)
        except OSError as error:
            raise cannot_write(target, error) from error
        _retitle(target / CARD, folder.name, name)
    return target


def _move(folder: Path, target: Path) -> None:
    """Rename a folder, durably; an error if another process has made the target meanwhile."""
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise UsageError("U009", f"there is a folder called {target.name!r} already") from error
        raise
    flush(target.parent)


def _retitle(card: Path, old: str, new: str) -> None:
    """Update the title of a card, unless the user has edited it."""
    if card.is_file():
        title, _, rest = card.read_text(encoding="utf-8", errors="replace").partition("\n")
        if title == f"# {old}":
            write_whole(card, f"# {new}\n{rest}".encode())
