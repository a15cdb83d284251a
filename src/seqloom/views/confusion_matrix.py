"""Confusion matrix: a row for each true label, a column for each predicted label."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.bars import percent
from .draw.colours import INK, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, AxisLabels, FigureText, draw_legend
from .draw.svg import Picture, TextStyle
from .draw.text import fold, visible
from .draw.text_heatmap import block_levels, text_grid

MAX_LABELS = 40  # that are drawn: more cells than 40 × 40 are neither read nor drawn quickly
OTHERS, NO_LABEL = "(others)", "(none)"
_LIGHT = 0.6  # cells with a larger fraction are light and take dark numbers


@final
class ConfusionMatrixView(View):
    """Confusion matrix: how often each label was predicted for each true label.

    Colours are fractions of a row (recall), so that rare labels show as well as frequent ones. Of
    more than 40 labels those with the most errors are drawn, and the rest as one.

    Args:
        labels: of rows and columns; an empty one stands for no label.
        counts: true × predicted.
        model: name of the model.
        notes: what was left out.
    """

    kind: ClassVar[str] = "confusion"

    def __init__(
        self, labels: Sequence[str], counts: ArrayLike, model: str, notes: Sequence[str] = ()
    ) -> None:
        whole = np.array(counts, dtype=np.int64)
        if whole.shape != (len(labels), len(labels)):
            raise ValueError(f"expected counts for {len(labels)} labels, got {whole.shape}")
        self.labels = [label or NO_LABEL for label in labels]
        self.counts = whole
        self.drawn_labels, self.cells = _drawn_labels(self.labels, whole)
        more = len(self.labels) - len(self.drawn_labels) + 1
        if len(self.drawn_labels) < len(self.labels):
            note = f"{more:,} labels with the fewest errors are drawn as one, {OTHERS}."
            self.drawn_notes = (note,)
        data = {"labels": self.labels, "counts": self.counts}
        super().__init__(model, _caption(self.labels, whole), data, notes)

    def content(self) -> dict[str, Any]:
        return {"labels": self.labels, "counts": self.counts.tolist()}

    def to_table(self) -> list[list[str]]:
        rows = zip(self.drawn_labels, self.cells, strict=True)
        body = [[visible(label), *(f"{count:,}" for count in row)] for label, row in rows]
        return [["true, then predicted", *map(visible, self.drawn_labels)], *body]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        blocks = block_levels(_row_fractions(self.cells), ascii=ascii, show_largest=True)
        head = "rows: true; columns: predicted; fractions of each row"
        return [
            *fold(head, width),
            "",
            *text_grid(self.drawn_labels, self.drawn_labels, blocks, width, ascii),
        ]

    def to_picture(self) -> Picture:
        pitch = _pitch(len(self.drawn_labels))
        above, beside = (
            AxisLabels.of(self.drawn_labels, pitch),
            AxisLabels.of(self.drawn_labels, pitch),
        )
        text = FigureText(
            f"Confusion matrix of {self.model}",
            "rows: true labels; columns: predicted labels",
            self.caption,
            (*self.notes, *self.drawn_notes),
        )
        left, top = MARGIN + beside.length() + 8, text.head_height() + above.height()
        right = left + len(self.drawn_labels) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, text.width())
        legend = top + len(self.drawn_labels) * pitch + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        beside.draw_beside(picture, left, top)
        self._draw_cells(picture, left, top, pitch)
        draw_legend(picture, left, legend, "fraction of the row; numbers are counts")
        text.draw(picture, foot)
        return picture

    def _draw_cells(self, picture: Picture, left: float, top: float, pitch: float) -> None:
        side, fractions = pitch - 1, _row_fractions(self.cells)
        for (row, column), count in np.ndenumerate(self.cells):
            fraction = float(fractions[row, column])
            x, y = left + column * pitch, top + row * pitch
            true, predicted = visible(self.drawn_labels[row]), visible(self.drawn_labels[column])
            title = f"{true} predicted as {predicted}: {count:,} ({100 * fraction:.1f} %)"
            picture.rectangle((x, y, side, side), viridis(fraction), title=title)
            ink = str(INK if fraction > _LIGHT else PAGE)  # viridis is the same in both themes
            style = TextStyle(min(12.0, pitch / 3), ink, "middle")
            if count and style.length(f"{count:,}") < side - 2 and pitch >= 24:
                position = (x + side / 2, y + side / 2 + style.size * 0.35)
                picture.text(f"{count:,}", position, style, title=title)


def _drawn_labels(
    labels: Sequence[str], counts: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int64]]:
    """The labels with the most errors in their order, the rest as one."""
    if len(labels) <= MAX_LABELS:
        return list(labels), counts
    errors = counts.sum(0) + counts.sum(1) - 2 * counts.diagonal()
    kept = np.sort(np.argsort(-errors, kind="stable")[: MAX_LABELS - 1])
    index = np.full(len(labels), MAX_LABELS - 1)
    index[kept] = np.arange(MAX_LABELS - 1)
    cells = np.zeros((MAX_LABELS, MAX_LABELS), dtype=np.int64)
    np.add.at(cells, (index[:, None], index[None, :]), counts)
    return [*(labels[n] for n in kept), OTHERS], cells


def _row_fractions(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The counts divided by the sum of their row; a row without counts stays 0."""
    return np.asarray(counts / np.maximum(counts.sum(1, keepdims=True), 1), dtype=np.float64)


def _caption(labels: Sequence[str], counts: NDArray[np.int64]) -> str:
    """The accuracy, and the most frequent error."""
    total, hits = int(counts.sum()), int(counts.diagonal().sum())
    if not total:
        return "There are no predictions to count."
    accuracy = f"{hits:,} of {total:,} are correct ({percent(hits / total)})."
    wrong = counts - np.diag(counts.diagonal())
    if not wrong.any():
        return accuracy
    row, column = divmod(int(wrong.argmax()), len(labels))
    true, predicted = visible(labels[row]), visible(labels[column])
    most, of = int(wrong[row, column]), int(counts[row].sum())
    often = f"{most:,} of {of:,}, {percent(most / of)}"
    return f'{accuracy} Most frequent error: "{true}" predicted as "{predicted}" ({often}).'


def _pitch(number: int) -> float:
    """Pixels of a cell."""
    return next((pitch for most, pitch in ((8, 48), (14, 36), (24, 28)) if number <= most), 18)
