"""The training loop: steps, evaluation, early stopping and checkpoints, whatever the learner."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..batch import Item
from ..data.loading.batching import BucketLoader, DataLoader, digest_of
from ..data.loading.bptt import BPTTLoader
from ..data.loading.curriculum import CurriculumLoader, CurriculumSchedule
from ..data.loading.lazy import lazy_map
from ..data.loading.windows import WindowLoader
from ..errors import ModelError, TrainingError, UsageError
from ..evaluation.evaluate import evaluate, evenly_spaced, require_stateful
from ..metrics import METRICS
from ..model import (
    EMTrained,
    GradientTrained,
    LookBackWindow,
    Model,
    Search,
    SegmentLoss,
    StatisticsTrained,
    UnknownTokens,
)
from ..signature import Form, Series
from ..task import Task
from .closed_form import ClosedForm
from .curriculum import CurriculumExamples
from .em import EM
from .events import Event
from .learner import Learner, Snapshot, Step
from .options import Training
from .samples import sample_continuations
from .stopwatch import seconds_of

SAMPLES = 4
SEGMENT = 64  # tokens of a continuous text that a step reads in each stream
AVERAGE_SECONDS = 1.0
TRAINING_PER_EVALUATION = 2  # in seconds: timed evaluations take a third of all time at most


@runtime_checkable
class Checkpointer(Protocol):
    """Saves the weights, checkpoints and snapshots that training makes."""

    def save_best(self) -> None:
        """Save the weights: they are the best so far."""

    def save_checkpoint(self, snapshot: Snapshot) -> None:
        """Save a checkpoint, from which training can be resumed."""

    def mark_checkpoint_good(self) -> None:
        """The checkpoint just saved is plausible: go back to it if training diverges."""

    def save_snapshots(self, step: int) -> None:
        """Save activations of a few validation examples, with the weights that are evaluated."""


@dataclass
class TrainerState:
    """The state of training beside the learner's own; its fields are keys of checkpoints."""

    step: int = 0
    epoch: float = 0.0
    symbols: int = 0
    seconds: float = 0.0
    best: list[float] | None = None  # the metrics in order, negated where higher is better
    best_step: int = 0
    since_best: int = 0
    evaluated_step: int = 0
    judged_by: str = ""  # the metric and the examples that `best` was measured by
    owes: bool = False  # whether training was stopped before an evaluation that was due


def make_learner(
    model: Model, task: Task, train: CurriculumExamples, settings: Training
) -> Learner:
    """The learner of a model: EM, closed form or gradient descent, as the model is trained."""
    encoded = lazy_map(task.encode, train.examples)
    if isinstance(model, EMTrained):
        return EM(model, encoded, settings, continuous=task.continuous)
    if isinstance(model, StatisticsTrained):
        return ClosedForm(model, encoded, settings, continuous=task.continuous)
    if not isinstance(model, GradientTrained):
        raise _learns_nothing(model)
    items = list(encoded)
    if isinstance(model, UnknownTokens):
        model.find_singletons([item.source for item in items])
    gradient = import_module(
        ".gradient_descent", __package__
    )  # torch is imported only where it is needed
    batches: DataLoader
    if task.continuous:
        shape = _segment_shape(model, sum(len(item.target) for item in items), settings)
        batches = BPTTLoader(items, *shape, settings.seed, require_stateful(model).in_order)
    elif isinstance(model, LookBackWindow) and isinstance(space := model.signature.target, Series):
        shape = model.look_back, space.horizon
        batches = WindowLoader(items, *shape, batch_size=settings.batch_size, seed=settings.seed)
    else:
        batches = _batches(items, train, settings)
    learner: Learner = gradient.GradientDescent(model, batches, settings)
    return learner


def _segment_shape(model: Model, tokens: int, settings: Training) -> tuple[int, int]:
    """Rows and length of the segments of a continuous text.

    Longer segments are in fewer rows, with as many tokens in a batch; so are those of a short text.
    """
    wanted = model.segment_length if isinstance(model, SegmentLoss) else 0
    if settings.bptt or not wanted:
        return settings.batch_size, settings.bptt or SEGMENT
    length = max(1, min(wanted, tokens))
    rows = min(settings.batch_size * SEGMENT, tokens) // length
    return max(1, rows), length


