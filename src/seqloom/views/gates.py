"""How the gates of a recurrent cell open and shut while it reads.

How often every gate of a model is open or shut, over all that it read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import BLUE, GRID, INK, MUTED, ORANGE, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, Labels, Wording, draw_legend
from .draw.svg import Lettering, Picture
from .draw.text import column_width, fold, to_ascii, visible
from .draw.text_heatmap import block_levels, text_grid

_ROW, _BAR, _LEGEND = 24.0, 320.0, 34.0
_BETWEEN = GRID
_HEADING = ("layer", "direction", "gate", "mean", "open (>0.9)", "shut (<0.1)")


@dataclass(frozen=True)
class GateShare:
    """One gate of one layer in one direction, over all its cells and all steps.

    Args:
        model: the model it is of.
        layer: which one, as "1", or "decoder 1" where a model has several stacks.
        direction: "forward" or "backward".
        gate: its name.
        mean: of its values.
        open: the share of values above 0.9.
        shut: the share of values below 0.1.
        values: how many there were.
    """

    model: str
    layer: str
    direction: str
    gate: str
    mean: float
    open: float
    shut: float
    values: int


@final
class GateSharesView(View):
    """The share of time each gate is open or shut (Karpathy et al., 2015).

    Args:
        shares: one for each gate.
        notes: what was read.
    """

    kind: ClassVar[str] = "gate_shares"

    def __init__(self, shares: Sequence[GateShare], notes: Sequence[str] = ()) -> None:
        if not shares:
            raise ValueError("expected at least one gate")
        self.shares = list(shares)
        models = list(dict.fromkeys(share.model for share in self.shares))
        self.several = len(models) > 1
        super().__init__(
            ", ".join(models), _shares_caption(self.shares), {"shares": self.shares}, notes
        )

    def beside(self, *others: "GateSharesView") -> "GateSharesView":
        """This view and others as one."""
        views = [self, *others]
        notes = list(dict.fromkeys(note for view in views for note in view.notes))
        return GateSharesView([share for view in views for share in view.shares], notes)

    def content(self) -> dict[str, Any]:
        return {"gates": [vars(share) for share in self.shares]}

    def to_table(self) -> list[list[str]]:
        rows = []
        for s in self.shares:
            name = [s.model] if self.several else []
            rows.append([*name, s.layer, s.direction, s.gate, f"{s.mean:.2f}",
                         _shares_percent(s.open), _shares_percent(s.shut)])  # fmt: skip
        return [[*(["model"] if self.several else []), *_HEADING], *rows]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        rows = [[to_ascii(cell) if ascii else cell for cell in row] for row in self.to_table()]
        widths = [max(map(column_width, column)) for column in zip(*rows, strict=True)]
        words = len(widths) - 3  # the last three are numbers
        lines = []
        for row in rows:
            cells = []
            for number, (cell, room) in enumerate(zip(row, widths, strict=True)):
                blank = " " * (room - column_width(cell))
                cells.append(cell + blank if number < words else blank + cell)
            lines += fold("  ".join(cells).rstrip(), width)
        return lines

    def to_picture(self) -> Picture:
        title = f"Gates of {self.model}"
        words = Wording(title, "the share of values that are shut, between and open",
                        self.caption, self.notes)  # fmt: skip
        labels = [self._label(share) for share in self.shares]
        left = MARGIN + max(Lettering(12).length(label) for label in labels) + 10
        top = words.head_height()
        width = max(words.width(), left + _BAR + 60 + MARGIN)
        foot = top + len(labels) * _ROW + _LEGEND
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        for number, (label, share) in enumerate(zip(labels, self.shares, strict=True)):
            y = top + number * _ROW
            picture.text(label, (left - 8, y + 14), Lettering(12, INK, "end"))
            _draw_bar(picture, share, left, y)
        _draw_legend(picture, left, foot - _LEGEND + 6)
        words.draw(picture, foot)
        return picture

    def _label(self, share: GateShare) -> str:
        name = f"{share.model} " if self.several else ""
        return f"{name}{share.layer} {share.direction} {share.gate}"


def _draw_bar(picture: Picture, share: GateShare, left: float, top: float) -> None:
    """Shut from the left, open from the right, the rest between; the mean as a number."""
    between = 1 - share.open - share.shut
    x = left
    parts = (
        (share.shut, ORANGE, "shut"),
        (between, _BETWEEN, "between"),
        (share.open, BLUE, "open"),
    )
    for part, colour, word in parts:
        title = f"{share.gate} {word}: {_shares_percent(part)}"
        if part > 0:
            picture.rectangle((x, top + 3, part * _BAR, _ROW - 8), colour, title=title)
        x += part * _BAR
    mean = Lettering(11, MUTED)
    picture.text(f"{share.mean:.2f}", (left + _BAR + 8, top + 14), mean)


def _draw_legend(picture: Picture, left: float, top: float) -> None:
    words = (("shut (<0.1)", ORANGE), ("between", _BETWEEN), ("open (>0.9)", BLUE))
    for number, (word, colour) in enumerate(words):
        x = left + number * 108
        picture.rectangle((x, top + 2, 10, 10), colour)
        picture.text(word, (x + 15, top + 11), Lettering(11, MUTED))
    picture.text("mean", (left + _BAR + 8, top + 11), Lettering(11, MUTED))


def _shares_caption(shares: Sequence[GateShare]) -> str:
    """The gate that is most often open, and the one that is most often shut."""
    opened = max(shares, key=lambda share: share.open)
    closed = max(shares, key=lambda share: share.shut)
    told = (
        [f"Most often open: {_named(opened)} ({_shares_percent(opened.open)})."]
        if opened.open
        else []
    )
    told += (
        [f"Most often shut: {_named(closed)} ({_shares_percent(closed.shut)})."]
        if closed.shut
        else []
    )
    return " ".join(told) or "No gate is ever quite open or quite shut."


def _named(share: GateShare) -> str:
    of = f"layer {share.layer} {share.direction} of {share.model}"
    return f"the {share.gate} gate of {of}"


def _shares_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


OPEN, SHUT = 0.9, 0.1
_MOST_CELLS, _MOST_TITLES, _GATE_SPACE = 64, 6000, 26


@final
class GatesView(View):
    """The values of every gate over time, from 0 (shut) to 1 (open).

    Args:
        symbols: what was read, one for each time step.
        gates: for each gate, time × cells; all of the same shape.
        model: name of the model.
        notes: how the values came about, such as "layer 2".
        layers: the names of all layers that have gates, of which this is one.
        layer: which of them.
    """

    kind: ClassVar[str] = "gates"

    def __init__(
        self,
        symbols: Sequence[str],
        gates: Mapping[str, ArrayLike],
        model: str,
        notes: Sequence[str] = (),
        *,
        layers: Sequence[str] = (),
        layer: int = 0,
    ) -> None:
        self.symbols, self.layers, self.layer = list(symbols), list(layers), layer
        self.gates = _checked(gates, len(self.symbols))
        self.open = {name: _share(values > OPEN) for name, values in self.gates.items()}
        self.shut = {name: _share(values < SHUT) for name, values in self.gates.items()}
        self.order = _order(self.gates)
        data = {
            "symbols": self.symbols,
            "gates": self.gates,
            "open": self.open,
            "shut": self.shut,
            "order": self.order,
        }
        told = [*notes, *_told(len(self.order))]
        super().__init__(model, _caption(self.open, self.shut), data, told)

    def content(self) -> dict[str, Any]:
        gates = {
            name: {
                "values": values.round(4).tolist(),
                "open": round(self.open[name], 4),
                "shut": round(self.shut[name], 4),
            }
            for name, values in self.gates.items()
        }
        return {
            "tokens": {"src": self.symbols},
            "gates": gates,
            "order": self.order.tolist(),
            "layers": self.layers,
            "layer": self.layer,
        }

    def to_table(self) -> list[list[str]]:
        heading = ["mean over cells", *map(_short, self.gates)]
        means = _means(self.gates).T
        rows = zip(self.symbols, means, strict=True)
        body = [[visible(symbol), *(f"{mean:.2f}" for mean in row)] for symbol, row in rows]
        opened = ["open (>0.9)", *map(_percent, self.open.values())]
        closed = ["shut (<0.1)", *map(_percent, self.shut.values())]
        return [heading, *body, opened, closed]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        names = [_short(name) for name in self.gates]
        blocks = block_levels(_means(self.gates), ascii=ascii)
        lines = text_grid(names, self.symbols, blocks, width, ascii)
        lines.append("")
        for name, full in zip(names, self.gates, strict=True):
            share = f"{name}: {self._shares(full)}"
            lines += fold(to_ascii(share) if ascii else share, width)
        return lines

    def to_picture(self) -> Picture:
        pitch = max(2.0, min(14.0, 1120 // max(1, len(self.symbols))))
        above = Labels.of(self.symbols, pitch)
        rows = min(len(self.order), _MOST_CELLS)
        row_height = max(3, min(14, 192 // max(1, rows)))
        explanation = "left to right: what was read; each row: one cell"
        words = Wording(f"Gates of {self.model}", explanation, self.caption, self.notes)
        titles = [f"{_short(name)}: {self._shares(name)}" for name in self.gates]
        left, top = MARGIN, words.head_height() + _GATE_SPACE + above.height()
        right = left + len(self.symbols) * pitch + max(MARGIN, above.overhang() + 4)
        longest = max((_GATE_LETTERS.length(title) for title in titles), default=0)
        width = max(right, words.width(), longest + 2 * MARGIN)
        one = rows * row_height + _GATE_SPACE
        legend = top + len(self.gates) * one - _GATE_SPACE + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        for number, (name, title) in enumerate(zip(self.gates, titles, strict=True)):
            start = top + number * one
            # What was read stands between the first gate's name and its cells.
            baseline = start - 6 if number else words.head_height() + 16
            picture.text(title, (left, baseline), _GATE_LETTERS)
            self._draw_cells(picture, name, (left, start), (pitch, row_height))
        draw_legend(picture, left, legend, "value of the gate: 0 shut, 1 open")
        words.draw(picture, foot)
        return picture

    def _shares(self, name: str) -> str:
        opened, closed = _percent(self.open[name]), _percent(self.shut[name])
        return f"{opened} open (>0.9), {closed} shut (<0.1)"

    def _draw_cells(
        self, picture: Picture, name: str, corner: tuple[float, float], size: tuple[float, float]
    ) -> None:
        (left, top), (width, height) = corner, size
        drawn = self.order[:_MOST_CELLS]
        is_small = len(drawn) * len(self.symbols) * len(self.gates) <= _MOST_TITLES
        for row, cell in enumerate(drawn):
            values = self.gates[name][:, cell]
            y = top + row * height
            if is_small:
                for time, value in enumerate(values):
                    read = visible(self.symbols[time])
                    title = f"{_short(name)}, cell {cell}, {read}: {value:.3f}"
                    box = left + time * width, y, width, height
                    picture.rectangle(box, viridis(float(value)), title=title)
                continue
            # Long texts: neighbours of one colour become one rectangle, or the file gets huge.
            for colour, start, length in _runs(values):
                picture.rectangle((left + start * width, y, length * width, height), colour)


def _checked(gates: Mapping[str, ArrayLike], time: int) -> dict[str, NDArray[np.float64]]:
    found = {name: np.array(values, dtype=np.float64) for name, values in gates.items()}
    if not found:
        raise ValueError("expected at least one gate")
    shape = next(iter(found.values())).shape
    for name, values in found.items():
        if values.ndim != 2 or len(values) != time or values.shape != shape:
            raise ValueError(
                f"expected gate {name!r} as time × cells with {time} steps and the shape of the "
                f"other gates, got {values.shape}"
            )
        if not ((values > -1e-6) & (values < 1 + 1e-6)).all():
            raise ValueError(f"expected gate {name!r} from 0 to 1, found values that are not")
    return {name: values.clip(0, 1) for name, values in found.items()}


def _order(gates: Mapping[str, NDArray[np.float64]]) -> NDArray[np.int64]:
    """The cells from the most to the least varying, one order for all gates to compare them."""
    variance = sum(values.var(axis=0) if len(values) else values.sum(axis=0)
                   for values in gates.values())  # fmt: skip
    return np.argsort(-np.asarray(variance), kind="stable").astype(np.int64)


def _means(gates: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """The mean over cells for each gate (rows) and time step (columns)."""
    return np.stack([values.sum(axis=1) / max(1, values.shape[1]) for values in gates.values()])


def _share(which: NDArray[np.bool_]) -> float:
    return float(which.mean()) if which.size else 0.0


def _told(cells: int) -> list[str]:
    ordered = "In the picture, cells are sorted by how much they vary, alike in every gate."
    if cells <= _MOST_CELLS:
        return [ordered]
    return [f"{ordered} The first {_MOST_CELLS} of {cells} are drawn; the shares are of all."]


def _caption(opened: Mapping[str, float], closed: Mapping[str, float]) -> str:
    """A sentence on the gate that keeps the memory, and the shares of the others."""
    short = {_short(name): name for name in opened}
    main = next((name for name in ("forget", "update") if name in short), next(iter(short)))
    does = _DOES.get(main, "lets almost everything through")
    share = _percent(opened[short[main]])
    sentences = [f"{_title(main)}: {share} of the time a cell {does} (>0.9)."]
    for name, full in short.items():
        if name != main:
            shares = f"open {_percent(opened[full])}, shut {_percent(closed[full])}"
            sentences.append(f"{_title(name)}: {shares}.")
    return " ".join(sentences)


def _runs(values: NDArray[np.float64], levels: int = 32) -> list[tuple[str, int, int]]:
    """Neighbours of about the same value as one: colour, first step, how many steps."""
    steps = enumerate(np.rint(values * levels).astype(int))
    runs = [(level, list(run)) for level, run in groupby(steps, key=lambda step: step[1])]
    return [(viridis(level / levels), run[0][0], len(run)) for level, run in runs]


def _percent(share: float) -> str:
    return f"{round(100 * share)} %"


def _short(name: str) -> str:
    """The name of a gate without the word that all of them share in a trace."""
    return name.removeprefix("gate.")


def _title(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]} gate"


_GATE_LETTERS = Lettering(11, MUTED)
_DOES = {
    "forget": "keeps almost everything",
    "update": "keeps almost everything",
    "input": "takes in almost everything",
    "output": "shows almost everything",
    "reset": "uses almost all of its past",
}
