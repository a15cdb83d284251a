"""A fan: what a series was, what is expected of it, and how far it may be off.

One number of a series with its future: the numbers behind the bands of a fan.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float

from ..prediction import LEVELS, Foreseen
from .base import View
from .draw.colours import DARK, LIGHT, Theme, mix
from .draw.heatmap import MARGIN, Wording
from .draw.sparkline import condensed, sparkline
from .draw.svg import Box, Dot, Lettering, Picture
from .draw.text import fold, shorten, to_ascii, visible
from .draw.time_axis import BELOW, TimeChart, places_of, short_times, spoken_number

BANDS = (0.95, 0.8, 0.5)  # from the outside to the inside


@dataclass(frozen=True, eq=False)
class Fan:
    """One number of a series: its past, what was foreseen, and what came, where that is known.

    Args:
        name: what it is called.
        past: the numbers up to now; NaN where one is missing.
        mean: what is expected at each step ahead.
        quantiles: at LEVELS, at each step ahead.
        times: what the steps are called, of the past and then of those ahead; numbered from 1 if
            left out.
        actual: what came; NaN where that is not known, and empty where nothing is.
        paths: futures drawn at random.
    """

    name: str
    past: Float[np.ndarray, " past"]
    mean: Float[np.ndarray, " ahead"]
    quantiles: Float[np.ndarray, "ahead levels"]
    times: tuple[str, ...] = ()
    actual: Float[np.ndarray, " known"] | None = None
    paths: Float[np.ndarray, "samples ahead"] | None = None

    def __post_init__(self) -> None:
        steps = len(self.past) + len(self.mean)
        if not len(self.mean) or self.quantiles.shape != (len(self.mean), len(LEVELS)):
            raise ValueError("expected a mean at each of at least one step, and its quantiles")
        if not self.times:
            object.__setattr__(self, "times", tuple(map(str, range(1, steps + 1))))
        if len(self.times) != steps:
            raise ValueError(f"expected {steps} names of steps, not {len(self.times)}")
        came = np.full(len(self.mean), np.nan)
        given = np.zeros(0) if self.actual is None else self.actual[: len(came)]
        came[: len(given)] = given
        object.__setattr__(self, "actual", came)

    @property
    def came(self) -> Float[np.ndarray, " ahead"]:
        """What came at each step ahead; NaN where it is not known."""
        return np.zeros(0) if self.actual is None else self.actual

    def band(self, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the middle share of chance begins and ends."""
        whole = Foreseen(self.mean[:, None], self.quantiles[:, None, :])
        low, high = whole.band(share)
        return low[:, 0], high[:, 0]

    def held(self, share: float) -> tuple[int, int]:
        """How many of the numbers that came lie within a band, and how many came."""
        low, high = self.band(share)
        known = np.isfinite(self.came)
        inside = known & (self.came >= low) & (self.came <= high)
        return int(inside.sum()), int(known.sum())

    def late(self, steps: int) -> "Fan":
        """With no more than so many steps of the past."""
        cut = max(0, len(self.past) - steps)
        return replace(self, past=self.past[cut:], times=self.times[cut:])


def fans_of(
    names: Sequence[str],
    past: Float[np.ndarray, "past width"],
    foreseen: Foreseen,
    times: Sequence[str] = (),
    actual: Float[np.ndarray, "known width"] | None = None,
) -> list[Fan]:
    """A fan for each number of a series."""
    return [
        Fan(
            name,
            past[:, number],
            foreseen.mean[:, number],
            foreseen.quantiles[:, number],
            tuple(times),
            None if actual is None else actual[:, number],
            None if foreseen.paths is None else foreseen.paths[:, :, number],
        )
        for number, name in enumerate(names)
    ]


def table_of(fan: Fan) -> list[list[str]]:
    """For each step ahead its time, the mean, the bands from the inside out, and what came."""
    edges = [edge for share in reversed(BANDS) for edge in fan.band(share)]
    places = places_of([*fan.mean, *(value for edge in edges for value in edge)])
    times = fan.times[len(fan.past) :]
    columns = zip(times, fan.mean, *edges, fan.came, strict=True)
    return [[time, *(_cell(float(value), places) for value in values)] for time, *values in columns]


def _cell(value: float, places: int) -> str:
    return f"{value:,.{places}f}" if math.isfinite(value) else ""


def plain_fan(fan: Fan) -> dict[str, Any]:
    """A fan for programs: quantiles by their level, null where a number is not known."""
    past, ahead = fan.times[: len(fan.past)], fan.times[len(fan.past) :]
    quantiles = {f"{level:g}": numbers(fan.quantiles[:, n]) for n, level in enumerate(LEVELS)}
    known = bool(np.isfinite(fan.came).any())
    found: dict[str, Any] = {
        "name": fan.name,
        "times": {"past": list(past), "ahead": list(ahead)},
        "past": numbers(fan.past),
        "mean": numbers(fan.mean),
        "quantiles": quantiles,
        "actual": numbers(fan.came) if known else None,
    }
    if fan.paths is not None:
        found["paths"] = [numbers(path) for path in fan.paths]
    return found


