"""Decomposition of a time series: level, trend and seasonal components with 95 % intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float

from .base import View
from .draw.colours import DARK, LIGHT, Theme, mix
from .draw.heatmap import MARGIN, FigureText
from .draw.sparkline import downsample, sparkline
from .draw.svg import Circle, Picture, TextStyle
from .draw.text import fold, shorten, to_ascii
from .draw.time_axis import BELOW, TimeChart, decimals_for, format_number, short_times
from .forecast import json_numbers

Z_95 = 1.96  # standard deviations on either side that contain 95 % of a Normal distribution
MAX_POINTS = 3000  # of a panel
_LEFT, _RIGHT, _PLOT, _TITLE = 58.0, 34.0, (640.0, 130.0), 20.0


@dataclass(frozen=True, eq=False)
class Component:
    """A component of a time series, such as its level or its trend.

    Args:
        name: of the component.
        mean: the smoothed estimate at each step.
        deviation: its standard deviation.
        observed: the series itself, drawn as dots behind the line; None: no dots.
    """

    name: str
    mean: Float[np.ndarray, " time"]
    deviation: Float[np.ndarray, " time"]
    observed: Float[np.ndarray, " time"] | None = None

    @property
    def low(self) -> Float[np.ndarray, " time"]:
        """The lower end of the 95 % interval at each step."""
        return self.mean - Z_95 * self.deviation

    @property
    def high(self) -> Float[np.ndarray, " time"]:
        """The upper end of the 95 % interval at each step."""
        return self.mean + Z_95 * self.deviation

    def last(self, steps: int) -> "Component":
        """The component at its last steps."""
        observed = None if self.observed is None else self.observed[-steps:]
        return Component(self.name, self.mean[-steps:], self.deviation[-steps:], observed)


@final
class ComponentsView(View):
    """Decomposition of a time series: a panel for each component, below each other.

    Args:
        components: all of the same steps.
        model: name of the model.
        times: of the steps; numbered from 1 if left out.
        notes: how the numbers were computed.
        dark: draw in the dark theme.
    """

    kind: ClassVar[str] = "components"

    def __init__(
        self,
        components: Sequence[Component],
        model: str,
        times: Sequence[str] = (),
        notes: Sequence[str] = (),
        *,
        dark: bool = False,
    ) -> None:
        steps = len(components[0].mean) if components else 0
        if not steps or any(len(one.mean) != steps for one in components):
            raise ValueError("expected at least one component, all of the same steps")
        named = list(times) or list(map(str, range(1, steps + 1)))
        if len(named) != steps:
            raise ValueError(f"expected {steps} times, one for each step, not {len(named)}")
        if steps > MAX_POINTS:
            notes = [*notes, f"the last {MAX_POINTS:,} of {steps:,} steps are shown"]
        self.dark = dark
        self.components = [one.last(MAX_POINTS) for one in components]
        self.times = named[-MAX_POINTS:]
        super().__init__(model, self._caption(), {"components": self.components}, notes)

    def content(self) -> dict[str, Any]:
        return {
            "times": self.times,
            "components": [
                {
                    "name": one.name,
                    "mean": json_numbers(one.mean),
                    "deviation": json_numbers(one.deviation),
                    "observed": None if one.observed is None else json_numbers(one.observed),
                }
                for one in self.components
            ],
        }

    def to_table(self) -> list[list[str]]:
        heading, columns = ["time"], []
        for one in self.components:
            curves = [one.mean, one.low, one.high]
            heading += [one.name, f"{one.name} from", f"{one.name} to"]
            decimals = decimals_for([float(value) for curve in curves for value in curve])
            columns += [[f"{value:,.{decimals}f}" for value in curve] for curve in curves]
        return [heading, *(list(row) for row in zip(self.times, *columns, strict=True))]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        """A sparkline for each component, each on its own scale, and the range of that."""
        names = [shorten(one.name, 12) for one in self.components]
        names = list(map(to_ascii, names)) if ascii else names
        indent = max(map(len, names))
        ranges = []
        for one in self.components:
            known = one.mean[np.isfinite(one.mean)].tolist() or [math.nan]
            ranges.append(f"{format_number(min(known))} to {format_number(max(known))}")
        room = max(4, width - indent - max(map(len, ranges)) - 4)
        times = short_times(self.times)
        span = f"{times[0]} {'to' if ascii else '–'} {times[-1]}"
        lines = fold(to_ascii(span) if ascii else span, width)
        for one, name, range_ in zip(self.components, names, ranges, strict=True):
            bars = sparkline(downsample(one.mean.tolist(), room), ascii=ascii)
            whole = f"{name:>{indent}}  {bars}  {range_}"
            lines += [whole] if room > 4 else [*fold(name, width), bars]
        return lines

    def to_picture(self) -> Picture:
        theme = DARK if self.dark else LIGHT
        subtitle = "lines: smoothed estimates, given all observations; bands: 95 % intervals"
        if any(one.observed is not None for one in self.components):
            subtitle += "; dots: observed"
        text = FigureText(f"Components of {self.model}", subtitle, self.caption, self.notes, theme)
        panel = _TITLE + _PLOT[1] + BELOW + 14
        width = max(text.width(), MARGIN + _LEFT + _PLOT[0] + _RIGHT)
        foot = text.head_height() + len(self.components) * panel
        picture = Picture(width, foot + text.foot_height(width), theme.page, self.caption)
        for number, one in enumerate(self.components):
            self._draw(picture, one, text.head_height() + number * panel + _TITLE, theme)
        text.draw(picture, foot)
        return picture

    def _draw(self, picture: Picture, one: Component, top: float, theme: Theme) -> None:
        box = MARGIN + _LEFT, top, *_PLOT
        observed = np.zeros(0) if one.observed is None else one.observed
        values = np.concatenate([one.low, one.high, observed])
        chart = TimeChart.of(box, self.times, values.tolist(), theme)
        title = shorten(one.name, 60)
        picture.text(title, (box[0], top - 8), TextStyle(12, theme.ink))
        chart.draw_axes(picture)
        low, high = one.low.tolist(), one.high.tolist()
        chart.draw_band(picture, 0, low, high, mix(theme.page, theme.accent, 0.3), "95 % interval")
        radius = min(2.6, max(1.2, 0.4 * box[2] / len(self.times)))
        for step, value in enumerate(observed):
            if math.isfinite(value):
                title = f"{self.times[step]}: {format_number(value)}"
                point = chart.point(step, float(value))
                picture.add(Circle(point, radius, theme.muted, theme.page, title))
        line = mix(theme.accent, theme.ink, 0.45)
        chart.draw_line(picture, 0, one.mean.tolist(), line, 1.8, one.name)

    def _caption(self) -> str:
        """Each component at the first and the last step, and whether it is significant anywhere."""
        first, last = (short_times(self.times)[end] for end in (0, -1))
        clauses = []
        for number, one in enumerate(self.components):
            ends = [format_number(float(one.mean[end])) for end in (0, -1)]
            low, high = (format_number(float(edge[-1])) for edge in (one.low, one.high))
            clause = f"{one.name}: {ends[0]} at {first}, {ends[1]} at {last}"
            clause += f" (95 % interval {low} to {high})"
            if number and bool(np.all((one.low <= 0) & (one.high >= 0))):
                clause += ", not significantly different from 0 at any step"
            clauses.append(clause)
        sentence = "; ".join(clauses)
        return f"{sentence[0].upper()}{sentence[1:]}."
