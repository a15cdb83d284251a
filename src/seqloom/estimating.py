"""How long training takes on this machine, from a probe of a few seconds that keeps nothing."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

from .fitting import made
from .model import LearnsFromStatistics, LearnsInPasses, Model
from .parts import read_parts, with_known_labels
from .recipe import Recipe
from .search import Search
from .task import Task
from .training.evaluation import evaluate
from .training.grading import Graded
from .training.learning import way_of
from .training.settings import Training
from .training.way import Step, Way

PROBE_SECONDS = 2.0
JUDGED_SECONDS = 0.5
MORE = 4  # times as many examples are tried while that takes no time worth mentioning
SHARE = 64  # of the examples, to begin with
INSTANT = 1.0
MINUTE, HOUR, TINY = 60, 3600, 1e-9

Bound = Literal["about", "at most", "at least"]


@dataclass(frozen=True)
class Estimate:
    """How long a training would take, and what of it goes where; all in seconds."""

    reading: float
    learning: float
    judging: float
    bound: Bound = "about"

    @property
    def seconds(self) -> float:
        """From the first line read to the last figure."""
        return self.reading + self.learning + self.judging

    def words(self) -> str:
        """As people say it: instant, about 40 s, at most about 4 min."""
        if self.seconds < INSTANT:
            return "instant"
        return {"about": "", "at most": "at most ", "at least": "more than "}[self.bound] + (
            f"about {_rounded(self.seconds)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"seconds": self.seconds, "words": self.words(), **vars(self)}


@dataclass(frozen=True)
class _Probed:
    """What the probe saw of learning: how long all of it takes, and how often it is judged."""

    seconds: float
    evaluations: float
    is_cut: bool = False  # whether the probe ended before learning did


def estimate(recipe: Recipe, seconds: float = PROBE_SECONDS) -> Estimate:
    """Read the data, learn for about so long, judge a few examples, and say what all would take.

    Evaluations are counted, and the last one on the test part. Where patience may end training, or
    passes that gain too little, it is the most it takes.
    """
    began = time.monotonic()
    recipe = recipe.checked()
    task, settings = recipe.build_task(), recipe.build_training()
    parts = read_parts(task, recipe.build_data())
    task.prepare(parts.train)
    model, train = made(recipe, task, parts)
    if _counts(model) and not task.continuous:
        reading = time.monotonic() - began
        probed = _counted(model, task, train, settings, seconds)
    else:
        way = way_of(model, task, train, settings)
        reading = time.monotonic() - began
        probed = _stepped(way, settings, seconds)
        if _counts(model) and probed.is_cut:  # it is set from its counts at the end
            return Estimate(reading, probed.seconds, 0.0, "at least")
    valid = with_known_labels(task, parts.valid)[: settings.evaluate_examples]
    test = with_known_labels(task, parts.test)
    each = _judged(model, task, valid or test)
    judging = each * (probed.evaluations * len(valid) + len(test))
    return Estimate(reading, probed.seconds, judging, _bound(model, settings))


def _counts(model: Model) -> bool:
    """Whether a model learns by going over its examples once."""
    return isinstance(model, LearnsFromStatistics) and not isinstance(model, LearnsInPasses)


def _counted(
    model: Model, task: Task, train: Graded, settings: Training, seconds: float
) -> _Probed:
    """Count more and more of the examples, until a second or so is spent or none are left."""
    count = len(train.examples)
    some = max(1, count // SHARE)
    while True:
        began = time.monotonic()
        fewer = train._replace(examples=train.examples[:some])
        for _ in way_of(model, task, fewer, settings).steps():
            pass  # the model is set from its counts at the last step
        took = time.monotonic() - began
        if some == count or took * MORE > seconds:
            return _Probed(took * count / some, 1)
        some = min(count, some * MORE)


def _stepped(way: Way, settings: Training, seconds: float) -> _Probed:
    """Take steps for a while, and go on at their pace.

    The first one tells less of it than the others, as much is made ready in it.
    """
    began, seen = time.monotonic(), list[tuple[float, Step]]()
    for step in way.steps():
        seen.append((time.monotonic() - began, step))
        if seen[-1][0] > seconds and len(seen) > 1:
            break
    else:
        spent, last = seen[-1]
        return _Probed(spent, _evaluations(last, 1.0, spent, settings))
    (start, first), (spent, last) = seen[0], seen[-1]
    pace = (last.progress - first.progress) / max(spent - start, TINY)
    if pace <= 0:
        pace = last.progress / spent
    whole = spent + max(0.0, 1 - last.progress) / max(pace, TINY)
    return _Probed(whole, _evaluations(last, last.progress, whole, settings), is_cut=True)


def _evaluations(step: Step, progress: float, seconds: float, settings: Training) -> float:
    """How often the model is judged on the validation part before training ends."""
    found = seconds / settings.evaluate_seconds if settings.evaluate_seconds else 0.0
    if settings.evaluate_steps:
        found += step.number / progress / settings.evaluate_steps
    elif not settings.evaluate_seconds:
        found += step.epoch / progress
    return max(1, ceil(found))


def _judged(model: Model, task: Task, examples: Sequence[Any]) -> float:
    """Seconds for one example, from few or more of them; the very first only makes ready."""
    some, is_ready = 1, False
    while examples:
        began = time.monotonic()
        evaluate(model, task, examples[:some], Search())
        took = time.monotonic() - began
        if is_ready and (some >= len(examples) or took * MORE > JUDGED_SECONDS):
            return took / min(some, len(examples))
        some, is_ready = some * MORE if is_ready else some, True
    return 0.0


def _bound(model: Model, settings: Training) -> Bound:
    if settings.curriculum != "none":
        return "at least"  # what comes later is harder
    return "at most" if settings.patience or isinstance(model, LearnsInPasses) else "about"


def _rounded(seconds: float) -> str:
    """No more figures than a probe can know."""
    if seconds < 10:
        return f"{round(seconds)} s"
    if seconds < 1.5 * MINUTE:
        return f"{5 * round(seconds / 5)} s"
    if seconds < HOUR:
        return f"{round(seconds / MINUTE)} min"
    hours = seconds / HOUR
    return f"{hours:.1f} h" if hours < 10 else f"{round(hours):,} h"