def numbers(values: Sequence[float] | np.ndarray) -> list[float | None]:
    """Numbers as JSON has them: null where one is missing."""
    return [float(value) if math.isfinite(value) else None for value in values]


TOLD = 0.8  # the band that sentences speak of
MOST_POINTS, MOST_FANS, MOST_PATHS = 3000, 12, 8  # that a picture has
NAMED = 3  # fans that a caption speaks of
_LEFT, _BETWEEN, _TITLE = 58.0, 34.0, 20.0
_ENDS = ("from", "to")
_SHADES = {0.95: 0.16, 0.8: 0.34, 0.5: 0.58}


@final
class ForecastView(View):
    """The past as a line, then bands that hold 50, 80 and 95 % of chance; several side by side.

    Args:
        fans: one for each number of each series, or for each model.
        model: name of the model.
        history: how many steps of the past are shown; 0: as many as leave the future some room.
        dark: draw on a dark page.
        notes: what a reader must know.
    """

    kind: ClassVar[str] = "forecast"

    def __init__(
        self,
        fans: Sequence[Fan],
        model: str,
        notes: Sequence[str] = (),
        *,
        history: int = 0,
        dark: bool = False,
    ) -> None:
        if not fans:
            raise ValueError("expected at least one fan")
        self.dark, self.given = dark, tuple(notes)
        self.fans = [fan.late(_steps_shown(fan, history)) for fan in fans]
        told = list(dict.fromkeys([*notes, *_cut(fans, self.fans)]))
        super().__init__(model, _caption(self.fans), {"fans": self.fans}, told)

    def beside(self, *others: "ForecastView") -> "ForecastView":
        """This view and others as one: fans stand side by side, never on each other."""
        views = [self, *others]
        fans = [
            replace(fan, name=" · ".join(dict.fromkeys([view.model, fan.name])))
            for view in views
            for fan in view.fans
        ]
        notes = list(dict.fromkeys(note for view in views for note in view.given))
        longest = max(len(fan.past) for fan in fans)
        names = ", ".join(view.model for view in views)
        return ForecastView(fans, names, notes, history=longest or 1, dark=self.dark)

    def content(self) -> dict[str, Any]:
        return {"series": [plain_fan(fan) for fan in self.fans]}

    def to_table(self) -> list[list[str]]:
        heading = ["series", "time", "mean"]
        heading += [f"{100 * share:g} % {end}" for share in reversed(BANDS) for end in _ENDS]
        heading.append("came")
        rows = [heading]
        for fan in self.fans:
            rows += [[fan.name, *cells] for cells in table_of(fan)]
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        lines: list[str] = []
        for fan in self.fans[:MOST_FANS]:
            lines += ["", *spark_lines(fan, width, ascii)]
        return lines[1:]

    def to_picture(self) -> Picture:
        theme, drawn = DARK if self.dark else LIGHT, self.fans[:MOST_FANS]
        notes = self.notes
        if len(self.fans) > len(drawn):
            notes = (*notes, f"the first {len(drawn)} of {len(self.fans)} series are drawn")
        explanation = "bands: 50, 80 and 95 % of chance; line: the mean"
        if any(np.isfinite(fan.came).any() for fan in drawn):
            explanation += "; dots: what came"
        words = Wording(f"Forecast of {self.model}", explanation, self.caption, notes, theme)
        across, (wide, high) = _layout(len(drawn))
        down = math.ceil(len(drawn) / across)
        one = _TITLE + high + BELOW + 14
        width = max(words.width(), across * (_LEFT + wide + _BETWEEN) + MARGIN)
        foot = words.head_height() + down * one
        picture = Picture(width, foot + words.foot_height(width), theme.page, self.caption)
        for number, fan in enumerate(drawn):
            row, column = divmod(number, across)
            left = MARGIN + _LEFT + column * (_LEFT + wide + _BETWEEN)
            top = words.head_height() + row * one + _TITLE
            _draw(picture, fan, (left, top, wide, high), theme)
        words.draw(picture, foot)
        return picture


def _steps_shown(fan: Fan, asked: int) -> int:
    """So much of the past that it can be seen, and that the future can be seen beside it."""
    room = max(1, MOST_POINTS - len(fan.mean))
    return min(room, asked or max(96, 3 * len(fan.mean)))


def _cut(whole: Sequence[Fan], shown: Sequence[Fan]) -> list[str]:
    """What is not shown of the past."""
    pairs = [(len(a.past), len(b.past)) for a, b in zip(whole, shown, strict=True)]
    return [f"the last {b:,} of {a:,} steps of the past are shown" for a, b in pairs if b < a][:1]


def _layout(count: int) -> tuple[int, tuple[float, float]]:
    """How many panels stand side by side, and how wide and high each is."""
    if count == 1:
        return 1, (640.0, 280.0)
    return (1, (640.0, 170.0)) if count <= 3 else (2, (350.0, 150.0))


