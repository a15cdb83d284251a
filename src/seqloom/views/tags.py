"""The label of each place, how sure it is, what else it could be, and what is one thing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from .base import View
from .draw.colours import ORANGE, PAGE, shade
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Wording
from .draw.svg import Picture
from .draw.text import column_width, to_ascii, visible
from .draw.text_rail import Rail, draw_shade_legend


@dataclass(frozen=True)
class Labelled:
    """The label of one place, its chance, and the next likeliest with theirs."""

    label: str
    chance: float
    alternatives: tuple[tuple[str, float], ...] = ()


@final
class TagsView(View):
    """Every symbol with its label, the paler the less sure.

    Args:
        symbols: what was read.
        tags: the label of each.
        labels: all labels there are, in an order that stays.
        spans: what is one thing: its label, and the places from its first to behind its last.
        model: name of the model.
        notes: how the numbers came about.
    """

    kind: ClassVar[str] = "tags"

    def __init__(  # noqa: PLR0913, PLR0917 - what is drawn and what is said of it
        self,
        symbols: Sequence[str],
        tags: Sequence[Labelled],
        labels: Sequence[str],
        spans: Sequence[tuple[str, int, int]],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.symbols, self.tags, self.labels = list(symbols), list(tags), list(labels)
        if len(self.symbols) != len(self.tags):
            raise ValueError("expected a label for each symbol")
        self.spans = sorted(spans, key=lambda span: span[1:])
        data = {"symbols": self.symbols, "tags": self.tags, "spans": self.spans}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.symbols},
            "labels": self.labels,
            "tags": [
                {
                    "label": tag.label,
                    "p": round(tag.chance, 6),
                    "alternatives": [[label, round(p, 6)] for label, p in tag.alternatives],
                }
                for tag in self.tags
            ],
            "spans": [{"label": label, "start": a, "end": b} for label, a, b in self.spans],
        }

    def to_table(self) -> list[list[str]]:
        rows = [["symbol", "label", "probability", "or"]]
        for symbol, tag in zip(self.symbols, self.tags, strict=True):
            other = " ".join(f"{visible(label)} {p:.2f}" for label, p in tag.alternatives[:3])
            rows.append([visible(symbol), visible(tag.label), f"{tag.chance:.2f}", other])
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        lines, here = [], ""
        for symbol, tag in zip(self.symbols, self.tags, strict=True):
            sure = "" if tag.chance >= 0.995 else f" {tag.chance:.2f}"
            piece = f"{visible(symbol)}/{visible(tag.label)}{sure}"
            piece = to_ascii(piece) if ascii else piece
            if here and column_width(f"{here}  {piece}") > width:
                lines.append(here)
                here = ""
            here = f"{here}  {piece}" if here else piece
        return [*lines, *([here] if here else [])]

    def to_picture(self) -> Picture:
        words = Wording(
            f"Labels by {self.model}",
            "below each symbol its label; the bluer, the surer",
            self.caption,
            self.notes,
        )
        below = [visible(tag.label) for tag in self.tags]
        rail = Rail.of([visible(symbol) for symbol in self.symbols], below)
        top = words.head_height() + 6
        width = max(rail.width() + 2 * MARGIN, words.width(), 480.0)
        legend = top + rail.height() + 12
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        levels = np.array([tag.chance for tag in self.tags])
        rail.draw(picture, (MARGIN, top), levels, self._title, shade)
        for _, start, end in self.spans:
            self._draw_span(picture, rail, top, start, end)
        draw_shade_legend(picture, (MARGIN, legend), ("0", "1"), "probability of the label")
        words.draw(picture, foot)
        return picture

    def _draw_span(self, picture: Picture, rail: Rail, top: float, start: int, end: int) -> None:
        """A line under what is one thing, in each line of the rail that it stands in."""
        for place in range(start, end):
            left, down, wide = rail.places[place]
            more = 3.0 if place + 1 < end and rail.places[place + 1][1] == down else 0.0
            y = top + down + 24
            picture.line((MARGIN + left, y), (MARGIN + left + wide + more, y), ORANGE, 2)

    def _title(self, place: int) -> str:
        tag = self.tags[place]
        other = ", ".join(f"{visible(label)} {p:.3f}" for label, p in tag.alternatives)
        return f"{visible(self.symbols[place])}: {visible(tag.label)} {tag.chance:.3f} ({other})"

    def _caption(self) -> str:
        if not self.tags:
            return "There is nothing to label: the text is empty."
        place = min(range(len(self.tags)), key=lambda p: self.tags[p].chance)
        tag = self.tags[place]
        other = ""
        if tag.alternatives:
            label, p = tag.alternatives[0]
            other = f" / {p:.2f} {visible(label)}"
        count = len(self.spans)
        kinds = len({tag.label for tag in self.tags})
        said = f"{len(self.tags)} symbols, {kinds} different label{'s' * (kinds != 1)}"
        if count:
            said += f", {count} span{'s' * (count != 1)}"
        return (
            f'{said}; least sure about "{visible(self.symbols[place])}"'
            f" ({tag.chance:.2f} {visible(tag.label)}{other})."
        )
