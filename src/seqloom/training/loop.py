"""The loop: whichever way a model learns, it is judged, kept and stopped the same way."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from ..batch import Item
from ..data.loading.batching import Batches, Course
from ..data.loading.bptt import Windows
from ..data.loading.curriculum import Lessons, Plan
from ..data.loading.lazy import each
from ..data.loading.windows import Pieces
from ..errors import ModelError, TrainingError, UsageError
from ..evaluation.evaluate import carrying, evaluate, spread
from ..metrics import METRICS
from ..model import LearnsByGradient, LearnsFromStatistics, LearnsInPasses, LooksBack, Model, Search
from ..signature import Form, Series
from ..task import Task
from .closed_form import Counting
from .curriculum import Graded
from .em import Expectation
from .events import Event
from .learner import Snapshot, Step, Way
from .options import Training, worked
from .samples import continued

SAMPLES = 4
NEWS_SECONDS = 1.0
LEARNING_PER_JUDGING = 2  # seconds: evaluations by the clock take a third of all time at most


@runtime_checkable
class Keeper(Protocol):
    """Whoever keeps what training makes."""

    def keep_best(self) -> None:
        """The model as it is now is the best so far."""

    def keep_place(self, snapshot: Snapshot) -> None:
        """Training can be taken up again from here."""

    def keep_good(self) -> None:
        """The place just kept was judged and found sound: go back to it if training diverges."""

    def keep_probes(self, step: int) -> None:
        """The model as it is judged now may be looked into."""


@dataclass
class Standing:
    """How training stands: what a resumed run must know beside the way's own state."""

    step: int = 0
    epoch: float = 0.0
    symbols: int = 0
    seconds: float = 0.0
    best: list[float] | None = None  # the metrics in order, turned so that less is better
    best_step: int = 0
    since_best: int = 0
    evaluated_step: int = 0
    owes: bool = False  # whether a stop came before the evaluation that its step was due


def way_of(model: Model, task: Task, train: Graded, settings: Training) -> Way:
    """By counting, once or again and again, or by gradients, as the model can."""
    encoded = each(task.encode, train.examples)
    if isinstance(model, LearnsInPasses):
        return Expectation(model, encoded, settings, continuous=task.continuous)
    if isinstance(model, LearnsFromStatistics):
        return Counting(model, encoded, continuous=task.continuous)
    if not isinstance(model, LearnsByGradient):
        raise _learns_nothing(model)
    items = list(encoded)
    gradient = import_module(
        ".gradient_descent", __package__
    )  # torch is imported only where it is needed
    batches: Course
    if task.continuous:
        rows, length = settings.batch_size, settings.window
        batches = Windows(items, rows, length, settings.seed, carrying(model).in_order)
    elif isinstance(model, LooksBack) and isinstance(space := model.signature.target, Series):
        shape = model.look_back, space.horizon
        batches = Pieces(items, *shape, rows=settings.batch_size, seed=settings.seed)
    else:
        batches = _batches(items, train, settings)
    way: Way = gradient.Descent(model, batches, settings)
    return way


def _batches(items: list[Item], train: Graded, settings: Training) -> Batches:
    """All examples in every epoch, or from easy ones to hard ones."""
    shape = settings.batch_size, settings.batch_tokens, settings.seed
    if settings.curriculum == "none":
        return Batches(items, *shape)
    plan = Plan(settings.curriculum, settings.curriculum_share)
    return Lessons(items, *shape, train.levels, plan)


def learn(
    learner: "Learner", keeper: Keeper, must_stop: Callable[[], bool] = lambda: False
) -> Iterator[Event]:
    """Train to the end, yielding what happens; stops after the step where `must_stop` is true."""
    news, saved = _News(), time.monotonic()
    yield from learner.owed(keeper)
    steps = learner.way.steps()
    while not learner.gave_up() and (step := next(steps, None)) is not None:
        learner.note(step)
        news.add(step)
        if step.warning:
            yield Event("warn", step.number, step.warning)
        stopping, is_due = must_stop(), learner.is_due(step)
        judging, learner.standing.owes = is_due and not stopping, is_due
        if news.is_due() or stopping or judging:
            yield news.event()
        if judging:
            yield from learner.judge(keeper)
        if stopping or time.monotonic() - saved > learner.settings.save_seconds:
            keeper.keep_place(learner.snapshot())
            saved = time.monotonic()
            yield Event("checkpoint", step.number)
        if stopping:
            yield Event("end", step.number, {"reason": "stopped"})
            return
    if news.has_any():
        yield news.event()
    yield from learner.last_words(keeper)


