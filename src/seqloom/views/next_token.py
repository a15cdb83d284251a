"""What comes next: the likeliest symbols, and what drawing them leaves out.

Which label a text may have: all of them with their chances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.bars import Bar, bars_picture, bars_text, percent
from .draw.heatmap import Wording
from .draw.svg import Picture
from .draw.text import visible

MOST_CHOICES = 40  # labels that are drawn
HALF = 0.5


@final
class ChoicesView(View):
    """The chance of every label of a whole sequence, the likeliest first.

    Args:
        symbols: what was read.
        labels: all of them.
        chances: of each.
        model: name of the model.
        several: whether any number of labels may be right, each with a chance of its own.
        notes: how the numbers came about.
    """

    kind: ClassVar[str] = "choices"

    def __init__(  # noqa: PLR0913 - what is drawn and what is said of it
        self,
        symbols: Sequence[str],
        labels: Sequence[str],
        chances: ArrayLike,
        model: str,
        *,
        several: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        self.symbols, self.labels, self.several = list(symbols), list(labels), several
        self.chances = np.array(chances, dtype=np.float64)
        if self.chances.shape != (len(self.labels),) or not self.labels:
            raise ValueError("expected a chance for each of several labels")
        self.order = np.argsort(-self.chances, kind="stable").tolist()
        told = list(notes)
        if len(self.labels) > MOST_CHOICES:
            told.append(f"the likeliest {MOST_CHOICES} of {len(self.labels)} labels are drawn")
        data = {"labels": self.labels, "chances": self.chances}
        super().__init__(model, self._caption(), data, told)

    def content(self) -> dict[str, Any]:
        choices = [
            {"label": self.labels[n], "p": round(float(self.chances[n]), 8)} for n in self.order
        ]
        return {"tokens": {"src": self.symbols}, "choices": choices, "several": self.several}

    def to_table(self) -> list[list[str]]:
        rows = [[visible(self.labels[n]), percent(float(self.chances[n]))] for n in self.order]
        return [["label", "probability"], *rows]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        return bars_text(self._bars(), width, ascii)

    def to_picture(self) -> Picture:
        each = "each label has a chance of its own" if self.several else "one label is right"
        words = Wording(f"What {self.model} answers", each, self.caption, self.notes)
        return bars_picture(self._bars(), words)

    def _bars(self) -> list[Bar]:
        return [
            Bar(
                self.labels[n],
                float(self.chances[n]),
                percent(float(self.chances[n])),
                self._is_said(n),
            )
            for n in self.order[:MOST_CHOICES]
        ]

    def _is_said(self, number: int) -> bool:
        if self.several:
            return bool(self.chances[number] > HALF)
        return bool(number == self.order[0])

    def _caption(self) -> str:
        said = [n for n in self.order if self._is_said(n)]
        left = [n for n in self.order if not self._is_said(n)]
        if not said:
            return f"No label is likelier than not; {self._named(left[:1])} is nearest."
        beside = f", next {self._named(left[:1])}" if left else ""
        return f"{self._named(said[:5])}{beside}."

    def _named(self, numbers: Sequence[int]) -> str:
        return ", ".join(
            f'"{visible(self.labels[n])}" with {percent(float(self.chances[n]))}' for n in numbers
        )


MOST = 20  # symbols that are listed


@dataclass(frozen=True)
class Drawn:
    """How a symbol is drawn: the settings, and the chance of each symbol after them."""

    chances: NDArray[np.float64]
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether symbols are drawn as the model has them."""
        return (self.temperature, self.top_k, self.top_p, self.min_p) == (1.0, 0, 1.0, 0.0)


