"""Which labels are taken for which: a row for each right label, a column for each guess."""

from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import INK, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Labels, Wording, draw_legend
from .draw.svg import Lettering, Picture
from .draw.text import fold, visible
from .draw.text_heatmap import block_levels, text_grid

MOST = 40  # labels that are drawn: more cells than 40 × 40 are neither read nor drawn quickly
OTHERS, NO_LABEL = "(others)", "(none)"
_DARK = 0.6  # cells of a larger share are light, and take dark figures


@final
class ConfusionView(View):
    """How often each label was guessed where each was right.

    Colours are shares of a row, so that rare labels show as well as frequent ones. Of very many
    labels those are drawn that take part in the most mistakes, and the rest as one.

    Args:
        labels: of rows and columns; an empty one stands for no label.
        counts: right × guessed.
        model: name of the model.
        notes: what a reader must know.
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
        self.drawn, self.cells = _drawn(self.labels, whole)
        more = len(self.labels) - len(self.drawn) + 1
        if OTHERS in self.drawn:
            told = f"{more:,} labels with the fewest mistakes are drawn as one, {OTHERS}."
            notes = [*notes, told]
        data = {"labels": self.labels, "counts": self.counts}
        super().__init__(model, _caption(self.labels, whole), data, notes)

    def content(self) -> dict[str, Any]:
        return {"labels": self.labels, "counts": self.counts.tolist()}

    def to_table(self) -> list[list[str]]:
        rows = zip(self.drawn, self.cells, strict=True)
        body = [[visible(label), *(f"{count:,}" for count in row)] for label, row in rows]
        return [["right, then guessed", *map(visible, self.drawn)], *body]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        blocks = block_levels(_shares(self.cells), ascii=ascii, show_largest=True)
        told = "rows: right; columns: guessed; shares of each row"
        return [*fold(told, width), "", *text_grid(self.drawn, self.drawn, blocks, width, ascii)]

    def to_picture(self) -> Picture:
        pitch = _pitch(len(self.drawn))
        above, beside = Labels.of(self.drawn, pitch), Labels.of(self.drawn, pitch)
        words = Wording(
            f"Labels and guesses of {self.model}",
            "rows are right labels, columns are guesses",
            self.caption,
            self.notes,
        )
        left, top = MARGIN + beside.length() + 8, words.head_height() + above.height()
        right = left + len(self.drawn) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, words.width())
        legend = top + len(self.drawn) * pitch + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        beside.draw_beside(picture, left, top)
        self._draw_cells(picture, left, top, pitch)
        draw_legend(picture, left, legend, "share of the row; figures are counts")
        words.draw(picture, foot)
        return picture

    def _draw_cells(self, picture: Picture, left: float, top: float, pitch: float) -> None:
        side, shares = pitch - 1, _shares(self.cells)
        for (row, column), count in np.ndenumerate(self.cells):
            share = float(shares[row, column])
            x, y = left + column * pitch, top + row * pitch
            right, guess = visible(self.drawn[row]), visible(self.drawn[column])
            title = f"{right} guessed as {guess}: {count:,} ({100 * share:.1f} %)"
            picture.rectangle((x, y, side, side), viridis(share), title=title)
            figure = Lettering(min(12.0, pitch / 3), str(INK if share > _DARK else PAGE), "middle")
            if count and figure.length(f"{count:,}") < side - 2 and pitch >= 24:
                place = (x + side / 2, y + side / 2 + figure.size * 0.35)
                picture.text(f"{count:,}", place, figure, title=title)


def _drawn(labels: Sequence[str], counts: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """The labels with the most mistakes in their order, the rest as one."""
    if len(labels) <= MOST:
        return list(labels), counts
    mistakes = counts.sum(0) + counts.sum(1) - 2 * counts.diagonal()
    kept = np.sort(np.argsort(-mistakes, kind="stable")[: MOST - 1])
    place = np.full(len(labels), MOST - 1)
    place[kept] = np.arange(MOST - 1)
    cells = np.zeros((MOST, MOST), dtype=np.int64)
    np.add.at(cells, (place[:, None], place[None, :]), counts)
    return [*(labels[n] for n in kept), OTHERS], cells


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each row; a row without any has none."""
    return np.asarray(counts / np.maximum(counts.sum(1, keepdims=True), 1), dtype=np.float64)


def _caption(labels: Sequence[str], counts: NDArray[np.int64]) -> str:
    """How much is right, and the mistake that is made most often."""
    total, hits = int(counts.sum()), int(counts.diagonal().sum())
    if not total:
        return "There is nothing to count."
    told = f"{hits:,} of {total:,} are right ({100 * hits / total:.1f} %)."
    wrong = counts - np.diag(counts.diagonal())
    if not wrong.any():
        return told
    row, column = divmod(int(wrong.argmax()), len(labels))
    right, guess = visible(labels[row]), visible(labels[column])
    most = int(wrong[row, column])
    share = 100 * most / int(counts[row].sum())
    often = f"{most:,} of {int(counts[row].sum()):,}, {share:.0f} %"
    return f'{told} Most often "{right}" is taken for "{guess}" ({often}).'


def _pitch(number: int) -> float:
    """Pixels for a cell."""
    return next((pitch for most, pitch in ((8, 48), (14, 36), (24, 28)) if number <= most), 18)
