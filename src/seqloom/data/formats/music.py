"""Files of symbolic music: piano rolls in JSON or JSON lines, MIDI files, folders of them.

{"train": [[[60, 64], [62]], …], "valid": […], "test": […]}   splits of pieces
[[[60, 64], [62]], …]                                         pieces, which are lists of frames
[[60, 64], [62]]                                              one piece, also on each JSON line
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import DataError, Place
from ..music.midi import InvalidPieceError, read_midi
from ..music.piano_roll import MAX_FRAMES, Frame, PitchRange, format_frames
from ..options import Data
from ..text.files import read_bytes
from ..text.reading import read_text
from .base import BadLine, ParsedFile, ParseResult, Row, parsed_file
from .columns_roles import shorten
from .folders import SPLIT_NAMES, files_in

MIDI_EXTENSIONS = frozenset({".mid", ".midi", ".smf"})
JSON_EXTENSIONS = frozenset({".json", ".jsonl", ".ndjson"})
UNSPLIT = ""  # the name of the only part of a file without splits
_BEGINS = re.compile(rf'\s*(\{{\s*"({"|".join(SPLIT_NAMES)})"\s*:\s*)?(\[\s*){{2,3}}(\d|\])')
PieceReaders = Iterator[Callable[[], list[Frame]]]  # each reads one piece, which may be invalid


@dataclass(frozen=True)
class PianoRollOptions:
    """Options of piano rolls: the range of pitches, and the steps per quarter note."""

    pitches: PitchRange
    steps_per_quarter: int


def read_piano_rolls(
    path: Path, options: PianoRollOptions, settings: Data
) -> dict[str, ParsedFile]:
    """The pieces of a file or folder, by split; UNSPLIT is the name if it has no splits.

    A row is one piece as text. Its line is the number of the piece in its split.
    """
    found: dict[str, ParseResult[Row]] = {}
    for file in _files(path):
        for part, pieces in _splits_of(file, options, settings).items():
            result = found.setdefault(part, ParseResult())
            for piece in pieces:
                _add(result, piece, options.pitches, file)
    return {part: parsed_file("piano roll", one, path, settings) for part, one in found.items()}


def is_midi(path: Path) -> bool:
    """Whether a path is a MIDI file, by its name, or a folder with MIDI files."""
    if path.is_dir():
        return any(is_midi(file) for file in files_in(path))
    return path.suffix.lower() in MIDI_EXTENSIONS


def looks_like_piano_rolls(lines: list[str]) -> bool:
    """Whether JSON starts like piano rolls: nested lists of numbers, maybe by split."""
    return _BEGINS.match("\n".join(lines[:10])) is not None


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [
        file for file in files_in(path) if file.suffix.lower() in MIDI_EXTENSIONS | JSON_EXTENSIONS
    ]
    if not found:
        raise DataError(
            "D271",
            f'the folder "{path.name}" has no music in it: no .mid and no .json file',
            place=Place(str(path)),
            help=["put MIDI files into it, or name a JSON file of pieces"],
        )
    return found


def _add(
    result: ParseResult[Row], piece: Callable[[], list[Frame]], pitches: PitchRange, file: Path
) -> None:
    """Add a piece to the result, or the reason why it is bad."""
    number = len(result.rows) + len(result.bad_lines) + 1
    try:
        frames = piece()
        _must_fit(frames, pitches)
    except InvalidPieceError as error:
        reason = f"piece {number}: {error.reason}"
        help = (_wider(pitches),) if error.code == "D267" else ()
        result.bad_lines.append(BadLine(error.code, number, reason, file=file, help=help))
        return
    result.rows.append(Row(number, (format_frames(frames),)))


def _must_fit(frames: list[Frame], pitches: PitchRange) -> None:
    """Refuse pieces that are empty, too long, or outside the range of pitches."""
    if not any(frames):
        raise InvalidPieceError("D272", "it has no notes")
    if len(frames) > MAX_FRAMES:
        reason = f"it has {len(frames):,} frames; at most {MAX_FRAMES:,} are read"
        raise InvalidPieceError("D270", reason)
    if (outside := pitches.first_outside(frames)) is not None:
        frame, pitch = outside
        reason = f"frame {frame} has the pitch {pitch}, outside {pitches.lowest} to"
        raise InvalidPieceError("D267", f"{reason} {pitches.highest}")


def _wider(pitches: PitchRange) -> str:
    is_piano = pitches == PitchRange()
    return (
        "--set task.lowest=0 --set task.highest=127   all pitches of MIDI"
        if is_piano
        else "--set task.lowest=21 --set task.highest=108   the keys of a piano"
    )


def _splits_of(file: Path, options: PianoRollOptions, settings: Data) -> dict[str, PieceReaders]:
    if file.suffix.lower() in MIDI_EXTENSIONS:
        return {UNSPLIT: iter([lambda: read_midi(read_bytes(file), options.steps_per_quarter)])}
    text = read_text(file, settings.encoding)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = text.splitlines()
        if len([line for line in lines if line.strip()]) > 1:
            return {UNSPLIT: _of_lines(lines)}
        raise _not_music(file, f"it is not JSON ({shorten(str(error))})") from error
    return _of_value(value, file)


def _of_lines(lines: list[str]) -> PieceReaders:
    """The pieces of JSON lines."""
    for line in lines:
        if line.strip():
            yield lambda line=line: _frames(_loaded(line))  # type: ignore[misc]


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidPieceError("D265", f"it is not JSON ({shorten(str(error))})") from error


def _of_value(value: Any, file: Path) -> dict[str, PieceReaders]:
    """The pieces of a JSON value: an object of splits, a list of pieces, or one piece."""
    if isinstance(value, dict):
        named = {
            SPLIT_NAMES[name.lower()]: one
            for name, one in value.items()
            if one and name.lower() in SPLIT_NAMES
        }
        if named:
            return {part: _of_list(one, f'"{part}"', file) for part, one in named.items()}
        if not _is_piece(value):
            raise _not_music(file, f"it has no key train, valid or test ({_shown(list(value))})")
    if _is_piece(value):
        return {UNSPLIT: iter([lambda: _frames(value)])}
    return {UNSPLIT: _of_list(value, "it", file)}


def _of_list(value: Any, what: str, file: Path) -> PieceReaders:
    if not isinstance(value, list):
        raise _not_music(file, f"{what} is not a list of pieces")
    return ((lambda one=one: _frames(one)) for one in value)  # type: ignore[misc]


def _is_piece(value: Any) -> bool:
    """Whether a value is a piece, not a list of pieces: its frames are lists of numbers."""
    if isinstance(value, dict):
        return "frames" in value
    inside = [frame for frame in value if frame] if isinstance(value, list) else []
    return bool(inside) and all(
        isinstance(frame, list) and not isinstance(frame[0], list) for frame in inside
    )


def _frames(value: Any) -> list[Frame]:
    """The frames of a piece: a list of lists of pitches, or an object with the key "frames"."""
    frames = value.get("frames") if isinstance(value, dict) else value
    if not isinstance(frames, list):
        raise InvalidPieceError("D265", f"a piece is a list of frames, not {_shown(value)}")
    return [_frame(number, frame) for number, frame in enumerate(frames, start=1)]


def _frame(number: int, frame: Any) -> Frame:
    is_list = isinstance(frame, list)
    if not is_list or not all(map(_is_whole, frame)):
        reason = f"frame {number} is {_shown(frame)}: expected a list of pitches such as [60, 64]"
        raise InvalidPieceError("D265", reason)
    return tuple(sorted({int(pitch) for pitch in frame}))


def _is_whole(pitch: Any) -> bool:
    is_number = isinstance(pitch, int | float) and not isinstance(pitch, bool)
    return is_number and abs(pitch) < 1e6 and pitch == int(pitch)


def _shown(value: Any) -> str:
    return shorten(json.dumps(value))


def _not_music(file: Path, reason: str) -> DataError:
    return DataError(
        "D265",
        f'"{file.name}" has no pieces of music: {reason}',
        place=Place(str(file)),
        help=[
            "[[[60, 64, 67], [62]], …]   a list of pieces, each a list of frames of pitches",
            '{"train": [piece, …], "valid": […], "test": […]}   the same with splits',
            "or a MIDI file, whose name ends with .mid",
        ],
    )
