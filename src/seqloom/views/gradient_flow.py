"""Gradient flow through time: vanishing and exploding gradients (Pascanu et al., 2013).

Norms of ∂z_t/∂z_{t-n} and ∂L/∂x_{t-n} by the lag n, with the bound on the first, and what truncated
BPTT keeps of the gradient.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from .base import View
from .draw.axes import Curve, LogChart
from .draw.colours import CATEGORIES, PAGE
from .draw.heatmap import MARGIN, FigureText
from .draw.svg import Picture, TextStyle
from .draw.text import fold, shorten, to_ascii
from .draw.text_heatmap import block_levels, text_grid

VANISHED = 0.01  # a gradient norm below this counts as vanished
EXPLODED = 10.0  # and one above this as exploded
_POWERS = 9  # powers of ten that the block characters in the terminal cover
_SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700)
_PANEL, _TITLE_ROOM, _AXIS_ROOM = (520.0, 190.0), 40.0, 44.0


@dataclass(frozen=True)
class TruncatedGradient:
    """Truncated BPTT: what is left of the gradient of the weights if it is cut after n steps.

    share = ‖g_n‖ / ‖g‖ and cosine = g_n · g / (‖g_n‖ ‖g‖), where g is the full gradient.
    """

    steps: int
    share: float
    cosine: float


@dataclass(frozen=True)
class GradientFlow:
    """Gradient norms of one recurrent layer by the lag.

    Args:
        name: of the model or cell.
        state: ‖∂z_t/∂z_{t-n}‖₂ by the lag n = 0, 1, …
        loss: ‖∂L/∂x_{t-n}‖ by the lag.
        stretch: γ_v γ_g, the largest singular value of the recurrent weights times the largest
            slope of the activation function; (γ_v γ_g)^n bounds `state`. None where no such bound
            exists.
        gradient: the norm of the gradient of all weights.
        clip: the maximum gradient norm of training (gradient clipping); 0 is off.
        truncations: what truncated BPTT keeps of the gradient, by its length.
    """

    name: str
    state: Sequence[float]
    loss: Sequence[float]
    stretch: float | None
    gradient: float
    clip: float = 0.0
    truncations: tuple[TruncatedGradient, ...] = ()

    @property
    def reach(self) -> int | None:
        """The first lag from which on the state gradient is below 1 %; None if it stays above."""
        # Not `>=`: a norm that is not a number has not vanished.
        large = [lag for lag, norm in enumerate(self.state) if not norm < VANISHED]
        return large[-1] + 1 if large[-1] + 1 < len(self.state) else None

    @property
    def growth(self) -> float:
        """The largest state gradient norm over all lags."""
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
class GradientFlowView(View):
    """Gradient flow through time of one or several models or cells.

    Args:
        flows: one for each model or cell.
        notes: how the numbers were computed.
        layers: the names of all layers that can be measured, if there is one model.
        layer: which of them this is.
    """

    kind: ClassVar[str] = "gradient_flow"

    def __init__(
        self,
        flows: Sequence[GradientFlow],
        notes: Sequence[str] = (),
        *,
        layers: Sequence[str] = (),
        layer: int = 0,
    ) -> None:
        if not flows or any(not flow.state for flow in flows):
            raise ValueError("expected at least one gradient flow, each with at least one lag")
        self.flows, self.layers, self.layer = list(flows), list(layers), layer
        names = ", ".join(flow.name for flow in flows)
        notes = [*notes, *self.layers[layer : layer + 1] * (len(layers) > 1)]
        all_notes = list(dict.fromkeys([*notes, *_notes_on_bounds(self.flows)]))
        self.own_notes = tuple(notes)
        super().__init__(names, _caption(self.flows), {"flows": self.flows}, all_notes)

    def beside(self, *others: "GradientFlowView") -> "GradientFlowView":
        """This view and others as one."""
        views = [self, *others]
        flows = [flow for view in views for flow in view.flows]
        notes = list(dict.fromkeys(note for view in views for note in view.own_notes))
        return GradientFlowView(flows, notes)

    def content(self) -> dict[str, Any]:
        of = {"layers": self.layers, "layer": self.layer} if self.layers else {}
        return {"models": [_plain(flow) for flow in self.flows], **of}

    def to_table(self) -> list[list[str]]:
        heading = ["lag"]
        columns: list[Sequence[float]] = []
        for flow in self.flows:
            heading += [flow.name, f"{flow.name}: loss"]
            columns += [flow.state, flow.loss]
            if bound := flow.bound():
                heading.append(f"{flow.name}: bound")
                columns.append(bound)
        rows = range(max(map(len, columns)))
        return [
            heading,
            *([str(n), *(_short(c[n]) if n < len(c) else "" for c in columns)] for n in rows),
        ]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        longest = max(len(flow.state) for flow in self.flows)
        lags = [lag for lag in _SHOWN if lag < longest] or [0]
        values = np.array([[_level(flow.state, lag) for lag in lags] for flow in self.flows])
        names = [shorten(flow.name, 24) for flow in self.flows]
        blocks = block_levels(values, ascii=ascii)
        lines = text_grid(names, [str(lag) for lag in lags], blocks, width, ascii)
        for flow in self.flows:
            lines.append("")
            for sentence in _sentences(flow):
                lines += fold(to_ascii(sentence) if ascii else sentence, width)
        return lines

    def to_picture(self) -> Picture:
        text = FigureText(
            "Gradient flow through time",
            "norms of the gradient by the lag n",
            self.caption,
            self.notes,
        )
        panels = self._panels()
        names = {curve.name for _, curves in panels for curve in curves}
        room = max(TextStyle(11).length(name) for name in names)
        left = MARGIN + 48
        width = max(text.width(), left + _PANEL[0] + room + 12 + MARGIN)
        one = _TITLE_ROOM + _PANEL[1] + _AXIS_ROOM
        foot = text.head_height() + len(panels) * one
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        for number, (title, curves) in enumerate(panels):
            top = text.head_height() + number * one + _TITLE_ROOM / 2
            chart = LogChart.of((left, top, *_PANEL), curves)
            chart.draw(picture, curves, title, "lag n (steps)")
        text.draw(picture, foot)
        return picture

    def _panels(self) -> list[tuple[str, list[Curve]]]:
        """The gradients of the state with their bounds, and those of the loss."""
        states: list[Curve] = []
        losses: list[Curve] = []
        for number, flow in enumerate(self.flows):
            colour = CATEGORIES[number % len(CATEGORIES)]
            name = shorten(flow.name, 32)
            states.append(Curve(name, flow.state, colour))
            losses.append(Curve(name, flow.loss, colour))
            if bound := flow.bound():
                states.append(Curve(f"bound of {name}", bound, colour, dashed=True))
        return [
            ("‖∂s_t/∂s_t-n‖, the recurrent state; dashed: the bound (γ_v γ_g)^n", states),
            ("‖∂loss/∂x_t-n‖, the input", losses),
        ]


def _plain(flow: GradientFlow) -> dict[str, Any]:
    return {
        "name": flow.name,
        "state": _finite(flow.state),
        "loss": _finite(flow.loss),
        "bound": _finite(flow.bound()) or None,
        "stretch": flow.stretch,
        "reach": flow.reach,
        "gradient": {"norm": flow.gradient, "clip": flow.clip, "clipped": flow.clipped()},
        "windows": [vars(truncation) for truncation in flow.truncations],
    }


def _finite(values: Sequence[float]) -> list[float | None]:
    """JSON has no infinity and no NaN: null."""
    return [value if math.isfinite(value) else None for value in values]


def _level(values: Sequence[float], lag: int) -> float:
    """A norm as a fraction of the nine powers of ten up to 1; 0 where there is no such lag."""
    if lag >= len(values) or not values[lag] > 0:
        return 0.0
    return 1 + math.log10(values[lag]) / _POWERS if math.isfinite(values[lag]) else 1.0


def _caption(flows: Sequence[GradientFlow]) -> str:
    """After how many steps each gradient vanishes, the fastest first, and which explode."""
    vanishing = sorted((f for f in flows if f.reach is not None), key=lambda f: f.reach or 0)
    parts = [f"{flow.name}: below 1 % after {_steps(flow.reach or 0)}" for flow in vanishing]
    for flow in flows:
        if flow.reach is None:
            last = len(flow.state) - 1
            parts.append(f"{flow.name}: {_last_norm(flow)} after all {_steps(last)}")
    sentences = [f"Gradient norm of {'; '.join(parts)}."]
    for flow in flows:
        if flow.growth > EXPLODED:
            lag = list(flow.state).index(flow.growth)
            size = f"{_short(flow.growth)} times larger after {_steps(lag)}"
            sentences.append(f"{flow.name} has an exploding gradient: {size}.")
    return " ".join(sentences)


def _last_norm(flow: GradientFlow) -> str:
    """The norm at the last lag, relative to lag 0."""
    last = flow.state[-1]
    return f"{_short(last)} times larger" if last > 2 else f"{100 * last:.3g} %"


def _notes_on_bounds(flows: Sequence[GradientFlow]) -> list[str]:
    """The bounds, and why the other models have none."""
    notes = []
    for flow in flows:
        if flow.stretch is not None:
            notes.append(f"bound of {flow.name}: (γ_v γ_g)^n = {flow.stretch:.3g}^n")
    if without := [flow.name for flow in flows if flow.stretch is None]:
        why = "gates, skip connections and normalisation are more than one matrix and one slope"
        notes.append(f"no bound (γ_v γ_g)^n for {', '.join(without)}: {why}")
    return notes


def _sentences(flow: GradientFlow) -> list[str]:
    """The numbers of one model for a terminal."""
    lags = [lag for lag in (1, 2, 5, 10, 20, 50, 100, 200, 500) if lag < len(flow.state)]
    states = [f"{_short(flow.state[lag])} at {lag}" for lag in lags]
    losses = [f"{_short(flow.loss[lag])} at {lag}" for lag in lags if lag < len(flow.loss)]
    clipping = "clip off"
    if flow.clip:
        unchanged = flow.gradient <= flow.clip
        clipping = f"clip {flow.clip:g}: "
        clipping += "unchanged" if unchanged else f"clipped to {flow.clip:g}"
    lines = [f"{flow.name}: state {', '.join(states)}", f"  loss {', '.join(losses)}"]
    lines.append(f"  gradient norm of the weights {_short(flow.gradient)} ({clipping})")
    if flow.truncations:
        kept = [f"{t.steps}: {100 * t.share:.3g} % ({t.cosine:.2f})" for t in flow.truncations]
        lines.append(f"  truncated BPTT keeps, by its length (cosine) {', '.join(kept)}")
    return lines


def _steps(number: int) -> str:
    return f"{number} step" if number == 1 else f"{number} steps"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 1000 else f"{value:.2e}"