class Learner:
    """A model on its way, with the standing by which it is judged."""

    def __init__(
        self, model: Model, task: Task, way: Way, valid: Sequence[Any], settings: Training
    ) -> None:
        self.model, self.task, self.way, self.settings = model, task, way, settings
        self.valid = spread(task, valid, settings.evaluate_examples)
        self.standing = Standing()
        self._noted_at, self._judged_at, self._judging = time.monotonic(), worked(), 0.0

    def note(self, step: Step) -> None:
        """A step was taken."""
        self.standing.step, self.standing.epoch = step.number, step.epoch
        self.standing.symbols += step.symbols
        now = time.monotonic()
        self.standing.seconds += now - self._noted_at
        self._noted_at = now

    def is_due(self, step: Step) -> bool:
        """Whether to evaluate after this step."""
        settings = self.settings
        if settings.evaluate_seconds:
            often = max(settings.evaluate_seconds, LEARNING_PER_JUDGING * self._judging)
            if worked() - self._judged_at >= often:
                return True
        if settings.evaluate_steps:
            return step.number % settings.evaluate_steps == 0
        return step.ends_epoch and not settings.evaluate_seconds

    def judge(self, keeper: Keeper) -> Iterator[Event]:
        """Evaluate; keep the model if it is the best so far, and the place in any case."""
        began = worked()
        with self.way.judged():
            found = evaluate(self.model, self.task, self.valid, Search())
            if self.way.runs_away and not found.is_sound():
                raise self._ran_away()
            values = found.values()
            rank = self._rank(values)
            is_best = self.standing.best is None or rank < self.standing.best
            if is_best:
                keeper.keep_best()
            samples = self._samples(found.examples, found.answers)
            keeper.keep_probes(self.standing.step)
        self._judged_at = worked()
        self._judging = self._judged_at - began
        standing = self.standing
        standing.evaluated_step, standing.owes = standing.step, False
        if is_best:
            standing.best, standing.best_step, standing.since_best = rank, standing.step, 0
        elif self.way.aims_at_target:
            standing.since_best += 1
            self.way.disappointed()
        yield Event("eval", standing.step, {**values, "epoch": standing.epoch, "best": is_best})
        if samples:
            yield Event("sample", standing.step, {"samples": samples})
        keeper.keep_place(self.snapshot())
        keeper.keep_good()
        yield Event("checkpoint", standing.step)

    def _rank(self, values: dict[str, float]) -> list[float]:
        """The metrics, the one that chooses first, turned so that less is better."""
        first = self.settings.choose
        if first and first not in values:
            raise UsageError(
                "U014",
                f"[training] choose = {first!r}: the task does not measure that",
                help=[f"it measures: {', '.join(values)}"],
            )
        names = sorted(values, key=lambda name: name != first)  # the others in their order
        return [METRICS[name].rank(values[name]) for name in names]

    def owed(self, keeper: Keeper) -> Iterator[Event]:
        """The evaluation that a stop left out."""
        if self.standing.owes:
            yield from self.judge(keeper)

    def gave_up(self) -> bool:
        """Whether patience has run out."""
        return 0 < self.settings.patience <= self.standing.since_best

    def last_words(self, keeper: Keeper) -> Iterator[Event]:
        """A last evaluation where the last step had none, and the end."""
        standing = self.standing
        if standing.evaluated_step != standing.step:
            yield from self.judge(keeper)
        reason = "no improvement" if self.gave_up() else "finished"
        facts = {"reason": reason, "best_step": standing.best_step, "seconds": standing.seconds}
        yield Event("end", standing.step, facts)

    def snapshot(self) -> Snapshot:
        """The way's state with the standing beside it."""
        taken = self.way.snapshot()
        return Snapshot(taken.arrays, {**taken.facts, "standing": dict(vars(self.standing))})

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to where a snapshot was taken."""
        self.way.restore(snapshot)
        self.standing = Standing(**snapshot.facts["standing"])

    def _samples(self, examples: list[Any], answers: list[Any]) -> list[dict[str, str]]:
        """The same few of the validation examples each time, so that people see them improve."""
        if self.task.form is Form.NEXT:
            return continued(self.model, self.task, examples)
        stride = max(1, len(examples) // SAMPLES)
        chosen = list(zip(examples, answers, strict=True))[stride // 2 :: stride][:SAMPLES]
        return [
            {"question": self.task.shown_question(e), "answer": self.task.show(a.value)}
            for e, a in chosen
        ]

    def _ran_away(self) -> TrainingError:
        rate = f"--set training.learning_rate={self.settings.learning_rate / 10:g}"
        return TrainingError(
            "T130",
            f"the validation loss is beyond all bounds at step {self.standing.step}",
            notes=["Most likely the learning rate is too high. The last good checkpoint is kept."],
            help=[f"{rate} --set training.clip=1.0"],
        )


def _learns_nothing(model: Model) -> ModelError:
    """For a model that is made of others which have learned."""
    return ModelError(
        "M174",
        f"a {type(model).__name__.lower()} is made of trained runs, and learns nothing itself",
        help=["train its parts further, then make it again:  seqloom mix RUN RUN"],
    )


class _News:
    """Steps come too often to tell each: means over a second or so."""

    def __init__(self) -> None:
        self._clear()

    def add(self, step: Step) -> None:
        self._newest = step
        self._symbols += step.symbols
        self._steps += 1
        for name, value in step.values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def has_any(self) -> bool:
        return self._steps > 0

    def is_due(self) -> bool:
        return time.monotonic() - self._since >= NEWS_SECONDS

    def event(self) -> Event:
        step = self._newest
        seconds = max(1e-9, time.monotonic() - self._since)
        values: dict[str, Any] = {name: total / self._steps for name, total in self._sums.items()}
        values |= {"epoch": step.epoch, "progress": step.progress}
        values["symbols_per_second"] = self._symbols / seconds
        values |= step.level
        self._clear()
        return Event("train", step.number, values)

    def _clear(self) -> None:
        self._since, self._symbols, self._steps = time.monotonic(), 0, 0
        self._sums: dict[str, float] = {}
