"""All heads side by side, each with what it does in a word, computed from its weights."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from .base import View
from .draw.colours import INK, MUTED, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Wording, draw_legend
from .draw.svg import Lettering, Picture
from .draw.text import shorten, to_ascii

Matrix = NDArray[np.float64]
MOST, LONGEST = 64, 40  # matrices, and places of one
CLEAR = 0.5  # of its weight on one kind of place, and a head is called by it
EVEN = 0.8  # of the entropy it could have, and it is spread out
_SIDE, _GAP, _CELLS = 92.0, 18.0, 9000


@dataclass(frozen=True)
class Head:
    """One head: its weights, what it does, how much of its weight does that, and its entropy."""

    weights: Matrix
    behaviour: str
    share: float
    entropy: float

    @classmethod
    def of(cls, weights: Matrix, *, is_same: bool) -> "Head":
        """From the weights; `is_same` where rows and columns are the same places."""
        weights = np.asarray(weights, dtype=np.float64)
        if not weights.size:
            return cls(weights, "nothing to look at", 0.0, 0.0)
        if not weights.any():
            return cls(weights, "mute", 1.0, 0.0)
        found = _shares(weights, is_same)
        behaviour, share = max(found.items(), key=lambda one: one[1])
        entropy, evenness = _entropy(weights)
        if share < CLEAR:
            behaviour = "spread out" if evenness >= EVEN else "several places"
            share = evenness if evenness >= EVEN else share
        return cls(weights, behaviour, share, entropy)


@dataclass(frozen=True)
class Layer:
    """The heads of one layer, and what its columns and rows are called."""

    name: str
    columns: list[str]
    rows: list[str]
    heads: list[Head]


@final
class HeadsView(View):
    """Every head of every layer, small, with the word for what it does.

    Args:
        layers: in the order of the computation.
        source: the symbols that were read.
        target: the symbols that were written, or what was answered.
        model: name of the model.
        notes: how the weights came about.
    """

    kind: ClassVar[str] = "heads"

    def __init__(
        self,
        layers: Sequence[Layer],
        source: Sequence[str],
        target: Sequence[str],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.source, self.target = list(source), list(target)
        told = list(notes)
        count = sum(len(layer.heads) for layer in layers)
        self.layers, self.count = [_thinned(layer) for layer in layers], count
        if count > MOST:
            most = max(1, MOST // len(layers))
            self.layers = [
                replace(one, heads=one.heads[:most]) for one in self.layers[: MOST // most]
            ]
            left = sum(len(layer.heads) for layer in self.layers)
            told.append(f"the first {left} of {count} heads")
        if any(max(len(one.rows), len(one.columns)) > LONGEST for one in layers):
            told.append(f"places that stand together are one, so that there are at most {LONGEST}")
        super().__init__(model, self._caption(), {"layers": self.layers}, told)

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
                            "behaviour": head.behaviour,
                            "share": round(head.share, 4),
                            "entropy": round(head.entropy, 4),
                        }
                        for head in layer.heads
                    ],
                }
                for layer in self.layers
            ],
        }

    def to_table(self) -> list[list[str]]:
        rows = [["layer", "head", "looks at", "share", "entropy in bits"]]
        for layer in self.layers:
            for number, head in enumerate(layer.heads):
                told = [head.behaviour, f"{head.share:.2f}", f"{head.entropy:.2f}"]
                rows.append([layer.name, str(number), *told])
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        heading, *rows = self.to_table()
        sizes = [max(len(row[n]) for row in (heading, *rows)) for n in range(len(heading))]
        lines = [
            "  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip()
            for row in (heading, *rows)
        ]
        lines = [line if len(line) <= width else shorten(line, width) for line in lines]
        return [to_ascii(line) for line in lines] if ascii else lines

    def to_picture(self) -> Picture:
        words = Wording(
            f"All heads of {self.model}",
            "each row of a small picture looks at its columns; below, what most of its weight does",
            self.caption,
            self.notes,
        )
        across = max([len(layer.heads) for layer in self.layers] or [1])
        across = min(across, 8)
        left = MARGIN + max([Lettering(12).length(layer.name) for layer in self.layers] or [0]) + 12
        width = max(words.width(), left + across * (_SIDE + _GAP) + MARGIN, 560.0)
        top = words.head_height()
        tall = [ceil(len(layer.heads) / across) for layer in self.layers]
        legend = top + sum(tall) * (_SIDE + 34) + 8
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        most = max(4, int((_CELLS / max(1, self.count)) ** 0.5))
        for layer, rows in zip(self.layers, tall, strict=True):
            picture.text(layer.name, (MARGIN, top + 14), Lettering(12, INK))
            for number, head in enumerate(layer.heads):
                row, column = divmod(number, across)
                corner = left + column * (_SIDE + _GAP), top + row * (_SIDE + 34)
                _draw(picture, corner, head, number, most)
            top += rows * (_SIDE + 34)
        draw_legend(picture, left, legend, "weight")
        words.draw(picture, foot)
        return picture

    def _caption(self) -> str:
        heads = [head for layer in self.layers for head in layer.heads]
        if not heads:
            return "There is nothing to look at."
        counts = Counter(head.behaviour for head in heads).most_common()
        told = ", ".join(f"{count} {behaviour}" for behaviour, count in counts)
        layer, number, clearest = max(
            (
                (layer.name, number, head)
                for layer in self.layers
                for number, head in enumerate(layer.heads)
            ),
            key=lambda one: one[2].share if one[2].behaviour != "spread out" else 0.0,
        )
        said = f"{_several(heads, 'head')} in {_several(self.layers, 'layer')}: {told}."
        if clearest.behaviour == "spread out":
            return said
        return (
            f"{said} Clearest: head {number} of {layer},"
            f" {clearest.behaviour} ({clearest.share:.2f})."
        )


def _shares(weights: Matrix, is_same: bool) -> dict[str, float]:
    """How much of the weight is on places that have a name, over rows where they differ."""
    rows, columns = weights.shape
    found: dict[str, float] = {}
    if is_same and rows > 2:
        later = weights[2:]
        own = np.arange(2, rows)
        found["same place"] = float(later[np.arange(len(own)), own].mean())
        found["previous symbol"] = float(later[np.arange(len(own)), own - 1].mean())
        ahead = weights[np.arange(rows - 1), np.arange(1, rows)]
        found["next symbol"] = float(ahead.mean())
        found["first symbol"] = float(later[:, 0].mean())
    else:
        found["first symbol"] = float(weights[:, 0].mean()) if columns > 1 else 0.0
        found["diagonal"] = _diagonal(weights)
    found["last symbol"] = float(weights[:, -1].mean()) if columns > 2 else 0.0
    middle = weights[:, 1:-1]
    found["one symbol"] = float(middle.mean(0).max()) if middle.shape[1] else 0.0
    return found


def _diagonal(weights: Matrix) -> float:
    """The weight within a place of the line from the first corner to the last."""
    rows, columns = weights.shape
    if rows < 3 or columns < 3:
        return 0.0
    place = np.arange(rows)[:, None] * (columns - 1) / (rows - 1)
    is_near = abs(np.arange(columns)[None] - place) <= max(1.0, columns / 12)
    return float((weights * is_near).sum(1).mean())


def _entropy(weights: Matrix) -> tuple[float, float]:
    """The mean entropy of the rows in bits, and as a share of what it could be."""
    safe = np.where(weights > 0, weights, 1.0)
    bits = -(weights * np.log2(safe)).sum(1)
    most = np.array([log2(max(1, int((row > 0).sum()))) for row in weights])
    some = most > 0
    share = float((bits[some] / most[some]).mean()) if some.any() else 0.0
    return float(bits.mean()), share


def _thinned(layer: Layer) -> Layer:
    """Places that stand together as one where they are too many: rows averaged, columns summed."""
    if max(len(layer.rows), len(layer.columns)) <= LONGEST:
        return layer
    heads = [replace(head, weights=_pooled(head.weights, LONGEST)) for head in layer.heads]
    return Layer(layer.name, _named(layer.columns), _named(layer.rows), heads)


def _pooled(weights: Matrix, most: int) -> Matrix:
    rows = np.array_split(np.arange(weights.shape[0]), min(most, weights.shape[0]))
    columns = np.array_split(np.arange(weights.shape[1]), min(most, weights.shape[1]))
    return np.array(
        [[weights[np.ix_(row, column)].sum(1).mean() for column in columns] for row in rows]
    )


def _named(names: Sequence[str]) -> list[str]:
    parts = np.array_split(np.arange(len(names)), min(LONGEST, len(names)))
    return [
        names[part[0]] if len(part) == 1 else f"{names[part[0]]}…{names[part[-1]]}"
        for part in parts
    ]


def _draw(
    picture: Picture, corner: tuple[float, float], head: Head, number: int, most: int
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
    title = f"head {number}: {head.behaviour} ({head.share:.2f})"
    picture.rectangle((left, top, _SIDE, _SIDE), outline=MUTED, thickness=0.5, title=title)
    small = Lettering(10, MUTED)
    picture.text(f"{number}: {head.behaviour}", (left, top + _SIDE + 12), small)
    picture.text(f"{head.share:.2f}", (left, top + _SIDE + 24), small)


def _several(things: Sequence[Any], name: str) -> str:
    """How many there are: 1 head, 8 heads."""
    return f"{len(things)} {name}{'s' * (len(things) > 1)}"
