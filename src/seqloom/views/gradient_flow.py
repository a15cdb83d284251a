"""How far back a recurrent layer feels: the size of its gradients through time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from .base import View
from .draw.axes import Curve, LogChart
from .draw.colours import CATEGORIES, PAGE
from .draw.heatmap import MARGIN, Wording
from .draw.svg import Lettering, Picture
from .draw.text import fold, shorten, to_ascii
from .draw.text_heatmap import block_levels, text_grid

FELT = 0.01  # below this share of a change it counts as forgotten
EXPLODED = 10.0
_POWERS = 9  # the terminal's blocks stand for this many powers of ten
_SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700)
_PANEL, _TITLE_ROOM, _AXIS_ROOM = (520.0, 190.0), 40.0, 44.0


@dataclass(frozen=True)
class Window:
    """What is left of the gradient of the weights when it is cut after so many steps.

    share = ‖g_n‖ / ‖g‖ and cosine = g_n · g / (‖g_n‖ ‖g‖), g being the whole gradient.
    """

    steps: int
    share: float
    cosine: float


@dataclass(frozen=True)
class Memory:
    """How one layer feels its past.

    Args:
        name: of the model or cell.
        state: ‖∂z_t/∂z_{t-n}‖₂ by the lag n = 0, 1, …
        loss: ‖∂L/∂x_{t-n}‖ by the lag.
        stretch: γ_v γ_g, whose n-th power bounds `state`; None where there is no such number.
        gradient: the norm of the gradient of all weights.
        clip: the longest that training lets it be; 0 is off.
        windows: what truncation keeps.
    """

    name: str
    state: Sequence[float]
    loss: Sequence[float]
    stretch: float | None
    gradient: float
    clip: float = 0.0
    windows: tuple[Window, ...] = ()

    @property
    def reach(self) -> int | None:
        """The first lag from which on less than 1 % is felt; None where that never comes."""
        felt = [lag for lag, size in enumerate(self.state) if not size < FELT]
        return felt[-1] + 1 if felt[-1] + 1 < len(self.state) else None

    @property
    def growth(self) -> float:
        """The most that a change has grown, over all lags."""
        return max(self.state)

    def bound(self) -> list[float]:
        """(γ_v γ_g)^n by the lag n; empty where there is no bound."""
        if self.stretch is None:
            return []
        with np.errstate(over="ignore", under="ignore"):
            return [float(np.float64(self.stretch) ** lag) for lag in range(len(self.state))]

    def clipped(self) -> float:
        """The norm of the gradient after clipping."""
        return min(self.gradient, self.clip) if self.clip else self.gradient


@final
class MemoryView(View):
    """Gradients through time, several models side by side.

    Args:
        memories: one for each model or cell.
        notes: how the numbers came about.
        layers: the names of all layers that could be measured, where they are of one model.
        layer: which of them was.
    """

    kind: ClassVar[str] = "gradient_flow"

    def __init__(
        self,
        memories: Sequence[Memory],
        notes: Sequence[str] = (),
        *,
        layers: Sequence[str] = (),
        layer: int = 0,
    ) -> None:
        if not memories or any(not memory.state for memory in memories):
            raise ValueError("expected at least one memory, each with at least one lag")
        self.memories, self.layers, self.layer = list(memories), list(layers), layer
        names = ", ".join(memory.name for memory in memories)
        notes = [*notes, *self.layers[layer : layer + 1] * (len(layers) > 1)]
        told = list(dict.fromkeys([*notes, *_told(self.memories)]))
        self.given = tuple(notes)
        super().__init__(names, _caption(self.memories), {"memories": self.memories}, told)

    def beside(self, *others: "MemoryView") -> "MemoryView":
        """This view and others as one."""
        views = [self, *others]
        memories = [memory for view in views for memory in view.memories]
        return MemoryView(memories, list(dict.fromkeys(n for view in views for n in view.given)))

    def content(self) -> dict[str, Any]:
        of = {"layers": self.layers, "layer": self.layer} if self.layers else {}
        return {"models": [_plain(memory) for memory in self.memories], **of}

    def to_table(self) -> list[list[str]]:
        heading = ["lag"]
        columns: list[Sequence[float]] = []
        for memory in self.memories:
            heading += [memory.name, f"{memory.name}: loss"]
            columns += [memory.state, memory.loss]
            if bound := memory.bound():
                heading.append(f"{memory.name}: bound")
                columns.append(bound)
        rows = range(max(map(len, columns)))
        return [
            heading,
            *([str(n), *(_short(c[n]) if n < len(c) else "" for c in columns)] for n in rows),
        ]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        longest = max(len(memory.state) for memory in self.memories)
        lags = [lag for lag in _SHOWN if lag < longest] or [0]
        values = np.array([[_level(memory.state, lag) for lag in lags] for memory in self.memories])
        names = [shorten(memory.name, 24) for memory in self.memories]
        blocks = block_levels(values, ascii=ascii)
        lines = text_grid(names, [str(lag) for lag in lags], blocks, width, ascii)
        for memory in self.memories:
            lines.append("")
            for sentence in _sentences(memory):
                lines += fold(to_ascii(sentence) if ascii else sentence, width)
        return lines

    def to_picture(self) -> Picture:
        words = Wording(
            "Gradient through time", "how much a change n steps ago matters", self.caption,
            self.notes,
        )  # fmt: skip
        panels = self._panels()
        names = {curve.name for _, curves in panels for curve in curves}
        room = max(Lettering(11).length(name) for name in names)
        left = MARGIN + 48
        width = max(words.width(), left + _PANEL[0] + room + 12 + MARGIN)
        one = _TITLE_ROOM + _PANEL[1] + _AXIS_ROOM
        foot = words.head_height() + len(panels) * one
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        for number, (title, curves) in enumerate(panels):
            top = words.head_height() + number * one + _TITLE_ROOM / 2
            chart = LogChart.of((left, top, *_PANEL), curves)
            chart.draw(picture, curves, title, "lag n, in steps")
        words.draw(picture, foot)
        return picture

    def _panels(self) -> list[tuple[str, list[Curve]]]:
        """The state's gradients with their bounds, and the loss's."""
        states: list[Curve] = []
        losses: list[Curve] = []
        for number, memory in enumerate(self.memories):
            colour = CATEGORIES[number % len(CATEGORIES)]
            name = shorten(memory.name, 32)
            states.append(Curve(name, memory.state, colour))
            losses.append(Curve(name, memory.loss, colour))
            if bound := memory.bound():
                states.append(Curve(f"bound of {name}", bound, colour, dashed=True))
        return [
            ("‖∂s_t/∂s_t-n‖, what is carried on; dashed: the bound (γ_v γ_g)^n", states),
            ("‖∂loss/∂x_t-n‖, the input", losses),
        ]


def _plain(memory: Memory) -> dict[str, Any]:
    windows = [vars(window) for window in memory.windows]
    return {
        "name": memory.name,
        "state": _finite(memory.state),
        "loss": _finite(memory.loss),
        "bound": _finite(memory.bound()) or None,
        "stretch": memory.stretch,
        "reach": memory.reach,
        "gradient": {"norm": memory.gradient, "clip": memory.clip, "clipped": memory.clipped()},
        "windows": windows,
    }


def _finite(values: Sequence[float]) -> list[float | None]:
    """JSON has no word for what has left the range of numbers."""
    return [value if math.isfinite(value) else None for value in values]


def _level(values: Sequence[float], lag: int) -> float:
    """A size as a share of the nine powers of ten up to 1; nothing where there is no such lag."""
    if lag >= len(values) or not values[lag] > 0:
        return 0.0
    return 1 + math.log10(values[lag]) / _POWERS if math.isfinite(values[lag]) else 1.0


def _caption(memories: Sequence[Memory]) -> str:
    """How far each feels, the shortest first: below 1 % after 9 steps; lstm still feels 31."""
    fading = sorted((m for m in memories if m.reach is not None), key=lambda m: m.reach or 0)
    parts = []
    for number, memory in enumerate(fading):
        far = memory.reach or 0
        said = f"still feels {far - 1}" if number else f"below 1 % after {_steps(far)}"
        parts.append(f"{memory.name} {said}" if number else f"{memory.name}: {said}")
    for memory in memories:
        if memory.reach is None:
            last = len(memory.state) - 1
            parts.append(f"{memory.name} still feels all {_steps(last)} ({_felt(memory)})")
    sentences = ["; ".join(parts) + "."]
    for memory in memories:
        if memory.growth > EXPLODED:
            lag = list(memory.state).index(memory.growth)
            grown = f"a change grows {_short(memory.growth)} times in {_steps(lag)}"
            sentences.append(f"{memory.name} explodes: {grown}.")
    return " ".join(sentences)


def _felt(memory: Memory) -> str:
    """What is left at the last lag."""
    left = memory.state[-1]
    return f"{_short(left)} times" if left > 2 else f"{100 * left:.3g} %"


def _told(memories: Sequence[Memory]) -> list[str]:
    """Which bounds there are, and why others have none."""
    notes = []
    for memory in memories:
        if memory.stretch is not None:
            notes.append(f"bound of {memory.name}: (γ_v γ_g)^n = {memory.stretch:.3g}^n")
    if without := [memory.name for memory in memories if memory.stretch is None]:
        why = "gates, shortcuts and normalisation make a step more than one matrix and one slope"
        notes.append(f"no bound (γ_v γ_g)^n for {', '.join(without)}: {why}")
    return notes


def _sentences(memory: Memory) -> list[str]:
    """The numbers of one model for a terminal."""
    shown = [lag for lag in (1, 2, 5, 10, 20, 50, 100, 200, 500) if lag < len(memory.state)]
    sizes = [f"{_short(memory.state[lag])} at {lag}" for lag in shown]
    losses = [f"{_short(memory.loss[lag])} at {lag}" for lag in shown if lag < len(memory.loss)]
    after = "clip off"
    if memory.clip:
        kept = memory.gradient <= memory.clip
        after = f"clip {memory.clip:g}: " + ("unchanged" if kept else f"cut to {memory.clip:g}")
    lines = [f"{memory.name}: state {', '.join(sizes)}", f"  loss {', '.join(losses)}"]
    lines.append(f"  gradient of the weights {_short(memory.gradient)} ({after})")
    if memory.windows:
        kept_by = [f"{w.steps}: {100 * w.share:.3g} % ({w.cosine:.2f})" for w in memory.windows]
        lines.append(f"  BPTT window keeps (cosine) {', '.join(kept_by)}")
    return lines


def _steps(number: int) -> str:
    return f"{number} step" if number == 1 else f"{number} steps"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 1000 else f"{value:.2e}"