@final
class NextView(View):
    """The likeliest symbols at one place, with their chance and that of being drawn.

    Args:
        read: the symbols of the rail: those that were read, or written where a model writes.
        at: the place on the rail after which the symbol comes.
        names: what all symbols are called.
        chances: the probability of each.
        drawn: how a symbol is drawn.
        model: name of the model.
        came: the number of the symbol that came, where that is known.
        source: what was read, where the rail is what is written.
        notes: how the numbers came about.
    """

    kind: ClassVar[str] = "next"

    def __init__(  # noqa: PLR0913 - what is drawn and what is said of it
        self,
        read: Sequence[str],
        at: int,
        names: Sequence[str],
        chances: NDArray[np.float64],
        drawn: Drawn,
        model: str,
        *,
        came: int | None = None,
        source: Sequence[str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.read, self.at, self.source = list(read), at, source
        self.names, self.chances, self.drawn, self.came = list(names), chances, drawn, came
        self.order = np.argsort(-chances, kind="stable")[:MOST].tolist()
        self.rest = max(0.0, 1.0 - float(chances[self.order].sum()))
        data = {"chances": chances, "drawn": drawn.chances, "order": self.order}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        tokens = {"src": self.read}
        if self.source is not None:
            tokens = {"src": list(self.source), "tgt": self.read}
        drawn, came = self.drawn, self.came
        return {
            "tokens": tokens,
            "rail": "src" if self.source is None else "tgt",
            "at": self.at,
            "choices": [
                {
                    "symbol": self.names[number],
                    "p": round(float(self.chances[number]), 8),
                    "after": round(float(drawn.chances[number]), 8),
                    "kept": bool(drawn.chances[number] > 0),
                }
                for number in self.order
            ],
            "rest": round(self.rest, 8),
            "kept": int((drawn.chances > 0).sum()),
            "cut": round(float(self.chances[drawn.chances == 0].sum()), 8),
            "temperature": drawn.temperature,
            "top_k": drawn.top_k,
            "top_p": drawn.top_p,
            "min_p": drawn.min_p,
            "came": None
            if came is None
            else {
                "symbol": self.names[came],
                "p": round(float(self.chances[came]), 8),
                "rank": int((self.chances > self.chances[came]).sum()) + 1,
            },
        }

    def to_table(self) -> list[list[str]]:
        rows = [["symbol", "probability", "drawn with"]]
        for number in self.order:
            after = float(self.drawn.chances[number])
            told = percent(after) if after > 0 else "cut"
            rows.append([visible(self.names[number]), percent(float(self.chances[number])), told])
        rest = float(self.drawn.chances.sum() - self.drawn.chances[self.order].sum())
        return [*rows, ["all others", percent(self.rest), percent(max(0.0, rest))]]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        return bars_text(self._bars(), width, ascii)

    def to_picture(self) -> Picture:
        explanation = "grey: never drawn" if not self.drawn.is_plain else "probability of each"
        if not self.drawn.is_plain:
            explanation = f"bar: the model; outline: drawn with; {explanation}"
        words = Wording(f"What comes next, by {self.model}", explanation, self.caption, self.notes)
        return bars_picture(self._bars(), words)

    def _bars(self) -> list[Bar]:
        bars = []
        for number in self.order:
            chance, after = float(self.chances[number]), float(self.drawn.chances[number])
            told = percent(chance)
            if not self.drawn.is_plain:
                told += f", drawn with {percent(after)}" if after > 0 else ", cut"
            came = " (came)" if number == self.came else ""
            behind = None if self.drawn.is_plain or after == 0 else after
            bars.append(Bar(self.names[number], chance, told + came, after > 0, behind))
        return bars

    def _caption(self) -> str:
        best, *others = self.order
        place = visible(self.read[self.at]) if 0 <= self.at < len(self.read) else ""
        after = f'After "{place}"' if place else "At the start"
        said = f'{after} comes "{visible(self.names[best])}" with {percent(self.chances[best])}'
        if others and self.chances[others[0]] > 0:
            said += f', then "{visible(self.names[others[0]])}" with '
            said += percent(self.chances[others[0]])
        sentences = [f"{said}; {self._doubt()}."]
        if self.came is not None and self.came != best:
            rank = int((self.chances > self.chances[self.came]).sum()) + 1
            chance = percent(float(self.chances[self.came]))
            sentences.append(
                f'What came, "{visible(self.names[self.came])}", is number {rank} with {chance}.'
            )
        if not self.drawn.is_plain:
            sentences.append(self._cut())
        return " ".join(sentences)

    def _doubt(self) -> str:
        """Among how many equally likely symbols the model might as well choose."""
        some = self.chances[self.chances > 0]
        choices = float(np.exp(-(some * np.log(some)).sum()))
        return f"as unsure as among {choices:.1f} symbols"

    def _cut(self) -> str:
        kept = self.drawn.chances > 0
        if kept.all():
            return "Nothing is cut off."
        lost = percent(float(self.chances[~kept].sum()))
        count = int(kept.sum())
        can = "One symbol" if count == 1 else f"{count} symbols"
        return f"{can} of {len(kept)} can be drawn; {lost} of the probability is cut off."
