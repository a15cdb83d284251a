"""How good answers are by the length of what was asked: metrics in buckets of examples.

How good forecasts are by how far ahead they look: metrics in buckets of steps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.series.windows import Window
from ..errors import UsageError
from ..metrics import METRICS, Tally, measure, value_of
from ..signature import Form, Vectors
from ..task import Task
from ..views import HorizonView, LengthBucket, LengthCurve, LengthView
from .evaluate import Evaluation

MOST = 8  # buckets
STEPS = (1, 2, 5)  # times powers of ten: how many lengths are one bucket


def by_length(
    task: Task, score: Evaluation, name: str = "", metric: str = "", step: int = 0
) -> LengthView:
    """A metric, the headline unless another is named, for sources of every length.

    `step` is how many lengths make a bucket; left out, as few as give no more than eight. The last
    bucket holds all that are longer than 95 % of the sources.
    """
    metric = metric or task.headline
    if isinstance(task.signature().source, Vectors):
        raise UsageError("U085", "rows of numbers have no length in symbols to be sorted by")
    shown = METRICS[metric]
    scale = 100.0 if shown.percent else 1.0
    lengths = lengths_of(task, score.examples)
    found = []
    for first, last, places in buckets_of(lengths, step or step_for(lengths)):
        value = measure([score.tallies[metric][place] for place in places], shown.value)
        numbers = (scale * value.value, scale * value.low, scale * value.high)
        found.append(LengthBucket(first, last, len(places), *numbers))
    title = f"{shown.title}, %" if shown.percent else shown.title
    return LengthView([LengthCurve(name, tuple(found))], title)


def lengths_of(task: Task, examples: Sequence[Any]) -> list[int]:
    """How many symbols, or rows of numbers, each source has, without its end."""
    ends = 0 if isinstance(task.signature().source, Vectors) else len(task.ask_end())
    return [len(task.ask(example)) - ends for example in examples]


def step_for(lengths: Sequence[int]) -> int:
    """A round number of lengths for each bucket, so that most examples lie in a few of them."""
    high = _high(lengths)
    found = (10**power * part for power in range(18) for part in STEPS)
    return next(step for step in found if high <= MOST * step)


def buckets_of(lengths: Sequence[int], step: int) -> list[tuple[int, int | None, list[int]]]:
    """The first and the last length of each, and the places of its examples; none is empty."""
    last = math.ceil(_high(lengths) / step) - 1
    places: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        places.setdefault(min(max(length - 1, 0) // step, last), []).append(place)
    longest = max(lengths)
    return [
        (step * n + 1, None if n == last and longest > step * (n + 1) else step * (n + 1), found)
        for n, found in sorted(places.items())
    ]


def _high(lengths: Sequence[int]) -> float:
    return max(1.0, float(np.quantile(lengths, 0.95)))


LEFT_OUT = frozenset({"loss"})  # of the whole future at once


@dataclass(frozen=True)
class ByHorizon:
    """Steps ahead in buckets: every metric of each, and the picture of the most telling one.

    Args:
        buckets: the first and the last step of each.
        values: by the name of the metric, one for each bucket.
        view: the most telling metric, with intervals.
    """

    buckets: list[tuple[int, int]]
    values: dict[str, list[float]]
    view: HorizonView

    def as_dict(self) -> dict[str, Any]:
        """The same for programs."""
        steps = [{"first": first, "last": last} for first, last in self.buckets]
        return {"steps": steps, "metrics": self.values, "view": self.view.to_json()}


def by_horizon(task: Task, score: Evaluation, name: str = "", step: int = 0) -> ByHorizon:
    """Every metric for steps ahead; `step` is how many make a bucket, left out: a round number.

    Each forecast is judged as before, by those steps alone: what is missing is not counted.
    """
    buckets, tallies = tallies_by_steps(task, score, step)
    ordered = [metric for metric in score.tallies if metric in tallies]
    values = {metric: [value_of(metric, found) for found in tallies[metric]] for metric in ordered}
    return ByHorizon(buckets, values, _view(task.headline, buckets, tallies[task.headline], name))


def tallies_by_steps(
    task: Task, score: Evaluation, step: int = 0
) -> tuple[list[tuple[int, int]], dict[str, list[list[Tally]]]]:
    """Buckets of steps ahead, and of every metric what each forecast adds in each of them."""
    if task.form is not Form.FORECAST:
        raise UsageError("U317", "this run does not forecast: its answers lie no steps ahead")
    buckets = _buckets(max(one.end - one.cut for one in score.examples), step)
    tallies: dict[str, list[list[Tally]]] = {}
    for first, last in buckets:
        judged = [
            task.judge(_only(window, first, last), answer.value, 0.0)
            for window, answer in zip(score.examples, score.answers, strict=True)
            if answer is not None
        ]
        for metric in judged[0].keys() - LEFT_OUT:
            tallies.setdefault(metric, []).append([one[metric] for one in judged])
    return buckets, tallies


def _view(
    metric: str, buckets: Sequence[tuple[int, int]], tallies: Sequence[list[Tally]], name: str
) -> HorizonView:
    shown = METRICS[metric]
    scale = 100.0 if shown.percent else 1.0
    found = []
    for (first, last), counted in zip(buckets, tallies, strict=True):
        value = measure(counted, shown.value)
        numbers = (scale * value.value, scale * value.low, scale * value.high)
        found.append(LengthBucket(first, last, len(counted), *numbers))
    return HorizonView([LengthCurve(name, tuple(found))], shown.title)


def _buckets(horizon: int, step: int) -> list[tuple[int, int]]:
    width = step or step_for(list(range(1, horizon + 1)))
    return [(n, min(n + width - 1, horizon)) for n in range(1, horizon + 1, width)]


def _only(window: Window, first: int, last: int) -> Window:
    """A window of whose future only some steps are known."""
    values = window.series.values.copy()
    hidden = np.ones(window.end - window.cut, dtype=bool)
    hidden[first - 1 : last] = False
    values[window.cut : window.end][hidden] = np.nan
    return replace(window, series=replace(window.series, values=values))
