"""Neuron view: a text coloured by one hidden unit (cell), and what the units of a layer encode."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .activations import bound_of
from .base import View
from .draw.colours import PAGE
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, FigureText
from .draw.svg import Picture
from .draw.text import fold, to_ascii, visible
from .draw.text_heatmap import block_levels, text_grid
from .draw.text_rail import TokenStrip, draw_signed_legend

_IN_TEXT = 5  # features that are listed in the terminal


@dataclass(frozen=True)
class NeuronFeature:
    """A feature of the input that a cell encodes.

    Args:
        cell: the cell.
        feature: in words, such as "inside quotation marks".
        information: mutual information of cell and feature, in bits.
        fraction: the information as a fraction of the entropy of the feature.
        inside: mean activation where the feature holds.
        outside: mean activation elsewhere.
        sentence: all of this in a sentence.
    """

    cell: int
    feature: str
    information: float
    fraction: float
    inside: float
    outside: float
    sentence: str


@final
class NeuronView(View):
    """Neuron view: the activation of one cell behind each token (Karpathy et al., 2015).

    Args:
        tokens: the input, one for each step.
        values: activations of the cell, one for each step.
        model: name of the model.
        layers: the names of all layers with hidden states.
        layer: which of them this is.
        cell: which cell of it.
        cells: number of cells of the layer.
        features: what cells of the layer encode, the clearest first.
        bound: the value with the full colour; None computes it from the values.
        predictions: of a language model: at each step the most probable next tokens with their
            probabilities.
        notes: how the values were computed.
    """

    kind: ClassVar[str] = "cell"

    def __init__(  # noqa: PLR0913 - the data, and the layer it is of
        self,
        tokens: Sequence[str],
        values: ArrayLike,
        model: str,
        *,
        layers: Sequence[str],
        layer: int,
        cell: int,
        cells: int,
        features: Sequence[NeuronFeature] = (),
        bound: float | None = None,
        predictions: Sequence[Sequence[tuple[str, float]]] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.tokens, self.layers, self.layer = list(tokens), list(layers), layer
        self.cell, self.cells, self.features = cell, cells, list(features)
        self.values, self.predictions = np.array(values, dtype=np.float64), predictions
        if self.values.shape != (len(self.tokens),):
            raise ValueError("expected a value for each token")
        self.bound = bound_of(self.values) if bound is None else bound
        data = {"tokens": self.tokens, "values": self.values, "features": self.features}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "tokens": {"src": self.tokens},
            "layers": self.layers,
            "layer": self.layer,
            "cell": self.cell,
            "cells": self.cells,
            "values": self.values.round(4).tolist(),
            "range": [-self.bound, self.bound],
            "stories": [
                {
                    "cell": one.cell,
                    "story": one.feature,
                    "information": round(one.information, 4),
                    "share": round(one.fraction, 4),
                    "inside": round(one.inside, 4),
                    "outside": round(one.outside, 4),
                    "sentence": one.sentence,
                }
                for one in self.features
            ],
        }
        if self.predictions is not None:
            fields["predictions"] = [
                [[token, round(p, 6)] for token, p in row] for row in self.predictions
            ]
        return fields

    def to_table(self) -> list[list[str]]:
        heading = ["token", f"cell {self.cell}"]
        rows = [[visible(t), f"{v:.3f}"] for t, v in zip(self.tokens, self.values, strict=True)]
        if self.predictions is None:
            return [heading, *rows]
        best = [" ".join(f"{visible(t)} {p:.2f}" for t, p in row) for row in self.predictions]
        return [[*heading, "next"], *([*row, one] for row, one in zip(rows, best, strict=True))]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        levels = (self.values[None] / self.bound + 1).clip(0, 2) / 2
        name = f"cell {self.cell}"
        lines = text_grid([name], self.tokens, block_levels(levels, ascii=ascii), width, ascii)
        for one in self.features[:_IN_TEXT]:
            lines += fold(to_ascii(one.sentence) if ascii else one.sentence, width)
        return lines

    def to_picture(self) -> Picture:
        text = FigureText(
            f"Cell {self.cell} of {self.layers[self.layer]}, {self.model}",
            "background of each token: activation of the cell after reading it",
            self.caption,
            self.notes,
        )
        strip = TokenStrip.of([visible(token) for token in self.tokens], [""] * len(self.tokens))
        top = text.head_height() + 6
        width = max(strip.width() + 2 * MARGIN, text.width(), 480.0)
        legend = top + strip.height() + 12
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        strip.draw(picture, (MARGIN, top), self.values / self.bound, self._title)
        ends = f"{-self.bound:.2g}", f"{self.bound:.2g}"
        draw_signed_legend(picture, (MARGIN, legend), ends, "activation", behind_text=True)
        text.draw(picture, foot)
        return picture

    def _title(self, position: int) -> str:
        return f"{visible(self.tokens[position])}: {self.values[position]:.3f}"

    def _caption(self) -> str:
        own = next((one for one in self.features if one.cell == self.cell), None)
        cell = f"Cell {self.cell} of {self.cells} in {self.layers[self.layer]}"
        if own is not None:
            return f"{cell} {own.sentence.removeprefix(f'Cell {self.cell} ')}"
        low, high = float(self.values.min()), float(self.values.max())
        sentence = f"{cell} ranges from {low:.2f} to {high:.2f}."
        if not self.features:
            return f"{sentence} No cell of this layer clearly encodes a feature of this text."
        return f"{sentence} Clearest other cell: {self.features[0].sentence}"
