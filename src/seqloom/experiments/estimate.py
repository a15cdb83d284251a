"""How long training takes on this machine, from a probe of a few seconds that keeps nothing."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

from ..evaluation.evaluate import evaluate, spread
from ..inspection.training_snapshots import ALLOWANCE, SHARE, Prober
from ..model import LearnsFromStatistics, LearnsInPasses, Model
from ..prediction import Search
from ..recipe import Recipe
from ..runs.splits import read_parts, with_known_labels
from ..runs.train import made
from ..task import Task
from ..training.checkpoints import save_arrays
from ..training.curriculum import Graded
from ..training.learner import Snapshot, Step, Way
from ..training.loop import Learner, way_of
from ..training.options import Training

PROBE_SECONDS = 2.0
JUDGED_SECONDS = 0.5
MORE = 4  # times as many examples are tried while that takes no time worth mentioning
PART = 64  # of the examples are counted to begin with
FEW = 4  # examples for an evaluation that is only timed
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

    way: Way
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
    valid = spread(task, with_known_labels(task, parts.valid), settings.evaluate_examples)
    test = with_known_labels(task, parts.test)
    each = _judged(model, task, valid or test)
    judging = each * (probed.evaluations * len(valid) + len(test))
    if valid:
        beside = _beside(Learner(model, task, probed.way, valid[:FEW], settings), valid)
        judging += beside.whole(probed.evaluations, reading + probed.seconds + judging)
        judging -= each * min(FEW, len(valid)) * probed.evaluations  # they were in it
    return Estimate(reading, probed.seconds, judging, _bound(model, settings))


def _counts(model: Model) -> bool:
    """Whether a model learns by going over its examples once."""
    return isinstance(model, LearnsFromStatistics) and not isinstance(model, LearnsInPasses)


def _counted(
    model: Model, task: Task, train: Graded, settings: Training, seconds: float
) -> _Probed:
    """Count more and more of the examples, until a second or so is spent or none are left."""
    count = len(train.examples)
    some = max(1, count // PART)
    while True:
        began = time.monotonic()
        way = way_of(model, task, train._replace(examples=train.examples[:some]), settings)
        for _ in way.steps():
            pass  # the model is set from its counts at the last step
        took = time.monotonic() - began
        if some == count or took * MORE > seconds:
            return _Probed(way, took * count / some, 1)
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
        return _Probed(way, spent, _evaluations(last, 1.0, spent, settings))
    (start, first), (spent, last) = seen[0], seen[-1]
    pace = (last.progress - first.progress) / max(spent - start, TINY)
    if pace <= 0:
        pace = last.progress / spent
    whole = spent + max(0.0, 1 - last.progress) / max(pace, TINY)
    return _Probed(way, whole, _evaluations(last, last.progress, whole, settings), is_cut=True)


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


@dataclass(frozen=True)
class _Beside:
    """What an evaluation takes beside judging examples: samples, checkpoints, and views."""

    each: float
    views: float

    def whole(self, evaluations: float, work: float) -> float:
        """All evaluations; views may take no more than a share of the work."""
        return self.each * evaluations + min(self.views * evaluations, ALLOWANCE + SHARE * work)


def _beside(learner: Learner, valid: Sequence[Any]) -> _Beside:
    """Two evaluations for a few examples, in a folder that goes again; the first makes ready."""
    with tempfile.TemporaryDirectory() as name:
        about = learner.model, learner.task, valid, learner.settings.probes
        keeper = _Keeper(learner, Prober(Path(name), *about))
        times = []
        for _ in range(2):
            began = time.monotonic()
            for _ in learner.judge(keeper):
                pass
            times.append((time.monotonic() - began - keeper.views, keeper.views))
            if times[0][0] > PROBE_SECONDS:
                break
    return _Beside(*times[-1])


class _Keeper:
    """Keeps everything as training does, where it is soon forgotten."""

    def __init__(self, learner: Learner, prober: Prober) -> None:
        self.learner, self.prober, self.views = learner, prober, 0.0

    def keep_best(self) -> None:
        save_arrays(self.prober.folder.parent / "best", self.learner.model.weights())

    def keep_place(self, snapshot: Snapshot) -> None:
        save_arrays(self.prober.folder.parent / "last", snapshot.arrays, snapshot.facts)

    def keep_good(self) -> None:
        return

    def keep_probes(self, step: int) -> None:
        began = time.monotonic()
        self.prober.keep(step)
        self.views = time.monotonic() - began


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