def _draw(picture: Picture, fan: Fan, box: Box, theme: Theme) -> None:
    """One panel: bands below, then lines, then dots."""
    outer = fan.band(BANDS[0])
    paths = np.zeros((0, len(fan.mean))) if fan.paths is None else fan.paths[:MOST_PATHS]
    values = np.concatenate([fan.past, fan.mean, *outer, fan.came, *paths])
    chart = TimeChart.of(box, fan.times, values.tolist(), theme)
    title = shorten(visible_name(fan.name), int(box[2] / 10)) if fan.name else ""
    picture.text(title, (box[0], box[1] - 8), Lettering(12, theme.ink))
    chart.draw_axes(picture)
    now = len(fan.past) - 1
    last = fan.past[-1:] if now >= 0 and math.isfinite(fan.past[-1]) else fan.past[:0]
    first = now + 1 - len(last)
    for share in BANDS:
        low, high = (np.concatenate([last, edge]).tolist() for edge in fan.band(share))
        fill = mix(theme.page, theme.accent, _SHADES[share])
        chart.draw_band(picture, first, low, high, fill, f"{100 * share:g} % of chance")
    for path in paths:
        faint = mix(theme.page, theme.accent, 0.8)
        chart.draw_line(picture, first, [*last, *path], faint, 0.6, "drawn at random")
    if now >= 0:
        chart.draw_now(picture, now, title)
    chart.draw_line(picture, 0, fan.past.tolist(), theme.ink, 1.4, "what was")
    mean = mix(theme.accent, theme.ink, 0.45)
    chart.draw_line(picture, first, [*last, *fan.mean], mean, 1.8, "mean")
    radius = min(3.2, max(1.6, 0.45 * box[2] / len(fan.times)))
    for step, value in enumerate(fan.came):
        if math.isfinite(value):
            title = f"{fan.times[now + 1 + step]}: {spoken_number(value)} came"
            place = chart.place(now + 1 + step, float(value))
            picture.add(Dot(place, radius, theme.warm, theme.page, title))


def visible_name(name: str) -> str:
    """A name of a file, without what cannot be drawn."""
    return visible(name).replace("·", " ")


def spark_lines(fan: Fan, width: int, ascii: bool = False) -> list[str]:
    """The fan in characters: the past and the mean, and where its 80 % band ends, on one scale."""
    name = to_ascii(fan.name) if ascii else visible_name(fan.name)
    labels = [f"{100 * TOLD:g} % {end}" for end in reversed(_ENDS)]
    rule = "|" if ascii else "│"
    room = max(4, width - max(map(len, labels)) - 2 - len(rule))
    ahead = min(len(fan.mean), max(2, room // 3))
    past = condensed(fan.past.tolist(), max(0, room - ahead))
    low, high = (condensed(edge.tolist(), ahead) for edge in fan.band(TOLD))
    mean = condensed(fan.mean.tolist(), ahead)
    known = [value for value in [*past, *mean, *low, *high] if math.isfinite(value)]
    scale = {"low": min(known, default=0.0), "high": max(known, default=0.0)}

    def drawn(values: Sequence[float]) -> str:
        return sparkline(values, ascii=ascii, **scale)

    rows = [
        (labels[0], " " * len(past) + rule + drawn(high)),
        ("mean", drawn(past) + rule + drawn(mean)),
        (labels[1], " " * len(past) + rule + drawn(low)),
    ]
    indent = max(map(len, labels))
    lines = [f"{label:>{indent}}  {line}".rstrip() for label, line in rows]
    first, *_, last = short_times(fan.times)
    span = f"{first} {'to' if ascii else '–'} {last}"
    return [*fold(f"{name}  {to_ascii(span) if ascii else span}".strip(), width), *lines]


def _caption(fans: Sequence[Fan]) -> str:
    """Where each is expected to go, and how well the band held what came."""
    told = [_sentence(fan, named=len(fans) > 1) for fan in fans[:NAMED]]
    if len(fans) > NAMED:
        told.append(f"And {len(fans) - NAMED:,} more.")
    held, known = (sum(part) for part in zip(*(fan.held(TOLD) for fan in fans), strict=True))
    if known:
        share = f"{100 * held / known:.0f} % of the {known:,}"
        share = share if known >= 10 else f"{held} of {known}"
        points = "point" if known == 1 else "points"
        told.append(f"The {100 * TOLD:g} % band held {share} {points} that came.")
    return " ".join(told)


def _sentence(fan: Fan, *, named: bool) -> str:
    """From the last number that is known to the end of what is foreseen."""
    known = np.flatnonzero(np.isfinite(fan.past))
    times = short_times(fan.times)
    end, time = float(fan.mean[-1]), times[-1]
    low, high = (spoken_number(float(edge[-1])) for edge in fan.band(TOLD))
    band = f"80 % band {low} to {high}"
    who = f"{visible_name(fan.name)}: " if named and fan.name else ""
    if not len(known):
        return f"{who}{spoken_number(end)} is expected at {time} ({band})."
    start, begun = float(fan.past[known[-1]]), times[known[-1]]
    first, last = spoken_number(start), spoken_number(end)
    if first == last:
        verb = f"stays at {first} from {begun} to {time}"
    else:
        verb = f"{'rises' if end > start else 'falls'} from {first} at {begun} to {last} at {time}"
    told = f"{verb} ({band})."
    return who + (told if who else told[0].upper() + told[1:])
