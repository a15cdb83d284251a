"""Activations: a heat map of the hidden units (cells) of a layer over time."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import MUTED, PAGE, signed
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, AxisLabels, FigureText
from .draw.svg import Picture, TextStyle
from .draw.text import visible
from .draw.text_heatmap import block_levels, text_grid
from .draw.text_rail import draw_signed_legend

_MOST_CELLS, _MOST_TITLES, _IN_TEXT = 64, 6000, 12
CONSTANT = 0.05  # of the largest value: a cell with a smaller standard deviation hardly varies


@final
class ActivationsView(View):
    """The activations of a layer over time, the cells with the largest variance first.

    Args:
        tokens: the input, one for each step.
        values: time × cells.
        model: name of the model.
        layers: the names of all layers with hidden states.
        layer: which of them this is.
        notes: how the values were computed.
    """

    kind: ClassVar[str] = "states"

    def __init__(  # noqa: PLR0913 - the data, and the layer it is of
        self,
        tokens: Sequence[str],
        values: ArrayLike,
        model: str,
        *,
        layers: Sequence[str],
        layer: int,
        notes: Sequence[str] = (),
    ) -> None:
        self.tokens, self.layers, self.layer = list(tokens), list(layers), layer
        self.values = np.array(values, dtype=np.float64)
        if self.values.ndim != 2 or len(self.values) != len(self.tokens) or not len(self.values):
            raise ValueError(f"expected activations as time × cells, got {self.values.shape}")
        self.bound = bound_of(self.values)
        self.order = np.argsort(-self.values.std(0), kind="stable").astype(np.int64)
        data = {"tokens": self.tokens, "values": self.values, "order": self.order}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.tokens},
            "layers": self.layers,
            "layer": self.layer,
            "values": self.values.round(4).tolist(),
            "range": [-self.bound, self.bound],
            "order": self.order.tolist(),
        }

    def to_table(self) -> list[list[str]]:
        cells = self.order[:_IN_TEXT].tolist()
        heading = ["token", *(f"cell {cell}" for cell in cells)]
        rows = zip(self.tokens, self.values[:, cells], strict=True)
        return [heading, *([visible(t), *(f"{v:.2f}" for v in row)] for t, row in rows)]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        cells = self.order[:_IN_TEXT].tolist()
        levels = (self.values[:, cells].T / self.bound + 1) / 2
        names = [f"cell {cell}" for cell in cells]
        return text_grid(names, self.tokens, block_levels(levels, ascii=ascii), width, ascii)

    def to_picture(self) -> Picture:
        pitch = max(2.0, min(14.0, 1120 // max(1, len(self.tokens))))
        above = AxisLabels.of(self.tokens, pitch)
        drawn = self.order[:_MOST_CELLS]
        height = max(3, min(14, 256 // max(1, len(drawn))))
        text = FigureText(
            f"Activations of {self.model}",
            f"{self.layers[self.layer]}; columns: time steps; rows: cells (hidden units)",
            self.caption,
            (*self.notes, _note_on_order(len(self.order))),
        )
        left, top = MARGIN + 40, text.head_height() + above.height()
        right = left + len(self.tokens) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, text.width(), 480.0)
        legend = top + len(drawn) * height + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        small, is_small = TextStyle(9, MUTED, "end"), self.values.size <= _MOST_TITLES
        for row, cell in enumerate(drawn.tolist()):
            y = top + row * height
            if height >= 9:
                picture.text(str(cell), (left - 5, y + height * 0.8), small)
            for time, value in enumerate(self.values[:, cell].tolist()):
                title = f"cell {cell}, {visible(self.tokens[time])}: {value:.3f}"
                box = left + time * pitch, y, pitch, height
                colour = signed(value / self.bound)
                # Tooltips of thousands of rectangles would make the file huge.
                picture.rectangle(box, colour, title=title if is_small else "")
        ends = f"{-self.bound:.2g}", f"{self.bound:.2g}"
        draw_signed_legend(picture, (left, legend), ends, "activation", behind_text=False)
        text.draw(picture, foot)
        return picture

    def _caption(self) -> str:
        deviations = self.values.std(0)
        first = int(self.order[0])
        constant = int((deviations < CONSTANT * self.bound).sum())
        return (
            f"{self.layers[self.layer][:1].upper()}{self.layers[self.layer][1:]}:"
            f" {self.values.shape[1]} cells from {self.values.min():.2f} to"
            f" {self.values.max():.2f}. Cell {first} varies most (standard deviation"
            f" {deviations[first]:.2f}); {constant} are almost constant."
        )


def _note_on_order(cells: int) -> str:
    note = "Cells are sorted by their standard deviation."
    return note if cells <= _MOST_CELLS else f"{note} The first {_MOST_CELLS} of {cells} are drawn."


def bound_of(values: NDArray[np.float64]) -> float:
    """The value with the full colour: 1, or the largest absolute value where that is larger."""
    most = float(abs(values).max(initial=0.0))
    return 1.0 if most <= 1 else round(most, 4)
