"""How long training would take: the pace of a probe, words, and what the command prints."""

import json
import time

import pytest

from seqloom.cli.main import main
from seqloom.experiments.estimate import Estimate, _time_steps, estimate
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


class Steady(Learner):
    """A hundred steps of a known length, ten to an epoch; the first takes longer."""

    def __init__(self, seconds: float, count: int = 100) -> None:
        self.seconds, self.count = seconds, count

    def steps(self):
        for number in range(1, self.count + 1):
            time.sleep(self.seconds if number > 1 else 10 * self.seconds)
            share = number / self.count
            yield Step(number, 10 * share, share, 1, {}, ends_epoch=number % 10 == 0)

    def snapshot(self):
        return Snapshot()

    def restore(self, snapshot):
        return


def test_the_pace_of_a_few_steps_tells_the_time_of_all():
    measured = _time_steps(Steady(0.02), Training(), 0.4)
    assert measured.is_partial and 1.9 <= measured.seconds < 4.0, (
        "100 steps, the first as long as ten"
    )
    assert measured.evaluations == 10, "once an epoch"
    assert _time_steps(Steady(0.02), Training(evaluate_steps=4), 0.4).evaluations == 25


def test_a_training_shorter_than_the_probe_is_measured_whole():
    measured = _time_steps(Steady(0.001, 10), Training(), 5.0)
    assert not measured.is_partial and 0.01 <= measured.seconds < 1.0 and measured.evaluations == 10


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


def test_longer_trainings_take_longer_and_a_limit_of_time_is_one(files):
    short = estimate(recipe(files, "encoder-decoder", epochs=200), 0.5)
    long = estimate(recipe(files, "encoder-decoder", epochs=2_000_000), 0.5)
    limited = estimate(recipe(files, "encoder-decoder", epochs=2_000_000, max_time="3s"), 0.5)
    assert long.learning > 100 * short.learning > 100 * short.reading
    assert 2.0 < limited.learning < 60.0 < long.learning, "three seconds of work, on a busy machine"
    assert short.bound == "about" and short.judging > 0


def test_what_may_end_sooner_is_told_as_the_most(files):
    patient = recipe(files, "encoder-decoder", epochs=50, patience=2)
    assert estimate(patient, 0.2).words().startswith(("at most about", "instant"))
    assert estimate(patient, 0.2).bound == "at most"


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
