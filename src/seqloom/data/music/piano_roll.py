"""Piano rolls: for every time step (frame), the MIDI numbers of the pitches that sound.

A piece is a list of frames. On one line, a frame is its pitches separated by commas, or - for a
rest, and frames are separated by spaces: "60,64,67 60,65,69 -".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...errors import DataError, UsageError

Frame = tuple[int, ...]  # pitches in ascending order
REST = "-"
LOWEST, HIGHEST = 21, 108  # the keys of a piano
MAX_FRAMES = 100_000  # of one piece: at four steps per quarter note, more than two hours
_FRAME = re.compile(r"[0-9]{1,3}(,[0-9]{1,3})*|-")


@dataclass(frozen=True)
class PitchRange:
    """The pitches of a piano roll, from the lowest to the highest; each is a bit of a frame."""

    lowest: int = LOWEST
    highest: int = HIGHEST

    def __post_init__(self) -> None:
        if not 0 <= self.lowest <= self.highest <= 127:
            raise UsageError(
                "U330",
                f"[task] lowest = {self.lowest}, highest = {self.highest}: pitches go from 0 to"
                " 127, the lowest first",
                help=["--set task.lowest=21 --set task.highest=108   the keys of a piano"],
            )

    @property
    def size(self) -> int:
        """The number of pitches."""
        return self.highest - self.lowest + 1

    def to_matrix(self, frames: Sequence[Frame]) -> Float[np.ndarray, "time size"]:
        """The binary matrix of frames: a row for each frame, a column for each pitch."""
        rows = np.zeros((len(frames), self.size), dtype=np.float32)
        for row, frame in zip(rows, frames, strict=True):
            row[[pitch - self.lowest for pitch in frame]] = 1
        return rows

    def to_frames(
        self, rows: Sequence[Sequence[float]] | Float[np.ndarray, "time size"]
    ) -> list[Frame]:
        """The frames of a matrix of bits, or of probabilities: pitches with at least 0.5 sound."""
        return [
            tuple(self.lowest + index for index, bit in enumerate(row) if bit >= 0.5)
            for row in rows
        ]

    def first_outside(self, frames: Iterable[Frame]) -> tuple[int, int] | None:
        """The first frame with a pitch outside the range, counted from 1, and the pitch."""
        for number, frame in enumerate(frames, start=1):
            for pitch in frame:
                if not self.lowest <= pitch <= self.highest:
                    return number, pitch
        return None


def format_frames(frames: Iterable[Frame]) -> str:
    """Frames as one line of text."""
    return " ".join(",".join(map(str, frame)) or REST for frame in frames)


def parse_frames(text: str) -> list[Frame]:
    """The frames of a line of text; the pitches of a frame may be in any order."""
    found = []
    for number, one in enumerate(text.split(), start=1):
        if not _FRAME.fullmatch(one):
            raise DataError(
                "D273",
                f"frame {number} is {_short(one)!r}: expected pitches separated by commas",
                help=['"60,64,67 60,65,69 -"   two chords and a rest'],
            )
        pitches = [] if one == REST else [int(pitch) for pitch in one.split(",")]
        found.append(tuple(sorted({*pitches})))
    return found


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"
