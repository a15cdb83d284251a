"""Gate activations of recurrent cells such as LSTM and GRU.

The values of the gates over time as heat maps, and for each gate of a model the fraction of its
values that is open (right-saturated) or shut (left-saturated; Karpathy et al., 2015).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import View
from .draw.colours import BLUE, GRID, INK, MUTED, ORANGE, PAGE, viridis
from .draw.heatmap import LEGEND_HEIGHT, MARGIN, AxisLabels, FigureText, draw_legend
from .draw.svg import Picture, TextStyle
from .draw.text import column_width, fold, to_ascii, visible
from .draw.text_heatmap import block_levels, text_grid

OPEN, SHUT = 0.9, 0.1  # a gate is open above the first, and shut below the second
SMALL = 0.005  # a fraction that would be rounded to nothing
_ROW, _BAR, _LEGEND = 24.0, 320.0, 34.0
_BETWEEN = GRID
_MOST_CELLS, _MOST_TITLES, _GATE_SPACE = 64, 6000, 26
_GATE_STYLE = TextStyle(11, MUTED)
_HEADING = ("layer", "direction", "gate", "mean", "open (>0.9)", "shut (<0.1)")


@dataclass(frozen=True)
class GateStatistics:
    """Statistics of one gate of one layer in one direction, over all its cells and all steps.

    Args:
        model: name of the model.
        layer: such as "1", or "decoder 1" where a model has several stacks.
        direction: "forward" or "backward".
        gate: name of the gate.
        mean: of its values.
        open: the fraction of values above 0.9.
        shut: the fraction of values below 0.1.
        values: number of values.
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
class GateStatisticsView(View):
    """Gate statistics: the fraction of values at which each gate is open or shut.

    Args:
        gates: one for each gate.
        notes: the input they were computed on.
    """

    kind: ClassVar[str] = "gate_shares"

    def __init__(self, gates: Sequence[GateStatistics], notes: Sequence[str] = ()) -> None:
        if not gates:
            raise ValueError("expected at least one gate")
        self.gates = list(gates)
        models = list(dict.fromkeys(gate.model for gate in self.gates))
        self.several = len(models) > 1
        caption = _statistics_caption(self.gates)
        super().__init__(", ".join(models), caption, {"gates": self.gates}, notes)

    def beside(self, *others: "GateStatisticsView") -> "GateStatisticsView":
        """This view and others as one."""
        views = [self, *others]
        notes = list(dict.fromkeys(note for view in views for note in view.notes))
        return GateStatisticsView([gate for view in views for gate in view.gates], notes)

    def content(self) -> dict[str, Any]:
        return {"gates": [vars(gate) for gate in self.gates]}

    def to_table(self) -> list[list[str]]:
        rows = []
        for one in self.gates:
            name = [one.model] if self.several else []
            rows.append([*name, one.layer, one.direction, one.gate, f"{one.mean:.2f}",
                         _percent(one.open), _percent(one.shut)])  # fmt: skip
        return [[*(["model"] if self.several else []), *_HEADING], *rows]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        rows = [[to_ascii(cell) if ascii else cell for cell in row] for row in self.to_table()]
        widths = [max(map(column_width, column)) for column in zip(*rows, strict=True)]
        names = len(widths) - 3  # the last three columns are numbers
        lines = []
        for row in rows:
            cells = []
            for number, (cell, room) in enumerate(zip(row, widths, strict=True)):
                blank = " " * (room - column_width(cell))
                cells.append(cell + blank if number < names else blank + cell)
            lines += fold("  ".join(cells).rstrip(), width)
        return lines

    def to_picture(self) -> Picture:
        title = f"Gates of {self.model}"
        text = FigureText(title, "fraction of values that are shut, between and open",
                        self.caption, self.notes)  # fmt: skip
        labels = [self._label(gate) for gate in self.gates]
        left = MARGIN + max(TextStyle(12).length(label) for label in labels) + 10
        top = text.head_height()
        width = max(text.width(), left + _BAR + 60 + MARGIN)
        foot = top + len(labels) * _ROW + _LEGEND
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        for number, (label, gate) in enumerate(zip(labels, self.gates, strict=True)):
            y = top + number * _ROW
            picture.text(label, (left - 8, y + 14), TextStyle(12, INK, "end"))
            _draw_bar(picture, gate, left, y)
        _draw_legend(picture, left, foot - _LEGEND + 6)
        text.draw(picture, foot)
        return picture

    def _label(self, gate: GateStatistics) -> str:
        name = f"{gate.model} " if self.several else ""
        return f"{name}{gate.layer} {gate.direction} {gate.gate}"


def _draw_bar(picture: Picture, gate: GateStatistics, left: float, top: float) -> None:
    """A stacked bar: shut at the left, open at the right, the rest between; and the mean."""
    between = 1 - gate.open - gate.shut
    x = left
    parts = (
        (gate.shut, ORANGE, "shut"),
        (between, _BETWEEN, "between"),
        (gate.open, BLUE, "open"),
    )
    for part, colour, name in parts:
        title = f"{gate.gate} {name}: {_percent(part)}"
        if part > 0:
            picture.rectangle((x, top + 3, part * _BAR, _ROW - 8), colour, title=title)
        x += part * _BAR
    mean = TextStyle(11, MUTED)
    picture.text(f"{gate.mean:.2f}", (left + _BAR + 8, top + 14), mean)


