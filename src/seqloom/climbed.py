"""What came of a ladder: every rung's numbers, and what each one bought over those below it."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .metrics import METRICS, Measured, Tally
from .metrics.paired import difference
from .training.checkpoints import load_arrays
from .views import LadderView, RungPoint

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
            "rungs": [rung.as_dict() for rung in self.rungs],
            "best": best.name if best else None,
            "sentences": self.sentences(),
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


def _amount(metric: str, value: float) -> str:
    """0.31 bits per character; 2.4 points of accuracy."""
    shown = METRICS[metric]
    if math.isinf(value):
        return f"{shown.title} without bound"
    if shown.percent:
        return f"{100 * value:.2g} points of {shown.title}"
    return f"{value:.2f} {shown.title}" if value >= 0.095 else f"{value:.2g} {shown.title}"
