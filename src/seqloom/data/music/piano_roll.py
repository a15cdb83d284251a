"""Music as a piano roll: at every step the pitches that sound, as MIDI numbers them.

A frame is such a step, a piece is a list of frames. In one line a frame is its pitches with commas
between them, or - where nothing sounds; frames stand apart by blanks: "60,64,67 60,65,69 -".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...errors import DataError, UsageError

Frame = tuple[int, ...]  # rising
REST = "-"
LOWEST, HIGHEST = 21, 108  # the keys of a piano
MOST_FRAMES = 100_000  # of one piece: at four steps to a quarter note, more than two hours
_FRAME = re.compile(r"[0-9]{1,3}(,[0-9]{1,3})*|-")


@dataclass(frozen=True)
class Keys:
    """The pitches that have a bit, from the lowest to the highest."""

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
        """How many there are."""
        return self.highest - self.lowest + 1

    def bits(self, frames: Sequence[Frame]) -> Float[np.ndarray, "time size"]:
        """A row of 1.0 and 0.0 for each frame."""
        rows = np.zeros((len(frames), self.size), dtype=np.float32)
        for row, frame in zip(rows, frames, strict=True):
            row[[pitch - self.lowest for pitch in frame]] = 1
        return rows

    def frames(
        self, rows: Sequence[Sequence[float]] | Float[np.ndarray, "time size"]
    ) -> list[Frame]:
        """What sounds in rows of bits, or of chances: what is at least as likely as not."""
        return [
            tuple(self.lowest + place for place, bit in enumerate(row) if bit >= 0.5)
            for row in rows
        ]

    def outside(self, frames: Iterable[Frame]) -> tuple[int, int] | None:
        """The first frame with a pitch that has no bit, counted from 1, and the pitch."""
        for number, frame in enumerate(frames, start=1):
            for pitch in frame:
                if not self.lowest <= pitch <= self.highest:
                    return number, pitch
        return None


def written(frames: Iterable[Frame]) -> str:
    """A piece in one line."""
    return " ".join(",".join(map(str, frame)) or REST for frame in frames)


def read_line(text: str) -> list[Frame]:
    """What `written` wrote; pitches of a frame may stand in any order."""
    found = []
    for number, one in enumerate(text.split(), start=1):
        if not _FRAME.fullmatch(one):
            raise DataError(
                "D273",
                f"frame {number} is {_short(one)!r}: expected pitches with commas between them",
                help=['"60,64,67 60,65,69 -"   two chords and a rest'],
            )
        pitches = [] if one == REST else [int(pitch) for pitch in one.split(",")]
        found.append(tuple(sorted({*pitches})))
    return found


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"
