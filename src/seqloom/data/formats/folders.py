"""A folder of texts: a folder for each label with a file for each text, or a file for each label.

pos/0.txt neg/0.txt …    each file is one text, line breaks and all; its folder is its label
Arabic.txt Czech.txt …   each line is one text; the file's name is its label

A folder that has train and test in it, as IMDB has, is two such folders: see `parts_in`.
"""

from collections.abc import Iterator
from pathlib import Path

from ...errors import DataError, Place
from ..options import Data
from ..text.reading import read_bytes, read_lines, read_text
from .base import Fault, Reading, Row

PARTS = {"train": "train", "training": "train", "test": "test", "testing": "test"} | dict.fromkeys(
    ("valid", "validation", "dev", "val"), "valid"
)
_UNLABELLED = {"unsup", "unlabelled", "unlabeled"}  # as IMDB's, which are there to be read only


def read(path: Path, settings: Data) -> Reading[Row]:
    """One row for each text, in order of names; the roles are a text and its label.

    The number of a row is its place among all texts, from 1.
    """
    _must_be_one_part(path)
    labelled = [folder for folder in _inside(path) if folder.is_dir()]
    found = _texts(labelled, settings) if labelled else _lines(path, settings)
    reading: Reading[Row] = Reading()
    for number, (file, line, text) in enumerate(found, 1):
        label = file.parent.name if labelled else file.stem
        if text.strip():
            reading.rows.append(Row(number, (text, label)))
        elif labelled:
            reading.faults.append(Fault("D014", line, 'the field "text" is empty', file=file))
        else:
            reading.blank.append(number)
    if not reading.rows and not reading.faults:
        raise _no_texts(path)
    return reading


def parts_in(path: Path) -> dict[str, Path]:
    """The folders or files of training, validation and test that a folder has; often none."""
    if not path.is_dir():
        return {}
    found = {PARTS[name]: one for one in _inside(path) if (name := one.stem.lower()) in PARTS}
    return found if "train" in found else {}


def files_in(path: Path) -> list[Path]:
    """All files that are read of a folder, in order; the path itself where it is a file."""
    if not path.is_dir():
        return [path]
    return [file for one in _inside(path) for file in files_in(one)]


def _inside(path: Path) -> list[Path]:
    """What a folder has, but for what is hidden or has no labels."""
    return sorted(
        one
        for one in path.iterdir()
        if not one.name.startswith(".") and one.name.lower() not in _UNLABELLED
    )


def _texts(folders: list[Path], settings: Data) -> Iterator[tuple[Path, int, str]]:
    """The text of each file; one that has none is blank."""
    for folder in folders:
        for file in (file for file in _inside(folder) if file.is_file()):
            is_blank = not read_bytes(file).strip()
            yield file, 1, "" if is_blank else read_text(file, settings.encoding).strip()


def _lines(path: Path, settings: Data) -> Iterator[tuple[Path, int, str]]:
    """The lines of each file; one of them that has none is a mistake."""
    for file in (file for file in _inside(path) if file.is_file()):
        for line, text in enumerate(read_lines(file, settings.encoding), 1):
            yield file, line, text


def _must_be_one_part(path: Path) -> None:
    parts = parts_in(path)
    if parts:
        names = " and ".join(f'"{part.name}"' for part in parts.values())
        raise DataError(
            "D144",
            f'"{path.name}" has {names} in it: each is a set of texts of its own',
            place=Place(str(path)),
            help=[
                f"{path / parts['train'].name}   name one of them",
                f"seqloom train classify {path}   takes all of them",
            ],
        )


def _no_texts(path: Path) -> DataError:
    return DataError(
        "D143",
        f'the folder "{path.name}" has no texts in it',
        place=Place(str(path)),
        help=[
            "put a folder for each label into it, with a file for each text",
            "or a file for each label, with a text on each line",
        ],
    )
