"""HMM trellis: filtered and smoothed state probabilities, and the Viterbi path (Rabiner, 1989)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import INK, MUTED, ORANGE, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, AxisLabels, FigureText, draw_legend
from .draw.svg import Picture, TextStyle
from .draw.text import shorten, visible
from .draw.text_heatmap import block_levels, text_grid

Matrix = NDArray[np.float64]
_MOST_STATES, _MOST_SHOWN = 24, 5


@final
class TrellisView(View):
    """HMM trellis: columns are positions, rows are hidden states, the line is the Viterbi path.

    Args:
        tokens: the observations, one for each position.
        states: names of the states.
        filtered: time × states, P(s_t | x_1 … x_t).
        smoothed: time × states, the posterior P(s_t | x_1 … x_T) of forward-backward.
        path: the state at each position of the most probable path (Viterbi).
        model: name of the model.
        transitions: the transition matrix, from state × to state.
        emissions: of each state its most probable tokens with their emission probabilities, or the
            mean of its emissions, without a name.
        offset: how many input tokens there are before the first of `tokens`.
        notes: how the numbers were computed.
    """

    kind: ClassVar[str] = "trellis"

    def __init__(  # noqa: PLR0913 - the data, and what describes it
        self,
        tokens: Sequence[str],
        states: Sequence[str],
        filtered: ArrayLike,
        smoothed: ArrayLike,
        path: Sequence[int],
        model: str,
        *,
        transitions: Matrix | None = None,
        emissions: Sequence[Sequence[tuple[str, float]]] = (),
        offset: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        self.tokens, self.states, self.path = list(tokens), list(states), list(path)
        shape = len(self.tokens), len(self.states)
        self.filtered, self.smoothed = (
            np.array(one, dtype=np.float64).reshape(shape) for one in (filtered, smoothed)
        )
        if len(self.path) != len(self.tokens):
            raise ValueError("expected a state for each position")
        self.transitions, self.offset = transitions, offset
        self.emissions = [list(row) for row in emissions]
        used = self.smoothed.sum(0)
        order = np.argsort(-used, kind="stable")[:_MOST_STATES]
        self.drawn_states = sorted(order.tolist())
        if len(self.states) > _MOST_STATES:
            drawn = f"the {_MOST_STATES} most probable of {len(self.states)} states are drawn"
            self.drawn_notes = (drawn,)
        data = {"filtered": self.filtered, "smoothed": self.smoothed, "path": self.path}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "tokens": {"src": self.tokens},
            "offset": self.offset,
            "states": self.states,
            "filtered": self.filtered.round(6).tolist(),
            "smoothed": self.smoothed.round(6).tolist(),
            "path": self.path,
        }
        if self.transitions is not None:
            fields["moves"] = np.asarray(self.transitions).round(6).tolist()
        if self.emissions:
            fields["shows"] = [[[name, round(p, 6)] for name, p in row] for row in self.emissions]
        return fields

    def to_table(self) -> list[list[str]]:
        rows = [["token", "Viterbi path", "filtered", "smoothed"]]
        for position, token in enumerate(self.tokens):
            best = [self._best(self.filtered[position]), self._best(self.smoothed[position])]
            rows.append([visible(token), visible(self.states[self.path[position]]), *best])
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        names = [self.states[state] for state in self.drawn_states]
        blocks = block_levels(self.smoothed[:, self.drawn_states].T, ascii=ascii)
        mark = "*" if ascii else "●"
        for position, state in enumerate(self.path):
            if state in self.drawn_states:
                blocks[self.drawn_states.index(state)][position] = mark
        return text_grid(names, self.tokens, blocks, width, ascii)

    def to_picture(self) -> Picture:
        pitch = max(6.0, min(30.0, 1000 // max(1, len(self.tokens))))
        row = max(14.0, min(30.0, 420 / max(1, len(self.drawn_states))))
        above = AxisLabels.of(self.tokens, pitch)
        names = [shorten(visible(self.states[state]), 20) for state in self.drawn_states]
        text = FigureText(
            f"Hidden states of {self.model}",
            "fill: smoothed, outline: filtered probability; line: Viterbi path",
            self.caption,
            (*self.notes, *self.drawn_notes),
        )
        label = TextStyle(11, INK, "end", monospace=True)
        left = MARGIN + max(map(label.length, names), default=0.0) + 8
        top = text.head_height() + above.height()
        right = left + len(self.tokens) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, text.width(), 520.0)
        legend = top + row * len(self.drawn_states) + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        for number, (name, state) in enumerate(zip(names, self.drawn_states, strict=True)):
            y = top + number * row
            picture.text(name, (left - 6, y + row * 0.65), label)
            for position in range(len(self.tokens)):
                box = left + position * pitch, y, pitch, row
                self._draw_cell(picture, box, position, state)
        self._draw_path(picture, (left, top), (pitch, row))
        draw_legend(picture, left, legend, "smoothed probability of the state")
        text.draw(picture, foot)
        return picture

    def _draw_cell(
        self, picture: Picture, box: tuple[float, float, float, float], position: int, state: int
    ) -> None:
        x, y, pitch, row = box
        smoothed = float(self.smoothed[position, state])
        filtered = float(self.filtered[position, state])
        title = (
            f"{visible(self.states[state])} at {visible(self.tokens[position])}:"
            f" {smoothed:.3f} smoothed, {filtered:.3f} filtered"
        )
        picture.rectangle((x, y, pitch - 1, row - 1), viridis(smoothed), title=title)
        # The area of the outline, not its side, is proportional to the probability.
        side = (filtered**0.5) * (min(pitch, row) - 5)
        if side > 1:
            corner = x + (pitch - 1 - side) / 2, y + (row - 1 - side) / 2
            picture.rectangle((*corner, side, side), outline=PAGE, thickness=1)

    def _draw_path(
        self, picture: Picture, corner: tuple[float, float], size: tuple[float, float]
    ) -> None:
        points = [
            (
                corner[0] + (t + 0.5) * size[0],
                corner[1] + (self.drawn_states.index(s) + 0.5) * size[1],
            )
            for t, s in enumerate(self.path)
            if s in self.drawn_states
        ]
        for start, end in pairwise(points):
            picture.line(start, end, PAGE, 5)
            picture.line(start, end, ORANGE, 3)
        if len(points) == 1:
            x, y = points[0]
            picture.rectangle((x - 2, y - 2, 4, 4), MUTED)

    def _best(self, probabilities: Matrix) -> str:
        best = int(probabilities.argmax())
        return f"{visible(self.states[best])} {probabilities[best]:.2f}"

    def _caption(self) -> str:
        if not self.tokens:
            return "There are no hidden states: the sequence is empty."
        count = np.bincount(self.path, minlength=len(self.states))
        most = int(count.argmax())
        occupied = (
            f'State "{visible(self.states[most])}" is the Viterbi state at {count[most]} of'
            f" {len(self.path)} positions"
        )
        if self.emissions and (row := self.emissions[most]):
            named = ", ".join(_emission(name, value) for name, value in row[:_MOST_SHOWN])
            occupied += f" ({'emissions' if row[0][0] else 'mean'} {named})"
        changed = int((self.filtered.argmax(1) != self.smoothed.argmax(1)).sum())
        where = f"at {changed} position{'s' * (changed != 1)}" if changed else "nowhere"
        smoothing = f"smoothing changes the most probable state {where}"
        return f"{occupied}; {smoothing}. {self._least_certain()}"

    def _least_certain(self) -> str:
        """The position whose most probable state has the lowest probability."""
        position = int(self.smoothed.max(1).argmin())
        row = self.smoothed[position]
        best, *others = np.argsort(-row, kind="stable").tolist()
        second = f' / {row[others[0]]:.2f} "{visible(self.states[others[0]])}"' if others else ""
        return (
            f'Least certain at "{visible(self.tokens[position])}"'
            f' ({row[best]:.2f} "{visible(self.states[best])}"{second}).'
        )


def _emission(name: str, value: float) -> str:
    return f"{visible(name)} {value:.2f}" if name else f"{value:.3g}"
