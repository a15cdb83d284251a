"""Training-time estimate: extrapolates from a few seconds of trial training on this machine."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

from ..evaluation.evaluate import evaluate, evenly_spaced
from ..inspection.training_snapshots import EXTRA_SECONDS, TIME_FRACTION, SnapshotWriter
from ..model import EMTrained, Model, StatisticsTrained
from ..prediction import Search
from ..recipe import Recipe
from ..runs.splits import read_parts, with_known_labels
from ..runs.train import build_model_and_examples
from ..task import Task
from ..training.checkpoints import save_arrays
from ..training.curriculum import CurriculumExamples
from ..training.learner import Learner, Snapshot, Step
from ..training.loop import Trainer, make_learner
from ..training.options import Training

TRIAL_SECONDS = 2.0
EVALUATION_SECONDS = 0.5
GROWTH = 4  # factor by which the number of timed examples grows
FIRST_FRACTION = 64  # the first timing is on one in so many of the examples
FEW_EXAMPLES = 4  # for an evaluation that is only timed
INSTANT = 1.0
MINUTE, HOUR, TINY = 60, 3600, 1e-9

Bound = Literal["about", "at most", "at least"]


@dataclass(frozen=True)
class Estimate:
    """Estimated seconds of reading the data, training and evaluation."""

    reading: float
    learning: float
    judging: float
    bound: Bound = "about"

    @property
    def seconds(self) -> float:
        """The total."""
        return self.reading + self.learning + self.judging

    def words(self) -> str:
        """The estimate in words: instant, about 40 s, at most about 4 min."""
        if self.seconds < INSTANT:
            return "instant"
        return {"about": "", "at most": "at most ", "at least": "more than "}[self.bound] + (
            f"about {_rounded(self.seconds)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The estimate as JSON."""
        return {"seconds": self.seconds, "words": self.words(), **vars(self)}


@dataclass(frozen=True)
class _Measurement:
    """The result of the trial training: total seconds and number of evaluations."""

    learner: Learner
    seconds: float
    evaluations: float
    is_partial: bool = False  # whether the trial stopped before training ended


def estimate(recipe: Recipe, seconds: float = TRIAL_SECONDS) -> Estimate:
    """Read the data, train for about `seconds`, evaluate a few examples, and extrapolate.

    The total includes all evaluations, with the final one on the test set. Where early stopping or
    convergence of EM may end training sooner, it is an upper bound.
    """
    began = time.monotonic()
    recipe = recipe.checked()
    task, settings = recipe.build_task(), recipe.build_training()
    parts = read_parts(task, recipe.build_data())
    task.prepare(parts.train)
    model, train = build_model_and_examples(recipe, task, parts)
    if _is_closed_form(model) and not task.continuous:
        reading = time.monotonic() - began
        measured = _time_closed_form(model, task, train, settings, seconds)
    else:
        learner = make_learner(model, task, train, settings)
        reading = time.monotonic() - began
        measured = _time_steps(learner, settings, seconds)
        if _is_closed_form(model) and measured.is_partial:  # it has no parameters before the end
            return Estimate(reading, measured.seconds, 0.0, "at least")
    valid = evenly_spaced(task, with_known_labels(task, parts.valid), settings.evaluate_examples)
    test = with_known_labels(task, parts.test)
    each = _seconds_per_example(model, task, valid or test)
    judging = each * (measured.evaluations * len(valid) + len(test))
    if valid:
        overhead = _evaluation_overhead(
            Trainer(model, task, measured.learner, valid[:FEW_EXAMPLES], settings), valid
        )
        judging += overhead.total(measured.evaluations, reading + measured.seconds + judging)
        judging -= each * min(FEW_EXAMPLES, len(valid)) * measured.evaluations  # already included
    return Estimate(reading, measured.seconds, judging, _bound(model, settings))


def _is_closed_form(model: Model) -> bool:
    """Whether a model is trained in closed form, in one pass."""
    return isinstance(model, StatisticsTrained) and not isinstance(model, EMTrained)


