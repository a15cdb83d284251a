"""Signals in calls that do not return soon: SIGTERM ends them where little is lost."""

import os
import signal
import threading
import time

import pytest

from seqloom.cli import session
from seqloom.cli.session import SignalStop
from seqloom.cli.watchdog import Watchdog
from seqloom.training.closed_form import ClosedForm
from seqloom.training.em import EM
from seqloom.training.events import Event
from seqloom.training.gradient_descent import GradientDescent

LONG = 20.0  # seconds; no test takes them


@pytest.fixture
def quits(monkeypatch):
    """The exit codes with which the process would have ended."""
    codes, called = [], threading.Event()

    def leave(code):
        codes.append(code)
        called.set()

    monkeypatch.setattr(session.os, "_exit", leave)
    return codes, called


def solving(stop, called, *signals):
    """A solver that takes long, and the signals that come within it."""
    with stop.listening():
        stop.update(Event("start", 0))
        for number in signals:
            os.kill(os.getpid(), number)
        return called.wait(LONG)


def test_sigterm_ends_a_solver(quits, capfd):
    codes, called = quits
    stop = SignalStop(lambda text: None)
    stop.has_short_steps = False
    assert solving(stop, called, signal.SIGTERM)
    assert codes == [128 + signal.SIGTERM]
    assert "Stopped at once. No checkpoint yet" in capfd.readouterr().err


def test_what_saves_after_a_step_is_waited_for(quits):
    codes, _ = quits
    stop = SignalStop(lambda text: None)
    with stop.listening():
        stop.update(Event("start", 0))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1.0)
        assert stop.should_stop() and not codes


def test_a_step_that_ends_in_time_is_not_ended(quits):
    codes, _ = quits
    stop = SignalStop(lambda text: None)
    stop.has_short_steps = False
    with stop.listening():
        stop.update(Event("start", 0))
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.should_stop()
        time.sleep(1.0)  # it saves
    assert not codes


def test_ctrl_c_waits_and_the_second_does_not():
    """The thread sees the second signal, even if the main thread runs no handler meanwhile."""
    codes, called = [], threading.Event()

    def leave(number):
        codes.append(number)
        called.set()

    before = signal.signal(signal.SIGINT, lambda number, frame: None)  # as if it did not run
    try:
        with Watchdog(lambda number: number == signal.SIGTERM, leave, 0.05).watching():
            os.kill(os.getpid(), signal.SIGINT)
            assert not called.wait(0.5)
            os.kill(os.getpid(), signal.SIGINT)
            assert called.wait(LONG) and codes == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
    assert signal.set_wakeup_fd(-1) == -1, "nothing is left behind"


def test_kernels_let_other_threads_run():
    from seqloom.statistical import jit

    for decorate in (jit.jit, jit.jit_maxima):
        assert decorate(lambda x: x + 1).targetoptions["nogil"]


def test_which_learners_are_waited_for():
    assert [kind.has_short_steps for kind in (GradientDescent, EM, ClosedForm)] == [
        True,
        False,
        False,
    ]


def test_training_tells_its_learner(tmp_path, files):
    from seqloom.recipe import Recipe
    from seqloom.runs.train import Callback, train

    told = []
    for name, model in (("classify", "bag-of-words"), ("language", "hmm")):
        file = {"classify": "labels.csv", "language": "text.txt"}[name]
        recipe = Recipe(
            {"train": str(files / file)}, {"name": name}, {"name": model}, {"epochs": 1}
        )
        train(recipe, runs=tmp_path, callback=Callback(on_learner=told.append))
    assert [type(learner) for learner in told] == [ClosedForm, EM]