def _batches(items: list[Item], train: CurriculumExamples, settings: Training) -> BucketLoader:
    """All examples in every epoch, or from easy ones to hard ones."""
    shape = settings.batch_size, settings.batch_tokens, settings.seed
    if settings.curriculum == "none":
        return BucketLoader(items, *shape)
    plan = CurriculumSchedule(settings.curriculum, settings.curriculum_share)
    return CurriculumLoader(items, *shape, train.levels, plan)


def fit(
    trainer: "Trainer", checkpointer: Checkpointer, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Event]:
    """Train to the end, yielding events; stops after the step where `should_stop` is true."""
    averages, saved = _StepAverages(), time.monotonic()
    yield from trainer.pending_evaluation(checkpointer)
    steps = _Timed(trainer.learner.steps())
    while not trainer.out_of_patience() and (step := next(steps, None)) is not None:
        trainer.record_step(step)
        averages.add(step, steps.seconds)
        if step.warning:
            yield Event("warn", step.number, step.warning)
        stopping, is_due = should_stop(), trainer.evaluation_is_due(step)
        evaluating, trainer.standing.owes = is_due and not stopping, is_due
        if averages.is_due() or stopping or evaluating:
            yield averages.event()
        if evaluating:
            yield from trainer.evaluate(checkpointer)
        if stopping or time.monotonic() - saved > trainer.settings.save_seconds:
            yield trainer.save_checkpoint(checkpointer)
            saved = time.monotonic()
        if stopping:
            yield Event("end", step.number, {"reason": "stopped"})
            return
    if averages.has_any():
        yield averages.event()
    yield from trainer.finish(checkpointer)


