"""How good answers are by the length of what was asked: metrics in buckets of examples."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import UsageError
from .forms import Vectors
from .metrics import METRICS, measure
from .task import Task
from .training.evaluation import Evaluation
from .views import LengthBucket, LengthCurve, LengthView

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
