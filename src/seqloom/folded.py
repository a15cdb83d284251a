"""What came of folds and repeats: the numbers of every run, and their means."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .climbed import Climbed
from .metrics import METRICS
from .metrics.several import Mean, mean_of


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
