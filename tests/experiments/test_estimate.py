"""How long training would take: the pace of a probe, words, and what the command prints."""

import json
from types import SimpleNamespace

import pytest

from seqloom.cli.main import main
from seqloom.experiments import estimate as module
from seqloom.experiments.estimate import (
    Estimate,
    _Cost,
    _time_steps,
    _training_seconds,
    _Trial,
    estimate,
)
from seqloom.recipe import Recipe
from seqloom.training.learner import Learner, Snapshot, Step
from seqloom.training.options import Training

from ..conftest import write_data


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("files"))


def recipe(files, model, **training):
    return Recipe(
        data={"train": str(files / "pairs.tsv")},
        task={"name": "translate"},
        model={"name": model, "embedding_size": 8, "hidden_size": 8},
        training=training,
    )


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves by hand."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


class Steady(Learner):
    """A hundred steps of a known length, ten to an epoch; the first ones take longer."""

    def __init__(self, clock, seconds: float, count: int = 100, slow: int = 2) -> None:
        self.clock, self.seconds, self.count, self.slow = clock, seconds, count, slow

    def steps(self):
        for number in range(1, self.count + 1):
            self.clock.seconds += self.seconds * (20 if number <= self.slow else 1)
            share = number / self.count
            yield Step(number, 10 * share, share, 1, {}, ends_epoch=number % 10 == 0)

    def snapshot(self):
        return Snapshot()

    def restore(self, snapshot):
        return


@pytest.mark.parametrize("seconds", [0.02, 0.5, 30.0])
def test_the_pace_after_the_warm_up_tells_the_time_of_all(clock, seconds):
    """However long a step is: two slow ones at the beginning are no sign of the others."""
    slow = 2 if seconds < 0.1 else 1
    trial = _time_steps(Steady(clock, seconds, 1000, slow), 2.0)
    assert trial.is_partial and trial.seconds == pytest.approx(seconds * (1000 + 19 * slow))
    assert (trial.steps, trial.epochs) == (pytest.approx(1000), pytest.approx(10))
    assert clock.seconds < 2.0 * 2 + 22 * seconds, "the trial is short"


def test_a_training_shorter_than_the_probe_is_measured_whole(clock):
    trial = _time_steps(Steady(clock, 0.001, 10), 5.0)
    assert not trial.is_partial and trial.seconds == pytest.approx(0.048)
    assert (trial.steps, trial.epochs) == (10, 10)


def trial_of(seconds=1000.0, steps=5000.0, epochs=50.0, interval=1):
    learner = Steady(None, 1.0)
    type(learner).evaluation_interval = property(lambda self: interval)
    return _Trial(learner, seconds, steps, epochs)


@pytest.mark.parametrize("settings, interval, count", [
    ({}, 1, 50),
    ({}, 250, 17),  # every third epoch of a hundred steps
    ({"evaluate_steps": 20}, 1, 250),
    ({"evaluate_seconds": 50.0}, 1, 20),
    ({"evaluate_seconds": 5.0}, 1, 1000 / 20),  # evaluations take a third of the time at most
])  # fmt: skip
def test_evaluations_are_counted_as_training_makes_them(settings, interval, count, monkeypatch):
    monkeypatch.setattr(Steady, "evaluation_interval", 1)
    found = trial_of(interval=interval).evaluations(1000.0, Training(**settings), 10.0)
    assert found == pytest.approx(count, abs=0.5)


@pytest.mark.parametrize("limit, clock_of, whole", [
    ("", "wall", 1000 + 50 * 10),
    ("600s", "wall", 600 + 10),  # and the last evaluation
    ("600s", "process", 600 + 30 * 10),
    ("2h", "wall", 1000 + 50 * 10),
    ("2h", "process", 1000 + 50 * 10),
])  # fmt: skip
def test_a_limit_of_time_is_one(limit, clock_of, whole, monkeypatch):
    monkeypatch.setattr(Steady, "evaluation_interval", 1)
    settings = Training(max_time=limit, clock=clock_of)
    overhead = module._EvaluationOverhead(4.0, 0.0)
    assert sum(_training_seconds(trial_of(), settings, 6.0, overhead)) == pytest.approx(whole)


def test_what_every_evaluation_costs_counts_once():
    """A tenth of a second before the first example, and a thousandth for each."""
    cost = _Cost.of([(1, 0.101), (4, 0.104), (16, 0.116)])
    assert cost.at(2000) == pytest.approx(2.1) and cost.at(0) == 0
    assert _Cost.of([(4, 0.4)]).at(8) == pytest.approx(0.8), "nothing else is known"
    assert _Cost.of([(1, 0.5), (4, 0.4)]).at(400) == pytest.approx(0.4), "noise is no gain"


@pytest.mark.parametrize(
    ("seconds", "bound", "words"),
    [
        (0.3, "about", "instant"),
        (0.3, "at most", "instant"),
        (4.4, "about", "about 4 s"),
        (42.0, "at most", "at most about 40 s"),
        (200.0, "about", "about 3 min"),
        (200.0, "at least", "more than about 3 min"),
        (5000.0, "about", "about 1.4 h"),
        (90_000_000.0, "about", "about 25,000 h"),
    ],
)
def test_words_have_no_more_figures_than_a_probe_knows(seconds, bound, words):
    assert Estimate(0.1, seconds - 0.2, 0.1, bound).words() == words


def test_longer_trainings_take_longer(files):
    short = estimate(recipe(files, "encoder-decoder", epochs=200, patience=0), 0.5)
    long = estimate(recipe(files, "encoder-decoder", epochs=2_000_000), 0.5)
    limited = estimate(recipe(files, "encoder-decoder", epochs=2_000_000, max_time="3s"), 0.5)
    assert long.learning > 100 * short.learning > 100 * short.reading
    assert limited.learning < 3.0 < long.learning
    assert short.bound == "about" and short.judging > 0


def test_outputs_are_timed_as_those_of_a_trained_model(files, monkeypatch):
    """A model that has learned for two seconds does not end its outputs, and later it does."""
    asked = []
    ask = module.evaluate
    monkeypatch.setattr(module, "evaluate", lambda *given: (asked.append(given[3]), ask(*given))[1])
    estimate(recipe(files, "encoder-decoder", epochs=50), 0.2)
    assert 0 < asked[0].limit < 20


def test_what_may_end_sooner_is_told_as_the_most(files):
    patient = recipe(files, "encoder-decoder", epochs=50, patience=2)
    assert estimate(patient, 0.2).words().startswith(("at most about", "instant"))
    assert estimate(patient, 0.2).bound == "at most"
    few = recipe(files, "encoder-decoder", epochs=5)
    assert estimate(few, 0.2).bound == "about", "ten evaluations without improvement cannot come"


def test_the_command_prints_it_and_trains_nothing(files, tmp_path, capsys):
    given = ["train", "language", str(files / "text.txt"), "-m", "ngram", "--estimate"]
    assert main([*given, "--runs-dir", str(tmp_path / "runs"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["model"] == "ngram" and told["words"] and told["seconds"] > 0
    parts = told["reading"] + told["learning"] + told["judging"]
    assert told["seconds"] == pytest.approx(parts)
    assert main([*given, "--runs-dir", str(tmp_path / "runs")]) == 0
    assert capsys.readouterr().out.split("  ")[0] == "ngram"
    assert not (tmp_path / "runs").exists()
    for more in (["--folds", "3"], ["--repeat", "2"]):
        assert main([*given, *more]) == 2
    assert main(["train", "--resume", "none", "--estimate"]) == 2
