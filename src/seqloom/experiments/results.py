"""Results of ladders and cross-validations: metrics, resource usage, means and verdicts.

`RunResult` holds the test results of one run, `LadderResult` those of a ladder with the gain of
each rung, `CrossValidationResult` those of folds or repeats with their means.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..metrics import METRICS, Difference, Metric, MetricValue, Tally, holm
from ..metrics.intervals import MIN_EXAMPLES, Mean, mean_with_interval
from ..training.checkpoints import load_arrays
from ..views import LadderView, RungPoint

RESULT = "judged.safetensors"  # in the folder of a run, once it is evaluated


@dataclass(frozen=True)
class RunResult:
    """Test metrics, times and sizes of a run of a ladder or cross-validation."""

    name: str
    folder: Path
    measured: dict[str, MetricValue]
    tallies: dict[str, list[Tally]] = field(repr=False)
    examples: int
    seconds: float  # of training
    wall: float  # of everything
    memory: int  # peak memory of its process, in bytes
    learned: int
    bytes: int
    symbols_per_second: float  # during evaluation
    curve: list[tuple[float, float]]  # seconds of training and the validation metric
    left_out: int = 0  # test examples with labels that are not in training

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON."""
        found = {key: value for key, value in vars(self).items() if key != "tallies"}
        measured = {name: vars(value) for name, value in self.measured.items()}
        return {**found, "folder": str(self.folder), "measured": measured}


def read_result(folder: Path) -> RunResult | None:
    """The saved result of a run; None if it is not done."""
    if not (folder / RESULT).exists():
        return None
    kept = load_arrays(folder / RESULT)
    facts = dict(kept.facts)
    measured = {name: MetricValue(**value) for name, value in facts.pop("measured").items()}
    tallies = {name: [*map(tuple, array.tolist())] for name, array in kept.arrays.items()}
    curve = [(float(x), float(y)) for x, y in facts.pop("curve")]
    ordered = {name: tallies[name] for name in measured}
    return RunResult(folder.name, folder, measured, ordered, curve=curve, **facts)


@dataclass(frozen=True)
class LadderResult:
    """Results of a ladder so far; the rungs are in order, from simple to large."""

    folder: Path
    task: str
    metric: str  # the primary metric of the task
    budget: float
    rungs: list[RunResult]
    failed: dict[str, list[str]]  # failed rungs, with the end of their logs
    left: list[str]  # unfinished rungs
    notes: list[str]
    is_stopped: bool = False
    against: str = ""  # the reference rung of the skill score
    simple: list[str] = field(default_factory=list)  # the baseline rungs
    beside: dict[str, str] = field(default_factory=dict)  # additional metrics and their headings

    def best(self) -> RunResult | None:
        """The best rung by the primary metric."""
        sign = 1 if METRICS[self.metric].lower_is_better else -1
        return min(self.rungs, key=lambda one: sign * one.measured[self.metric].value, default=None)

    def sentences(self) -> list[str]:
        """The gain of each rung over the best of those below it, as sentences."""
        return [
            describe_gain(self.metric, rung, other, test, other is not self.rungs[place])
            for place, ((rung, other), test) in enumerate(
                zip(self._pairs(), self._tests(), strict=True)
            )
        ]

    def _pairs(self) -> list[tuple[RunResult, RunResult]]:
        """Each rung but the first, with the best of those below it."""
        rank = METRICS[self.metric].rank
        return [
            (rung, min(self.rungs[:place], key=lambda one: rank(one.measured[self.metric].value)))
            for place, rung in enumerate(self.rungs[1:], start=1)
        ]

    def _tests(self) -> list[Difference]:
        """The differences of those pairs, with p-values adjusted for their number."""
        return holm([gain(self.metric, *pair) for pair in self._pairs()])

    def skill(self, rung: RunResult) -> float | None:
        """Skill score of a rung relative to the reference rung.

        1 - v / v₀ for a metric v where lower is better and the reference's v₀: 0 is no better than
        the reference, 1 is perfect, below 0 is worse. None without a reference.
        """
        other = self._reference()
        if other is None or not other.measured[self.metric].value:
            return None
        ratio = rung.measured[self.metric].value / other.measured[self.metric].value
        return 1 - ratio if METRICS[self.metric].lower_is_better else ratio - 1

    def verdict(self) -> str:
        """Whether any model is significantly better than the baselines."""
        best, simple = self.best(), [rung for rung in self.rungs if rung.name in self.simple]
        if best is None or not simple or len(simple) == len(self.rungs):
            return ""
        if best in simple:
            return f"{best.name} wins: no model is better than this simple forecast."
        metric = METRICS[self.metric]
        sign = 1 if metric.lower_is_better else -1
        other = min(simple, key=lambda one: sign * one.measured[self.metric].value)
        amount = _share(metric, best.measured[self.metric], other.measured[self.metric])
        if gain(self.metric, best, other).is_significant:
            return f"{best.name} is the best: {amount} than {other.name}, the best simple forecast."
        return f"{best.name} is not significantly better than {other.name}: {amount} may be chance."

    def _reference(self) -> RunResult | None:
        """The reference rung, if it is done."""
        return next((rung for rung in self.rungs if rung.name == self.against), None)

    def view(self) -> LadderView:
        """A plot of the primary metric against seconds of training."""
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
        """The results as JSON."""
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


