"""Curriculum levels (Bengio et al., 2009): training examples from easy to hard."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from ..errors import TrainingError
from ..model import Model, StatisticsTrained
from ..signature import Form
from ..task import Task
from .options import Training

LEVELS = 8  # of examples that differ in difficulty by themselves


class CurriculumExamples(NamedTuple):
    """All training examples, and the indices of those in each level; the last is the target."""

    examples: Sequence[Any]
    levels: list[Int[np.ndarray, " _"]]


def assign_levels(
    model: Model,
    task: Task,
    train: Sequence[Any],
    easier: Sequence[Sequence[Any]],
    settings: Training,
) -> CurriculumExamples:
    """Assign training examples to levels of difficulty.

    Where the task makes easier ones, those of each level are a level; else, the k-th of n levels
    are all examples that are no harder than the k-th n-th of them, so that the last one is all.
    """
    if settings.curriculum == "none":
        return CurriculumExamples(train, [np.arange(len(train))])
    if isinstance(model, StatisticsTrained):
        raise TrainingError(
            "T151",
            f"a curriculum needs gradient descent; {type(model).__name__} is trained by"
            f" {model.learns}",
            help=["--set training.curriculum=none"],
        )
    if easier:
        ends = np.cumsum([0, *map(len, easier), len(train)])
        examples = [example for level in (*easier, train) for example in level]
        spans = zip(ends, ends[1:], strict=False)
        return CurriculumExamples(
            examples, [np.arange(*span) for span in spans if span[0] < span[1]]
        )
    found = [task.difficulty(example) for example in train]
    hard = np.array([0 if one is None else one for one in found])
    limits = np.unique(np.quantile(hard, np.arange(1, LEVELS + 1) / LEVELS, method="higher"))
    if len(limits) < 2:
        raise _all_alike(task)
    return CurriculumExamples(train, [np.flatnonzero(hard <= limit) for limit in limits])


def _all_alike(task: Task) -> TrainingError:
    what = "a continuous text has no examples" if task.continuous else "all are equally hard"
    if task.form is Form.FORECAST:
        what = "time series are trained on windows of the same length"
    return TrainingError(
        "T150",
        f"a curriculum needs easy and hard examples; here {what}",
        help=[
            "--set training.curriculum=none",
            "among the tasks that make their examples, addition, programs, dates, reversal and"
            " parity have easy ones and hard ones",
        ],
    )
