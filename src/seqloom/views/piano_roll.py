"""A piano roll: pitches upwards, time to the right."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, final

from .base import View
from .draw.colours import BLUE, CARD, MUTED, ORANGE, PAGE
from .draw.heatmap import MARGIN, Wording
from .draw.svg import Lettering, Picture

NAMES = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
BLACK = {1, 3, 6, 8, 10}  # of an octave
_STEP, _KEY, _LEFT, _LEAST = 10.0, 7.0, 40.0, 1.5
_WIDEST = 1200.0  # pixels: longer pieces have thinner steps
_OCTAVE = 12


def name_of(pitch: int) -> str:
    """A pitch as musicians call it: 60 is C4."""
    return f"{NAMES[pitch % _OCTAVE]}{pitch // _OCTAVE - 1}"


@final
class PianoRollView(View):
    """What sounds at each step of a piece.

    Args:
        frames: the pitches of each step.
        model: that drew it, or the name of the piece.
        given: how many steps were there before, the others being drawn.
        notes: what a reader must know.
    """

    kind: ClassVar[str] = "piano_roll"

    def __init__(
        self,
        frames: Sequence[Sequence[int]],
        model: str,
        *,
        given: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        if not frames:
            raise ValueError("expected at least one step")
        self.frames, self.given = [tuple(frame) for frame in frames], given
        heard = [pitch for frame in self.frames for pitch in frame] or [60]
        self.lowest, self.highest = min(heard), max(heard)
        super().__init__(model, self._caption(), {"frames": self.frames}, notes)

    def content(self) -> dict[str, Any]:
        return {"frames": [list(frame) for frame in self.frames], "given": self.given}

    def to_table(self) -> list[list[str]]:
        rows = [["step", "sounds", "by"]]
        for number, frame in enumerate(self.frames, start=1):
            by = "given" if number <= self.given else "drawn"
            rows.append([str(number), " ".join(map(name_of, frame)) or "-", by])
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        """Two pitches a line, as many steps as fit beside one another; then further below."""
        marks = " .':" if ascii else " ▄▀█"  # neither, the lower, the upper, both
        room = max(8, width - 6)
        lines: list[str] = []
        for start in range(0, len(self.frames), room):
            shown = self.frames[start : start + room]
            lines += [""] * bool(lines)
            for pitch in range(self.highest, self.lowest - 1, -2):
                row = "".join(marks[2 * (pitch in frame) + (pitch - 1 in frame)] for frame in shown)
                lines.append(f"{name_of(pitch):>4} {row}".rstrip())
            if start < self.given < start + len(shown):
                lines.append(" " * (5 + self.given - start) + ("^ drawn from here on"))
        return lines

    def to_picture(self) -> Picture:
        words = Wording(
            "Piano roll",
            "pitches upwards, steps to the right; what was given is orange, what was drawn blue"
            if self.given
            else "pitches upwards, steps to the right",
            self.caption,
            self.notes,
        )
        step = max(_LEAST, min(_STEP, _WIDEST / len(self.frames)))
        left, top = MARGIN + _LEFT, words.head_height() + 10
        across, down = step * len(self.frames), _KEY * (self.highest - self.lowest + 1)
        width = max(words.width(), left + across + MARGIN)
        foot = top + down + 34
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        self._keys(picture, (left, top), across)
        for pitch, start, end in self._held():
            y = top + _KEY * (self.highest - pitch)
            colour = ORANGE if start < self.given else BLUE
            title = f"{name_of(pitch)}, steps {start + 1} to {end}"
            box = (left + step * start, y + 0.5, step * (end - start) - 0.5, _KEY - 1)
            picture.rectangle(box, colour, title=title)
        for number in range(0, len(self.frames) + 1, max(1, round(80 / step))):
            place = (left + step * number, top + down + 16)
            picture.text(str(number), place, Lettering(11, MUTED, "middle"))
        words.draw(picture, foot)
        return picture

    def _keys(self, picture: Picture, corner: tuple[float, float], across: float) -> None:
        """A stripe for each black key, and the name of each C."""
        left, top = corner
        for pitch in range(self.lowest, self.highest + 1):
            y = top + _KEY * (self.highest - pitch)
            if pitch % _OCTAVE in BLACK:
                picture.rectangle((left, y, across, _KEY), CARD)
            is_end = pitch in (self.lowest, self.highest) and pitch % _OCTAVE not in (1, 11)
            if pitch % _OCTAVE == 0 or is_end:  # beside a C there is no room
                style = Lettering(10, MUTED, "end", monospace=True)
                picture.text(name_of(pitch), (left - 5, y + _KEY - 0.5), style)

    def _held(self) -> list[tuple[int, int, int]]:
        """Pitch, first step and the step after the last of each note; given and drawn apart."""
        found, begun = [], dict[int, int]()
        for step, frame in enumerate([*self.frames, ()]):
            over = [p for p in begun if p not in frame or step == self.given]
            found += [(pitch, begun.pop(pitch), step) for pitch in over]
            begun |= {pitch: step for pitch in frame if pitch not in begun}
        return sorted(found, key=lambda note: note[1])

    def _caption(self) -> str:
        """How much sounds, how high, and how much of it is held."""
        drawn = self.frames[self.given :] or self.frames
        notes = sum(map(len, drawn))
        if not notes:
            return f"Nothing sounds in {_steps(len(drawn))}."
        pairs = list(pairwise(drawn))
        later = sum(len(after) for _, after in pairs)
        held = sum(len({*before} & {*after}) for before, after in pairs)
        heard = [pitch for frame in drawn for pitch in frame]
        told = (
            f"{_steps(len(drawn))}, {notes / len(drawn):.1f} notes at once on average, from"
            f" {name_of(min(heard))} to {name_of(max(heard))}"
        )
        if later:
            told += f"; {100 * held / later:.0f} % of them sounded in the step before, too"
        rests = sum(not frame for frame in drawn)
        return told + (f"; {_steps(rests)} of silence." if rests else ".")


def _steps(count: int) -> str:
    return f"{count:,} step" + "s" * (count != 1)
