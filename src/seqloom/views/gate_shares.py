"""How often every gate of a model is open or shut, over all that it read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from .colours import BLUE, GRID, INK, MUTED, ORANGE, PAGE
from .drawing import Lettering, Picture
from .heat_map import MARGIN, Wording
from .symbols import column_width, fold, to_ascii
from .view import View

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
        super().__init__(", ".join(models), _caption(self.shares), {"shares": self.shares}, notes)

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
                         _percent(s.open), _percent(s.shut)])  # fmt: skip
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
        title = f"{share.gate} {word}: {_percent(part)}"
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


def _caption(shares: Sequence[GateShare]) -> str:
    """The gate that is most often open, and the one that is most often shut."""
    opened = max(shares, key=lambda share: share.open)
    closed = max(shares, key=lambda share: share.shut)
    told = [f"Most often open: {_named(opened)} ({_percent(opened.open)})."] if opened.open else []
    told += [f"Most often shut: {_named(closed)} ({_percent(closed.shut)})."] if closed.shut else []
    return " ".join(told) or "No gate is ever quite open or quite shut."


def _named(share: GateShare) -> str:
    of = f"layer {share.layer} {share.direction} of {share.model}"
    return f"the {share.gate} gate of {of}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
