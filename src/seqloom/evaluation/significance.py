"""Which of several runs is better, and whether chance alone could have made it so."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..metrics import METRICS, Measured, Tally, bootstrap


@dataclass(frozen=True)
class Contender:
    """A run with all that it is compared by."""

    name: str
    settings: Mapping[str, Any]
    measured: Mapping[str, Measured]
    tallies: Mapping[str, list[Tally]]
    places: tuple[Hashable, ...]  # which examples, in order: equal where two runs answered the same
    seconds: float
    learned: int
    bytes: int
    milliseconds: float

    def as_dict(self) -> dict[str, Any]:
        """The numbers for machines."""
        return {
            "name": self.name,
            "n": len(self.places),
            "metrics": {name: vars(value) for name, value in self.measured.items()},
            "training_seconds": self.seconds,
            "learned": self.learned,
            "bytes": self.bytes,
            "milliseconds_per_example": self.milliseconds,
        }


def differences(runs: Sequence[Contender]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """The settings that differ, with each run's value, and those that are the same everywhere."""
    names = list(dict.fromkeys(name for run in runs for name in run.settings))
    values = {name: [run.settings.get(name) for run in runs] for name in names}
    differ = {name: found for name, found in values.items() if found.count(found[0]) < len(found)}
    return differ, {name: found[0] for name, found in values.items() if name not in differ}


def common(runs: Sequence[Contender]) -> list[str]:
    """The metrics that all runs have, the most telling first."""
    return [name for name in runs[0].measured if all(name in run.measured for run in runs)]


def verdict(runs: Sequence[Contender]) -> str:
    """A sentence: which is better by the most telling metric, and how sure that is."""
    name = common(runs)[0]
    sign = 1 if METRICS[name].lower_is_better else -1
    first, second, *_ = sorted(runs, key=lambda run: sign * run.measured[name].value)
    show, better, worse = METRICS[name].show, first.measured[name], second.measured[name]
    if better.value == worse.value:
        return (
            f"{first.name} and {second.name} are equal: {METRICS[name].title} {show(better.value)}."
        )
    told = (
        f"{first.name} is better: {METRICS[name].title} {show(better.value)}"
        f" against {show(worse.value)} of {second.name}"
    )
    overlap = better.low <= worse.high and worse.low <= better.high
    if not overlap:
        return f"{told}; their intervals do not overlap."
    if first.places != second.places:
        return f"{told}; their intervals overlap, so this may be chance."
    return f"{told}; their intervals overlap, {_paired(name, first, second)}."


def difference(name: str, first: Contender, second: Contender) -> bootstrap.Difference:
    """The second's metric minus the first's on the same examples, with its 95 % interval."""
    return bootstrap.difference(first.tallies[name], second.tallies[name], METRICS[name].value)


def beside_first(runs: Sequence[Contender]) -> dict[str, dict[str, bootstrap.Difference]]:
    """Every metric of every other run, minus that of the first; only where both had the same."""
    first, *others = runs
    return {
        other.name: {name: difference(name, first, other) for name in common(runs)}
        for other in others
        if other.places == first.places
    }


def sentence(name: str, first: str, second: str, found: bootstrap.Difference) -> str:
    """Which of two runs is better by a metric, by how much, or that it could be chance."""
    metric = METRICS[name]
    if found.value == 0:
        return f"{metric.title}: {first} and {second} are equal"
    if metric.aim is not None:  # neither is better by more or by less
        more = "more" if found.value > 0 else "less"
        by = f"{_amount(name, abs(found.value))} points {more}"
        return f"{metric.title}: {second} has {by} than {first}; {metric.show(metric.aim)} is right"
    is_second = (found.value < 0) == metric.lower_is_better
    better, worse = (second, first) if is_second else (first, second)
    if math.isinf(found.value):
        perhaps = "" if found.is_certain else ", which could be chance"
        return f"{metric.title}: {better} is better than {worse} without bound{perhaps}"
    ends = [found.low, found.high] if found.value > 0 else [-found.high, -found.low]
    low, high = (_amount(name, end + 0.0) for end in ends)  # no zero has a sign
    by = f"by {_amount(name, abs(found.value))}{' points' if metric.percent else ''}"
    interval = f"95 % {low} to {high}"
    if found.is_certain:
        return f"{metric.title}: {better} is better than {worse} {by}, {interval}"
    return f"{metric.title}: the difference could be chance: {better} is ahead {by}, {interval}"


def _amount(name: str, value: float) -> str:
    """A difference in points, or in the metric's own measure."""
    metric = METRICS[name]
    if math.isinf(value):
        return "without bound"
    if metric.percent:
        return f"{100 * value:.2f}"
    return f"{value:.3g}" if metric.decimals is None else f"{value:.{metric.decimals}f}"


def _paired(name: str, first: Contender, second: Contender) -> str:
    """What remains of a difference when both are asked the same."""
    if not difference(name, first, second).is_certain:
        return "and example by example the difference may be chance"
    return "but example by example the difference is more than chance (95 %)"
