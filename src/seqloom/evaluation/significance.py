"""Statistical significance: comparison of runs by randomization tests on the same examples."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..metrics import METRICS, Difference, MetricValue, Tally, holm
from ..metrics.intervals import MIN_EXAMPLES


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


@dataclass(frozen=True)
class PairedTests:
    """Every paired difference that a comparison speaks of; p-values are adjusted for their number.

    Args:
        to_first: by run and metric, that of each other run minus the first, where both had the
            same examples.
        best: that of the best two runs by the headline metric; None if they had different examples.
        number: how many tests there are.
    """

    to_first: Mapping[str, Mapping[str, Difference]]
    best: Difference | None
    number: int


def paired_tests(runs: Sequence[ComparedRun]) -> PairedTests:
    """All tests of a comparison, with Holm's correction for their number."""
    metrics, (better, worse) = common_metrics(runs), _best_two(runs)
    places = {id(run): place for place, run in enumerate(runs)}
    one, other = sorted((places[id(better)], places[id(worse)]))
    top = (metrics[0], one, other)
    pairs = [(name, 0, other) for other in range(1, len(runs)) for name in metrics]
    pairs += [top] if top not in pairs else []
    shared = [one for one in pairs if runs[one[1]].example_ids == runs[one[2]].example_ids]
    found = [difference(name, runs[one], runs[other]) for name, one, other in shared]
    tests = dict(zip(shared, holm(found), strict=True))
    to_first: dict[str, dict[str, Difference]] = {}
    for (name, one, other), test in tests.items():
        if one == 0:
            to_first.setdefault(runs[other].name, {})[name] = test
    return PairedTests(to_first, tests.get(top), len(tests))


def _best_two(runs: Sequence[ComparedRun]) -> tuple[ComparedRun, ComparedRun]:
    """The best and the second best run by the headline metric."""
    name = common_metrics(runs)[0]
    first, second, *_ = sorted(runs, key=lambda run: METRICS[name].rank(run.metrics[name].value))
    return first, second


def verdict(runs: Sequence[ComparedRun], tests: PairedTests) -> str:
    """A sentence on which run is better by the headline metric, and whether it is significant."""
    name, (first, second) = common_metrics(runs)[0], _best_two(runs)
    show, better, worse = METRICS[name].show, first.metrics[name], second.metrics[name]
    if better.value == worse.value:
        return (
            f"{first.name} and {second.name} are equal: {METRICS[name].title} {show(better.value)}."
        )
    claim = (
        f"{first.name} is better: {METRICS[name].title} {show(better.value)}"
        f" against {show(worse.value)} of {second.name}"
    )
    return f"{claim}; {_how_sure(tests.best)}."


def _how_sure(test: Difference | None) -> str:
    """Whether the difference of two runs is more than chance."""
    if test is None:
        return "they had different examples, so this says little about the models"
    if test.examples < MIN_EXAMPLES:
        return f"{_examples(test.examples)} too few to say whether that is chance"
    if test.is_significant:
        return f"example by example the difference is more than chance ({_p(test)})"
    return f"example by example the difference may be chance ({_p(test)})"


def _examples(count: int) -> str:
    return "1 example is" if count == 1 else f"{count:,} examples are"


def _p(test: Difference) -> str:
    return "p < 0.001" if test.p < 0.001 else f"p = {test.p:.2g}"


def difference(name: str, first: ComparedRun, second: ComparedRun) -> Difference:
    """The second's metric minus the first's, on the same examples, with its 95 % interval."""
    return METRICS[name].difference(first.tallies[name], second.tallies[name])


def describe_difference(name: str, first: str, second: str, result: Difference) -> str:
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
    by = f"by {_amount(name, abs(result.value))}{' points' if metric.percent else ''}"
    if result.examples < MIN_EXAMPLES:
        ahead = f"{metric.title}: {better} is ahead {by}"
        return f"{ahead}, but {_examples(result.examples)} too few to say whether that is chance"
    if result.is_significant:
        return f"{metric.title}: {better} is better than {worse} {by}{_interval(name, result)}"
    chance = f"{metric.title}: the difference could be chance"
    return f"{chance}: {better} is ahead {by}{_interval(name, result)}"


def _interval(name: str, result: Difference) -> str:
    """The interval of an amount by which one is better; empty if there is none."""
    if not result.has_interval:
        return ""
    ends = [result.low, result.high] if result.value > 0 else [-result.high, -result.low]
    low, high = (_amount(name, end + 0.0) for end in ends)  # no zero has a sign
    return f", 95 % {low} to {high}"


def _amount(name: str, value: float) -> str:
    """A difference in percentage points, or in the metric's own unit."""
    metric = METRICS[name]
    if math.isinf(value):
        return "infinite"
    if metric.percent:
        return f"{100 * value:.2f}"
    return f"{value:.3g}" if metric.decimals is None else f"{value:.{metric.decimals}f}"
