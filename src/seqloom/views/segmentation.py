"""The states a series goes through: drawn behind it, with what each shows and how long it stays."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float

from .base import View
from .draw.colours import CATEGORIES, INK, LIGHT, MUTED, PAGE, mix, viridis
from .draw.heatmap import MARGIN, Wording
from .draw.sparkline import condensed, sparkline
from .draw.svg import Lettering, Picture
from .draw.text import fold, shorten, to_ascii
from .draw.text_heatmap import text_width
from .draw.time_axis import BELOW, TimeChart, short_times, spoken_number
from .forecast import numbers

MOST_POINTS = 3000  # that a panel has
MOST_STRETCHES = 12  # that are told in the terminal
NAMES = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LEFT, _RIGHT, _PLOT, _TITLE, _LEGEND = 58.0, 34.0, (640.0, 150.0), 20.0, 22.0
_BEHIND = 0.28  # how much of its colour a state has behind a line


@dataclass(frozen=True, eq=False)
class Regime:
    """One state.

    Args:
        name: what it is called, from 1 on.
        mean: of each number, in the units of the file.
        deviation: of each number.
        share: of all steps, how many it probably holds.
        stay: how many steps it lasts on average, once it has begun.
        moves: the chance of each state at the next step.
    """

    name: str
    mean: Float[np.ndarray, " width"]
    deviation: Float[np.ndarray, " width"]
    share: float
    stay: float
    moves: Float[np.ndarray, " states"]


@dataclass(frozen=True)
class Stretch:
    """Steps in a row of one state: its number, and the places of the first and the last."""

    state: int
    first: int
    last: int

    @property
    def steps(self) -> int:
        """How many there are."""
        return self.last - self.first + 1


@final
class RegimesView(View):
    """A panel for each number, with the colour of the likeliest state behind every step.

    Args:
        regimes: the states, in an order that stays.
        path: the number of the state at each step.
        values: the series.
        names: what its numbers are called.
        times: what its steps are called.
        model: what was looked at.
        notes: how the states came about.
    """

    kind: ClassVar[str] = "regimes"

    def __init__(  # noqa: PLR0913, PLR0917 - the states, the series and what both are called
        self,
        regimes: Sequence[Regime],
        path: Sequence[int],
        values: Float[np.ndarray, "time width"],
        names: Sequence[str],
        times: Sequence[str],
        model: str,
        notes: Sequence[str] = (),
    ) -> None:
        if not len(path) == len(values) == len(times) or not len(path):
            raise ValueError("expected a state and a name for each step")
        self.regimes, self.path, self.values = list(regimes), list(path), values
        self.names, self.times = list(names), short_times(times)
        self.stretches = stretches_of(self.path)
        data = {"regimes": self.regimes, "path": self.path}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {
            "names": self.names,
            "states": [
                {
                    "name": one.name,
                    "mean": numbers(one.mean),
                    "deviation": numbers(one.deviation),
                    "share": one.share,
                    "stay": one.stay if np.isfinite(one.stay) else None,
                    "moves": one.moves.tolist(),
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
                for s in self.stretches
            ],
            "times": self.times,
            "values": [numbers(row) for row in self.values],
            "path": [self.regimes[state].name for state in self.path],
        }

    def to_table(self) -> list[list[str]]:
        """The stretches in their order."""
        rows = [["state", "from", "to", "steps"]]
        for s in self.stretches:
            name = self.regimes[s.state].name
            rows.append([name, self.times[s.first], self.times[s.last], f"{s.steps:,}"])
        return rows

    def states_table(self) -> list[list[str]]:
        """What each state shows, how much of the time it holds, and where it goes."""
        heading = ["state", *(f"{n} mean ± deviation" for n in self.names), "time", "stays"]
        rows = [[*heading, *(f"to {one.name}" for one in self.regimes)]]
        for one in self.regimes:
            pairs = zip(one.mean.tolist(), one.deviation.tolist(), strict=True)
            shown = [f"{spoken_number(mean)} ± {spoken_number(dev)}" for mean, dev in pairs]
            stay = f"{spoken_number(one.stay)} steps" if np.isfinite(one.stay) else "for good"
            moves = [_percent(chance) for chance in one.moves.tolist()]
            rows.append([one.name, *shown, _percent(one.share), stay, *moves])
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        room = max(4, text_width(width) - 10)
        span = f"{self.times[0]} {'to' if ascii else '–'} {self.times[-1]}"
        lines = fold(to_ascii(span) if ascii else span, width)
        for number, name in enumerate(self.names):
            bars = sparkline(condensed(self.values[:, number].tolist(), room), ascii=ascii)
            label = shorten(name, 8)
            lines.append(f"{to_ascii(label) if ascii else label:>8}  {bars}")
        lines.append(f"{'state':>8}  {self._strip(room)}")
        return lines

    def _strip(self, room: int) -> str:
        """A character for each few steps: the name of the state most of them are in."""
        parts = np.array_split(np.array(self.path), min(room, len(self.path)))
        most = [Counter(part.tolist()).most_common(1)[0][0] for part in parts]
        return "".join(NAMES[state % len(NAMES)] for state in most)

    def to_picture(self) -> Picture:
        steps = slice(-MOST_POINTS, None)
        notes = list(self.notes)
        if len(self.path) > MOST_POINTS:
            notes.append(f"the last {MOST_POINTS:,} of {len(self.path):,} steps are drawn")
        words = Wording(
            f"Regimes of {self.model}",
            "behind each step the state that it is in on the likeliest way through all",
            self.caption,
            tuple(notes),
        )
        one = _TITLE + _PLOT[1] + BELOW + 14
        width = max(words.width(), MARGIN + _LEFT + _PLOT[0] + _RIGHT)
        head = words.head_height() + _LEGEND
        foot = head + len(self.names) * one
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        self._draw_legend(picture, words.head_height())
        for number, name in enumerate(self.names):
            box = (MARGIN + _LEFT, head + number * one + _TITLE, *_PLOT)
            values = self.values[steps, number].tolist()
            chart = TimeChart.of(box, self.times[steps], values, LIGHT)
            for stretch in stretches_of(self.path[steps]):
                self._draw_behind(picture, chart, stretch)
            chart.draw_axes(picture)
            chart.draw_line(picture, 0, values, INK, 1.2, name)
            picture.text(name, (box[0], box[1] - 7), Lettering(12, INK))
        words.draw(picture, foot)
        return picture

    def _draw_behind(self, picture: Picture, chart: TimeChart, stretch: Stretch) -> None:
        """From half a step before the first to half a step behind the last, within the chart."""
        left, top, width, height = chart.box
        first = max(left, chart.place(stretch.first - 0.5, 0.0)[0])
        last = min(left + width, chart.place(stretch.last + 0.5, 0.0)[0])
        title = f"state {self.regimes[stretch.state].name}: {stretch.steps:,} steps"
        fill = mix(PAGE, self.colour(stretch.state), _BEHIND)
        picture.rectangle((first, top, max(0.5, last - first), height), fill, title=title)

    def _draw_legend(self, picture: Picture, top: float) -> None:
        x = MARGIN + _LEFT
        for number, one in enumerate(self.regimes):
            word = f"{one.name}: {spoken_number(float(one.mean[0]))} ({_percent(one.share)})"
            picture.rectangle((x, top, 12, 12), mix(PAGE, self.colour(number), 2 * _BEHIND))
            picture.text(word, (x + 17, top + 10), Lettering(11, MUTED))
            x += 17 + Lettering(11).length(word) + 16

    def colour(self, state: int) -> str:
        """The colour of a state: of few the one that tells them best apart."""
        if len(self.regimes) <= len(CATEGORIES):
            return CATEGORIES[state]
        return viridis(state / (len(self.regimes) - 1))

    def _caption(self) -> str:
        """Which state holds most of the time, how long it lasts, and which holds now."""
        most = max(self.regimes, key=lambda one: one.share)
        last = self.stretches[-1]
        now = self.regimes[last.state].name
        lasts = (
            f"lasts {spoken_number(most.stay)} steps on average"
            if np.isfinite(most.stay)
            else "never ends"
        )
        of = f" of {self.names[0]}" if len(self.names) > 1 else ""
        return (
            f"State {most.name} holds {_percent(most.share)} of the time, with a mean{of} of"
            f" {spoken_number(float(most.mean[0]))}, and {lasts}; state {now} holds since"
            f" {self.times[last.first]}."
        )


def stretches_of(path: Sequence[int]) -> list[Stretch]:
    """Steps in a row of the same state."""
    found: list[Stretch] = []
    for place, state in enumerate(path):
        if found and found[-1].state == state:
            found[-1] = Stretch(state, found[-1].first, place)
        else:
            found.append(Stretch(state, place, place))
    return found


def _percent(share: float) -> str:
    if 0 < share < 0.001:  # noqa: PLR2004
        return "<0.1 %"
    return f"{100 * share:.1f} %" if share < 0.1 or 0.9 < share < 1 else f"{100 * share:.0f} %"  # noqa: PLR2004
