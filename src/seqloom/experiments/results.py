"""What came of a ladder: every rung's numbers, and what each one bought over those below it.

What came of folds and repeats: the numbers of every run, and their means.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..metrics import METRICS, Measured, Metric, Tally
from ..metrics.bootstrap import Mean, difference, mean_of
from ..training.checkpoints import load_arrays
from ..views import LadderView, RungPoint

RESULT = "judged.safetensors"  # in the folder of a run, once it was judged on its test part


@dataclass(frozen=True)
class Climbed:
    """A rung that was trained and judged on the test part."""

    name: str
    folder: Path
    measured: dict[str, Measured]
    tallies: dict[str, list[Tally]] = field(repr=False)
    examples: int
    seconds: float  # of training
    wall: float  # of everything
    memory: int  # the most that its process held, in bytes
    learned: int
    bytes: int
    symbols_per_second: float  # read while it was judged
    curve: list[tuple[float, float]]  # seconds of training, and the metric on validation
    left_out: int = 0  # test examples whose labels training never showed

    def as_dict(self) -> dict[str, Any]:
        """The numbers for machines."""
        found = {key: value for key, value in vars(self).items() if key != "tallies"}
        measured = {name: vars(value) for name, value in self.measured.items()}
        return {**found, "folder": str(self.folder), "measured": measured}


def read_climbed(folder: Path) -> Climbed | None:
    """What is known of a rung; None where it is not done."""
    if not (folder / RESULT).exists():
        return None
    kept = load_arrays(folder / RESULT)
    facts = dict(kept.facts)
    measured = {name: Measured(**value) for name, value in facts.pop("measured").items()}
    tallies = {name: [*map(tuple, array.tolist())] for name, array in kept.arrays.items()}
    curve = [(float(x), float(y)) for x, y in facts.pop("curve")]
    ordered = {name: tallies[name] for name in measured}
    return Climbed(folder.name, folder, measured, ordered, curve=curve, **facts)


@dataclass(frozen=True)
class Climb:
    """A ladder as far as it was climbed; the rungs are in order, from simple to large."""

    folder: Path
    task: str
    metric: str  # the headline of the task
    budget: float
    rungs: list[Climbed]
    failed: dict[str, list[str]]  # the rungs that could not be trained, and what they said
    left: list[str]  # the rungs that are not done
    notes: list[str]
    is_stopped: bool = False
    against: str = ""  # the rung that others are measured by
    simple: list[str] = field(default_factory=list)  # the rungs that must be beaten to be worth it
    beside: dict[str, str] = field(default_factory=dict)  # metrics that are shown, with headings

    def best(self) -> Climbed | None:
        """The best rung by the headline."""
        sign = 1 if METRICS[self.metric].lower_is_better else -1
        return min(self.rungs, key=lambda one: sign * one.measured[self.metric].value, default=None)

    def sentences(self) -> list[str]:
        """What each rung bought over the best of those below it."""
        sign = 1 if METRICS[self.metric].lower_is_better else -1
        told = []
        for place, rung in enumerate(self.rungs[1:], start=1):
            below = self.rungs[:place]
            other = min(below, key=lambda one: sign * one.measured[self.metric].value)
            told.append(bought(self.metric, rung, other, other is not below[-1]))
        return told

    def skill(self, rung: Climbed) -> float | None:
        """How much better a rung is than the one others are measured by, as a share.

        1 - v / v₀ of a metric v of which less is better, v₀ being that of the other: 0 is no
        better, 1 without any error, and below 0 it is worse. None where there is nothing to say.
        """
        other = self._yardstick()
        if other is None or not other.measured[self.metric].value:
            return None
        ratio = rung.measured[self.metric].value / other.measured[self.metric].value
        return 1 - ratio if METRICS[self.metric].lower_is_better else ratio - 1

    def verdict(self) -> str:
        """Whether any model is better than the simple ones, said plainly."""
        best, simple = self.best(), [rung for rung in self.rungs if rung.name in self.simple]
        if best is None or not simple or len(simple) == len(self.rungs):
            return ""
        if best in simple:
            return f"{best.name} wins: no model is better than this simple forecast."
        metric = METRICS[self.metric]
        sign = 1 if metric.lower_is_better else -1
        other = min(simple, key=lambda one: sign * one.measured[self.metric].value)
        amount = _share(metric, best.measured[self.metric], other.measured[self.metric])
        found = difference(other.tallies[self.metric], best.tallies[self.metric], metric.value)
        if found.is_certain:
            return f"{best.name} is the best: {amount} than {other.name}, the best simple forecast."
        return f"{other.name} is not beaten for certain: {amount} of {best.name} may be chance."

    def _yardstick(self) -> Climbed | None:
        """The rung that others are measured by, if it was climbed."""
        return next((rung for rung in self.rungs if rung.name == self.against), None)

    def view(self) -> LadderView:
        """A picture: the headline against seconds of training."""
        points = [
            RungPoint(
                rung.name,
                rung.seconds,
                rung.measured[self.metric].value,
                rung.measured[self.metric].low,
                rung.measured[self.metric].high,
                tuple(rung.curve),
            )
            for rung in self.rungs
        ]
        metric = METRICS[self.metric]
        return LadderView(points, metric.title, metric.lower_is_better, self.folder.name)

    def as_dict(self) -> dict[str, Any]:
        """Everything for machines."""
        best = self.best()
        return {
            "ladder": self.folder.name,
            "folder": str(self.folder),
            "task": self.task,
            "metric": self.metric,
            "seconds": self.budget,
            "examples": self.rungs[0].examples if self.rungs else 0,
            "rungs": [rung.as_dict() | {"skill": self.skill(rung)} for rung in self.rungs],
            "against": self.against,
            "best": best.name if best else None,
            "sentences": self.sentences(),
            "verdict": self.verdict(),
            "failed": self.failed,
            "left": self.left,
            "notes": self.notes,
            "stopped": self.is_stopped,
        }


def bought(metric: str, rung: Climbed, other: Climbed, is_further: bool = False) -> str:
    """A sentence: what a rung is better or worse by, or that chance alone may have made it so."""
    found = difference(other.tallies[metric], rung.tallies[metric], METRICS[metric].value)
    lower = METRICS[metric].lower_is_better
    amount = _amount(metric, abs(found.value))
    below = f"{other.name} (the best below it)" if is_further else other.name
    if not found.is_certain:
        return f"{rung.name} buys nothing certain over {below}: {amount} may be chance."
    if (found.value < 0) == lower:
        return f"{rung.name} {'saves' if lower else 'adds'} {amount} over {below}."
    return f"{rung.name} is worse than {below} by {amount}."


def _share(metric: Metric, one: Measured, other: Measured) -> str:
    """26 % less MASE."""
    change = one.value / other.value - 1 if other.value else math.inf
    return f"{abs(100 * change):.3g} % {'less' if change < 0 else 'more'} {metric.title}"


def _amount(metric: str, value: float) -> str:
    """0.31 bits per character; 2.4 points of accuracy."""
    shown = METRICS[metric]
    if math.isinf(value):
        return f"{shown.title} without bound"
    if shown.percent:
        return f"{100 * value:.2g} points of {shown.title}"
    return f"{value:.2f} {shown.title}" if value >= 0.095 else f"{value:.2g} {shown.title}"


@dataclass(frozen=True)
class Folded:
    """Runs of one recipe that differ in what was held out, or in where chance began."""

    folder: Path
    task: str
    model: str
    metric: str  # the headline of the task
    folds: int  # 0 where nothing was folded
    repeat: int
    runs: list[Climbed]
    shared: float  # the size of what is held out over that of what is learned from
    failed: dict[str, list[str]]  # the runs that could not be trained, and what they said
    left: list[str]  # the runs that are not done
    is_stopped: bool = False

    def means(self) -> dict[str, Mean]:
        """Each metric over the runs that are done, the most telling first."""
        names = self.runs[0].measured if self.runs else {}
        return {name: self._mean(name) for name in names}

    def sentence(self) -> str:
        """The headline in words."""
        title, found = METRICS[self.metric].title, self._mean(self.metric)
        show, count = METRICS[self.metric].show, len(self.runs)
        told = f"{title} {show(found.value)}, the mean of {count} runs"
        if not found.low <= found.high:
            return f"{title} {show(found.value)}: one run has no interval."
        return f"{told}; 95 % {show(found.low)} to {show(found.high)}."

    def notes(self) -> list[str]:
        """What a fair reader must know."""
        count = sum(run.left_out for run in self.runs)
        told = f"{count:,} held-out examples were not judged: training never showed their labels"
        return [told] * bool(count)

    def as_dict(self) -> dict[str, Any]:
        """Everything for machines."""
        return {
            "name": self.folder.name,
            "folder": str(self.folder),
            "task": self.task,
            "model": self.model,
            "metric": self.metric,
            "folds": self.folds,
            "repeat": self.repeat,
            "runs": [run.as_dict() for run in self.runs],
            "mean": {name: _plain(mean) for name, mean in self.means().items()},
            "failed": self.failed,
            "left": self.left,
            "notes": self.notes(),
            "stopped": self.is_stopped,
        }

    def _mean(self, name: str) -> Mean:
        found = mean_of([run.measured[name].value for run in self.runs], self.shared)
        if not METRICS[name].percent or math.isnan(found.low):
            return found
        low, high = max(0.0, found.low), min(1.0, found.high)  # no share lies beyond
        return Mean(found.value, low, high, found.deviation)


def _plain(mean: Mean) -> dict[str, float | None]:
    """As JSON can hold it: what is not there is null."""
    return {name: value if math.isfinite(value) else None for name, value in vars(mean).items()}
