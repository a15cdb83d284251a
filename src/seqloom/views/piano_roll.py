"""Piano roll: the notes of a piece of music, pitch against time."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, final

from .base import View
from .draw.colours import BLUE, CARD, MUTED, ORANGE, PAGE
from .draw.heatmap import MARGIN, FigureText
from .draw.svg import Picture, TextStyle

NAMES = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")
BLACK = {1, 3, 6, 8, 10}  # of an octave
_STEP, _KEY, _LEFT, _LEAST = 10.0, 7.0, 40.0, 1.5
_WIDEST = 1200.0  # pixels: longer pieces have thinner steps
_OCTAVE = 12


def name_of(pitch: int) -> str:
    """The name of a MIDI pitch: 60 is C4."""
    return f"{NAMES[pitch % _OCTAVE]}{pitch // _OCTAVE - 1}"


@final
class PianoRollView(View):
    """Piano roll: the pitches that sound at each step of a piece.

    Args:
        frames: the pitches of each step.
        model: the model that generated it, or the name of the piece.
        prompt_steps: the number of steps of the prompt; the others are generated.
        notes: what was left out.
    """

    kind: ClassVar[str] = "piano_roll"

    def __init__(
        self,
        frames: Sequence[Sequence[int]],
        model: str,
        *,
        prompt_steps: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        if not frames:
            raise ValueError("expected at least one step")
        self.frames, self.prompt_steps = [tuple(frame) for frame in frames], prompt_steps
        pitches = [pitch for frame in self.frames for pitch in frame] or [60]
        self.lowest, self.highest = min(pitches), max(pitches)
        super().__init__(model, self._caption(), {"frames": self.frames}, notes)

    def content(self) -> dict[str, Any]:
        return {"frames": [list(frame) for frame in self.frames], "given": self.prompt_steps}

    def to_table(self) -> list[list[str]]:
        rows = [["step", "notes", "from"]]
        for number, frame in enumerate(self.frames, start=1):
            by = "prompt" if number <= self.prompt_steps else "generated"
            rows.append([str(number), " ".join(map(name_of, frame)) or "-", by])
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        """Two pitches per line; steps that do not fit into the width follow below."""
        marks = " .':" if ascii else " ▄▀█"  # neither, the lower, the upper, both
        room = max(8, width - 6)
        lines: list[str] = []
        for start in range(0, len(self.frames), room):
            shown = self.frames[start : start + room]
            lines += [""] * bool(lines)
            for pitch in range(self.highest, self.lowest - 1, -2):
                row = "".join(marks[2 * (pitch in frame) + (pitch - 1 in frame)] for frame in shown)
                lines.append(f"{name_of(pitch):>4} {row}".rstrip())
            if start < self.prompt_steps < start + len(shown):
                lines.append(" " * (5 + self.prompt_steps - start) + "^ generated from here on")
        return lines

    def to_picture(self) -> Picture:
        text = FigureText(
            "Piano roll",
            "pitch against time; orange: prompt, blue: generated"
            if self.prompt_steps
            else "pitch against time, in steps",
            self.caption,
            self.notes,
        )
        step = max(_LEAST, min(_STEP, _WIDEST / len(self.frames)))
        left, top = MARGIN + _LEFT, text.head_height() + 10
        across, down = step * len(self.frames), _KEY * (self.highest - self.lowest + 1)
        width = max(text.width(), left + across + MARGIN)
        foot = top + down + 34
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        self._keys(picture, (left, top), across)
        for pitch, start, end in self._notes():
            y = top + _KEY * (self.highest - pitch)
            colour = ORANGE if start < self.prompt_steps else BLUE
            title = f"{name_of(pitch)}, steps {start + 1} to {end}"
            box = (left + step * start, y + 0.5, step * (end - start) - 0.5, _KEY - 1)
            picture.rectangle(box, colour, title=title)
        for number in range(0, len(self.frames) + 1, max(1, round(80 / step))):
            position = (left + step * number, top + down + 16)
            picture.text(str(number), position, TextStyle(11, MUTED, "middle"))
        text.draw(picture, foot)
        return picture

    def _keys(self, picture: Picture, corner: tuple[float, float], across: float) -> None:
        """A stripe for each black key, and the name of each C."""
        left, top = corner
        for pitch in range(self.lowest, self.highest + 1):
            y = top + _KEY * (self.highest - pitch)
            if pitch % _OCTAVE in BLACK:
                picture.rectangle((left, y, across, _KEY), CARD)
            is_end = pitch in (self.lowest, self.highest) and pitch % _OCTAVE not in (1, 11)
            if pitch % _OCTAVE == 0 or is_end:  # an end next to a C has no room for a name
                style = TextStyle(10, MUTED, "end", monospace=True)
                picture.text(name_of(pitch), (left - 5, y + _KEY - 0.5), style)

    def _notes(self) -> list[tuple[int, int, int]]:
        """Pitch, first step and end of each note; notes are split at the end of the prompt."""
        notes, started = [], dict[int, int]()
        for step, frame in enumerate([*self.frames, ()]):
            ended = [p for p in started if p not in frame or step == self.prompt_steps]
            notes += [(pitch, started.pop(pitch), step) for pitch in ended]
            started |= {pitch: step for pitch in frame if pitch not in started}
        return sorted(notes, key=lambda note: note[1])

    def _caption(self) -> str:
        """Number of notes, their range, and how many are held from step to step."""
        frames = self.frames[self.prompt_steps :] or self.frames
        notes = sum(map(len, frames))
        if not notes:
            return f"No notes in {_steps(len(frames))}."
        pairs = list(pairwise(frames))
        later = sum(len(after) for _, after in pairs)
        held = sum(len({*before} & {*after}) for before, after in pairs)
        pitches = [pitch for frame in frames for pitch in frame]
        sentence = (
            f"{_steps(len(frames))}, {notes / len(frames):.1f} notes at once on average, from"
            f" {name_of(min(pitches))} to {name_of(max(pitches))}"
        )
        if later:
            sentence += f"; {100 * held / later:.0f} % of them are held from the step before"
        rests = sum(not frame for frame in frames)
        return sentence + (f"; {_steps(rests)} of silence." if rests else ".")


def _steps(count: int) -> str:
    return f"{count:,} step" + "s" * (count != 1)
