"""Metrics by source length (buckets of examples) and by forecast horizon (buckets of steps)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.series.windows import ForecastWindow
from ..errors import UsageError
from ..metrics import METRICS, Tally, value_of
from ..signature import Form, Vectors
from ..task import Task
from ..views import HorizonView, LengthBucket, LengthCurve, LengthView
from .evaluate import Evaluation

MAX_BUCKETS = 8
ROUND_WIDTHS = (1, 2, 5)  # times powers of ten


def by_length(
    task: Task, score: Evaluation, name: str = "", metric: str = "", step: int = 0
) -> LengthView:
    """A metric, by default the headline, by the length of the source.

    `step` is the number of lengths in a bucket; 0 takes the smallest round number that gives at
    most eight. The last bucket holds all sources longer than 95 % of them.
    """
    metric = metric or task.primary_metric
    if isinstance(task.signature().source, Vectors):
        raise UsageError("U085", "rows of numbers have no length in tokens")
    shown = METRICS[metric]
    scale = 100.0 if shown.percent else 1.0
    lengths = source_lengths(task, score.examples)
    buckets = []
    for first, last, indices in length_buckets(lengths, step or bucket_width(lengths)):
        value = shown.measure([score.tallies[metric][index] for index in indices])
        numbers = (scale * value.value, scale * value.low, scale * value.high)
        buckets.append(LengthBucket(first, last, len(indices), *numbers))
    title = f"{shown.title}, %" if shown.percent else shown.title
    return LengthView([LengthCurve(name, tuple(buckets))], title)


def source_lengths(task: Task, examples: Sequence[Any]) -> list[int]:
    """The length of each source in tokens, or rows of numbers, without the end of sequence."""
    ends = 0 if isinstance(task.signature().source, Vectors) else len(task.encode_end())
    return [len(task.encode_source(example)) - ends for example in examples]


def bucket_width(lengths: Sequence[int]) -> int:
    """The smallest round number of lengths in a bucket that gives at most `MAX_BUCKETS`."""
    high = _high(lengths)
    widths = (10**power * part for power in range(18) for part in ROUND_WIDTHS)
    return next(width for width in widths if high <= MAX_BUCKETS * width)


def length_buckets(lengths: Sequence[int], step: int) -> list[tuple[int, int | None, list[int]]]:
    """The first and the last length of each bucket, and the indices of its examples; none is empty.

    The last length is None in an open last bucket.
    """
    last = math.ceil(_high(lengths) / step) - 1
    buckets: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        buckets.setdefault(min(max(length - 1, 0) // step, last), []).append(index)
    longest = max(lengths)
    return [
        (step * n + 1, None if n == last and longest > step * (n + 1) else step * (n + 1), indices)
        for n, indices in sorted(buckets.items())
    ]


def _high(lengths: Sequence[int]) -> float:
    return max(1.0, float(np.quantile(lengths, 0.95)))


LEFT_OUT = frozenset({"loss"})  # a density of the whole horizon, not of single steps


@dataclass(frozen=True)
class HorizonMetrics:
    """Metrics by forecast horizon, in buckets of steps, and a picture of the headline metric.

    Args:
        buckets: the first and the last step of each.
        values: by metric, one value for each bucket.
        view: the headline metric, with confidence intervals.
    """

    buckets: list[tuple[int, int]]
    values: dict[str, list[float]]
    view: HorizonView

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        steps = [{"first": first, "last": last} for first, last in self.buckets]
        return {"steps": steps, "metrics": self.values, "view": self.view.to_json()}


def by_horizon(task: Task, score: Evaluation, name: str = "", step: int = 0) -> HorizonMetrics:
    """Every metric by forecast horizon; `step` is the number of steps in a bucket, 0 a round one.

    Each forecast is scored as before with all other steps missing, since those are not counted.
    """
    buckets, tallies = tallies_by_horizon(task, score, step)
    ordered = [metric for metric in score.tallies if metric in tallies]
    values = {metric: [value_of(metric, one) for one in tallies[metric]] for metric in ordered}
    return HorizonMetrics(
        buckets, values, _view(task.primary_metric, buckets, tallies[task.primary_metric], name)
    )


def tallies_by_horizon(
    task: Task, score: Evaluation, step: int = 0
) -> tuple[list[tuple[int, int]], dict[str, list[list[Tally]]]]:
    """Buckets of steps, and by metric and bucket the tally of each forecast."""
    if task.form is not Form.FORECAST:
        raise UsageError("U317", "this run does not forecast: it has no horizon")
    buckets = _buckets(max(one.end - one.origin for one in score.examples), step)
    tallies: dict[str, list[list[Tally]]] = {}
    for first, last in buckets:
        scores = [
            task.score(_only(window, first, last), answer.value, 0.0)
            for window, answer in zip(score.examples, score.predictions, strict=True)
            if answer is not None
        ]
        for metric in scores[0].keys() - LEFT_OUT:
            tallies.setdefault(metric, []).append([one[metric] for one in scores])
    return buckets, tallies


def _view(
    metric: str, buckets: Sequence[tuple[int, int]], tallies: Sequence[list[Tally]], name: str
) -> HorizonView:
    shown = METRICS[metric]
    scale = 100.0 if shown.percent else 1.0
    points = []
    for (first, last), of_bucket in zip(buckets, tallies, strict=True):
        value = shown.measure(of_bucket)
        numbers = (scale * value.value, scale * value.low, scale * value.high)
        points.append(LengthBucket(first, last, len(of_bucket), *numbers))
    return HorizonView([LengthCurve(name, tuple(points))], shown.title)


def _buckets(horizon: int, step: int) -> list[tuple[int, int]]:
    width = step or bucket_width(list(range(1, horizon + 1)))
    return [(n, min(n + width - 1, horizon)) for n in range(1, horizon + 1, width)]


def _only(window: ForecastWindow, first: int, last: int) -> ForecastWindow:
    """A window whose actual values are missing except for these steps."""
    values = window.series.values.copy()
    hidden = np.ones(window.end - window.origin, dtype=bool)
    hidden[first - 1 : last] = False
    values[window.origin : window.end][hidden] = np.nan
    return replace(window, series=replace(window.series, values=values))
