"""Folders of labelled texts: a folder for each label, or a file for each label.

pos/0.txt neg/0.txt …    each file is one text, with its line breaks; its folder is its label
Arabic.txt Czech.txt …   each line is one text; the name of the file is its label

A folder with the splits train and test, such as IMDB, is two such folders: see `splits_in`.
"""

from collections.abc import Iterator
from pathlib import Path

from ...errors import DataError, Place
from ..options import Data
from ..text.files import read_bytes
from ..text.reading import read_lines, read_text
from .base import BadLine, ParseResult, Row

SPLIT_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "validation", "dev", "val"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}
_UNLABELLED = {"unsup", "unlabelled", "unlabeled"}  # such as IMDB's texts without labels


def read(path: Path, settings: Data) -> ParseResult[Row]:
    """Read a folder: one row for each text, ordered by name; the roles are a text and its label.

    The line of a row is the number of its text, from 1.
    """
    labelled = _has_folders(path)
    result: ParseResult[Row] = ParseResult()
    for number, (file, line, text) in enumerate(texts_of(path, settings), 1):
        label = file.parent.name if labelled else file.stem
        if text.strip():
            result.rows.append(Row(number, (text, label)))
        elif labelled:
            result.bad_lines.append(BadLine("D014", line, 'the field "text" is empty', file=file))
        else:
            result.blank.append(number)
    if not result.rows and not result.bad_lines:
        raise _no_texts(path)
    return result


def texts_of(path: Path, settings: Data) -> Iterator[tuple[Path, int, str]]:
    """Each text of a folder with its file and line; empty for a blank one."""
    _refuse_splits(path)
    folders = [folder for folder in _inside(path) if folder.is_dir()]
    return _texts(folders, settings) if folders else _lines(path, settings)


def _has_folders(path: Path) -> bool:
    """Whether labels are folders; else they are files."""
    return any(one.is_dir() for one in _inside(path))


def splits_in(path: Path) -> dict[str, Path]:
    """The folders or files of the splits train, valid and test in a folder; often none."""
    if not path.is_dir():
        return {}
    names = {one: one.stem.lower() for one in _inside(path)}
    found = {SPLIT_NAMES[name]: one for one, name in names.items() if name in SPLIT_NAMES}
    return found if "train" in found else {}


def files_in(path: Path) -> list[Path]:
    """All files of a folder that are read, in order; the path itself if it is a file."""
    if not path.is_dir():
        return [path]
    return [file for one in _inside(path) for file in files_in(one)]


def _inside(path: Path) -> list[Path]:
    """The entries of a folder, without hidden ones and those of unlabelled texts."""
    return sorted(
        one
        for one in path.iterdir()
        if not one.name.startswith(".") and one.name.lower() not in _UNLABELLED
    )


def _texts(folders: list[Path], settings: Data) -> Iterator[tuple[Path, int, str]]:
    """The text of each file, empty for a blank file."""
    for folder in folders:
        for file in (file for file in _inside(folder) if file.is_file()):
            is_blank = not read_bytes(file).strip()
            yield file, 1, "" if is_blank else read_text(file, settings.encoding).strip()


def _lines(path: Path, settings: Data) -> Iterator[tuple[Path, int, str]]:
    """The lines of each file; a file without text is an error."""
    for file in (file for file in _inside(path) if file.is_file()):
        for line, text in enumerate(read_lines(file, settings.encoding), 1):
            yield file, line, text


def _refuse_splits(path: Path) -> None:
    splits = splits_in(path)
    if splits:
        names = " and ".join(f'"{split.name}"' for split in splits.values())
        raise DataError(
            "D144",
            f'"{path.name}" has {names} in it: they are separate splits',
            place=Place(str(path)),
            help=[
                f"{path / splits['train'].name}   name one of them",
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
