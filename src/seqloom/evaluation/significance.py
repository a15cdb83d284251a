"""Statistical significance: comparison of runs by paired bootstrap on the same examples."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..metrics import METRICS, MetricValue, Tally, bootstrap


@dataclass(frozen=True)
class ComparedRun:
    """A run with its settings, metrics, size and speed, for a comparison."""

    name: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, MetricValue]
    tallies: Mapping[str, list[Tally]]
    example_ids: tuple[Hashable, ...]  # ids of its examples, equal where runs had the same ones
    seconds: float
    num_parameters: int
    bytes: int
    milliseconds: float

    def as_dict(self) -> dict[str, Any]:
        """The numbers for JSON."""
        return {
            "name": self.name,
            "n": len(self.example_ids),
            "metrics": {name: vars(value) for name, value in self.metrics.items()},
            "training_seconds": self.seconds,
            "learned": self.num_parameters,
            "bytes": self.bytes,
            "milliseconds_per_example": self.milliseconds,
        }


def settings_diff(runs: Sequence[ComparedRun]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The settings that differ, with each run's value, and those that are equal everywhere."""
    names = list(dict.fromkeys(name for run in runs for name in run.settings))
    values = {name: [run.settings.get(name) for run in runs] for name in names}
    differ = {name: each for name, each in values.items() if each.count(each[0]) < len(each)}
    return differ, {name: each[0] for name, each in values.items() if name not in differ}


def common_metrics(runs: Sequence[ComparedRun]) -> list[str]:
    """The metrics that all runs have, the headline first."""
    return [name for name in runs[0].metrics if all(name in run.metrics for run in runs)]


def verdict(runs: Sequence[ComparedRun]) -> str:
    """A sentence on which run is better by the headline metric, and whether it is significant."""
    name = common_metrics(runs)[0]
    sign = 1 if METRICS[name].lower_is_better else -1
    first, second, *_ = sorted(runs, key=lambda run: sign * run.metrics[name].value)
    show, better, worse = METRICS[name].show, first.metrics[name], second.metrics[name]
    if better.value == worse.value:
        return (
            f"{first.name} and {second.name} are equal: {METRICS[name].title} {show(better.value)}."
        )
    claim = (
        f"{first.name} is better: {METRICS[name].title} {show(better.value)}"
        f" against {show(worse.value)} of {second.name}"
    )
    overlap = better.low <= worse.high and worse.low <= better.high
    if not overlap:
        return f"{claim}; their intervals do not overlap."
    if first.example_ids != second.example_ids:
        return f"{claim}; their intervals overlap, so this may be chance."
    return f"{claim}; their intervals overlap, {_paired(name, first, second)}."


def difference(name: str, first: ComparedRun, second: ComparedRun) -> bootstrap.Difference:
    """The second's metric minus the first's, by paired bootstrap, with its 95 % interval."""
    return bootstrap.paired_difference(
        first.tallies[name], second.tallies[name], METRICS[name].value
    )


def differences_to_first(runs: Sequence[ComparedRun]) -> dict[str, dict[str, bootstrap.Difference]]:
    """Every metric of every other run minus that of the first, where both had the same examples."""
    first, *others = runs
    return {
        other.name: {name: difference(name, first, other) for name in common_metrics(runs)}
        for other in others
        if other.example_ids == first.example_ids
    }


def describe_difference(name: str, first: str, second: str, result: bootstrap.Difference) -> str:
    """A sentence on which of two runs is better by a metric, by how much, and how surely."""
    metric = METRICS[name]
    if result.value == 0:
        return f"{metric.title}: {first} and {second} are equal"
    if metric.aim is not None:  # neither is better by more or by less
        more = "more" if result.value > 0 else "less"
        by = f"{_amount(name, abs(result.value))} points {more}"
        return f"{metric.title}: {second} has {by} than {first}; {metric.show(metric.aim)} is right"
    is_second = (result.value < 0) == metric.lower_is_better
    better, worse = (second, first) if is_second else (first, second)
    if math.isinf(result.value):
        perhaps = "" if result.is_significant else ", which could be chance"
        return f"{metric.title}: {better} is infinitely better than {worse}{perhaps}"
    ends = [result.low, result.high] if result.value > 0 else [-result.high, -result.low]
    low, high = (_amount(name, end + 0.0) for end in ends)  # no zero has a sign
    by = f"by {_amount(name, abs(result.value))}{' points' if metric.percent else ''}"
    interval = f"95 % {low} to {high}"
    if result.is_significant:
        return f"{metric.title}: {better} is better than {worse} {by}, {interval}"
    return f"{metric.title}: the difference could be chance: {better} is ahead {by}, {interval}"


def _amount(name: str, value: float) -> str:
    """A difference in percentage points, or in the metric's own unit."""
    metric = METRICS[name]
    if math.isinf(value):
        return "infinite"
    if metric.percent:
        return f"{100 * value:.2f}"
    return f"{value:.3g}" if metric.decimals is None else f"{value:.{metric.decimals}f}"


def _paired(name: str, first: ComparedRun, second: ComparedRun) -> str:
    """What the paired bootstrap says where intervals overlap."""
    if not difference(name, first, second).is_significant:
        return "and example by example the difference may be chance"
    return "but example by example the difference is more than chance (95 %)"
