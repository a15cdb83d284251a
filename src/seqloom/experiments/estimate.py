"""Training-time estimate: extrapolates from a few seconds of trial training on this machine."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from ..signature import Form
from ..task import Task
from ..training.checkpoints import save_arrays
from ..training.curriculum import CurriculumExamples
from ..training.learner import Learner, Snapshot, Step
from ..training.loop import TRAINING_PER_EVALUATION, Trainer, make_learner
from ..training.options import Training

TRIAL_SECONDS = 2.0
EVALUATION_SECONDS = 0.5
WARM_STEPS = 3  # not timed: they compile and allocate
WARM_SHARE = 0.5  # of the seconds of the trial: at most so long
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
class _Trial:
    """What the trial says of the whole training, without a limit of time."""

    learner: Learner
    seconds: float  # of all steps
    steps: float
    epochs: float
    is_partial: bool = False  # whether the trial stopped before training ended

    def evaluations(self, learning: float, settings: Training, each: float) -> float:
        """How many evaluations there are in so many seconds of learning, if one takes `each`."""
        share = learning / max(self.seconds, TINY)
        found = 0.0
        if settings.evaluate_seconds:
            found += learning / max(settings.evaluate_seconds, TRAINING_PER_EVALUATION * each)
        if settings.evaluate_steps:
            found += share * self.steps / settings.evaluate_steps
        elif not settings.evaluate_seconds:
            in_epoch = self.steps / max(self.epochs, TINY)
            every = max(1, ceil(self.learner.evaluation_interval / max(in_epoch, TINY)))
            found += share * self.epochs / every
        return found


@dataclass(frozen=True)
class _Cost:
    """Seconds of some work by its size: linear, through the timings of two sizes."""

    size: int
    seconds: float
    each: float  # of one more

    @classmethod
    def of(cls, timings: Sequence[tuple[int, float]]) -> "_Cost":
        """From timings of growing sizes; what is the same for every size counts once."""
        size, seconds = timings[-1]
        each = seconds / size
        if len(timings) > 1:
            before, less = timings[-2]
            each = min(each, max(0.0, seconds - less) / (size - before))
        return cls(size, seconds, each)

    def at(self, size: int) -> float:
        """Seconds of that much work."""
        return max(0.0, self.seconds + self.each * (size - self.size)) if size else 0.0


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
    unlimited = replace(settings, max_time="")  # the trial tells the pace of the steps alone
    if _is_closed_form(model) and not task.continuous:
        reading = time.monotonic() - began
        trial = _time_closed_form(model, task, train, unlimited, seconds)
    else:
        learner = make_learner(model, task, train, unlimited)
        reading = time.monotonic() - began
        trial = _time_steps(learner, seconds)
        if _is_closed_form(model) and trial.is_partial:  # it has no parameters before the end
            return Estimate(reading, trial.seconds, 0.0, "at least")
    valid = evenly_spaced(task, with_known_labels(task, parts.valid), settings.evaluate_examples)
    test = with_known_labels(task, parts.test)
    cost = _time_evaluation(model, task, valid or test)
    overhead = _NO_OVERHEAD
    if valid:
        trainer = Trainer(model, task, trial.learner, valid[:FEW_EXAMPLES], settings)
        overhead = _evaluation_overhead(trainer, valid)
    learning, judging = _training_seconds(trial, settings, cost.at(len(valid)), overhead)
    evaluations = trial.evaluations(learning, settings, cost.at(len(valid)) + overhead.each)
    bound = _bound(model, settings, evaluations)
    return Estimate(reading, learning, judging + cost.at(len(test)), bound)


def _training_seconds(
    trial: _Trial, settings: Training, metrics: float, overhead: "_EvaluationOverhead"
) -> tuple[float, float]:
    """Seconds of learning and of all evaluations in training, within the limit of time.

    On the clock evaluations are within the limit, but for the last; of the processor they are not.
    """
    limit, each = settings.seconds(), metrics + overhead.each
    learning = trial.seconds if settings.clock == "wall" else min(trial.seconds, limit)
    evaluations = max(1, ceil(trial.evaluations(learning, settings, each)))
    judging = evaluations * each
    judging += overhead.views_of(evaluations, learning + judging)
    whole = learning + judging
    if settings.clock == "wall" and whole > limit:
        last = each + overhead.views
        return learning * limit / whole, judging * limit / whole + last
    return learning, judging


def _is_closed_form(model: Model) -> bool:
    """Whether a model is trained in closed form, in one pass."""
    return isinstance(model, StatisticsTrained) and not isinstance(model, EMTrained)


def _time_closed_form(
    model: Model, task: Task, train: CurriculumExamples, settings: Training, seconds: float
) -> _Trial:
    """Time the closed form on more and more of the examples, after a warm-up, and extrapolate."""
    count, timings = len(train.examples), list[tuple[int, float]]()
    some, is_warm = max(1, count // FIRST_FRACTION), False
    while True:
        began = time.monotonic()
        some_examples = train._replace(examples=train.examples[:some])
        learner = make_learner(model, task, some_examples, settings)
        steps = sum(1 for _ in learner.steps())  # the last step computes the parameters
        took = time.monotonic() - began
        if is_warm or some == count:
            timings.append((some, took))
            if some == count or took * GROWTH > seconds:
                whole = _Cost.of(timings).at(count)
                return _Trial(learner, whole, steps * count / some, 1.0)
            some = min(count, some * GROWTH)
        is_warm = True


def _time_steps(learner: Learner, seconds: float) -> _Trial:
    """Take training steps for a while, and extrapolate the pace of those after the warm-up."""
    began, timed = time.monotonic(), list[tuple[float, Step]]()
    start, warm = began, 0
    for step in learner.steps():
        now = time.monotonic()
        timed.append((now, step))
        if warm < WARM_STEPS and start - began < WARM_SHARE * seconds:
            start, warm = now, warm + 1
        elif now - start > seconds:
            break
    else:
        spent, last = timed[-1][0] - began, timed[-1][1]
        return _Trial(learner, spent, last.number, last.epoch)
    before, last = timed[warm - 1][1].progress, timed[-1][1]
    spent = timed[-1][0] - began
    pace = (last.progress - before) / max(timed[-1][0] - start, TINY)
    whole = spent + max(0.0, 1 - last.progress) / max(pace, TINY)
    steps, epochs = last.number / last.progress, last.epoch / last.progress
    return _Trial(learner, whole, steps, epochs, is_partial=True)


def _time_evaluation(model: Model, task: Task, examples: Sequence[Any]) -> _Cost:
    """Time evaluations of more and more examples, after a warm-up.

    A model that has hardly learned seldom ends an output. Later it does, so that the longest
    reference is the limit here.
    """
    if not examples:
        return _Cost(0, 0.0, 0.0)
    search = _search_of(task, examples)
    timings: list[tuple[int, float]] = []
    evaluate(model, task, examples[:1], search)
    some = 1
    while True:
        chosen = evenly_spaced(task, examples, some)
        began = time.monotonic()
        evaluate(model, task, chosen, search)
        timings.append((len(chosen), time.monotonic() - began))
        is_enough = len(timings) > 1 and timings[-1][1] * GROWTH > EVALUATION_SECONDS
        if some >= len(examples) or is_enough or timings[-1][1] > TRIAL_SECONDS:
            return _Cost.of(timings)
        some = min(len(examples), some * GROWTH)


def _search_of(task: Task, examples: Sequence[Any]) -> Search:
    """A search whose outputs are as long as those of a trained model."""
    if task.form is not Form.TRANSDUCE:
        return Search()
    return Search(limit=max(len(task.encode(example).target) for example in examples))


@dataclass(frozen=True)
class _EvaluationOverhead:
    """Seconds of an evaluation beside the metrics: samples, checkpoints and snapshot views."""

    each: float
    views: float

    def views_of(self, evaluations: float, work: float) -> float:
        """Seconds of the views of all evaluations, which take at most a fraction of the total."""
        return min(self.views * evaluations, EXTRA_SECONDS + TIME_FRACTION * work)


def _evaluation_overhead(trainer: Trainer, valid: Sequence[Any]) -> _EvaluationOverhead:
    """Time an evaluation of a few examples in a temporary folder, after a warm-up."""
    with tempfile.TemporaryDirectory() as name:
        about = trainer.model, trainer.task, valid, trainer.settings.probes
        checkpointer = _TemporaryCheckpointer(trainer, SnapshotWriter(Path(name), *about))
        for _ in range(2):
            began = time.monotonic()
            for _ in trainer.evaluate(checkpointer):
                pass
            took = time.monotonic() - began
            if took > TRIAL_SECONDS:
                break
    began = time.monotonic()
    evaluate(trainer.model, trainer.task, trainer.valid, Search())
    metrics = time.monotonic() - began
    return _EvaluationOverhead(max(0.0, took - checkpointer.views - metrics), checkpointer.views)


_NO_OVERHEAD = _EvaluationOverhead(0.0, 0.0)


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


def _bound(model: Model, settings: Training, evaluations: float) -> Bound:
    if settings.curriculum != "none":
        return "at least"  # later levels are harder
    may_stop_early = 0 < settings.early_stopping()[0] < evaluations
    return "at most" if may_stop_early or isinstance(model, EMTrained) else "about"


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