class Trainer:
    """Evaluates, early-stops and checkpoints a model that a learner trains."""

    def __init__(
        self, model: Model, task: Task, learner: Learner, valid: Sequence[Any], settings: Training
    ) -> None:
        self.model, self.task, self.learner, self.settings = model, task, learner, settings
        self.valid = evenly_spaced(task, valid, settings.evaluate_examples)
        self.standing = TrainerState(judged_by=self._judged_by())
        self._resumable = replace(self.standing)  # as it was at the last step that is kept
        self._is_within = False  # a pass that begins again when it is resumed
        self._has_warned = False  # that a metric is no number
        self._stepped_at, self._evaluation_seconds = time.monotonic(), 0.0
        self._evaluated_at = seconds_of(settings.clock)

    def record_step(self, step: Step) -> None:
        """Count a step that was taken."""
        self.standing.step, self.standing.epoch = step.number, step.epoch
        self.standing.symbols += step.tokens
        now = time.monotonic()
        self.standing.seconds += now - self._stepped_at
        self._stepped_at = now
        self._is_within = not self.learner.is_resumable(step)
        self._keep_standing()

    def evaluation_is_due(self, step: Step) -> bool:
        """Whether to evaluate after this step."""
        settings = self.settings
        if settings.evaluate_seconds:
            often = max(
                settings.evaluate_seconds, TRAINING_PER_EVALUATION * self._evaluation_seconds
            )
            if seconds_of(settings.clock) - self._evaluated_at >= often:
                return True
        if settings.evaluate_steps:
            return step.number % settings.evaluate_steps == 0
        since = step.number - self.standing.evaluated_step
        is_late = since >= self.learner.evaluation_interval
        return step.ends_epoch and is_late and not settings.evaluate_seconds

    def evaluate(self, checkpointer: Checkpointer) -> Iterator[Event]:
        """Evaluate, save the weights if they are the best so far, and write a checkpoint."""
        began = seconds_of(self.settings.clock)
        with self.learner.evaluation_weights():
            found = evaluate(self.model, self.task, self.valid, Search())
            if self.learner.can_diverge and found.has_diverged:
                raise self._diverged()
            values = found.values()
            rank = self._rank(values)
            is_best = _is_better(rank, self.standing.best or [])
            if is_best:
                checkpointer.save_best()
            samples = self._samples(found.examples, found.predictions)
            checkpointer.save_snapshots(self.standing.step)
        self._evaluated_at = seconds_of(self.settings.clock)
        self._evaluation_seconds = self._evaluated_at - began
        standing = self.standing
        standing.evaluated_step, standing.owes = standing.step, False
        if is_best:
            standing.best, standing.best_step, standing.since_best = rank, standing.step, 0
        elif self.learner.at_target_level:
            standing.since_best += 1
            self.learner.on_no_improvement()
        yield Event("eval", standing.step, {**values, "epoch": standing.epoch, "best": is_best})
        if warning := self._undefined(values):
            yield Event("warn", standing.step, warning)
        if samples:
            yield Event("sample", standing.step, {"samples": samples})
        self._keep_standing()
        saved = self.save_checkpoint(checkpointer)
        checkpointer.mark_checkpoint_good()
        yield saved

    def save_checkpoint(self, checkpointer: Checkpointer) -> Event:
        """Write a checkpoint; the event has the step from which training would be resumed."""
        snapshot = self.snapshot()
        checkpointer.save_checkpoint(snapshot)
        return Event("checkpoint", snapshot.facts["standing"]["step"])

    def _rank(self, values: dict[str, float]) -> list[float]:
        """The metrics, the monitored one first, negated where higher is better."""
        first = self.settings.monitor
        if first and values and first not in values:
            raise UsageError(
                "U014",
                f"[training] monitor = {first!r}: the task does not measure that",
                help=[f"it measures: {', '.join(values)}"],
            )
        names = sorted(values, key=lambda name: name != first)  # the others in their order
        return [METRICS[name].rank(values[name]) for name in names]

    def notes(self) -> list[str]:
        """What the user should know before training."""
        return [*self._notes_on_segments(), *self._notes_on_validation()]

    def _notes_on_segments(self) -> list[str]:
        """That a Transformer is judged at positions that it is not trained on."""
        wanted = self.model.segment_length if isinstance(self.model, SegmentLoss) else 0
        if not self.task.continuous or not 0 < self.settings.bptt < wanted:
            return []
        return [
            f"the model attends to {wanted} tokens and is trained on {self.settings.bptt} at a"
            " time: of later positions it learns nothing (--set training.bptt=0 trains on all)"
        ]

    def _notes_on_validation(self) -> list[str]:
        if self.valid:
            return []
        settings, idle = self.settings, []
        idle += ["training.patience"] * (settings.patience > 0)
        idle += ["training.schedule = plateau"] * (settings.schedule == "plateau")
        without = f"; without effect: {', '.join(idle)}" if idle else ""
        return [f"no validation examples to judge by: the last weights are kept{without}"]

    def _undefined(self, values: dict[str, float]) -> dict[str, Any]:
        """The warning that the metric which selects the best weights is not a number."""
        ranked = sorted(values, key=lambda name: name != self.settings.monitor)
        if self._has_warned or not ranked or not math.isnan(values[ranked[0]]):
            return {}
        self._has_warned = True
        defined = [name for name in ranked if not math.isnan(values[name])]
        instead = (
            f"{defined[0]} selects the best weights" if defined else "the last weights are kept"
        )
        if math.isfinite((self.standing.best or [math.nan])[0]):
            instead = "this evaluation is no better than those before"
        return {
            "code": "T132",
            "problem": f"{ranked[0]} is not defined on the validation examples: {instead}",
            "help": [f"--set training.monitor={defined[0]}"] if defined else [],
        }

    def pending_evaluation(self, checkpointer: Checkpointer) -> Iterator[Event]:
        """The evaluation that was due when training was stopped."""
        if self.standing.owes:
            yield from self.evaluate(checkpointer)

    def out_of_patience(self) -> bool:
        """Early stopping: whether `patience` evaluations brought no improvement."""
        standing, (evaluations, steps) = self.standing, self.settings.early_stopping()
        has_waited = standing.evaluated_step - standing.best_step >= steps
        return 0 < evaluations <= standing.since_best and has_waited

    def finish(self, checkpointer: Checkpointer) -> Iterator[Event]:
        """Evaluate once more where the last step was not evaluated, and end."""
        standing = self.standing
        if standing.evaluated_step != standing.step:
            yield from self.evaluate(checkpointer)
        elif self.settings.max_time:  # it may have ended after the last checkpoint
            yield self.save_checkpoint(checkpointer)
        reason = "no improvement" if self.out_of_patience() else "finished"
        facts = {"reason": reason, "best_step": standing.best_step, "seconds": standing.seconds}
        facts["size"] = self.model.num_parameters()
        yield Event("end", standing.step, facts)

    def snapshot(self) -> Snapshot:
        """The learner's state with that of the trainer beside it.

        Within a pass that begins again when it is resumed, it is that before the pass.
        """
        taken = self.learner.snapshot()
        standing = self._resumable if self._is_within else self.standing
        return Snapshot(taken.arrays, {**taken.facts, "standing": dict(vars(standing))})

    def restore(self, snapshot: Snapshot) -> list[str]:
        """Go back to a snapshot; notes on what does not fit and begins anew."""
        notes = self.learner.restore(snapshot)
        before, judged_by = TrainerState(**snapshot.facts["standing"]), self.standing.judged_by
        self.standing = replace(before, judged_by=judged_by)
        if before.best is not None and before.judged_by not in ("", judged_by):
            self.standing.best, self.standing.since_best = None, 0
            notes.append(
                "the best weights are chosen anew:"
                " another metric or other validation examples judge them"
            )
        if self.out_of_patience():
            notes.append(
                f"it had stopped early, after {self.standing.since_best} evaluations without"
                " improvement: --set training.patience=0 goes on"
            )
        self._keep_standing()
        return notes

    def _keep_standing(self) -> None:
        if not self._is_within:
            self._resumable = replace(self.standing)

    def _judged_by(self) -> str:
        """A digest of the metric and the validation examples that select the best weights."""
        hashes = [self.task.hashes(example) for example in self.valid]
        return digest_of(np.frombuffer(self.settings.monitor.encode(), np.uint8), *hashes)

    def _samples(self, examples: list[Any], answers: list[Any]) -> list[dict[str, str]]:
        """Predictions for the same few validation examples each time, to see them improve."""
        if self.task.form is Form.NEXT:
            return sample_continuations(self.model, self.task, examples)
        stride = max(1, len(examples) // SAMPLES)
        chosen = list(zip(examples, answers, strict=True))[stride // 2 :: stride][:SAMPLES]
        return [
            {"question": self.task.show_question(e), "answer": self.task.show(a.value)}
            for e, a in chosen
        ]

    def _diverged(self) -> TrainingError:
        rate = f"--set training.learning_rate={self.settings.learning_rate / 10:g}"
        return TrainingError(
            "T130",
            f"the validation loss is beyond all bounds at step {self.standing.step}",
            notes=["Most likely the learning rate is too high. The last good checkpoint is kept."],
            help=[f"{rate} --set training.max_grad_norm=1.0"],
        )


def _is_better(rank: list[float], best: list[float]) -> bool:
    """Whether metrics are better than the best; where nothing is defined, the last weights are."""
    new, old = ([math.inf if math.isnan(value) else value for value in one] for one in (rank, best))
    return new < old or not any(map(math.isfinite, old))


def _learns_nothing(model: Model) -> ModelError:
    """For a model that is made of trained models."""
    return ModelError(
        "M174",
        f"a {type(model).__name__.lower()} is made of trained runs, and learns nothing itself",
        help=["train its parts further, then make it again:  seqloom mix RUN RUN"],
    )


class _Timed:
    """Steps with the seconds that the last one took, without what came between, as evaluations."""

    def __init__(self, steps: Iterator[Step]) -> None:
        self._steps, self.seconds = steps, 0.0

    def __iter__(self) -> "_Timed":
        return self

    def __next__(self) -> Step:
        began = time.monotonic()
        try:
            return next(self._steps)
        finally:
            self.seconds = time.monotonic() - began


class _StepAverages:
    """Means of the training metrics over a second or so: steps come too often to report each."""

    def __init__(self) -> None:
        self._clear()

    def add(self, step: Step, seconds: float) -> None:
        self._newest = step
        self._seconds += seconds
        self._tokens += step.tokens
        self._steps += 1
        for name, value in step.values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def has_any(self) -> bool:
        return self._steps > 0

    def is_due(self) -> bool:
        return time.monotonic() - self._since >= AVERAGE_SECONDS

    def event(self) -> Event:
        step = self._newest
        values: dict[str, Any] = {name: total / self._steps for name, total in self._sums.items()}
        values |= {"epoch": step.epoch, "progress": step.progress}
        values["symbols_per_second"] = self._tokens / max(1e-9, self._seconds)
        values["symbols"] = self._tokens
        values |= step.level
        self._clear()
        return Event("train", step.number, values)

    def _clear(self) -> None:
        self._since, self._seconds = time.monotonic(), 0.0
        self._tokens, self._steps = 0, 0
        self._sums: dict[str, float] = {}