def _draw_legend(picture: Picture, left: float, top: float) -> None:
    entries = (("shut (<0.1)", ORANGE), ("between", _BETWEEN), ("open (>0.9)", BLUE))
    for number, (name, colour) in enumerate(entries):
        x = left + number * 108
        picture.rectangle((x, top + 2, 10, 10), colour)
        picture.text(name, (x + 15, top + 11), TextStyle(11, MUTED))
    picture.text("mean", (left + _BAR + 8, top + 11), TextStyle(11, MUTED))


def _statistics_caption(gates: Sequence[GateStatistics]) -> str:
    """The gate that is most often open, and the one that is most often shut."""
    opened = max(gates, key=lambda gate: gate.open)
    closed = max(gates, key=lambda gate: gate.shut)
    sentences = []
    if opened.open:
        sentences.append(f"Most often open: {_named(opened)} ({_percent(opened.open)}).")
    if closed.shut:
        sentences.append(f"Most often shut: {_named(closed)} ({_percent(closed.shut)}).")
    return " ".join(sentences) or "No gate is ever open (>0.9) or shut (<0.1)."


def _named(gate: GateStatistics) -> str:
    of = f"layer {gate.layer} {gate.direction} of {gate.model}"
    return f"the {gate.gate} gate of {of}"


@final
class GatesView(View):
    """Gate activations over time: the value of each gate of each cell, 0 (shut) to 1 (open).

    Args:
        tokens: the input, one for each time step.
        gates: for each gate, time × cells; all of the same shape.
        model: name of the model.
        notes: how the values were computed, such as "layer 2".
        layers: the names of all layers with gates.
        layer: which of them this is.
    """

    kind: ClassVar[str] = "gates"

    def __init__(
        self,
        tokens: Sequence[str],
        gates: Mapping[str, ArrayLike],
        model: str,
        notes: Sequence[str] = (),
        *,
        layers: Sequence[str] = (),
        layer: int = 0,
    ) -> None:
        self.tokens, self.layers, self.layer = list(tokens), list(layers), layer
        self.gates = _checked(gates, len(self.tokens))
        self.open = {name: _fraction(values > OPEN) for name, values in self.gates.items()}
        self.shut = {name: _fraction(values < SHUT) for name, values in self.gates.items()}
        self.order = _order(self.gates)
        data = {
            "tokens": self.tokens,
            "gates": self.gates,
            "open": self.open,
            "shut": self.shut,
            "order": self.order,
        }
        super().__init__(model, _caption(self.open, self.shut), data, notes)

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
            "tokens": {"src": self.tokens},
            "gates": gates,
            "order": self.order.tolist(),
            "layers": self.layers,
            "layer": self.layer,
        }

    def to_table(self) -> list[list[str]]:
        heading = ["mean over cells", *map(_short, self.gates)]
        means = _means(self.gates).T
        rows = zip(self.tokens, means, strict=True)
        body = [[visible(token), *(f"{mean:.2f}" for mean in row)] for token, row in rows]
        opened = ["open (>0.9)", *map(_percent, self.open.values())]
        closed = ["shut (<0.1)", *map(_percent, self.shut.values())]
        return [heading, *body, opened, closed]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        names = [_short(name) for name in self.gates]
        blocks = block_levels(_means(self.gates), ascii=ascii)
        lines = text_grid(names, self.tokens, blocks, width, ascii)
        lines.append("")
        for name, full in zip(names, self.gates, strict=True):
            line = f"{name}: {self._fractions(full)}"
            lines += fold(to_ascii(line) if ascii else line, width)
        return lines

    def to_picture(self) -> Picture:
        pitch = max(2.0, min(14.0, 1120 // max(1, len(self.tokens))))
        above = AxisLabels.of(self.tokens, pitch)
        rows = min(len(self.order), _MOST_CELLS)
        row_height = max(3, min(14, 192 // max(1, rows)))
        subtitle = "columns: time steps; rows: cells (hidden units)"
        notes = (*self.notes, _note_on_order(len(self.order)))
        text = FigureText(f"Gates of {self.model}", subtitle, self.caption, notes)
        titles = [f"{_short(name)}: {self._fractions(name)}" for name in self.gates]
        left, top = MARGIN, text.head_height() + _GATE_SPACE + above.height()
        right = left + len(self.tokens) * pitch + max(MARGIN, above.overhang() + 4)
        longest = max((_GATE_STYLE.length(title) for title in titles), default=0)
        width = max(right, text.width(), longest + 2 * MARGIN)
        one = rows * row_height + _GATE_SPACE
        legend = top + len(self.gates) * one - _GATE_SPACE + 14
        foot = legend + LEGEND_HEIGHT
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        above.draw_above(picture, left, top)
        for number, (name, title) in enumerate(zip(self.gates, titles, strict=True)):
            start = top + number * one
            # The input tokens are between the name of the first gate and its cells.
            baseline = start - 6 if number else text.head_height() + 16
            picture.text(title, (left, baseline), _GATE_STYLE)
            self._draw_cells(picture, name, (left, start), (pitch, row_height))
        draw_legend(picture, left, legend, "value of the gate: 0 shut, 1 open")
        text.draw(picture, foot)
        return picture

    def _fractions(self, name: str) -> str:
        opened, closed = _percent(self.open[name]), _percent(self.shut[name])
        return f"{opened} open (>0.9), {closed} shut (<0.1)"

    def _draw_cells(
        self, picture: Picture, name: str, corner: tuple[float, float], size: tuple[float, float]
    ) -> None:
        (left, top), (width, height) = corner, size
        drawn = self.order[:_MOST_CELLS]
        is_small = len(drawn) * len(self.tokens) * len(self.gates) <= _MOST_TITLES
        for row, cell in enumerate(drawn):
            values = self.gates[name][:, cell]
            y = top + row * height
            if is_small:
                for time, value in enumerate(values):
                    token = visible(self.tokens[time])
                    title = f"{_short(name)}, cell {cell}, {token}: {value:.3f}"
                    box = left + time * width, y, width, height
                    picture.rectangle(box, viridis(float(value)), title=title)
                continue
            # Long inputs: neighbours of one colour become one rectangle, or the file gets huge.
            for colour, start, length in _runs(values):
                picture.rectangle((left + start * width, y, length * width, height), colour)


def _checked(gates: Mapping[str, ArrayLike], time: int) -> dict[str, NDArray[np.float64]]:
    arrays = {name: np.array(values, dtype=np.float64) for name, values in gates.items()}
    if not arrays:
        raise ValueError("expected at least one gate")
    shape = next(iter(arrays.values())).shape
    for name, values in arrays.items():
        if values.ndim != 2 or len(values) != time or values.shape != shape:
            raise ValueError(
                f"expected gate {name!r} as time × cells with {time} steps and the shape of the "
                f"other gates, got {values.shape}"
            )
        if not ((values > -1e-6) & (values < 1 + 1e-6)).all():
            raise ValueError(f"expected gate {name!r} from 0 to 1, found values that are not")
    return {name: values.clip(0, 1) for name, values in arrays.items()}


def _order(gates: Mapping[str, NDArray[np.float64]]) -> NDArray[np.int64]:
    """The cells by descending variance, in one order for all gates so that they compare."""
    variance = sum(values.var(axis=0) if len(values) else values.sum(axis=0)
                   for values in gates.values())  # fmt: skip
    return np.argsort(-np.asarray(variance), kind="stable").astype(np.int64)


def _means(gates: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """The mean over cells for each gate (rows) and time step (columns)."""
    return np.stack([values.sum(axis=1) / max(1, values.shape[1]) for values in gates.values()])


def _fraction(which: NDArray[np.bool_]) -> float:
    return float(which.mean()) if which.size else 0.0


def _note_on_order(cells: int) -> str:
    note = "Cells are sorted by variance, in the same order for every gate."
    if cells <= _MOST_CELLS:
        return note
    return f"{note} The first {_MOST_CELLS} of {cells} are drawn; the percentages are of all."


def _caption(opened: Mapping[str, float], closed: Mapping[str, float]) -> str:
    """How often each gate is open and shut, the one that bears on the state first.

    What an open gate does to the state is not told: in a GRU an open update gate keeps it, in a
    minGRU it replaces it.
    """
    short = {_short(name): name for name in opened}
    first, *others = sorted(short, key=lambda name: name not in ("forget", "update"))
    counts = [f"{_percent(opened[short[first]])} of the values are open (>0.9)"]
    counts.append(f"{_percent(closed[short[first]])} shut (<0.1)")
    sentences = [f"{_title(first)}: {', '.join(counts)}."]
    for name in others:
        fractions = f"open {_percent(opened[short[name]])}, shut {_percent(closed[short[name]])}"
        sentences.append(f"{_title(name)}: {fractions}.")
    return " ".join(sentences)


def _runs(values: NDArray[np.float64], levels: int = 32) -> list[tuple[str, int, int]]:
    """Run-length encoding of about equal values: colour, first step, number of steps."""
    steps = enumerate(np.rint(values * levels).astype(int))
    runs = [(level, list(run)) for level, run in groupby(steps, key=lambda step: step[1])]
    return [(viridis(level / levels), run[0][0], len(run)) for level, run in runs]


def _percent(fraction: float) -> str:
    """A rounded percentage; 0 and 100 % are exact."""
    if 0 < fraction < SMALL:
        return "<1 %"
    return ">99 %" if 1 - SMALL < fraction < 1 else f"{round(100 * fraction)} %"


def _short(name: str) -> str:
    """The name of a gate without the prefix that all gates have in a trace."""
    return name.removeprefix("gate.")


def _title(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]} gate"
