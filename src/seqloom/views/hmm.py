"""Hidden states over time: how likely each is so far, looking back, and the best way through."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import INK, MUTED, ORANGE, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Labels, Wording, draw_legend
from .draw.svg import Lettering, Picture
from .draw.text import shorten, visible
from .draw.text_heatmap import block_levels, text_grid

Matrix = NDArray[np.float64]
_MOST_STATES, _MOST_SHOWN = 24, 5


@final
class TrellisView(View):
    """Columns are places, rows are states; the line is the likeliest way through.

    Args:
        symbols: what was seen, one for each place.
        states: what the states are called.
        filtered: time × states, given what was seen up to each place.
        smoothed: the same, given all of it.
        path: the number of the state at each place on the likeliest way.
        model: name of the model.
        moves: the chance of each state after each.
        shows: of each state the symbols it shows most, with their chances, or what its mean is.
        offset: how many symbols of the rail stand before the first of these.
        notes: how the numbers came about.
    """

    kind: ClassVar[str] = "trellis"

    def __init__(  # noqa: PLR0913 - what is drawn and what is said of it
        self,
        symbols: Sequence[str],
        states: Sequence[str],
        filtered: ArrayLike,
        smoothed: ArrayLike,
        path: Sequence[int],
        model: str,
        *,
        moves: Matrix | None = None,
        shows: Sequence[Sequence[tuple[str, float]]] = (),
        offset: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        self.symbols, self.states, self.path = list(symbols), list(states), list(path)
        shape = len(self.symbols), len(self.states)
        self.filtered, self.smoothed = (
            np.array(one, dtype=np.float64).reshape(shape) for one in (filtered, smoothed)
        )
        if len(self.path) != len(self.symbols):
            raise ValueError("expected a state for each place")
        self.moves, self.shows, self.offset = moves, [list(row) for row in shows], offset
        used = self.smoothed.sum(0)
        order = np.argsort(-used, kind="stable")[:_MOST_STATES]
        self.drawn = sorted(order.tolist())
        told = list(notes)
        if len(self.states) > _MOST_STATES:
            told.append(f"the likeliest {_MOST_STATES} of {len(self.states)} states are drawn")
        data = {"filtered": self.filtered, "smoothed": self.smoothed, "path": self.path}
        super().__init__(model, self._caption(), data, told)

    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "tokens": {"src": self.symbols},
            "offset": self.offset,
            "states": self.states,
            "filtered": self.filtered.round(6).tolist(),
            "smoothed": self.smoothed.round(6).tolist(),
            "path": self.path,
        }
        if self.moves is not None:
            found["moves"] = np.asarray(self.moves).round(6).tolist()
        if self.shows:
            found["shows"] = [[[name, round(p, 6)] for name, p in row] for row in self.shows]
        return found

    def to_table(self) -> list[list[str]]:
        rows = [["symbol", "path", "so far", "looking back"]]
        for place, symbol in enumerate(self.symbols):
            told = [self._best(self.filtered[place]), self._best(self.smoothed[place])]
            rows.append([visible(symbol), visible(self.states[self.path[place]]), *told])
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        names = [self.states[state] for state in self.drawn]
        blocks = block_levels(self.smoothed[:, self.drawn].T, ascii=ascii)
        mark = "*" if ascii else "●"
        for place, state in enumerate(self.path):
            if state in self.drawn:
                blocks[self.drawn.index(state)][place] = mark
        return text_grid(names, self.symbols, blocks, width, ascii)

    def to_picture(self) -> Picture:
        pitch = max(6.0, min(30.0, 1000 // max(1, len(self.symbols))))
        row = max(14.0, min(30.0, 420 / max(1, len(self.drawn))))
        above = Labels.of(self.symbols, pitch)
        names = [shorten(visible(self.states[state]), 20) for state in self.drawn]
        words = Wording(
            f"Hidden states of {self.model}",
            "ground: given all; outline: given what came before; line: the likeliest way",
            self.caption,
            self.notes,
        )
        label = Lettering(11, INK, "end", monospace=True)
        left = MARGIN + max(map(label.length, names), default=0.0) + 8
        top = words.head_height() + above.height()
        right = left + len(self.symbols) * pitch + max(MARGIN, above.overhang() + 4)
        width = max(right, words.width(), 520.0)
        legend = top + row * len(self.drawn) + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        for number, (name, state) in enumerate(zip(names, self.drawn, strict=True)):
            y = top + number * row
            picture.text(name, (left - 6, y + row * 0.65), label)
            for place in range(len(self.symbols)):
                self._draw_place(picture, (left + place * pitch, y, pitch, row), place, state)
        self._draw_path(picture, (left, top), (pitch, row))
        draw_legend(picture, left, legend, "chance of the state, given all")
        words.draw(picture, foot)
        return picture

    def _draw_place(
        self, picture: Picture, box: tuple[float, float, float, float], place: int, state: int
    ) -> None:
        x, y, pitch, row = box
        late, soon = float(self.smoothed[place, state]), float(self.filtered[place, state])
        title = (
            f"{visible(self.states[state])} at {visible(self.symbols[place])}:"
            f" {late:.3f} given all, {soon:.3f} so far"
        )
        picture.rectangle((x, y, pitch - 1, row - 1), viridis(late), title=title)
        side = (soon**0.5) * (min(pitch, row) - 5)
        if side > 1:
            corner = x + (pitch - 1 - side) / 2, y + (row - 1 - side) / 2
            picture.rectangle((*corner, side, side), outline=PAGE, thickness=1)

    def _draw_path(
        self, picture: Picture, corner: tuple[float, float], size: tuple[float, float]
    ) -> None:
        points = [
            (corner[0] + (place + 0.5) * size[0], corner[1] + (self.drawn.index(s) + 0.5) * size[1])
            for place, s in enumerate(self.path)
            if s in self.drawn
        ]
        for start, end in pairwise(points):
            picture.line(start, end, PAGE, 5)
            picture.line(start, end, ORANGE, 3)
        if len(points) == 1:
            x, y = points[0]
            picture.rectangle((x - 2, y - 2, 4, 4), MUTED)

    def _best(self, chances: Matrix) -> str:
        best = int(chances.argmax())
        return f"{visible(self.states[best])} {chances[best]:.2f}"

    def _caption(self) -> str:
        if not self.symbols:
            return "There is nothing to go through: the sequence is empty."
        count = np.bincount(self.path, minlength=len(self.states))
        most = int(count.argmax())
        told = (
            f'State "{visible(self.states[most])}" holds {count[most]} of {len(self.path)} places'
        )
        if self.shows and self.shows[most]:
            shown = ", ".join(_shown(name, p) for name, p in self.shows[most][:_MOST_SHOWN])
            told += f" (it shows {shown})"
        changed = int((self.filtered.argmax(1) != self.smoothed.argmax(1)).sum())
        back = (
            f"looking back changes the likeliest state of {changed} places"
            if changed
            else ("looking back changes the likeliest state nowhere")
        )
        return f"{told}; {back}. {self._doubt()}"

    def _doubt(self) -> str:
        place = int(self.smoothed.max(1).argmin())
        best, *others = np.argsort(-self.smoothed[place], kind="stable").tolist()
        chance = self.smoothed[place]
        second = f' / {chance[others[0]]:.2f} "{visible(self.states[others[0]])}"' if others else ""
        return (
            f'Least sure at "{visible(self.symbols[place])}"'
            f' ({chance[best]:.2f} "{visible(self.states[best])}"{second}).'
        )


def _shown(name: str, chance: float) -> str:
    return f"{visible(name)} {chance:.2f}" if name else f"{chance:.3g}"
