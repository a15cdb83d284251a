"""How much each symbol of a text surprises a model, and how many it would have bet on before."""

from collections.abc import Sequence
from math import isfinite
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from .base import View
from .draw.colours import PAGE, shade
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Wording
from .draw.svg import Picture
from .draw.text import visible
from .draw.text_heatmap import block_levels, text_grid
from .draw.text_rail import Rail, draw_shade_legend

FULL = 8.0  # bits that have the full colour: one in 256
MOST_NAMED = 3


@final
class SurpriseView(View):
    """Bits of surprise of each symbol, -log2 p(symbol given those before), and its rank.

    Args:
        symbols: the text, with what stands before its first symbol.
        bits: of each symbol; not a number where nothing was predicted, without bound where the
            symbol could not be.
        ranks: of each symbol among all, 1 being the likeliest; 0 where nothing was predicted.
        model: name of the model.
        notes: how the numbers came about.
    """

    kind: ClassVar[str] = "surprise"

    def __init__(
        self,
        symbols: Sequence[str],
        bits: ArrayLike,
        ranks: Sequence[int],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.symbols, self.ranks = list(symbols), list(ranks)
        self.bits = np.array(bits, dtype=np.float64)
        if not len(self.symbols) == len(self.bits) == len(self.ranks):
            raise ValueError("expected bits and a rank for each symbol")
        told = self.bits[~np.isnan(self.bits)]
        self.mean = float(told.mean()) if len(told) else 0.0
        data = {"symbols": self.symbols, "bits": self.bits, "ranks": self.ranks}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.symbols},
            "bits": [round(bits, 6) if isfinite(bits) else None for bits in self.bits.tolist()],
            "ranks": [rank or None for rank in self.ranks],
            "mean": round(self.mean, 6) if isfinite(self.mean) else None,
        }

    def to_table(self) -> list[list[str]]:
        rows = zip(self.symbols, self.bits, self.ranks, strict=True)
        body = [[visible(symbol), _told(bits), str(rank or "")] for symbol, bits, rank in rows]
        return [["symbol", "bits", "rank"], *body]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        blocks = block_levels(self._levels()[None], ascii=ascii)
        return text_grid(["bits"], self.symbols, blocks, width, ascii)

    def to_picture(self) -> Picture:
        words = Wording(
            f"What surprises {self.model}",
            "the bluer, the more bits: -log2 of the probability of the symbol after those before",
            self.caption,
            self.notes,
        )
        numbers = [_told(bits) for bits in self.bits]
        rail = Rail.of([visible(symbol) for symbol in self.symbols], numbers)
        top = words.head_height() + 6
        width = max(rail.width() + 2 * MARGIN, words.width(), 560.0)
        legend = top + rail.height() + 12
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        rail.draw(picture, (MARGIN, top), self._levels(), self._title, shade)
        draw_shade_legend(picture, (MARGIN, legend), ("0", f"{FULL:g} or more"), "bits")
        words.draw(picture, foot)
        return picture

    def _levels(self) -> np.ndarray:
        return np.asarray(np.nan_to_num(self.bits, nan=0.0, posinf=FULL).clip(0, FULL) / FULL)

    def _title(self, place: int) -> str:
        rank = f", rank {self.ranks[place]}" if self.ranks[place] else ""
        return f"{visible(self.symbols[place])}: {_told(self.bits[place]) or '-'} bits{rank}"

    def _caption(self) -> str:
        known = [place for place, bits in enumerate(self.bits) if not np.isnan(bits)]
        if not known:
            return "There is nothing to predict: the text is empty."
        order = sorted(known, key=lambda place: -self.bits[place])[:MOST_NAMED]
        most = ", ".join(
            f'"{visible(self.symbols[p])}" at {p} ({_told(self.bits[p])} bits)' for p in order
        )
        first = sum(self.ranks[place] == 1 for place in known)
        mean = f"{self.mean:.2f}" if isfinite(self.mean) else "without bound"
        return (
            f"{mean} bits for each symbol; {first} of {len(known)} were expected most."
            f" Most surprising: {most}."
        )


def _told(bits: float) -> str:
    if np.isnan(bits):
        return ""
    return f"{bits:.1f}" if isfinite(bits) else "∞"
