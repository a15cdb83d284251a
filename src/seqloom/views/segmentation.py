"""HMM segmentation of a time series: its regimes (hidden states) and the segments of each."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float

from .base import View
from .draw.colours import CATEGORIES, INK, LIGHT, MUTED, PAGE, mix, viridis
from .draw.heatmap import MARGIN, FigureText
from .draw.sparkline import downsample, sparkline
from .draw.svg import Picture, TextStyle
from .draw.text import fold, shorten, to_ascii
from .draw.text_heatmap import text_width
from .draw.time_axis import BELOW, TimeChart, format_number, short_times
from .forecast import json_numbers

MAX_POINTS = 3000  # of a panel
MAX_SEGMENTS = 12  # that are listed in the terminal
NAMES = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LEFT, _RIGHT, _PLOT, _TITLE, _LEGEND = 58.0, 34.0, (640.0, 150.0), 20.0, 22.0
_OPACITY = 0.28  # of the colour of a state behind a line


@dataclass(frozen=True, eq=False)
class Regime:
    """A regime: a hidden state of a Gaussian HMM.

    Args:
        name: of the state, from 1 on.
        mean: of its emissions, for each channel, in the units of the file.
        deviation: standard deviation of its emissions, for each channel.
        fraction: expected fraction of all steps in this state.
        duration: expected number of steps in a row, 1 / (1 - a_ii).
        transitions: its row of the transition matrix.
    """

    name: str
    mean: Float[np.ndarray, " channels"]
    deviation: Float[np.ndarray, " channels"]
    fraction: float
    duration: float
    transitions: Float[np.ndarray, " states"]


@dataclass(frozen=True)
class RegimeSegment:
    """Consecutive steps in one state: the state, and the first and the last step."""

    state: int
    first: int
    last: int

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self.last - self.first + 1


@final
class RegimesView(View):
    """HMM segmentation: a panel for each channel, with the Viterbi state as background colour.

    Args:
        regimes: the hidden states, in a fixed order.
        path: the state at each step of the Viterbi path.
        values: the series.
        names: of its channels.
        times: of its steps.
        model: name of the series or of the model.
        notes: how the states were estimated.
    """

    kind: ClassVar[str] = "regimes"

    def __init__(  # noqa: PLR0913, PLR0917 - the states, the series and their names
        self,
        regimes: Sequence[Regime],
        path: Sequence[int],
        values: Float[np.ndarray, "time channels"],
        names: Sequence[str],
        times: Sequence[str],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        if not len(path) == len(values) == len(times) or not len(path):
            raise ValueError("expected a state and a time for each step")
        self.regimes, self.path, self.values = list(regimes), list(path), values
        self.names, self.times = list(names), short_times(times)
        self.segments = segments_of(self.path)
        data = {"regimes": self.regimes, "path": self.path}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {
            "names": self.names,
            "states": [
                {
                    "name": one.name,
                    "mean": json_numbers(one.mean),
                    "deviation": json_numbers(one.deviation),
                    "share": one.fraction,
                    "stay": one.duration if np.isfinite(one.duration) else None,
                    "moves": one.transitions.tolist(),
                }
                for one in self.regimes
            ],
            "stretches": [
                {
                    "state": self.regimes[s.state].name,
                    "from": self.times[s.first],
                    "to": self.times[s.last],
                    "steps": s.steps,
                }
                for s in self.segments
            ],
            "times": self.times,
            "values": [json_numbers(row) for row in self.values],
            "path": [self.regimes[state].name for state in self.path],
        }

    def to_table(self) -> list[list[str]]:
        """The segments in order of time."""
        rows = [["state", "from", "to", "steps"]]
        for s in self.segments:
            name = self.regimes[s.state].name
            rows.append([name, self.times[s.first], self.times[s.last], f"{s.steps:,}"])
        return rows

    def states_table(self) -> list[list[str]]:
        """Emissions, occupancy, duration and transition probabilities of each state."""
        heading = ["state", *(f"{n} mean ± deviation" for n in self.names), "time", "duration"]
        rows = [[*heading, *(f"to {one.name}" for one in self.regimes)]]
        for one in self.regimes:
            pairs = zip(one.mean.tolist(), one.deviation.tolist(), strict=True)
            emissions = [f"{format_number(mean)} ± {format_number(dev)}" for mean, dev in pairs]
            duration = "unlimited"
            if np.isfinite(one.duration):
                duration = f"{format_number(one.duration)} steps"
            transitions = [_percent(p) for p in one.transitions.tolist()]
            rows.append([one.name, *emissions, _percent(one.fraction), duration, *transitions])
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        room = max(4, text_width(width) - 10)
        span = f"{self.times[0]} {'to' if ascii else '–'} {self.times[-1]}"
        lines = fold(to_ascii(span) if ascii else span, width)
        for number, name in enumerate(self.names):
            bars = sparkline(downsample(self.values[:, number].tolist(), room), ascii=ascii)
            label = shorten(name, 8)
            lines.append(f"{to_ascii(label) if ascii else label:>8}  {bars}")
        lines.append(f"{'state':>8}  {self._strip(room)}")
        return lines

    def _strip(self, room: int) -> str:
        """A character for every few steps: the name of their most frequent state."""
        parts = np.array_split(np.array(self.path), min(room, len(self.path)))
        most = [Counter(part.tolist()).most_common(1)[0][0] for part in parts]
        return "".join(NAMES[state % len(NAMES)] for state in most)

    def to_picture(self) -> Picture:
        steps = slice(-MAX_POINTS, None)
        notes = list(self.notes)
        if len(self.path) > MAX_POINTS:
            notes.append(f"the last {MAX_POINTS:,} of {len(self.path):,} steps are drawn")
        text = FigureText(
            f"Regimes of {self.model}",
            "background: state of each step on the Viterbi path",
            self.caption,
            tuple(notes),
        )
        one = _TITLE + _PLOT[1] + BELOW + 14
        width = max(text.width(), MARGIN + _LEFT + _PLOT[0] + _RIGHT)
        head = text.head_height() + _LEGEND
        foot = head + len(self.names) * one
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        self._draw_legend(picture, text.head_height())
        for number, name in enumerate(self.names):
            box = (MARGIN + _LEFT, head + number * one + _TITLE, *_PLOT)
            values = self.values[steps, number].tolist()
            chart = TimeChart.of(box, self.times[steps], values, LIGHT)
            for segment in segments_of(self.path[steps]):
                self._draw_background(picture, chart, segment)
            chart.draw_axes(picture)
            chart.draw_line(picture, 0, values, INK, 1.2, name)
            picture.text(name, (box[0], box[1] - 7), TextStyle(12, INK))
        text.draw(picture, foot)
        return picture

    def _draw_background(self, picture: Picture, chart: TimeChart, segment: RegimeSegment) -> None:
        """From half a step before the first to half a step after the last, within the chart."""
        left, top, width, height = chart.box
        first = max(left, chart.point(segment.first - 0.5, 0.0)[0])
        last = min(left + width, chart.point(segment.last + 0.5, 0.0)[0])
        title = f"state {self.regimes[segment.state].name}: {segment.steps:,} steps"
        fill = mix(PAGE, self.colour(segment.state), _OPACITY)
        picture.rectangle((first, top, max(0.5, last - first), height), fill, title=title)

    def _draw_legend(self, picture: Picture, top: float) -> None:
        x = MARGIN + _LEFT
        for number, one in enumerate(self.regimes):
            label = f"{one.name}: {format_number(float(one.mean[0]))} ({_percent(one.fraction)})"
            picture.rectangle((x, top, 12, 12), mix(PAGE, self.colour(number), 2 * _OPACITY))
            picture.text(label, (x + 17, top + 10), TextStyle(11, MUTED))
            x += 17 + TextStyle(11).length(label) + 16

    def colour(self, state: int) -> str:
        """The colour of a state: categorical for few states, sequential for many."""
        if len(self.regimes) <= len(CATEGORIES):
            return CATEGORIES[state]
        return viridis(state / (len(self.regimes) - 1))

    def _caption(self) -> str:
        """The most frequent state with its mean and duration, and the current state."""
        most = max(self.regimes, key=lambda one: one.fraction)
        last = self.segments[-1]
        current = self.regimes[last.state].name
        duration = (
            f"lasts {format_number(most.duration)} steps on average"
            if np.isfinite(most.duration)
            else "is absorbing"
        )
        of = f" of {self.names[0]}" if len(self.names) > 1 else ""
        return (
            f"State {most.name} has {_percent(most.fraction)} of the steps, with a mean{of} of"
            f" {format_number(float(most.mean[0]))}, and {duration}; the current state is"
            f" {current}, since {self.times[last.first]}."
        )


def segments_of(path: Sequence[int]) -> list[RegimeSegment]:
    """The runs of equal states."""
    segments: list[RegimeSegment] = []
    for step, state in enumerate(path):
        if segments and segments[-1].state == state:
            segments[-1] = RegimeSegment(state, segments[-1].first, step)
        else:
            segments.append(RegimeSegment(state, step, step))
    return segments


def _percent(fraction: float) -> str:
    if 0 < fraction < 0.001:  # noqa: PLR2004
        return "<0.1 %"
    near_an_end = fraction < 0.1 or 0.9 < fraction < 1  # noqa: PLR2004
    return f"{100 * fraction:.1f} %" if near_an_end else f"{100 * fraction:.0f} %"
