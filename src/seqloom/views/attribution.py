"""What moved an answer: each symbol that was read, by how much it spoke for it or against it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import PAGE, signed
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Labels, Wording
from .draw.svg import Lettering, Picture
from .draw.text import fold, to_ascii, visible
from .draw.text_heatmap import ASCII_BLOCKS, BLOCKS, block_levels, text_grid
from .draw.text_rail import Rail, draw_signed_legend

Matrix = NDArray[np.float64]
Unit = Literal["nats", "share", "number", "weight"]
NAMED = 3  # symbols that a sentence names on either side
LEAST = 0.02  # of the largest; a sentence does not name what counts less
MOST = 0.9  # the share of all influence that a sentence on distance speaks of
_BORDERS = ("<s>", "</s>", "<unk>")
FOR, AGAINST = BLOCKS[1:], "░▒▓"
_ASCII_FOR, _ASCII_AGAINST = "123456789", "abcdefghi"
_MEANING: dict[Unit, str] = {
    "nats": "log-probability of the answer, in nats: blue for it, orange against it",
    "share": "share of the attention",
    "number": "the answer itself: blue makes it larger, orange smaller",
    "weight": "how far the forecast rises where an observation is one higher",
}


_SIDES: dict[Unit, tuple[str, str]] = {
    "nats": ("For", "Against"),
    "number": ("Up", "Down"),
    "weight": ("Up", "Down"),
}


@dataclass(frozen=True)
class Moved:
    """One part of an answer: its name, where it stands, and how likely it is.

    Args:
        answer: a label, or a symbol that was written.
        place: counted from 1, in the text or in what was written.
        at: the symbol that has this label, where each has one.
        chance: its probability; None of real numbers.
    """

    answer: str
    place: int
    at: str = ""
    chance: float | None = None

    def name(self) -> str:
        """The label of a row: cat/N=0.98."""
        told = f"{visible(self.at)}/{visible(self.answer)}" if self.at else visible(self.answer)
        return told if self.chance is None else f"{told}={self.chance:.2f}"

    def spoken(self) -> str:
        """In a sentence: "N" at "cat" (p=0.98)."""
        told = f'"{visible(self.answer)}"' + (f' at "{visible(self.at)}"' if self.at else "")
        if self.chance is None:
            return told
        return f"{told} (p>0.99)" if self.chance > 0.99 else f"{told} (p={self.chance:.2g})"


@final
class InfluenceView(View):
    """How much each symbol that was read moved each part of an answer.

    Args:
        source: the symbols that were read.
        moved: the parts of the answer; one is drawn as a rail, several as a matrix.
        influence: answer × source; above 0 speaks for it, below against it; what is not a number
            could not be told.
        model: name of the model.
        by: how it was found out, such as "occlusion".
        unit: what the numbers are.
        distance: whether it is of interest how far back the influence reaches.
        notes: how the numbers came about.
    """

    kind: ClassVar[str] = "influence"

    def __init__(  # noqa: PLR0913 - what is drawn and what is said of it
        self,
        source: Sequence[str],
        moved: Sequence[Moved],
        influence: ArrayLike,
        model: str,
        *,
        by: str,
        unit: Unit = "nats",
        distance: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        self.source, self.moved, self.by, self.unit = list(source), list(moved), by, unit
        self.influence = _checked(influence, (len(self.moved), len(self.source)))
        found = abs(self.influence[np.isfinite(self.influence)])
        self.scale = float(found.max(initial=0.0)) or 1.0  # a full bar
        data = {"source": self.source, "moved": self.moved, "influence": self.influence}
        super().__init__(model, self._caption(distance), data, notes)

    def content(self) -> dict[str, Any]:
        chances = [None if one.chance is None else round(one.chance, 6) for one in self.moved]
        return {
            "by": self.by,
            "unit": self.unit,
            "tokens": {"src": self.source, "tgt": [one.answer for one in self.moved]},
            "places": [one.place for one in self.moved],
            "chances": chances,
            "influence": [[_plain(value) for value in row] for row in self.influence],
            "reach": [reach_of(row) for row in self.influence],
        }

    def to_table(self) -> list[list[str]]:
        rows = zip(self.moved, self.influence, strict=True)
        body = [[one.name(), *map(self._shown, values)] for one, values in rows]
        return [["", *map(visible, self.source)], *body]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        if len(self.moved) == 1:
            head = f"{self.moved[0].spoken()}, by {self.by}"
            lines = text_grid(*self._bars(ascii), width, ascii)
        else:
            head = f"by {self.by}"
            names = [one.name() for one in self.moved]
            lines = text_grid(names, self.source, self._cells(ascii), width, ascii)
        key = self._key(ascii)
        lines += ["", *fold(key, width)] if key else []
        return [*fold(to_ascii(head) if ascii else head, width), "", *lines]

    def to_picture(self) -> Picture:
        words = Wording(
            f"What moved {self.model}",
            f"by {self.by}: {_MEANING[self.unit]}",
            self.caption,
            self.notes,
        )
        return self._rail(words) if len(self.moved) == 1 else self._matrix(words)

    def _levels(self) -> Matrix:
        """The influence from -1 to 1; what could not be told is 0."""
        values = np.nan_to_num(self.influence / self.scale, nan=0.0, posinf=1.0, neginf=-1.0)
        return np.asarray(values.clip(-1, 1))

    def _bars(self, ascii: bool) -> tuple[list[str], list[str], list[list[str]]]:
        """One part of an answer as two rows of bars, for and against; one where none can be."""
        levels = self._levels()
        if self.unit == "share":
            return [self.unit], self.source, block_levels(levels, ascii=ascii, show_largest=True)
        sides = np.concatenate([levels, -levels]).clip(0, 1)
        names = ["for", "against"] if self.unit == "nats" else ["more", "less"]
        return names, self.source, block_levels(sides, ascii=ascii, show_largest=True)

    def _cells(self, ascii: bool) -> list[list[str]]:
        """A character for each number: bars for it, shades against it."""
        above, below = (_ASCII_FOR, _ASCII_AGAINST) if ascii else (FOR, AGAINST)
        nothing = ASCII_BLOCKS[1] if ascii else BLOCKS[0]

        def cell(value: float) -> str:
            marks = above if value > 0 else below
            level = math.ceil(abs(value) * (len(marks) + 0.5) - 0.5)
            return marks[level - 1] if level > 0 else nothing

        return [[cell(value) for value in row] for row in self._levels()]

    def _key(self, ascii: bool) -> str:
        """What the marks of a matrix mean."""
        if len(self.moved) == 1 or self.unit == "share":
            return ""
        full = self._shown(self.scale)
        if ascii:
            return f"1 to 9 for it, a to i against it; 9 is {full}"
        return f"▁ to █ for it, ░ to ▓ against it; █ is {full}"

    def _rail(self, words: Wording) -> Picture:
        levels = self._levels()[0]
        counts = zip(self.influence[0], abs(levels) >= LEAST, strict=True)
        numbers = [self._shown(value) if told or value != value else "" for value, told in counts]
        rail = Rail.of([visible(symbol) for symbol in self.source], numbers)
        top = words.head_height() + 20
        width = max(rail.width() + 2 * MARGIN, _least_width(words))
        legend = top + rail.height() + 12
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        picture.text(self.moved[0].spoken(), (MARGIN, top - 6), Lettering(13))
        rail.draw(picture, (MARGIN, top), levels, self._title)
        ends = self._ends()
        draw_signed_legend(picture, (MARGIN, legend), ends, self._legend(), behind_text=True)
        words.draw(picture, foot)
        return picture

    def _matrix(self, words: Wording) -> Picture:
        pitch = _pitch(max(len(self.source), len(self.moved)))
        above = Labels.of(self.source, pitch)
        beside = Labels.of([one.name() for one in self.moved], pitch)
        left, top = MARGIN + beside.length() + 8, words.head_height() + above.height()
        right = left + len(self.source) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, _least_width(words), left + 220)
        legend = top + len(self.moved) * pitch + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        beside.draw_beside(picture, left, top)
        side = pitch - 1 if pitch >= 18 else pitch
        for (row, column), level in np.ndenumerate(self._levels()):
            box = left + column * pitch, top + row * pitch, side, side
            picture.rectangle(box, signed(float(level)), title=self._title(column, row))
        ends = self._ends()
        draw_signed_legend(picture, (left, legend), ends, self._legend(), behind_text=False)
        words.draw(picture, foot)
        return picture

    def _title(self, column: int, row: int = 0) -> str:
        told = self._shown(self.influence[row, column])
        return f"{visible(self.source[column])} moved {self.moved[row].name()}: {told}"

    def _ends(self) -> tuple[str, str]:
        low = "0" if self.unit == "share" else self._shown(-self.scale)
        return low, self._shown(self.scale)

    def _legend(self) -> str:
        words = {"nats": "nats", "share": "share", "number": "how much it moves"}
        return {**words, "weight": "weight"}[self.unit]

    def _shown(self, value: float) -> str:
        if math.isnan(value):
            return "?"
        # As many digits as the largest needs: small numbers are compared with each other, too.
        digits = max(2, 1 - math.floor(math.log10(self.scale)))
        told = f"{value:.{digits}f}" if self.unit == "share" else f"{value:+.{digits}f}"
        return told.replace("-0.", "+0.") if not float(told) else told

    def _caption(self, distance: bool) -> str:
        if not self.influence.size:
            return "There is nothing to explain: the input or the answer is empty."
        known = np.nan_to_num(self.influence, nan=0.0)
        if self.unit == "weight":
            return self._resting(known)
        if len(self.moved) > 1:
            return " ".join(filter(None, [self._strongest(known), self._own(known)]))
        sentence = self._sides(known[0])
        return f"{self._reach(known[0])} {sentence}".strip() if distance else sentence

    def _reach(self, values: NDArray[np.float64]) -> str:
        """How many of the last symbols have nearly all of the influence."""
        if not (count := reach_of(values)):
            return ""
        is_letters = all(len(symbol) == 1 or symbol in _BORDERS for symbol in self.source)
        one, many = ("letter", "characters") if is_letters else ("symbol", "symbols")
        last = f"the last {many[:-1]}" if count == 1 else f"the last {count} {many}"
        return f"The next {one} depends on {last} ({100 * MOST:.0f} % of the influence)."

    def _resting(self, known: Matrix) -> str:
        """What forecasts rest on: of the first step ahead, and of the last where there are more."""
        told = []
        for row in dict.fromkeys([0, len(self.moved) - 1]):
            best = int(abs(known[row]).argmax())
            if not known[row, best]:
                told.append(f"Nothing moves the forecast of {self.moved[row].answer}.")
                continue
            count = reach_of(known[row])
            last = "the last step" if count == 1 else f"the last {count} of {len(known[row])} steps"
            told.append(
                f"The forecast of {self.moved[row].answer} depends on {last}"
                f" ({100 * MOST:.0f} % of the influence), most on {self.source[best]}"
                f" ({self._shown(known[row, best])})."
            )
        return " ".join(told)

    def _sides(self, values: NDArray[np.float64]) -> str:
        """The symbols that count most on either side."""
        spoken = self.moved[0].spoken()
        best, worst = self._named(values), self._named(-values)
        if not best and not worst:
            return f"Nothing moved {spoken}."
        if self.unit == "share":
            return f"{spoken} looked most at {best}."
        above, below = _SIDES[self.unit]
        sides = [f"{above} {spoken}: {best}." if best else f"Nothing speaks for {spoken}."]
        return " ".join([*sides, *([f"{below}: {worst}."] if worst else [])])

    def _named(self, values: NDArray[np.float64]) -> str:
        """The largest that count at all, with their numbers."""
        order = np.argsort(-values, kind="stable")[:NAMED]
        large = [place for place in order if values[place] >= LEAST * self.scale]
        return ", ".join(
            f'"{visible(self.source[place])}" {self._shown(self.influence[0, place])}'
            for place in large
        )

    def _strongest(self, known: Matrix) -> str:
        row, column = divmod(int(abs(known).argmax()), len(self.source))
        told = f'"{visible(self.source[column])}" ({self._shown(known[row, column])})'
        if self.unit == "share":
            return f"Strongest: {self.moved[row].spoken()} looked at {told}."
        verb = "goes by" if known[row, column] >= 0 else "stands against"
        return f"Strongest: {self.moved[row].spoken()} {verb} {told}."

    def _own(self, known: Matrix) -> str:
        """Where each symbol has a label: whether it is the symbol itself that counts."""
        if not all(one.at for one in self.moved):
            return ""
        own = sum(
            int(abs(row).argmax()) == one.place - 1
            for one, row in zip(self.moved, known, strict=True)
        )
        return f"{own} of {len(self.moved)} go most by their own symbol."


def _checked(influence: ArrayLike, shape: tuple[int, int]) -> Matrix:
    matrix = np.array(influence, dtype=np.float64)
    if matrix.size == 0 and 0 in shape:
        matrix = matrix.reshape(shape)
    if matrix.shape != shape:
        raise ValueError(f"expected influence of shape answer × source {shape}, got {matrix.shape}")
    return matrix


def reach_of(values: NDArray[np.float64]) -> int:
    """How many of the last places have nearly all of the influence; 0 where there is none."""
    sizes = np.where(np.isfinite(values), abs(values), 0.0)[::-1]
    if not (total := sizes.sum()) > 0:
        return 0
    return min(int(np.searchsorted(np.cumsum(sizes), MOST * total)) + 1, len(sizes))


def _least_width(words: Wording) -> float:
    """Pixels that keep the title and what the colours mean each on one line."""
    return max(words.width(), Lettering(12).length(words.explanation) + 2 * MARGIN)


def _pitch(longest: int) -> float:
    """Pixels for a cell: large for short sequences, small but labelled for long ones."""
    for limit, pitch in ((12, 32), (24, 24), (40, 18), (100, 12)):
        if longest <= limit:
            return pitch
    return max(3, 1200 // longest)


def _plain(value: float) -> float | None:
    """JSON has no word for what is not a number."""
    return round(float(value), 6) if math.isfinite(value) else None
