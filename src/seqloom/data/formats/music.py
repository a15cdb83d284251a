"""Pieces of music: JSON, JSON lines, MIDI files, or a folder of them.

{"train": [[[60, 64], [62]], …], "valid": […], "test": […]}   parts of pieces of frames of pitches
[[[60, 64], [62]], …]                                         pieces
[[60, 64], [62]]                                              one piece, and so on each JSON line
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import DataError, Place
from ..music.midi import UnreadableError, read_midi
from ..music.piano_roll import MOST_FRAMES, Frame, Keys, written
from ..options import Data
from ..text.reading import read_bytes, read_text
from .base import Fault, Reading, Row, Source, settle
from .columns_roles import shorten
from .folders import PARTS, files_in

MIDI = frozenset({".mid", ".midi", ".smf"})
JSON = frozenset({".json", ".jsonl", ".ndjson"})
WHOLE = ""  # the name of the only part of what is not parted
_BEGINS = re.compile(rf'\s*(\{{\s*"({"|".join(PARTS)})"\s*:\s*)?(\[\s*){{2,3}}(\d|\])')
Pieces = Iterator[Callable[[], list[Frame]]]  # each is read when it is asked for, and may be bad


@dataclass(frozen=True)
class Asked:
    """How pieces are read: the pitches there may be, and how many steps a quarter note has."""

    keys: Keys
    steps_per_quarter: int


def read_rolls(path: Path, asked: Asked, settings: Data) -> dict[str, Source]:
    """The pieces of a file or folder, by the parts that it has; one without a name if it has none.

    A row is a piece in one line; its number is its place among all pieces of its part.
    """
    found: dict[str, Reading[Row]] = {}
    for file in _files(path):
        for part, pieces in _parts_of(file, asked, settings).items():
            reading = found.setdefault(part, Reading())
            for piece in pieces:
                _add(reading, piece, asked.keys, file)
    return {part: settle("piano roll", one, path, settings) for part, one in found.items()}


def is_midi(path: Path) -> bool:
    """Whether a path is a MIDI file, by its name, or a folder of some."""
    if path.is_dir():
        return any(is_midi(file) for file in files_in(path))
    return path.suffix.lower() in MIDI


def looks_like_rolls(lines: list[str]) -> bool:
    """Whether JSON begins as pieces of music do: lists in lists of numbers."""
    return _BEGINS.match("\n".join(lines[:10])) is not None


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [file for file in files_in(path) if file.suffix.lower() in MIDI | JSON]
    if not found:
        raise DataError(
            "D271",
            f'the folder "{path.name}" has no music in it: no file that ends with .mid or .json',
            place=Place(str(path)),
            help=["put MIDI files into it, or name a JSON file of pieces"],
        )
    return found


def _add(reading: Reading[Row], piece: Callable[[], list[Frame]], keys: Keys, file: Path) -> None:
    """One piece more, or what is wrong with it."""
    number = len(reading.rows) + len(reading.faults) + 1
    try:
        frames = piece()
        _must_fit(frames, keys)
    except UnreadableError as error:
        reason = f"piece {number}: {error.reason}"
        help = (_wider(keys),) if error.code == "D267" else ()
        reading.faults.append(Fault(error.code, number, reason, file=file, help=help))
        return
    reading.rows.append(Row(number, (written(frames),)))


def _must_fit(frames: list[Frame], keys: Keys) -> None:
    if not any(frames):
        raise UnreadableError("D272", "nothing sounds in it")
    if len(frames) > MOST_FRAMES:
        told = f"it has {len(frames):,} frames; at most {MOST_FRAMES:,} are read"
        raise UnreadableError("D270", told)
    if (outside := keys.outside(frames)) is not None:
        frame, pitch = outside
        told = f"frame {frame} has the pitch {pitch}, outside {keys.lowest} to {keys.highest}"
        raise UnreadableError("D267", told)


def _wider(keys: Keys) -> str:
    is_piano = keys == Keys()
    return (
        "--set task.lowest=0 --set task.highest=127   all pitches of MIDI"
        if is_piano
        else "--set task.lowest=21 --set task.highest=108   the keys of a piano"
    )


def _parts_of(file: Path, asked: Asked, settings: Data) -> dict[str, Pieces]:
    if file.suffix.lower() in MIDI:
        return {WHOLE: iter([lambda: read_midi(read_bytes(file), asked.steps_per_quarter)])}
    text = read_text(file, settings.encoding)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = text.splitlines()
        if len([line for line in lines if line.strip()]) > 1:
            return {WHOLE: _of_lines(lines)}
        raise _not_music(file, f"it is no JSON ({shorten(str(error))})") from error
    return _of_value(value, file)


def _of_lines(lines: list[str]) -> Pieces:
    """A piece on each line."""
    for line in lines:
        if line.strip():
            yield lambda line=line: _frames(_loaded(line))  # type: ignore[misc]


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("D265", f"it is no JSON ({shorten(str(error))})") from error


def _of_value(value: Any, file: Path) -> dict[str, Pieces]:
    """The pieces of one JSON value: of parts, of a list, or a piece alone."""
    if isinstance(value, dict):
        named = {
            PARTS[name.lower()]: one for name, one in value.items() if one and name.lower() in PARTS
        }
        if named:
            return {part: _of_list(one, f'"{part}"', file) for part, one in named.items()}
        if not _is_piece(value):
            raise _not_music(file, f"it has no key train, valid or test ({_shown(list(value))})")
    if _is_piece(value):
        return {WHOLE: iter([lambda: _frames(value)])}
    return {WHOLE: _of_list(value, "it", file)}


def _of_list(value: Any, what: str, file: Path) -> Pieces:
    if not isinstance(value, list):
        raise _not_music(file, f"{what} is no list of pieces")
    return ((lambda one=one: _frames(one)) for one in value)  # type: ignore[misc]


def _is_piece(value: Any) -> bool:
    """Whether a value is a piece and not a list of them: its frames hold numbers."""
    if isinstance(value, dict):
        return "frames" in value
    inside = [frame for frame in value if frame] if isinstance(value, list) else []
    return bool(inside) and all(
        isinstance(frame, list) and not isinstance(frame[0], list) for frame in inside
    )


def _frames(value: Any) -> list[Frame]:
    """A list of frames, each a list of pitches; or an object that has one under "frames"."""
    frames = value.get("frames") if isinstance(value, dict) else value
    if not isinstance(frames, list):
        raise UnreadableError("D265", f"a piece is a list of frames, not {_shown(value)}")
    return [_frame(number, frame) for number, frame in enumerate(frames, start=1)]


def _frame(number: int, frame: Any) -> Frame:
    is_list = isinstance(frame, list)
    if not is_list or not all(map(_is_whole, frame)):
        told = f"frame {number} is {_shown(frame)}: expected a list of pitches such as [60, 64]"
        raise UnreadableError("D265", told)
    return tuple(sorted({int(pitch) for pitch in frame}))


def _is_whole(pitch: Any) -> bool:
    is_number = isinstance(pitch, int | float) and not isinstance(pitch, bool)
    return is_number and abs(pitch) < 1e6 and pitch == int(pitch)


def _shown(value: Any) -> str:
    return shorten(json.dumps(value))


def _not_music(file: Path, reason: str) -> DataError:
    return DataError(
        "D265",
        f'"{file.name}" does not hold pieces of music: {reason}',
        place=Place(str(file)),
        help=[
            "[[[60, 64, 67], [62]], …]   a list of pieces, each a list of frames of pitches",
            '{"train": [piece, …], "valid": […], "test": […]}   the same in parts',
            "or a MIDI file, whose name ends with .mid",
        ],
    )