def _time_closed_form(
    model: Model, task: Task, train: CurriculumExamples, settings: Training, seconds: float
) -> _Measurement:
    """Time the closed form on more and more of the examples, and extrapolate linearly."""
    count = len(train.examples)
    some = max(1, count // FIRST_FRACTION)
    while True:
        began = time.monotonic()
        learner = make_learner(
            model, task, train._replace(examples=train.examples[:some]), settings
        )
        for _ in learner.steps():
            pass  # the last step computes the parameters
        took = time.monotonic() - began
        if some == count or took * GROWTH > seconds:
            return _Measurement(learner, took * count / some, 1)
        some = min(count, some * GROWTH)


def _time_steps(learner: Learner, settings: Training, seconds: float) -> _Measurement:
    """Take training steps for a while, and extrapolate their speed.

    The first step is left out, as it includes compilation and allocation.
    """
    began, timed = time.monotonic(), list[tuple[float, Step]]()
    for step in learner.steps():
        timed.append((time.monotonic() - began, step))
        if timed[-1][0] > seconds and len(timed) > 1:
            break
    else:
        spent, last = timed[-1]
        return _Measurement(learner, spent, _evaluations(last, 1.0, spent, settings))
    (start, first), (spent, last) = timed[0], timed[-1]
    pace = (last.progress - first.progress) / max(spent - start, TINY)
    if pace <= 0:
        pace = last.progress / spent
    whole = spent + max(0.0, 1 - last.progress) / max(pace, TINY)
    return _Measurement(
        learner, whole, _evaluations(last, last.progress, whole, settings), is_partial=True
    )


def _evaluations(step: Step, progress: float, seconds: float, settings: Training) -> float:
    """The number of evaluations on the validation set before training ends."""
    found = seconds / settings.evaluate_seconds if settings.evaluate_seconds else 0.0
    if settings.evaluate_steps:
        found += step.number / progress / settings.evaluate_steps
    elif not settings.evaluate_seconds:
        found += step.epoch / progress
    return max(1, ceil(found))


def _seconds_per_example(model: Model, task: Task, examples: Sequence[Any]) -> float:
    """Evaluation seconds per example, after a warm-up."""
    some, is_warm = 1, False
    while examples:
        began = time.monotonic()
        evaluate(model, task, examples[:some], Search())
        took = time.monotonic() - began
        if is_warm and (some >= len(examples) or took * GROWTH > EVALUATION_SECONDS):
            return took / min(some, len(examples))
        some, is_warm = some * GROWTH if is_warm else some, True
    return 0.0


@dataclass(frozen=True)
class _EvaluationOverhead:
    """Seconds of an evaluation beside the metrics: samples, checkpoints and snapshot views."""

    each: float
    views: float

    def total(self, evaluations: float, work: float) -> float:
        """Seconds of all evaluations; views take at most a fraction of the total."""
        return self.each * evaluations + min(
            self.views * evaluations, EXTRA_SECONDS + TIME_FRACTION * work
        )


def _evaluation_overhead(trainer: Trainer, valid: Sequence[Any]) -> _EvaluationOverhead:
    """Time two evaluations of a few examples in a temporary folder; the first is a warm-up."""
    with tempfile.TemporaryDirectory() as name:
        about = trainer.model, trainer.task, valid, trainer.settings.probes
        checkpointer = _TemporaryCheckpointer(trainer, SnapshotWriter(Path(name), *about))
        times = []
        for _ in range(2):
            began = time.monotonic()
            for _ in trainer.evaluate(checkpointer):
                pass
            times.append((time.monotonic() - began - checkpointer.views, checkpointer.views))
            if times[0][0] > TRIAL_SECONDS:
                break
    return _EvaluationOverhead(*times[-1])


class _TemporaryCheckpointer:
    """A checkpointer that writes the same files as training, into a temporary folder."""

    def __init__(self, trainer: Trainer, snapshot_writer: SnapshotWriter) -> None:
        self.trainer, self.snapshot_writer, self.views = trainer, snapshot_writer, 0.0

    def save_best(self) -> None:
        save_arrays(self.snapshot_writer.folder.parent / "best", self.trainer.model.weights())

    def save_checkpoint(self, snapshot: Snapshot) -> None:
        save_arrays(self.snapshot_writer.folder.parent / "last", snapshot.arrays, snapshot.facts)

    def mark_checkpoint_good(self) -> None:
        return

    def save_snapshots(self, step: int) -> None:
        began = time.monotonic()
        self.snapshot_writer.save(step)
        self.views = time.monotonic() - began


def _bound(model: Model, settings: Training) -> Bound:
    if settings.curriculum != "none":
        return "at least"  # later levels are harder
    return "at most" if settings.patience or isinstance(model, EMTrained) else "about"


def _rounded(seconds: float) -> str:
    """Seconds rounded to the precision of the estimate."""
    if seconds < 10:
        return f"{round(seconds)} s"
    if seconds < 1.5 * MINUTE:
        return f"{5 * round(seconds / 5)} s"
    if seconds < HOUR:
        return f"{round(seconds / MINUTE)} min"
    hours = seconds / HOUR
    return f"{hours:.1f} h" if hours < 10 else f"{round(hours):,} h"
