"""How good forecasts are by how far ahead they look: metrics in buckets of steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .by_length import step_for
from .data.origins import Window
from .errors import UsageError
from .forms import Form
from .metrics import METRICS, Tally, measure, value_of
from .task import Task
from .training.evaluation import Evaluation
from .views import HorizonView, LengthBucket, LengthCurve

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
