"""Sequence labels: the tag of each token with its probability, alternatives, and entity spans."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from .base import View
from .draw.colours import ORANGE, PAGE, shade
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, FigureText
from .draw.svg import Picture
from .draw.text import column_width, to_ascii, visible
from .draw.text_rail import TokenStrip, draw_shade_legend


@dataclass(frozen=True)
class TaggedToken:
    """The predicted label of a token, its probability, and the next most probable labels."""

    label: str
    probability: float
    alternatives: tuple[tuple[str, float], ...] = ()


@final
class TagsView(View):
    """Sequence labels: each token with its label, on a colour that shows the probability.

    Args:
        tokens: the input.
        tags: the predicted label of each token.
        labels: all labels, in a fixed order.
        spans: entities: label, first position, and the position after the last.
        model: name of the model.
        notes: how the numbers were computed.
    """

    kind: ClassVar[str] = "tags"

    def __init__(  # noqa: PLR0913, PLR0917 - the data, and what describes it
        self,
        tokens: Sequence[str],
        tags: Sequence[TaggedToken],
        labels: Sequence[str],
        spans: Sequence[tuple[str, int, int]],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.tokens, self.tags, self.labels = list(tokens), list(tags), list(labels)
        if len(self.tokens) != len(self.tags):
            raise ValueError("expected a label for each token")
        self.spans = sorted(spans, key=lambda span: span[1:])
        data = {"tokens": self.tokens, "tags": self.tags, "spans": self.spans}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.tokens},
            "labels": self.labels,
            "tags": [
                {
                    "label": tag.label,
                    "p": round(tag.probability, 6),
                    "alternatives": [[label, round(p, 6)] for label, p in tag.alternatives],
                }
                for tag in self.tags
            ],
            "spans": [{"label": label, "start": a, "end": b} for label, a, b in self.spans],
        }

    def to_table(self) -> list[list[str]]:
        rows = [["token", "label", "probability", "alternatives"]]
        for token, tag in zip(self.tokens, self.tags, strict=True):
            others = " ".join(f"{visible(label)} {p:.2f}" for label, p in tag.alternatives[:3])
            rows.append([visible(token), visible(tag.label), f"{tag.probability:.2f}", others])
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        lines, line = [], ""
        for token, tag in zip(self.tokens, self.tags, strict=True):
            probability = "" if tag.probability >= 0.995 else f" {tag.probability:.2f}"
            cell = f"{visible(token)}/{visible(tag.label)}{probability}"
            cell = to_ascii(cell) if ascii else cell
            if line and column_width(f"{line}  {cell}") > width:
                lines.append(line)
                line = ""
            line = f"{line}  {cell}" if line else cell
        return [*lines, *([line] if line else [])]

    def to_picture(self) -> Picture:
        text = FigureText(
            f"Labels predicted by {self.model}",
            "below each token: its label; the bluer, the more probable",
            self.caption,
            self.notes,
        )
        below = [visible(tag.label) for tag in self.tags]
        strip = TokenStrip.of([visible(token) for token in self.tokens], below)
        top = text.head_height() + 6
        width = max(strip.width() + 2 * MARGIN, text.width(), 480.0)
        legend = top + strip.height() + 12
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        levels = np.array([tag.probability for tag in self.tags])
        strip.draw(picture, (MARGIN, top), levels, self._title, shade)
        for _, start, end in self.spans:
            self._draw_span(picture, strip, top, start, end)
        draw_shade_legend(picture, (MARGIN, legend), ("0", "1"), "probability of the label")
        text.draw(picture, foot)
        return picture

    def _draw_span(
        self, picture: Picture, strip: TokenStrip, top: float, start: int, end: int
    ) -> None:
        """A line under the tokens of an entity, in each line of the strip that it is in."""
        for position in range(start, end):
            left, down, wide = strip.boxes[position]
            # Across the gap to the next token, unless that is in the next line.
            more = 3.0 if position + 1 < end and strip.boxes[position + 1][1] == down else 0.0
            y = top + down + 24
            picture.line((MARGIN + left, y), (MARGIN + left + wide + more, y), ORANGE, 2)

    def _title(self, position: int) -> str:
        tag, token = self.tags[position], visible(self.tokens[position])
        others = ", ".join(f"{visible(label)} {p:.3f}" for label, p in tag.alternatives)
        return f"{token}: {visible(tag.label)} {tag.probability:.3f} ({others})"

    def _caption(self) -> str:
        if not self.tags:
            return "There is nothing to label: the text is empty."
        position = min(range(len(self.tags)), key=lambda p: self.tags[p].probability)
        tag = self.tags[position]
        second = ""
        if tag.alternatives:
            label, p = tag.alternatives[0]
            second = f" / {p:.2f} {visible(label)}"
        count = len(self.spans)
        kinds = len({tag.label for tag in self.tags})
        counts = f"{len(self.tags)} tokens, {kinds} different label{'s' * (kinds != 1)}"
        if count:
            counts += f", {count} span{'s' * (count != 1)}"
        return (
            f'{counts}; least certain about "{visible(self.tokens[position])}"'
            f" ({tag.probability:.2f} {visible(tag.label)}{second})."
        )
