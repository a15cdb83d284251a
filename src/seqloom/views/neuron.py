"""A text coloured by one cell of a layer, and the cells that have a story."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .activations import bound_of
from .base import View
from .draw.colours import PAGE
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Wording
from .draw.svg import Picture
from .draw.text import fold, to_ascii, visible
from .draw.text_heatmap import block_levels, text_grid
from .draw.text_rail import Rail, draw_signed_legend

_TOLD = 5  # stories that are told in the terminal


@dataclass(frozen=True)
class Story:
    """What a cell follows: how much it tells of that, and its mean where it holds and elsewhere."""

    cell: int
    story: str
    information: float  # bits that the cell tells of it
    share: float  # of all there is to tell
    inside: float
    outside: float
    sentence: str


@final
class CellView(View):
    """The value of one cell behind every symbol, from orange (low) to blue (high).

    Args:
        symbols: what was read, one for each step.
        values: of the cell, one for each step.
        model: name of the model.
        layers: the names of all layers that have states.
        layer: which of them this is.
        cell: which cell of it.
        cells: how many the layer has.
        stories: the cells with a story, the clearest first.
        bound: the value that has the full colour; None takes it from the values.
        predictions: at each step the likeliest next symbols with their chances, where there are.
        notes: how the values came about.
    """

    kind: ClassVar[str] = "cell"

    def __init__(  # noqa: PLR0913 - what is drawn, and of what it is one part
        self,
        symbols: Sequence[str],
        values: ArrayLike,
        model: str,
        *,
        layers: Sequence[str],
        layer: int,
        cell: int,
        cells: int,
        stories: Sequence[Story] = (),
        bound: float | None = None,
        predictions: Sequence[Sequence[tuple[str, float]]] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.symbols, self.layers, self.layer = list(symbols), list(layers), layer
        self.cell, self.cells, self.stories = cell, cells, list(stories)
        self.values, self.predictions = np.array(values, dtype=np.float64), predictions
        if self.values.shape != (len(self.symbols),):
            raise ValueError("expected a value for each symbol")
        self.bound = bound_of(self.values) if bound is None else bound
        data = {"symbols": self.symbols, "values": self.values, "stories": self.stories}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "tokens": {"src": self.symbols},
            "layers": self.layers,
            "layer": self.layer,
            "cell": self.cell,
            "cells": self.cells,
            "values": self.values.round(4).tolist(),
            "range": [-self.bound, self.bound],
            "stories": [
                {
                    "cell": one.cell,
                    "story": one.story,
                    "information": round(one.information, 4),
                    "share": round(one.share, 4),
                    "inside": round(one.inside, 4),
                    "outside": round(one.outside, 4),
                    "sentence": one.sentence,
                }
                for one in self.stories
            ],
        }
        if self.predictions is not None:
            found["predictions"] = [
                [[symbol, round(chance, 6)] for symbol, chance in row] for row in self.predictions
            ]
        return found

    def to_table(self) -> list[list[str]]:
        heading = ["symbol", f"cell {self.cell}"]
        rows = [[visible(s), f"{v:.3f}"] for s, v in zip(self.symbols, self.values, strict=True)]
        if self.predictions is None:
            return [heading, *rows]
        told = [" ".join(f"{visible(s)} {p:.2f}" for s, p in row) for row in self.predictions]
        return [[*heading, "next"], *([*row, one] for row, one in zip(rows, told, strict=True))]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        levels = (self.values[None] / self.bound + 1).clip(0, 2) / 2
        name = f"cell {self.cell}"
        lines = text_grid([name], self.symbols, block_levels(levels, ascii=ascii), width, ascii)
        for one in self.stories[:_TOLD]:
            lines += fold(to_ascii(one.sentence) if ascii else one.sentence, width)
        return lines

    def to_picture(self) -> Picture:
        words = Wording(
            f"Cell {self.cell} of {self.layers[self.layer]}, {self.model}",
            "behind each symbol the value of the cell once it is read",
            self.caption,
            self.notes,
        )
        rail = Rail.of([visible(symbol) for symbol in self.symbols], [""] * len(self.symbols))
        top = words.head_height() + 6
        width = max(rail.width() + 2 * MARGIN, words.width(), 480.0)
        legend = top + rail.height() + 12
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        rail.draw(picture, (MARGIN, top), self.values / self.bound, self._title)
        ends = f"{-self.bound:.2g}", f"{self.bound:.2g}"
        draw_signed_legend(picture, (MARGIN, legend), ends, "value", behind_text=True)
        words.draw(picture, foot)
        return picture

    def _title(self, place: int) -> str:
        return f"{visible(self.symbols[place])}: {self.values[place]:.3f}"

    def _caption(self) -> str:
        own = next((one for one in self.stories if one.cell == self.cell), None)
        said = f"Cell {self.cell} of {self.cells} in {self.layers[self.layer]}"
        if own is not None:
            return f"{said} {own.sentence.removeprefix(f'Cell {self.cell} ')}"
        low, high = float(self.values.min()), float(self.values.max())
        found = f"{said} goes from {low:.2f} to {high:.2f}."
        if not self.stories:
            return f"{found} No cell of this layer has a clear story in this text."
        return f"{found} Clearest of the others: {self.stories[0].sentence}"
