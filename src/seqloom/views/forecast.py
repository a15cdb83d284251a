"""Fan charts of forecasts: history, mean, prediction intervals, sample paths and actual values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float

from ..prediction import LEVELS, QuantileForecast
from .base import View
from .draw.colours import DARK, LIGHT, Theme, mix
from .draw.heatmap import MARGIN, FigureText
from .draw.sparkline import downsample, sparkline
from .draw.svg import Box, Circle, Picture, TextStyle
from .draw.text import fold, shorten, to_ascii, visible
from .draw.time_axis import BELOW, TimeChart, decimals_for, format_number, short_times

INTERVALS = (0.95, 0.8, 0.5)  # coverage of the prediction intervals, from the widest
CAPTION_INTERVAL = 0.8  # the prediction interval that sentences tell
MAX_POINTS, MAX_CHARTS, MAX_PATHS = 3000, 12, 8  # of a picture
NAMED = 3  # fan charts that a caption tells of
FAR = 0.1  # of the range of a forecast: a turn is told that is so far beyond both of its ends
_LEFT, _BETWEEN, _TITLE = 58.0, 34.0, 20.0
_ENDS = ("from", "to")
_SHADES = {0.95: 0.16, 0.8: 0.34, 0.5: 0.58}


@dataclass(frozen=True, eq=False)
class FanChart:
    """The forecast of one channel of a time series, with its history.

    Args:
        name: of the channel.
        past: the history up to the forecast origin; NaN where a value is missing.
        mean: the forecast at each step of the horizon.
        quantiles: of the predictive distribution at `LEVELS`, at each step of the horizon.
        times: of the history and then of the horizon; numbered from 1 if left out.
        actual: the actual values of the horizon, as far as they are known; NaN where one is not.
        paths: sample paths of the horizon.
    """

    name: str
    past: Float[np.ndarray, " past"]
    mean: Float[np.ndarray, " horizon"]
    quantiles: Float[np.ndarray, "horizon levels"]
    times: tuple[str, ...] = ()
    actual: Float[np.ndarray, " known"] | None = None
    paths: Float[np.ndarray, "samples horizon"] | None = None

    def __post_init__(self) -> None:
        steps = len(self.past) + len(self.mean)
        if not len(self.mean) or self.quantiles.shape != (len(self.mean), len(LEVELS)):
            raise ValueError("expected a mean at each of at least one step, and its quantiles")
        if not self.times:
            object.__setattr__(self, "times", tuple(map(str, range(1, steps + 1))))
        if len(self.times) != steps:
            raise ValueError(f"expected {steps} times, one for each step, not {len(self.times)}")
        # Padded to the horizon: from here on there is one value for each step of it.
        actual = np.full(len(self.mean), np.nan)
        known = np.zeros(0) if self.actual is None else self.actual[: len(actual)]
        actual[: len(known)] = known
        object.__setattr__(self, "actual", actual)

    @property
    def actuals(self) -> Float[np.ndarray, " horizon"]:
        """The actual value at each step of the horizon; NaN where it is not known."""
        return np.zeros(0) if self.actual is None else self.actual

    def interval(self, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """The central prediction interval: its lower and upper ends at each step."""
        forecast = QuantileForecast(self.mean[:, None], self.quantiles[:, None, :])
        low, high = forecast.interval(coverage)
        return low[:, 0], high[:, 0]

    def covered(self, coverage: float) -> tuple[int, int]:
        """How many actual values are within the prediction interval, and how many are known."""
        low, high = self.interval(coverage)
        known = np.isfinite(self.actuals)
        inside = known & (self.actuals >= low) & (self.actuals <= high)
        return int(inside.sum()), int(known.sum())

    def last(self, steps: int) -> "FanChart":
        """The fan chart with at most `steps` steps of history."""
        cut = max(0, len(self.past) - steps)
        return replace(self, past=self.past[cut:], times=self.times[cut:])


def fan_charts(
    names: Sequence[str],
    past: Float[np.ndarray, "past channels"],
    forecast: QuantileForecast,
    times: Sequence[str] = (),
    actual: Float[np.ndarray, "known channels"] | None = None,
) -> list[FanChart]:
    """A fan chart for each channel of a time series."""
    return [
        FanChart(
            name,
            past[:, channel],
            forecast.mean[:, channel],
            forecast.quantiles[:, channel],
            tuple(times),
            None if actual is None else actual[:, channel],
            None if forecast.paths is None else forecast.paths[:, :, channel],
        )
        for channel, name in enumerate(names)
    ]


def fan_chart_table(chart: FanChart) -> list[list[str]]:
    """A row for each step: time, mean, prediction intervals from the narrowest, actual value."""
    ends = [end for coverage in reversed(INTERVALS) for end in chart.interval(coverage)]
    decimals = decimals_for([*chart.mean, *(value for end in ends for value in end)])
    times = chart.times[len(chart.past) :]
    columns = zip(times, chart.mean, *ends, chart.actuals, strict=True)
    return [[time, *(_cell(float(value), decimals) for value in row)] for time, *row in columns]


def _cell(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}" if math.isfinite(value) else ""


def fan_chart_json(chart: FanChart) -> dict[str, Any]:
    """The fan chart as JSON: quantiles by their level, null where a value is missing."""
    past, horizon = chart.times[: len(chart.past)], chart.times[len(chart.past) :]
    quantiles = {
        f"{level:g}": json_numbers(chart.quantiles[:, n]) for n, level in enumerate(LEVELS)
    }
    is_known = bool(np.isfinite(chart.actuals).any())
    fields: dict[str, Any] = {
        "name": chart.name,
        "times": {"past": list(past), "ahead": list(horizon)},
        "past": json_numbers(chart.past),
        "mean": json_numbers(chart.mean),
        "quantiles": quantiles,
        "actual": json_numbers(chart.actuals) if is_known else None,
    }
    if chart.paths is not None:
        fields["paths"] = [json_numbers(path) for path in chart.paths]
    return fields


def json_numbers(values: Sequence[float] | np.ndarray) -> list[float | None]:
    """Numbers for JSON: null where one is missing."""
    return [float(value) if math.isfinite(value) else None for value in values]


@final
class ForecastView(View):
    """Forecasts as fan charts: history, mean, and prediction intervals of 50, 80 and 95 %.

    Args:
        charts: one for each channel of each series, or for each model; drawn side by side.
        model: name of the model.
        history: how many steps of history are shown; 0: three horizons, but at least 96 steps.
        dark: draw in the dark theme.
        notes: what was left out.
    """

    kind: ClassVar[str] = "forecast"

    def __init__(
        self,
        charts: Sequence[FanChart],
        model: str,
        notes: Sequence[str] = (),
        *,
        history: int = 0,
        dark: bool = False,
    ) -> None:
        if not charts:
            raise ValueError("expected at least one fan chart")
        self.dark, self.own_notes = dark, tuple(notes)
        self.charts = [chart.last(_steps_shown(chart, history)) for chart in charts]
        all_notes = list(dict.fromkeys([*notes, *_notes_on_history(charts, self.charts)]))
        if len(charts) > MAX_CHARTS:
            self.drawn_notes = (f"the first {MAX_CHARTS} of {len(charts)} series are drawn",)
        super().__init__(model, _caption(self.charts), {"charts": self.charts}, all_notes)

    def beside(self, *others: "ForecastView") -> "ForecastView":
        """This view and others as one, with the fan charts side by side."""
        views = [self, *others]
        charts = [
            replace(chart, name=" · ".join(dict.fromkeys([view.model, chart.name])))
            for view in views
            for chart in view.charts
        ]
        notes = list(dict.fromkeys(note for view in views for note in view.own_notes))
        longest = max(len(chart.past) for chart in charts)
        names = ", ".join(view.model for view in views)
        return ForecastView(charts, names, notes, history=longest or 1, dark=self.dark)

    def content(self) -> dict[str, Any]:
        return {"series": [fan_chart_json(chart) for chart in self.charts]}

    def to_table(self) -> list[list[str]]:
        heading = ["series", "time", "mean"]
        heading += [f"{100 * part:g} % {end}" for part in reversed(INTERVALS) for end in _ENDS]
        heading.append("actual")
        rows = [heading]
        for chart in self.charts:
            rows += [[chart.name, *cells] for cells in fan_chart_table(chart)]
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        lines: list[str] = []
        for chart in self.charts[:MAX_CHARTS]:
            lines += ["", *spark_lines(chart, width, ascii)]
        return lines[1:]

    def to_picture(self) -> Picture:
        theme, drawn = DARK if self.dark else LIGHT, self.charts[:MAX_CHARTS]
        notes = (*self.notes, *self.drawn_notes)
        subtitle = "bands: 50, 80 and 95 % prediction intervals; line: mean"
        if any(np.isfinite(chart.actuals).any() for chart in drawn):
            subtitle += "; dots: actual values"
        text = FigureText(f"Forecast of {self.model}", subtitle, self.caption, notes, theme)
        across, (wide, high) = _layout(len(drawn))
        down = math.ceil(len(drawn) / across)
        one = _TITLE + high + BELOW + 14
        width = max(text.width(), across * (_LEFT + wide + _BETWEEN) + MARGIN)
        foot = text.head_height() + down * one
        picture = Picture(width, foot + text.foot_height(width), theme.page, self.caption)
        for number, chart in enumerate(drawn):
            row, column = divmod(number, across)
            left = MARGIN + _LEFT + column * (_LEFT + wide + _BETWEEN)
            top = text.head_height() + row * one + _TITLE
            _draw(picture, chart, (left, top, wide, high), theme)
        text.draw(picture, foot)
        return picture


def _steps_shown(chart: FanChart, requested: int) -> int:
    """The steps of history: as requested, or so many that the horizon can be seen beside them."""
    room = max(1, MAX_POINTS - len(chart.mean))
    return min(room, requested or max(96, 3 * len(chart.mean)))


def _notes_on_history(whole: Sequence[FanChart], shown: Sequence[FanChart]) -> list[str]:
    """What of the history is not shown."""
    pairs = [(len(a.past), len(b.past)) for a, b in zip(whole, shown, strict=True)]
    notes = [f"the last {b:,} of {a:,} steps of history are shown" for a, b in pairs if b < a]
    return notes[:1]


def _layout(count: int) -> tuple[int, tuple[float, float]]:
    """How many panels there are in a row, and the width and height of each."""
    if count == 1:
        return 1, (640.0, 280.0)
    return (1, (640.0, 170.0)) if count <= 3 else (2, (350.0, 150.0))


def _draw(picture: Picture, chart: FanChart, box: Box, theme: Theme) -> None:
    """One panel: bands below, then lines, then dots."""
    widest = chart.interval(INTERVALS[0])
    paths = np.zeros((0, len(chart.mean))) if chart.paths is None else chart.paths[:MAX_PATHS]
    values = np.concatenate([chart.past, chart.mean, *widest, chart.actuals, *paths])
    axes = TimeChart.of(box, chart.times, values.tolist(), theme)
    title = shorten(visible_name(chart.name), int(box[2] / 10)) if chart.name else ""
    picture.text(title, (box[0], box[1] - 8), TextStyle(12, theme.ink))
    axes.draw_axes(picture)
    now = len(chart.past) - 1
    # Bands and lines start at the last observation, so that the fan opens from there.
    last = chart.past[-1:] if now >= 0 and math.isfinite(chart.past[-1]) else chart.past[:0]
    first = now + 1 - len(last)
    for coverage in INTERVALS:
        low, high = (np.concatenate([last, end]).tolist() for end in chart.interval(coverage))
        fill = mix(theme.page, theme.accent, _SHADES[coverage])
        axes.draw_band(picture, first, low, high, fill, f"{100 * coverage:g} % interval")
    for path in paths:
        faint = mix(theme.page, theme.accent, 0.8)
        axes.draw_line(picture, first, [*last, *path], faint, 0.6, "sample path")
    if now >= 0:
        axes.draw_now(picture, now, title)
    axes.draw_line(picture, 0, chart.past.tolist(), theme.ink, 1.4, "history")
    mean = mix(theme.accent, theme.ink, 0.45)
    axes.draw_line(picture, first, [*last, *chart.mean], mean, 1.8, "mean")
    radius = min(3.2, max(1.6, 0.45 * box[2] / len(chart.times)))
    for step, value in enumerate(chart.actuals):
        if math.isfinite(value):
            title = f"actual value at {chart.times[now + 1 + step]}: {format_number(value)}"
            point = axes.point(now + 1 + step, float(value))
            picture.add(Circle(point, radius, theme.warm, theme.page, title))


def visible_name(name: str) -> str:
    """A name from a file, without characters that cannot be drawn."""
    return visible(name).replace("·", " ")


def spark_lines(chart: FanChart, width: int, ascii: bool = False) -> list[str]:
    """Sparklines of history and mean, and of the ends of the 80 % interval, on one scale."""
    name = to_ascii(chart.name) if ascii else visible_name(chart.name)
    labels = [f"{100 * CAPTION_INTERVAL:g} % {end}" for end in reversed(_ENDS)]
    rule = "|" if ascii else "│"
    room = max(4, width - max(map(len, labels)) - 2 - len(rule))
    horizon = min(len(chart.mean), max(2, room // 3))
    past = downsample(chart.past.tolist(), max(0, room - horizon))
    low, high = (downsample(end.tolist(), horizon) for end in chart.interval(CAPTION_INTERVAL))
    mean = downsample(chart.mean.tolist(), horizon)
    known = [value for value in [*past, *mean, *low, *high] if math.isfinite(value)]
    scale = {"low": min(known, default=0.0), "high": max(known, default=0.0)}

    def spark(values: Sequence[float]) -> str:
        return sparkline(values, ascii=ascii, **scale)

    rows = [
        (labels[0], " " * len(past) + rule + spark(high)),
        ("mean", spark(past) + rule + spark(mean)),
        (labels[1], " " * len(past) + rule + spark(low)),
    ]
    indent = max(map(len, labels))
    lines = [f"{label:>{indent}}  {line}".rstrip() for label, line in rows]
    first, *_, last = short_times(chart.times)
    span = f"{first} {'to' if ascii else '–'} {last}"
    return [*fold(f"{name}  {to_ascii(span) if ascii else span}".strip(), width), *lines]


def _caption(charts: Sequence[FanChart]) -> str:
    """Where each forecast goes, and how many actual values its prediction interval covers."""
    sentences = [_sentence(chart, named=len(charts) > 1) for chart in charts[:NAMED]]
    if len(charts) > NAMED:
        sentences.append(f"And {len(charts) - NAMED:,} more.")
    counts = [chart.covered(CAPTION_INTERVAL) for chart in charts]
    inside, known = (sum(part) for part in zip(*counts, strict=True))
    if known:
        part = f"{inside:,} of {known:,}"
        values = "value" if known == 1 else "values"
        interval = f"{100 * CAPTION_INTERVAL:g} % interval"
        sentences.append(f"The {interval} covers {part} actual {values}.")
    return " ".join(sentences)


def _sentence(chart: FanChart, *, named: bool) -> str:
    """From the last observation to the end of the horizon, and where the forecast turns.

    A season may begin far from the last observation: a forecast that jumps up and then falls is
    not told to rise, but told from its first step on, beside the last observation.
    """
    known = np.flatnonzero(np.isfinite(chart.past))
    times = short_times(chart.times)
    end, time = float(chart.mean[-1]), times[-1]
    low, high = (format_number(float(end_[-1])) for end_ in chart.interval(CAPTION_INTERVAL))
    interval = f"80 % interval {low} to {high}"
    name = f"{visible_name(chart.name)}: " if named and chart.name else ""
    if not len(known):
        return f"{name}{format_number(end)} is forecast at {time} ({interval})."
    start, since = float(chart.past[known[-1]]), times[known[-1]]
    ahead = times[-len(chart.mean) :]
    if len(chart.mean) > 1 and _way(start, end) != _way(float(chart.mean[0]), end):
        after = f", after {format_number(start)} at {since}"
        start, since = float(chart.mean[0]), ahead[0]
    else:
        after = ""
    first, last = format_number(start), format_number(end)
    verb = _way(start, end)
    way = f"at {first} from {since}" if verb == "stays" else f"from {first} at {since} to {last}"
    sentence = f"{verb} {way} {'to' if verb == 'stays' else 'at'} {time} ({interval}){after}"
    sentence += f"{_turns(chart.mean, (start, end), ahead)}."
    return name + (sentence if name else sentence[0].upper() + sentence[1:])


def _way(start: float, end: float) -> str:
    """The direction from one number to another, as far as it can be seen in how they are shown."""
    if format_number(start) == format_number(end):
        return "stays"
    return "rises" if end > start else "falls"


def _turns(mean: Float[np.ndarray, " horizon"], ends: Sequence[float], ahead: Sequence[str]) -> str:
    """The highest and the lowest step of a forecast, where they are far outside of both ends."""
    known = np.where(np.isfinite(mean), mean, ends[0])
    low, high = min(*ends), max(*ends)
    least = FAR * max(float(np.ptp(known)), high - low)
    turns = []
    for word, step, beyond in (
        ("highest", int(known.argmax()), float(known.max()) - high),
        ("lowest", int(known.argmin()), low - float(known.min())),
    ):
        value = format_number(float(known[step]))
        if beyond > least and value not in map(format_number, ends):
            turns.append(f"{word} {value} at {ahead[step]}")
    return f"; {', '.join(turns)}" if turns else ""
