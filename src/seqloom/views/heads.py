"""Attention heads side by side, each with the pattern of its weights, such as 'previous token'."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from .base import View
from .draw.colours import INK, MUTED, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, FigureText, draw_legend
from .draw.svg import Picture, TextStyle
from .draw.text import shorten, to_ascii

Matrix = NDArray[np.float64]
MAX_HEADS, MAX_POSITIONS = 64, 40  # heads that are drawn, and rows or columns of each
CLEAR = 0.5  # a head is named after a pattern with at least this fraction of its weight
EVEN = 0.8  # and "spread out" from this fraction of the largest possible entropy on
UNCLEAR = ("spread out", "several positions", "mute", "no weights")
_SIDE, _GAP, _CELLS = 92.0, 18.0, 9000


@dataclass(frozen=True)
class AttentionHead:
    """One attention head.

    Args:
        weights: rows × columns.
        pattern: the pattern of the weights, such as "previous token".
        fraction: the fraction of the weight that follows the pattern.
        entropy: the mean entropy of the rows, in bits.
    """

    weights: Matrix
    pattern: str
    fraction: float
    entropy: float

    @classmethod
    def of(cls, weights: Matrix, *, is_same: bool) -> "AttentionHead":
        """From the weights; `is_same` for self-attention: rows and columns are the same tokens."""
        weights = np.asarray(weights, dtype=np.float64)
        if not weights.size:
            return cls(weights, "no weights", 0.0, 0.0)
        if not weights.any():
            return cls(weights, "mute", 1.0, 0.0)
        patterns = _patterns(weights, is_same)
        pattern, fraction = max(patterns.items(), key=lambda one: one[1])
        entropy, evenness = _entropy(weights)
        if fraction < CLEAR:
            pattern = "spread out" if evenness >= EVEN else "several positions"
            fraction = evenness if evenness >= EVEN else fraction
        return cls(weights, pattern, fraction, entropy)


@dataclass(frozen=True)
class AttentionLayer:
    """The attention heads of one layer, and the tokens of its columns (keys) and rows (queries)."""

    name: str
    columns: list[str]
    rows: list[str]
    heads: list[AttentionHead]


@final
class HeadsView(View):
    """All attention heads of all layers as small heat maps, each with its pattern.

    Args:
        layers: in the order of the computation.
        source: the input tokens.
        target: the output tokens or labels.
        model: name of the model.
        notes: how the weights were computed.
    """

    kind: ClassVar[str] = "heads"

    def __init__(
        self,
        layers: Sequence[AttentionLayer],
        source: Sequence[str],
        target: Sequence[str],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.source, self.target = list(source), list(target)
        all_notes = list(notes)
        count = sum(len(layer.heads) for layer in layers)
        self.layers, self.count = [_pooled_layer(layer) for layer in layers], count
        if count > MAX_HEADS:
            most = max(1, MAX_HEADS // len(layers))
            self.layers = [
                replace(one, heads=one.heads[:most]) for one in self.layers[: MAX_HEADS // most]
            ]
            left = sum(len(layer.heads) for layer in self.layers)
            all_notes.append(f"the first {left} of {count} heads")
        if any(max(len(one.rows), len(one.columns)) > MAX_POSITIONS for one in layers):
            all_notes.append(f"neighbouring positions are pooled to at most {MAX_POSITIONS}")
        super().__init__(model, self._caption(), {"layers": self.layers}, all_notes)

    def content(self) -> dict[str, Any]:
        return {
            "tokens": {"src": self.source, "tgt": self.target},
            "layers": [
                {
                    "name": layer.name,
                    "tokens": {"src": layer.columns, "tgt": layer.rows},
                    "heads": [
                        {
                            "weights": head.weights.round(4).tolist(),
                            "behaviour": head.pattern,
                            "share": round(head.fraction, 4),
                            "entropy": round(head.entropy, 4),
                        }
                        for head in layer.heads
                    ],
                }
                for layer in self.layers
            ],
        }

    def to_table(self) -> list[list[str]]:
        rows = [["layer", "head", "attends to", "fraction", "entropy in bits"]]
        for layer in self.layers:
            for number, head in enumerate(layer.heads):
                cells = [head.pattern, f"{head.fraction:.2f}", f"{head.entropy:.2f}"]
                rows.append([layer.name, str(number), *cells])
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        heading, *rows = self.to_table()
        sizes = [max(len(row[n]) for row in (heading, *rows)) for n in range(len(heading))]
        lines = [
            "  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip()
            for row in (heading, *rows)
        ]
        lines = [line if len(line) <= width else shorten(line, width) for line in lines]
        return [to_ascii(line) for line in lines] if ascii else lines

    def to_picture(self) -> Picture:
        text = FigureText(
            f"Attention heads of {self.model}",
            "rows (queries) attend to columns (keys); below: the pattern of most of the weight",
            self.caption,
            self.notes,
        )
        across = max([len(layer.heads) for layer in self.layers] or [1])
        across = min(across, 8)
        left = MARGIN + max([TextStyle(12).length(layer.name) for layer in self.layers] or [0]) + 12
        width = max(text.width(), left + across * (_SIDE + _GAP) + MARGIN, 560.0)
        top = text.head_height()
        tall = [ceil(len(layer.heads) / across) for layer in self.layers]
        legend = top + sum(tall) * (_SIDE + 34) + 8
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        most = max(4, int((_CELLS / max(1, self.count)) ** 0.5))
        for layer, rows in zip(self.layers, tall, strict=True):
            picture.text(layer.name, (MARGIN, top + 14), TextStyle(12, INK))
            for number, head in enumerate(layer.heads):
                row, column = divmod(number, across)
                corner = left + column * (_SIDE + _GAP), top + row * (_SIDE + 34)
                _draw(picture, corner, head, number, most)
            top += rows * (_SIDE + 34)
        draw_legend(picture, left, legend, "attention weight")
        text.draw(picture, foot)
        return picture

    def _caption(self) -> str:
        heads = [head for layer in self.layers for head in layer.heads]
        if not heads:
            return "There are no attention heads."
        counts = Counter(head.pattern for head in heads).most_common()
        patterns = ", ".join(f"{count} {pattern}" for pattern, count in counts)
        layer, number, clearest = max(
            (
                (layer.name, number, head)
                for layer in self.layers
                for number, head in enumerate(layer.heads)
            ),
            key=lambda one: -1.0 if one[2].pattern in UNCLEAR else one[2].fraction,
        )
        sentence = f"{_several(heads, 'head')} in {_several(self.layers, 'layer')}: {patterns}."
        if clearest.pattern in UNCLEAR:
            return sentence
        return (
            f"{sentence} Clearest: head {number} of {layer},"
            f" {clearest.pattern} ({clearest.fraction:.2f})."
        )


def _patterns(weights: Matrix, is_same: bool) -> dict[str, float]:
    """The fraction of the weight that follows each pattern.

    In self-attention only rows from the third on count for patterns that look back: before, the
    same, the previous and the first token cannot be told apart.
    """
    rows, columns = weights.shape
    patterns: dict[str, float] = {}
    if is_same and rows > 2:
        later = weights[2:]
        own = np.arange(2, rows)
        patterns["same position"] = float(later[np.arange(len(own)), own].mean())
        patterns["previous token"] = float(later[np.arange(len(own)), own - 1].mean())
        ahead = weights[np.arange(rows - 1), np.arange(1, rows)]
        patterns["next token"] = float(ahead.mean())
        patterns["first token"] = float(later[:, 0].mean())
    else:
        patterns["first token"] = float(weights[:, 0].mean()) if columns > 1 else 0.0
        patterns["diagonal"] = _diagonal(weights)
    patterns["last token"] = float(weights[:, -1].mean()) if columns > 2 else 0.0
    middle = weights[:, 1:-1]
    patterns["one token"] = float(middle.mean(0).max()) if middle.shape[1] else 0.0
    return patterns


def _diagonal(weights: Matrix) -> float:
    """The weight close to the diagonal from the first corner to the last."""
    rows, columns = weights.shape
    if rows < 3 or columns < 3:
        return 0.0
    diagonal = np.arange(rows)[:, None] * (columns - 1) / (rows - 1)
    is_near = abs(np.arange(columns)[None] - diagonal) <= max(1.0, columns / 12)
    return float((weights * is_near).sum(1).mean())


def _entropy(weights: Matrix) -> tuple[float, float]:
    """The mean entropy of the rows in bits, and as a fraction of the largest possible one."""
    safe = np.where(weights > 0, weights, 1.0)
    bits = -(weights * np.log2(safe)).sum(1)
    # A causal mask leaves each row fewer tokens: the maximum is that of its nonzero weights.
    most = np.array([log2(max(1, int((row > 0).sum()))) for row in weights])
    some = most > 0
    evenness = float((bits[some] / most[some]).mean()) if some.any() else 0.0
    return float(bits.mean()), evenness


def _pooled_layer(layer: AttentionLayer) -> AttentionLayer:
    """Neighbouring positions pooled where there are too many: rows averaged, columns summed."""
    if max(len(layer.rows), len(layer.columns)) <= MAX_POSITIONS:
        return layer
    heads = [replace(head, weights=_pooled(head.weights, MAX_POSITIONS)) for head in layer.heads]
    return AttentionLayer(layer.name, _named(layer.columns), _named(layer.rows), heads)


def _pooled(weights: Matrix, most: int) -> Matrix:
    rows = np.array_split(np.arange(weights.shape[0]), min(most, weights.shape[0]))
    columns = np.array_split(np.arange(weights.shape[1]), min(most, weights.shape[1]))
    return np.array(
        [[weights[np.ix_(row, column)].sum(1).mean() for column in columns] for row in rows]
    )


def _named(names: Sequence[str]) -> list[str]:
    parts = np.array_split(np.arange(len(names)), min(MAX_POSITIONS, len(names)))
    return [
        names[part[0]] if len(part) == 1 else f"{names[part[0]]}…{names[part[-1]]}"
        for part in parts
    ]


def _draw(
    picture: Picture, corner: tuple[float, float], head: AttentionHead, number: int, most: int
) -> None:
    left, top = corner
    weights = head.weights
    if max(weights.shape) > most:
        weights = _pooled(weights, most)
    rows, columns = weights.shape
    wide, high = _SIDE / max(1, columns), _SIDE / max(1, rows)
    for (row, column), weight in np.ndenumerate(weights):
        box = left + column * wide, top + row * high, wide + 0.3, high + 0.3
        picture.rectangle(box, viridis(float(weight)))
    title = f"head {number}: {head.pattern} ({head.fraction:.2f})"
    picture.rectangle((left, top, _SIDE, _SIDE), outline=MUTED, thickness=0.5, title=title)
    small = TextStyle(10, MUTED)
    picture.text(f"{number}: {head.pattern}", (left, top + _SIDE + 12), small)
    picture.text(f"{head.fraction:.2f}", (left, top + _SIDE + 24), small)


def _several(things: Sequence[Any], name: str) -> str:
    """A count with its noun: 1 head, 8 heads."""
    return f"{len(things)} {name}{'s' * (len(things) > 1)}"
