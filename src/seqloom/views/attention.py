"""Where a model looks: one row for each symbol it writes, one column for each it reads."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import INK, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Labels, Wording, draw_legend
from .draw.svg import Picture
from .draw.text import visible
from .draw.text_heatmap import block_levels, text_grid

Matrix = NDArray[np.float64]


@final
class AttentionView(View):
    """How much each target symbol looks at each source symbol.

    Args:
        source: the symbols that are looked at.
        target: the symbols that look.
        weights: target × source, from 0 to 1; each row should sum to one.
        model: name of the model.
        notes: how the weights came about, such as "mean of 4 heads".
        layers: the names of all layers that look, of which this is one.
        layer: which of them.
        heads: how many heads the layer has.
        head: which of them; -1 is the mean of all.
        rail: the side on which a cursor moves: that of the columns (src) or of the rows (tgt).
    """

    kind: ClassVar[str] = "attention"

    def __init__(  # noqa: PLR0913 - what is drawn, and of what it is one part
        self,
        source: Sequence[str],
        target: Sequence[str],
        weights: ArrayLike,
        model: str,
        notes: Sequence[str] = (),
        *,
        layers: Sequence[str] = (),
        layer: int = 0,
        heads: int = 1,
        head: int = -1,
        rail: Literal["src", "tgt"] = "tgt",
    ) -> None:
        self.source, self.target = list(source), list(target)
        self.layers, self.layer, self.heads, self.head = list(layers), layer, heads, head
        self.rail = rail
        self.weights = _checked(weights, (len(self.target), len(self.source)))
        entropy = _entropy(self.weights)
        data = {
            "source": self.source,
            "target": self.target,
            "weights": self.weights,
            "entropy": entropy,
        }
        caption = _caption(self.source, self.target, self.weights, entropy)
        super().__init__(model, caption, data, [*notes, *_doubts(self.weights)])

    def content(self) -> dict[str, Any]:
        tokens = {"src": self.source, "tgt": self.target}
        return {
            "tokens": tokens,
            "weights": self.weights.round(6).tolist(),
            "entropy": self.data["entropy"].round(4).tolist(),
            "layers": self.layers,
            "layer": self.layer,
            "heads": self.heads,
            "head": "mean" if self.head < 0 else self.head,
            "rail": self.rail,
        }

    def to_table(self) -> list[list[str]]:
        rows = zip(self.target, self.weights, strict=True)
        body = [[visible(symbol), *(f"{weight:.2f}" for weight in row)] for symbol, row in rows]
        return [["", *map(visible, self.source)], *body]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        blocks = block_levels(self.weights, ascii=ascii, show_largest=True)
        return text_grid(self.target, self.source, blocks, width, ascii)

    def to_picture(self) -> Picture:
        pitch = _pitch(max(len(self.source), len(self.target)))
        above, beside = Labels.of(self.source, pitch), Labels.of(self.target, pitch)
        words = Wording(
            f"Attention of {self.model}",
            "each row looks at the columns",
            self.caption,
            self.notes,
        )
        left, top = MARGIN + beside.length() + 8, words.head_height() + above.height()
        right = left + len(self.source) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, words.width())
        legend = top + len(self.target) * pitch + 14
        foot = legend + LEGEND_HEIGHT
        height = foot + words.foot_height(width)
        picture = Picture(width, height, PAGE, self.caption)
        above.draw_above(picture, left, top)
        beside.draw_beside(picture, left, top)
        self._draw_cells(picture, left, top, pitch)
        draw_legend(picture, left, legend, "weight (outlined: the largest of its row)")
        words.draw(picture, foot)
        return picture

    def _draw_cells(self, picture: Picture, left: float, top: float, pitch: float) -> None:
        # A hair of page between cells lets them be counted even where all are of one colour.
        side = pitch - 1 if pitch >= 18 else pitch
        for (row, column), weight in np.ndenumerate(self.weights):
            box = left + column * pitch, top + row * pitch, side, side
            reader, read = visible(self.target[row]), visible(self.source[column])
            title = f"{reader} looks at {read}: {weight:.3f}"
            picture.rectangle(box, viridis(float(weight)), title=title)
        thickness = 2 if pitch >= 16 else 1
        for row, column in enumerate(_favourites(self.weights)):
            if column is None:
                continue
            # Two lines, dark and light: one of them shows on any colour.
            for inset, colour in ((0.0, INK), (float(thickness), PAGE)):
                size = side - thickness - 2 * inset
                corner = inset + thickness / 2
                x, y = left + column * pitch + corner, top + row * pitch + corner
                picture.rectangle((x, y, size, size), outline=colour, thickness=thickness)


def _checked(weights: ArrayLike, shape: tuple[int, int]) -> Matrix:
    matrix = np.array(weights, dtype=np.float64)
    if matrix.size == 0 and 0 in shape:
        matrix = matrix.reshape(shape)
    if matrix.shape != shape:
        raise ValueError(f"expected weights of shape target × source {shape}, got {matrix.shape}")
    if not ((matrix > -1e-6) & (matrix < 1 + 1e-4)).all():
        raise ValueError("expected weights from 0 to 1, found some that are not")
    return matrix.clip(0, 1)


def _entropy(weights: Matrix) -> NDArray[np.float64]:
    """How spread out each row is, in bits: 0 looks at one symbol, 1 at two evenly."""
    safe = np.where(weights > 0, weights, 1.0)
    return np.asarray(-(weights * np.log2(safe)).sum(axis=1) + 0.0)


def _doubts(weights: Matrix) -> list[str]:
    """A note when rows are no distributions: shown as they are, never mended in silence."""
    wrong = int((abs(weights.sum(axis=1) - 1) > 1e-3).sum()) if weights.size else 0
    return [f"{wrong} of {len(weights)} rows do not sum to one."] if wrong else []


def _favourites(weights: Matrix) -> list[int | None]:
    """The column each row looks at most, or None where several share the first place."""
    if not weights.size:
        return []
    shares_first = (weights >= weights.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1
    best = weights.argmax(axis=1)
    return [None if tied else int(column) for tied, column in zip(shares_first, best, strict=True)]


def _caption(
    source: Sequence[str], target: Sequence[str], weights: Matrix, entropy: NDArray[np.float64]
) -> str:
    if not weights.size:
        return "There is nothing to look at: the input or the output is empty."
    sentences = [_direction(weights), _strongest(source, target, weights), _spread(entropy)]
    return " ".join(filter(None, sentences))


def _direction(weights: Matrix) -> str:
    """Whether the rows look at the columns in order, or in the reverse order."""
    favourites = weights.argmax(axis=1)
    moves = np.diff(favourites)
    # A row of rows that all look at one place is in order too, but no diagonal.
    if 2 * len(np.unique(favourites)) <= min(weights.shape) or not len(moves):
        return ""
    if (moves >= 0).all():
        return "Mostly diagonal."
    return "Mostly reversed." if (moves <= 0).all() else ""


def _strongest(source: Sequence[str], target: Sequence[str], weights: Matrix) -> str:
    row, column = divmod(int(weights.argmax()), len(source))
    largest, even = weights[row, column], 1 / len(source)
    if len(source) > 1 and largest < 1.5 * even:
        return f"No row has a favourite (largest weight {largest:.2f}, an even share {even:.2f})."
    return f'"{visible(target[row])}" looks at "{visible(source[column])}" ({largest:.2f}).'


def _spread(entropy: NDArray[np.float64]) -> str:
    count, total = int((entropy > 1 + 1e-9).sum()), len(entropy)
    if total == 1:
        return "The row is spread out (entropy > 1 bit)." if count else ""
    if count == total:
        return f"All {total} rows are spread out (entropy > 1 bit)."
    number = _NUMBERS.get(count, str(count)) if count else "None"
    return f"{number} of {total} rows {'are' if count > 1 else 'is'} spread out (entropy > 1 bit)."


def _pitch(longest: int) -> float:
    """Pixels for a cell: large for short sequences, small but labelled for long ones."""
    for limit, pitch in ((12, 32), (24, 24), (40, 18), (100, 12)):
        if longest <= limit:
            return pitch
    return max(3, 1200 // longest)


_NUMBERS = {1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight"}
