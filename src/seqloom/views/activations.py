"""What a layer holds while it reads: the value of every cell at every step."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import MUTED, PAGE, signed
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Labels, Wording
from .draw.svg import Lettering, Picture
from .draw.text import visible
from .draw.text_heatmap import block_levels, text_grid
from .draw.text_rail import draw_signed_legend

_MOST_CELLS, _MOST_TITLES, _IN_TEXT = 64, 6000, 12
STILL = 0.05  # of the largest value: a cell that deviates less hardly moves


@final
class StatesView(View):
    """The states of a layer over time, the liveliest cells first.

    Args:
        symbols: what was read, one for each step.
        values: time × cells.
        model: name of the model.
        layers: the names of all layers that have states.
        layer: which of them this is.
        notes: how the values came about.
    """

    kind: ClassVar[str] = "states"

    def __init__(  # noqa: PLR0913 - what is drawn, and of what it is one part
        self,
        symbols: Sequence[str],
        values: ArrayLike,
        model: str,
        *,
        layers: Sequence[str],
        layer: int,
        notes: Sequence[str] = (),
    ) -> None:
        self.symbols, self.layers, self.layer = list(symbols), list(layers), layer
        self.values = np.array(values, dtype=np.float64)
        if self.values.ndim != 2 or len(self.values) != len(self.symbols) or not len(self.values):
            raise ValueError(f"expected states as time × cells, got {self.values.shape}")
        self.bound = bound_of(self.values)
        self.order = np.argsort(-self.values.std(0), kind="stable").astype(np.int64)
        told = [*notes, "In the picture, cells are sorted by how much they vary."]
        if len(self.order) > _MOST_CELLS:
            told[-1] += f" The first {_MOST_CELLS} of {len(self.order)} are drawn."
        data = {"symbols": self.symbols, "values": self.values, "order": self.order}
        super().__init__(model, self._caption(), data, told)

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.symbols},
            "layers": self.layers,
            "layer": self.layer,
            "values": self.values.round(4).tolist(),
            "range": [-self.bound, self.bound],
            "order": self.order.tolist(),
        }

    def to_table(self) -> list[list[str]]:
        cells = self.order[:_IN_TEXT].tolist()
        heading = ["symbol", *(f"cell {cell}" for cell in cells)]
        rows = zip(self.symbols, self.values[:, cells], strict=True)
        return [heading, *([visible(s), *(f"{v:.2f}" for v in row)] for s, row in rows)]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        cells = self.order[:_IN_TEXT].tolist()
        levels = (self.values[:, cells].T / self.bound + 1) / 2
        names = [f"cell {cell}" for cell in cells]
        return text_grid(names, self.symbols, block_levels(levels, ascii=ascii), width, ascii)

    def to_picture(self) -> Picture:
        pitch = max(2.0, min(14.0, 1120 // max(1, len(self.symbols))))
        above = Labels.of(self.symbols, pitch)
        drawn = self.order[:_MOST_CELLS]
        height = max(3, min(14, 256 // max(1, len(drawn))))
        words = Wording(
            f"States of {self.model}",
            f"{self.layers[self.layer]}: left to right what was read; each row: one cell",
            self.caption,
            self.notes,
        )
        left, top = MARGIN + 40, words.head_height() + above.height()
        right = left + len(self.symbols) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, words.width(), 480.0)
        legend = top + len(drawn) * height + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        small, is_small = Lettering(9, MUTED, "end"), self.values.size <= _MOST_TITLES
        for row, cell in enumerate(drawn.tolist()):
            y = top + row * height
            if height >= 9:
                picture.text(str(cell), (left - 5, y + height * 0.8), small)
            for time, value in enumerate(self.values[:, cell].tolist()):
                title = f"cell {cell}, {visible(self.symbols[time])}: {value:.3f}"
                box = left + time * pitch, y, pitch, height
                colour = signed(value / self.bound)
                picture.rectangle(box, colour, title=title if is_small else "")
        ends = f"{-self.bound:.2g}", f"{self.bound:.2g}"
        draw_signed_legend(picture, (left, legend), ends, "value of the cell", behind_text=False)
        words.draw(picture, foot)
        return picture

    def _caption(self) -> str:
        deviations = self.values.std(0)
        first = int(self.order[0])
        still = int((deviations < STILL * self.bound).sum())
        return (
            f"{self.layers[self.layer][:1].upper()}{self.layers[self.layer][1:]}:"
            f" {self.values.shape[1]} cells from {self.values.min():.2f} to"
            f" {self.values.max():.2f}. Cell {first} moves most (deviation"
            f" {deviations[first]:.2f}); {still} hardly move."
        )


def bound_of(values: NDArray[np.float64]) -> float:
    """The value that has the full colour: 1, or the largest where some are beyond."""
    most = float(abs(values).max(initial=0.0))
    return 1.0 if most <= 1 else round(most, 4)
