"""Time by the clock on the wall or by the processor: what counts towards a limit, and in a speed."""

from types import SimpleNamespace

import numpy as np
import pytest

from seqloom.batch import Item
from seqloom.models.hmm import HMM
from seqloom.signature import Form, Signature, Tokens
from seqloom.training import loop, stopwatch
from seqloom.training.closed_form import batches
from seqloom.training.em import EM
from seqloom.training.learner import Step
from seqloom.training.loop import Trainer, TrainerState, fit
from seqloom.training.options import Training
from seqloom.training.stopwatch import Stopwatch

from .test_gradient_descent import descent


@pytest.fixture
def clock(monkeypatch):
    """Both clocks, which a test moves by hand: that of the processor half as fast."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(stopwatch, "seconds_of", lambda kind: now.seconds * KINDS[kind])
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


KINDS = {"wall": 1.0, "process": 0.5}


@pytest.mark.parametrize("kind, between", [("wall", 7.0), ("process", 0.0)])
def test_only_on_the_wall_counts_what_comes_between_steps(clock, kind, between):
    watch = Stopwatch(kind)
    clock.seconds += 100  # before the first step
    watch.start()
    for _ in range(2):
        assert watch.between_steps() == 0.0
        clock.seconds += 4
        assert watch.step() == 4 * KINDS[kind]
        clock.seconds += 7
        assert watch.between_steps() == between
        watch.start()


def steps_of(learner, clock, *, step, between):
    """How many steps a learner takes where a step and what follows it last so long."""
    own, count = learner._loss, 0

    def loss(batch):
        clock.seconds += step
        return own(batch)

    learner._loss = loss
    for _ in learner.steps():
        count += 1
        clock.seconds += between
    return count


@pytest.mark.parametrize("kind, count", [("wall", 3), ("process", 20)])
def test_training_ends_when_its_time_is_over(clock, kind, count):
    """Ten seconds: of steps of one second with an evaluation of three after each, or of halves."""
    learner = descent(epochs=1000, max_time="10s", clock=kind)
    assert steps_of(learner, clock, step=1.0, between=3.0) == count
    assert learner.seconds >= 10


def test_a_resumed_training_has_the_rest_of_its_time(clock):
    first = descent(epochs=1000, max_time="10s", max_steps=4)
    steps_of(first, clock, step=1.0, between=0.0)
    again = descent(epochs=1000, max_time="10s")
    again.restore(first.snapshot())
    clock.seconds += 1000  # between the two
    assert steps_of(again, clock, step=1.0, between=0.0) == 6


def passes(clock, *, count, seconds):
    """EM with batches that take a second each, and its steps with the weights after them."""
    HMM.seed(1)
    model = HMM(Signature(Form.NEXT, Tokens(8), Tokens(8)), states=3, tolerance=0.0)
    rng = np.random.default_rng(0)
    items = [Item(row, row) for row in (rng.integers(2, 8, 20) for _ in range(count))]
    learner = EM(model, items, Training(max_time=f"{seconds}s"), continuous=False)
    learner.batches = [one for item in items for one in batches([item])]
    own = model.statistics

    def statistics(batch):
        clock.seconds += 1
        return own(batch)

    model.statistics = statistics
    return model, [(step, model.weights()) for step in learner.steps()]


def test_a_pass_of_em_ends_when_the_time_is_over(clock):
    """In the first pass with what it has read; in a later one with the weights before it."""
    model, steps = passes(clock, count=4, seconds=3)
    assert len(steps) == 3 and steps[-1][0].ends_epoch and steps[-1][0].progress >= 1
    fresh, _ = passes(clock, count=3, seconds=3)
    for name, weight in fresh.weights().items():
        np.testing.assert_allclose(model.weights()[name], weight, err_msg=name)
    model, steps = passes(clock, count=4, seconds=6)
    assert [step.number for step, _ in steps] == [1, 2, 3, 4, 5, 6]
    assert [step.ends_epoch for step, _ in steps] == [False] * 3 + [True, False, True]
    for name, weight in steps[3][1].items():
        np.testing.assert_array_equal(model.weights()[name], weight, err_msg=name)


def test_tokens_per_second_are_those_of_steps(clock):
    """An evaluation of a thousand seconds after each step of two makes no training slow."""

    def steps():
        for number in (1, 2, 3):
            clock.seconds += 2
            yield Step(number, number / 3, number / 3, 5000, {"loss": 1.0}, ends_epoch=False)

    class Evaluating(Trainer):
        """A trainer that evaluates after every step, and does nothing else."""

        def __init__(self):
            self.learner = SimpleNamespace(steps=steps, is_resumable=lambda step: False)
            self.settings, self.standing = Training(save_seconds=1e9), TrainerState()
            self._stepped_at, self._is_within = 0.0, True

        def evaluate(self, checkpointer):
            clock.seconds += 1000
            yield from ()

        def evaluation_is_due(self, step):
            return True

        def finish(self, checkpointer):
            yield from ()

    nothing = SimpleNamespace(
        **dict.fromkeys(
            ("save_best", "save_checkpoint", "mark_checkpoint_good", "save_snapshots"), id
        )
    )
    events = list(fit(Evaluating(), nothing))
    assert [event.values["symbols_per_second"] for event in events] == [2500.0] * 3
    assert [event.values["symbols"] for event in events] == [5000] * 3
