"""Surprisal of each token of a text, -log2 p(token | tokens before), in bits; and its rank."""

from collections.abc import Sequence
from math import isfinite
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .base import View
from .draw.colours import PAGE, shade
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, FigureText
from .draw.svg import Picture
from .draw.text import visible
from .draw.text_heatmap import block_levels, text_grid
from .draw.text_rail import TokenStrip, draw_shade_legend

FULL = 8.0  # bits with the full colour: a probability of 1/256
NAMED = 3  # tokens that the caption names


@final
class SurprisalView(View):
    """Surprisal: -log2 p(x_t | x_1 … x_{t-1}) of each token in bits, and the token's rank.

    Args:
        tokens: the text, with the begin token before it.
        bits: surprisal of each token; NaN where nothing was predicted, infinite where the token
            had probability 0.
        ranks: of each token by its probability, 1 is the most probable; 0 where nothing was
            predicted.
        model: name of the model.
        notes: how the numbers were computed.
    """

    kind: ClassVar[str] = "surprise"

    def __init__(
        self,
        tokens: Sequence[str],
        bits: ArrayLike,
        ranks: Sequence[int],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.tokens, self.ranks = list(tokens), list(ranks)
        self.bits = np.array(bits, dtype=np.float64)
        if not len(self.tokens) == len(self.bits) == len(self.ranks):
            raise ValueError("expected bits and a rank for each token")
        predicted = self.bits[~np.isnan(self.bits)]
        self.mean = float(predicted.mean()) if len(predicted) else 0.0
        data = {"tokens": self.tokens, "bits": self.bits, "ranks": self.ranks}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.tokens},
            "bits": [round(bits, 6) if isfinite(bits) else None for bits in self.bits.tolist()],
            "ranks": [rank or None for rank in self.ranks],
            "mean": round(self.mean, 6) if isfinite(self.mean) else None,
        }

    def to_table(self) -> list[list[str]]:
        rows = zip(self.tokens, self.bits, self.ranks, strict=True)
        body = [[visible(token), _shown(bits), str(rank or "")] for token, bits, rank in rows]
        return [["token", "bits", "rank"], *body]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        blocks = block_levels(self._levels()[None], ascii=ascii)
        return text_grid(["bits"], self.tokens, blocks, width, ascii)

    def to_picture(self) -> Picture:
        text = FigureText(
            f"Surprisal under {self.model}",
            "the bluer, the more bits: -log2 p(token | tokens before)",
            self.caption,
            self.notes,
        )
        labels = [_shown(bits) for bits in self.bits]
        strip = TokenStrip.of([visible(token) for token in self.tokens], labels)
        top = text.head_height() + 6
        width = max(strip.width() + 2 * MARGIN, text.width(), 560.0)
        legend = top + strip.height() + 12
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        strip.draw(picture, (MARGIN, top), self._levels(), self._title, shade)
        draw_shade_legend(picture, (MARGIN, legend), ("0", f"{FULL:g} or more"), "bits")
        text.draw(picture, foot)
        return picture

    def _levels(self) -> np.ndarray:
        return np.asarray(np.nan_to_num(self.bits, nan=0.0, posinf=FULL).clip(0, FULL) / FULL)

    def _title(self, position: int) -> str:
        rank = f", rank {self.ranks[position]}" if self.ranks[position] else ""
        bits = _shown(self.bits[position]) or "-"
        return f"{visible(self.tokens[position])}: {bits} bits{rank}"

    def _caption(self) -> str:
        known = [position for position, bits in enumerate(self.bits) if not np.isnan(bits)]
        if not known:
            return "There is nothing to predict: the text is empty."
        order = sorted(known, key=lambda position: -self.bits[position])[:NAMED]
        most = ", ".join(
            f'"{visible(self.tokens[p])}" at {p} ({_shown(self.bits[p])} bits)' for p in order
        )
        first = sum(self.ranks[position] == 1 for position in known)
        mean = f"{self.mean:.2f}" if isfinite(self.mean) else "infinitely many"
        return (
            f"{mean} bits per token; {first} of {len(known)} tokens have rank 1."
            f" Highest surprisal: {most}."
        )


def _shown(bits: float) -> str:
    if np.isnan(bits):
        return ""
    return f"{bits:.1f}" if isfinite(bits) else "∞"
