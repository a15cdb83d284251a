"""Attention weights: a heat map with a row for each query and a column for each key."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import INK, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, AxisLabels, FigureText, draw_legend
from .draw.svg import Picture
from .draw.text import visible
from .draw.text_heatmap import block_levels, text_grid

Matrix = NDArray[np.float64]
CLEAR = 1.5  # times the uniform weight: a row with a smaller maximum has no clear one


@final
class AttentionView(View):
    """Attention weights: how much each target token attends to each source token.

    Args:
        source: the tokens of the keys, one for each column.
        target: the tokens of the queries, one for each row.
        weights: target × source, from 0 to 1; each row should sum to one.
        model: name of the model.
        notes: how the weights were computed, such as "mean of 4 heads".
        layers: the names of all attention layers.
        layer: which of them this is.
        heads: number of heads of the layer.
        head: which of them; -1 is the mean of all.
        axis: the tokens on which a cursor moves: those of the columns (src) or of the rows (tgt).
    """

    kind: ClassVar[str] = "attention"

    def __init__(  # noqa: PLR0913 - the data, and the layer it is of
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
        axis: Literal["src", "tgt"] = "tgt",
    ) -> None:
        self.source, self.target = list(source), list(target)
        self.layers, self.layer, self.heads, self.head = list(layers), layer, heads, head
        self.axis = axis
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
            "rail": self.axis,
        }

    def to_table(self) -> list[list[str]]:
        rows = zip(self.target, self.weights, strict=True)
        body = [[visible(token), *(f"{weight:.2f}" for weight in row)] for token, row in rows]
        return [["", *map(visible, self.source)], *body]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        blocks = block_levels(self.weights, ascii=ascii, show_largest=True)
        return text_grid(self.target, self.source, blocks, width, ascii)

    def to_picture(self) -> Picture:
        pitch = _pitch(max(len(self.source), len(self.target)))
        above, beside = AxisLabels.of(self.source, pitch), AxisLabels.of(self.target, pitch)
        text = FigureText(
            f"Attention of {self.model}",
            "each row (query) attends to the columns (keys)",
            self.caption,
            self.notes,
        )
        left, top = MARGIN + beside.length() + 8, text.head_height() + above.height()
        right = left + len(self.source) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, text.width())
        legend = top + len(self.target) * pitch + 14
        foot = legend + LEGEND_HEIGHT
        height = foot + text.foot_height(width)
        picture = Picture(width, height, PAGE, self.caption)
        above.draw_above(picture, left, top)
        beside.draw_beside(picture, left, top)
        self._draw_cells(picture, left, top, pitch)
        draw_legend(picture, left, legend, "attention weight (outlined: the largest of its row)")
        text.draw(picture, foot)
        return picture

    def _draw_cells(self, picture: Picture, left: float, top: float, pitch: float) -> None:
        # A pixel of page between large cells lets them be counted where all have one colour.
        side = pitch - 1 if pitch >= 18 else pitch
        for (row, column), weight in np.ndenumerate(self.weights):
            box = left + column * pitch, top + row * pitch, side, side
            query, key = visible(self.target[row]), visible(self.source[column])
            title = f"{query} attends to {key}: {weight:.3f}"
            picture.rectangle(box, viridis(float(weight)), title=title)
        thickness = 2 if pitch >= 16 else 1
        for row, column in enumerate(_row_maxima(self.weights)):
            if column is None:
                continue
            # Two outlines, dark and light: one of them is visible on any colour.
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
    """H = -Σ w log2 w of each row, in bits: 0 for one token, 1 for two equal weights."""
    safe = np.where(weights > 0, weights, 1.0)
    return np.asarray(-(weights * np.log2(safe)).sum(axis=1) + 0.0)


def _doubts(weights: Matrix) -> list[str]:
    """A note if rows are not distributions; they are shown as they are, not renormalised."""
    wrong = int((abs(weights.sum(axis=1) - 1) > 1e-3).sum()) if weights.size else 0
    return [f"{wrong} of {len(weights)} rows do not sum to one."] if wrong else []


def _row_maxima(weights: Matrix) -> list[int | None]:
    """The column with the largest weight of each row; None where several are equally large."""
    if not weights.size:
        return []
    is_tied = (weights >= weights.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1
    best = weights.argmax(axis=1)
    return [None if tied else int(column) for tied, column in zip(is_tied, best, strict=True)]


def _caption(
    source: Sequence[str], target: Sequence[str], weights: Matrix, entropy: NDArray[np.float64]
) -> str:
    if not weights.size:
        return "There are no attention weights: the input or the output is empty."
    sentences = [_direction(weights), _strongest(source, target, weights), _spread(entropy)]
    return " ".join(filter(None, sentences))


def _direction(weights: Matrix) -> str:
    """Whether the alignment is monotonic and close to a diagonal, by the rows with a clear maximum.

    Most rows must have one; rows that all attend to one position are monotonic, but no diagonal.
    """
    rows, columns = weights.shape
    clear = np.array([row for row in range(rows) if _is_clear(weights[row])], dtype=np.int64)
    best = weights[clear].argmax(axis=1)
    if 2 * len(clear) <= rows or 2 * len(np.unique(best)) <= min(rows, columns) or len(clear) < 2:
        return ""
    moves, diagonal = np.diff(best), clear * (columns - 1) / (rows - 1)
    near = max(1.0, columns / 12)
    for is_monotonic, line, name in (
        ((moves >= 0).all(), diagonal, "diagonal"),
        ((moves <= 0).all(), columns - 1 - diagonal, "reversed"),
    ):
        if is_monotonic and 2 * (abs(best - line) <= near).sum() > len(best):
            return f"Mostly {name}."
    return ""


def _is_clear(row: NDArray[np.float64]) -> bool:
    """Whether one weight is larger than all others, and clearly larger than a uniform one."""
    best = float(row.max())
    return best >= CLEAR / len(row) and int((row >= best - 1e-9).sum()) == 1


def _strongest(source: Sequence[str], target: Sequence[str], weights: Matrix) -> str:
    row, column = divmod(int(weights.argmax()), len(source))
    largest, uniform = weights[row, column], 1 / len(source)
    if len(source) > 1 and largest < CLEAR * uniform:
        return (
            f"No row has a clear maximum (largest weight {largest:.2f}, uniform weight"
            f" {uniform:.2f})."
        )
    return f'"{visible(target[row])}" attends to "{visible(source[column])}" ({largest:.2f}).'


def _spread(entropy: NDArray[np.float64]) -> str:
    count, total = int((entropy > 1 + 1e-9).sum()), len(entropy)
    if total == 1:
        return "The row is spread out (entropy > 1 bit)." if count else ""
    if count == total:
        return f"All {total} rows are spread out (entropy > 1 bit)."
    number = _NUMBERS.get(count, str(count)) if count else "None"
    return f"{number} of {total} rows {'are' if count > 1 else 'is'} spread out (entropy > 1 bit)."


def _pitch(longest: int) -> float:
    """Pixels of a cell: large for short sequences, small but labelled for long ones."""
    for limit, pitch in ((12, 32), (24, 24), (40, 18), (100, 12)):
        if longest <= limit:
            return pitch
    return max(3, 1200 // longest)


_NUMBERS = {1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six", 7: "Seven", 8: "Eight"}
