"""Which label a text may have: all of them with their chances."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .bars import Bar, bars_picture, bars_text, percent
from .drawing import Picture
from .heat_map import Wording
from .symbols import visible
from .view import View

MOST = 40  # labels that are drawn
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
        if len(self.labels) > MOST:
            told.append(f"the likeliest {MOST} of {len(self.labels)} labels are drawn")
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
            for n in self.order[:MOST]
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