def gain(metric: str, rung: RunResult, other: RunResult) -> Difference:
    """The metric of a rung minus that of another, on the same examples."""
    return METRICS[metric].difference(other.tallies[metric], rung.tallies[metric])


def describe_gain(
    metric: str, rung: RunResult, other: RunResult, found: Difference, is_further: bool = False
) -> str:
    """The difference between two rungs as a sentence."""
    lower = METRICS[metric].lower_is_better
    amount = _amount(metric, abs(found.value))
    below = f"{other.name} (the best below it)" if is_further else other.name
    if found.examples < MIN_EXAMPLES:
        few = "1 example is" if found.examples == 1 else f"{found.examples} examples are"
        return f"{rung.name} and {below} differ by {amount}: {few} too few to say more."
    if not found.is_significant:
        return f"{rung.name} does not differ significantly from {below}: {amount} may be chance."
    if (found.value < 0) == lower:
        return f"{rung.name} {'saves' if lower else 'adds'} {amount} over {below}."
    return f"{rung.name} is worse than {below} by {amount}."


def _share(metric: Metric, one: MetricValue, other: MetricValue) -> str:
    """A relative difference in words: 26 % less MASE."""
    change = one.value / other.value - 1 if other.value else math.inf
    return f"{abs(100 * change):.3g} % {'less' if change < 0 else 'more'} {metric.title}"


def _amount(metric: str, value: float) -> str:
    """An absolute difference in words: 0.31 bits per character; 2.4 points of accuracy."""
    shown = METRICS[metric]
    if math.isinf(value):
        return f"{shown.title} without bound"
    if shown.percent:
        return f"{100 * value:.2g} points of {shown.title}"
    return f"{value:.2f} {shown.title}" if value >= 0.095 else f"{value:.2g} {shown.title}"


@dataclass(frozen=True)
class CrossValidationResult:
    """Results of one recipe over folds or random seeds."""

    folder: Path
    task: str
    model: str
    metric: str  # the primary metric of the task
    folds: int  # 0 without folds
    repeat: int
    runs: list[RunResult]
    shared: float  # ratio of test to training examples
    failed: dict[str, list[str]]  # failed runs, with the end of their logs
    left: list[str]  # unfinished runs
    is_stopped: bool = False
    about_data: list[str] = field(default_factory=list)  # notes on the folds

    def means(self) -> dict[str, Mean]:
        """The mean of each metric over the finished runs, the primary metric first."""
        names = self.runs[0].measured if self.runs else {}
        return {name: self._mean(name) for name in names}

    def sentence(self) -> str:
        """The mean of the primary metric with its interval, as a sentence."""
        title, found = METRICS[self.metric].title, self._mean(self.metric)
        show, count = METRICS[self.metric].show, len(self.runs)
        text = f"{title} {show(found.value)}, the mean of {count} runs"
        if not found.low <= found.high:
            return f"{title} {show(found.value)}: one run has no interval."
        return f"{text}; 95 % {show(found.low)} to {show(found.high)}."

    def notes(self) -> list[str]:
        """Caveats."""
        count = sum(run.left_out for run in self.runs)
        note = f"{count:,} test examples were left out: their labels are not in the training data"
        return self.about_data + [note] * bool(count)

    def as_dict(self) -> dict[str, Any]:
        """The results as JSON."""
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
        found = mean_with_interval([run.measured[name].value for run in self.runs], self.shared)
        if not METRICS[name].percent or math.isnan(found.low):
            return found
        low, high = max(0.0, found.low), min(1.0, found.high)  # the range of a fraction
        return Mean(found.value, low, high, found.deviation)


def _plain(mean: Mean) -> dict[str, float | None]:
    """A mean as JSON; NaN and infinity become null."""
    return {name: value if math.isfinite(value) else None for name, value in vars(mean).items()}
