"""What a series is made of: its level, its trend and its season, each with how sure they are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float

from .base import View
from .draw.colours import DARK, LIGHT, Theme, mix
from .draw.heatmap import MARGIN, Wording
from .draw.sparkline import condensed, sparkline
from .draw.svg import Dot, Lettering, Picture
from .draw.text import fold, shorten, to_ascii
from .draw.time_axis import BELOW, TimeChart, places_of, short_times, spoken_number
from .forecast import numbers

SURE = 1.96  # deviations on either side that hold 95 % of a Normal distribution
MOST_POINTS = 3000  # that a panel has
_LEFT, _RIGHT, _PLOT, _TITLE = 58.0, 34.0, (640.0, 130.0), 20.0


@dataclass(frozen=True, eq=False)
class Component:
    """One part of a series.

    Args:
        name: what it is called, such as level.
        mean: what it probably was at each step.
        deviation: the standard deviation of that.
        observed: what it is a part of, drawn as dots behind the line; None: nothing.
    """

    name: str
    mean: Float[np.ndarray, " time"]
    deviation: Float[np.ndarray, " time"]
    observed: Float[np.ndarray, " time"] | None = None

    @property
    def low(self) -> Float[np.ndarray, " time"]:
        """Where the band of 95 % begins at each step."""
        return self.mean - SURE * self.deviation

    @property
    def high(self) -> Float[np.ndarray, " time"]:
        """Where it ends."""
        return self.mean + SURE * self.deviation

    def late(self, steps: int) -> "Component":
        """Its last steps."""
        seen = None if self.observed is None else self.observed[-steps:]
        return Component(self.name, self.mean[-steps:], self.deviation[-steps:], seen)


@final
class ComponentsView(View):
    """A panel for each component, one below another, on the same steps.

    Args:
        parts: the components, all of the same steps.
        model: name of the model.
        times: what the steps are called; numbered from 1 if left out.
        notes: how the numbers came about.
        dark: draw on a dark page.
    """

    kind: ClassVar[str] = "components"

    def __init__(
        self,
        parts: Sequence[Component],
        model: str,
        times: Sequence[str] = (),
        notes: Sequence[str] = (),
        *,
        dark: bool = False,
    ) -> None:
        steps = len(parts[0].mean) if parts else 0
        if not steps or any(len(part.mean) != steps for part in parts):
            raise ValueError("expected at least one component, all of the same steps")
        named = list(times) or list(map(str, range(1, steps + 1)))
        if len(named) != steps:
            raise ValueError(f"expected {steps} names of steps, not {len(named)}")
        told = list(notes)
        if steps > MOST_POINTS:
            told.append(f"the last {MOST_POINTS:,} of {steps:,} steps are shown")
        self.dark = dark
        self.parts = [part.late(MOST_POINTS) for part in parts]
        self.times = named[-MOST_POINTS:]
        super().__init__(model, self._caption(), {"components": self.parts}, told)

    def content(self) -> dict[str, Any]:
        return {
            "times": self.times,
            "components": [
                {
                    "name": part.name,
                    "mean": numbers(part.mean),
                    "deviation": numbers(part.deviation),
                    "observed": None if part.observed is None else numbers(part.observed),
                }
                for part in self.parts
            ],
        }

    def to_table(self) -> list[list[str]]:
        heading, columns = ["time"], []
        for part in self.parts:
            edges = [part.mean, part.low, part.high]
            heading += [part.name, f"{part.name} from", f"{part.name} to"]
            places = places_of([float(value) for edge in edges for value in edge])
            columns += [[f"{value:,.{places}f}" for value in edge] for edge in edges]
        return [heading, *(list(row) for row in zip(self.times, *columns, strict=True))]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        """A line of bars for each component, each on its own scale, and the ends of that."""
        names = [shorten(part.name, 12) for part in self.parts]
        names = list(map(to_ascii, names)) if ascii else names
        indent = max(map(len, names))
        ends = []
        for part in self.parts:
            known = part.mean[np.isfinite(part.mean)].tolist() or [math.nan]
            ends.append(f"{spoken_number(min(known))} to {spoken_number(max(known))}")
        room = max(4, width - indent - max(map(len, ends)) - 4)
        times = short_times(self.times)
        span = f"{times[0]} {'to' if ascii else '–'} {times[-1]}"
        lines = fold(to_ascii(span) if ascii else span, width)
        for part, name, end in zip(self.parts, names, ends, strict=True):
            bars = sparkline(condensed(part.mean.tolist(), room), ascii=ascii)
            whole = f"{name:>{indent}}  {bars}  {end}"
            lines += [whole] if room > 4 else [*fold(name, width), bars]
        return lines

    def to_picture(self) -> Picture:
        theme = DARK if self.dark else LIGHT
        explanation = "smoothed: given all that was observed; bands: 95 % of chance"
        if any(part.observed is not None for part in self.parts):
            explanation += "; dots: observed"
        words = Wording(f"Components of {self.model}", explanation, self.caption, self.notes, theme)
        one = _TITLE + _PLOT[1] + BELOW + 14
        width = max(words.width(), MARGIN + _LEFT + _PLOT[0] + _RIGHT)
        foot = words.head_height() + len(self.parts) * one
        picture = Picture(width, foot + words.foot_height(width), theme.page, self.caption)
        for number, part in enumerate(self.parts):
            self._draw(picture, part, words.head_height() + number * one + _TITLE, theme)
        words.draw(picture, foot)
        return picture

    def _draw(self, picture: Picture, part: Component, top: float, theme: Theme) -> None:
        box = MARGIN + _LEFT, top, *_PLOT
        seen = np.zeros(0) if part.observed is None else part.observed
        values = np.concatenate([part.low, part.high, seen])
        chart = TimeChart.of(box, self.times, values.tolist(), theme)
        title = shorten(part.name, 60)
        picture.text(title, (box[0], top - 8), Lettering(12, theme.ink))
        chart.draw_axes(picture)
        low, high = part.low.tolist(), part.high.tolist()
        chart.draw_band(picture, 0, low, high, mix(theme.page, theme.accent, 0.3), "95 % of chance")
        radius = min(2.6, max(1.2, 0.4 * box[2] / len(self.times)))
        for step, value in enumerate(seen):
            if math.isfinite(value):
                hover = f"{self.times[step]}: {spoken_number(value)}"
                place = chart.place(step, float(value))
                picture.add(Dot(place, radius, theme.muted, theme.page, hover))
        line = mix(theme.accent, theme.ink, 0.45)
        chart.draw_line(picture, 0, part.mean.tolist(), line, 1.8, part.name)

    def _caption(self) -> str:
        """How each went from the first step to the last, and whether it can be told from 0."""
        first, last = (short_times(self.times)[end] for end in (0, -1))
        told = []
        for number, part in enumerate(self.parts):
            ends = [spoken_number(float(part.mean[end])) for end in (0, -1)]
            band = [spoken_number(float(edge[-1])) for edge in (part.low, part.high)]
            where = f"{part.name}: {ends[0]} at {first}, {ends[1]} at {last}"
            where += f" (95 % band {band[0]} to {band[1]})"
            if number and bool(np.all((part.low <= 0) & (part.high >= 0))):
                where += ", and may be 0 all along"
            told.append(where)
        sentence = "; ".join(told)
        return f"{sentence[0].upper()}{sentence[1:]}."
