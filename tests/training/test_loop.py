"""The training loop: which weights are kept, and when training stops early."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from seqloom.recipe import Recipe
from seqloom.runs.run import CARD
from seqloom.runs.train import resume, train
from seqloom.training import loop
from seqloom.training.checkpoints import load_arrays
from seqloom.training.learner import Step
from seqloom.training.options import Training

NAN = math.nan


def classifier(data, epochs=4, **training) -> Recipe:
    return Recipe(
        {"train": str(data / "labels.csv"), "valid_fraction": 0.2, "test_fraction": 0.0},
        {"name": "classify"},
        {"name": "recurrent", "embedding_size": 4, "hidden_size": 4},
        {"epochs": epochs, "batch_size": 16, "probes": 0, "learning_rate": 0.01, **training},
    )


def kept_and_last(run):
    """The weights that were kept, and those of the last step, as one vector each."""
    last = load_arrays(run.folder / "checkpoint" / "last.safetensors").arrays
    return (
        np.concatenate([weights[name].ravel() for name in sorted(weights)])
        for weights in (
            load_arrays(run.folder / "weights.safetensors").arrays,
            {k.removeprefix("model/"): v for k, v in last.items() if k.startswith("model/")},
        )
    )


@pytest.fixture
def scripted(monkeypatch, data):
    """A training whose evaluations find what the test says."""

    def go(*found: dict[str, float], **training):
        values = iter(found)

        def evaluate(model, task, valid, search):
            now = next(values)
            return SimpleNamespace(
                values=lambda: now, has_diverged=False, examples=[], predictions=[]
            )

        monkeypatch.setattr(loop, "evaluate", evaluate)
        recipe = classifier(data, epochs=len(found), **training)
        return train(recipe, name="scripted", runs=data / "runs")

    return go


def test_without_validation_the_last_weights_are_kept_and_the_run_says_so(data, capsys):
    recipe = classifier(data, patience=1).with_settings({"data.valid_fraction": 0.0})
    run = train(recipe, name="all", runs=data / "runs")
    end = run.events()[-1]
    steps = 4 * math.ceil(run.events()[0]["examples"]["train"] / 16)
    assert (end["reason"], end["step"], end["best_step"]) == ("finished", steps, steps)
    kept, last = kept_and_last(run)
    assert np.array_equal(kept, last)
    assert run.events()[0]["notes"] == [
        "no validation examples to judge by: the last weights are kept;"
        " without effect: training.patience"
    ]
    card = (run.folder / CARD).read_text()
    assert f"Weights of the last evaluation, at step {steps}: there were no validation" in card
    assert "## Validation, at" not in card


def test_a_metric_can_be_named_without_validation(data):
    named = {"data.valid_fraction": 0.0, "training.monitor": "macro_f1"}
    run = train(classifier(data).with_settings(named), name="named", runs=data / "runs")
    assert run.events()[-1]["reason"] == "finished"


@pytest.mark.parametrize(
    ("found", "best", "instead"),
    [
        ([(NAN, 3), (NAN, 1), (NAN, 2)], 2, "loss selects the best weights"),
        ([(NAN, 1), (5, 3), (NAN, 0)], 2, "loss selects the best weights"),
        ([(5, 3), (NAN, 0), (6, 0)], 1, "no better than those before"),
        ([(NAN, NAN)] * 3, 3, "the last weights are kept"),
        ([(1, NAN), (NAN, NAN), (NAN, NAN)], 1, "no better than those before"),
        ([(2, 0), (1, 5), (1, 4)], 3, None),
        ([(2, 0), (2, 0), (2, 0)], 1, None),
    ],
    ids=["always", "at-times", "once", "none-at-all", "none-after-the-first", "numbers", "equal"],
)
def test_a_metric_that_is_no_number_is_worse_than_any(scripted, found, best, instead):
    """The next one decides; the last weights are kept where none is a number."""
    run = scripted(*({"mase": a, "loss": b} for a, b in found))
    evaluations = [event for event in run.events() if event["kind"] == "eval"]
    assert run.events()[-1]["best_step"] == evaluations[best - 1]["step"]
    warned = [event for event in run.events() if event["kind"] == "warn"]
    assert len(warned) == (instead is not None)
    if instead:
        assert warned[0]["code"] == "T132"
        assert "mase is not defined" in warned[0]["problem"] and instead in warned[0]["problem"]


@pytest.mark.parametrize(
    ("losses", "patience", "evaluated"),
    [
        ([3, 2, 2.5, 2.6, 1, 0.5], 2, 4),
        ([3, 2, 2.5, 1, 1.5, 1.2], 2, 6),
        ([3, 3, 3, 1], 2, 3),
        ([1, 2, 3, 4], 0, 4),
        ([NAN, NAN, NAN, NAN], 1, 4),
    ],
    ids=["waits", "starts-anew", "equal-is-no-better", "never", "nothing-to-judge-by"],
)
def test_patience_counts_evaluations_since_the_best(scripted, losses, patience, evaluated):
    run = scripted(*({"loss": loss} for loss in losses), patience=patience)
    assert sum(event["kind"] == "eval" for event in run.events()) == evaluated
    stopped = run.events()[-1]["reason"] == "no improvement"
    numbers = losses[:evaluated]
    trailing = len(numbers) - 1 - numbers.index(min(numbers))
    assert stopped == (0 < patience <= trailing and not math.isnan(losses[0]))


@pytest.mark.parametrize(
    ("monitor", "best"), [("", 2), ("loss", 3), ("accuracy", 2), ("coverage_80", 1)]
)
def test_the_monitored_metric_chooses(scripted, monitor, best):
    """Lower is better of some, higher of others, and a coverage is best near its aim."""
    run = scripted(
        {"accuracy": 0.7, "loss": 2.0, "coverage_80": 0.79},
        {"accuracy": 0.9, "loss": 3.0, "coverage_80": 0.99},
        {"accuracy": 0.8, "loss": 1.0, "coverage_80": 0.50},
        monitor=monitor,
    )
    evaluations = [event for event in run.events() if event["kind"] == "eval"]
    assert run.events()[-1]["best_step"] == evaluations[best - 1]["step"]


def test_small_data_gets_enough_steps_and_few_evaluations(data):
    """Ten passes are the default, or as many as 500 steps need; a number that is given counts."""
    assert [Training().passes(batches) for batches in (0, 2, 49, 50, 5000)] == [10, 250, 11, 10, 10]
    assert Training(epochs=3).passes(2) == 3
    recipe = classifier(data, epochs=0, batch_size=64)
    run = train(recipe.with_settings({"training.max_steps": 60}), name="few", runs=data / "runs")
    evaluated = [event["step"] for event in run.events() if event["kind"] == "eval"]
    assert evaluated == [25, 50, 60], "an epoch has one step"
    shorter = train(classifier(data, epochs=2, batch_size=64), name="two", runs=data / "runs")
    assert [event["step"] for event in shorter.events() if event["kind"] == "eval"] == [1, 2]


def told(number, tokens, **values) -> Step:
    return Step(number, number / 10, number / 100, tokens, values, False, level={"level": number})


def test_what_is_told_of_steps_is_their_mean(monkeypatch):
    """Means over steps since the last time, tokens a second, and where the newest step stands."""
    now = [100.0]
    monkeypatch.setattr(loop.time, "monotonic", lambda: now[0])
    averages = loop._StepAverages()
    assert not averages.has_any()
    for number, loss in ((1, 4.0), (2, 2.0), (3, 9.0)):
        averages.add(told(number, 10 * number, loss=loss, rate=1.0), 0.25 * number)
    now[0] += 0.99
    assert not averages.is_due() and averages.has_any()
    now[0] += 0.01
    assert averages.is_due()
    now[0] += 3.0
    event = averages.event()
    assert (event.kind, event.step) == ("train", 3)
    assert event.values == {
        "loss": 5.0,
        "rate": 1.0,
        "epoch": 0.3,
        "progress": 0.03,
        "symbols_per_second": pytest.approx(60 / 1.5),  # of steps: evaluations do not count
        "symbols": 60,
        "level": 3,
    }
    assert not averages.has_any() and not averages.is_due()
    averages.add(told(4, 7, loss=1.0), 0.5)
    now[0] += 2.0
    again = averages.event().values
    assert (again["loss"], again["symbols"], again["symbols_per_second"]) == (1.0, 7, 14.0)


def test_a_run_counts_its_tokens_and_its_seconds(data):
    """All tokens of all steps, in the last checkpoint; seconds are those between steps."""
    run = train(classifier(data, epochs=3), name="counted", runs=data / "runs")
    facts = load_arrays(run.folder / "checkpoint" / "last.safetensors").facts["standing"]
    assert facts["symbols"] == 3 * run.events()[0]["examples"]["train"], "a label is one token"
    assert facts["epoch"] == 3 and facts["step"] == facts["evaluated_step"]
    assert 0 < facts["seconds"] < 600


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"evaluate_steps": 4}, [4, 8, 12]),
        ({"evaluate_steps": 5}, [5, 10, 12]),
        ({}, [3, 6, 9, 12]),
        ({"evaluate_seconds": 1e6}, [12]),
        ({"evaluate_seconds": 1e6, "evaluate_steps": 6}, [6, 12]),
    ],
    ids=str,
)
def test_evaluations_come_when_they_are_asked_for(data, settings, wanted):
    recipe = classifier(data, epochs=4, batch_size=100)
    counted = train(recipe, name="counted", runs=data / "runs").events()[0]["examples"]["train"]
    size = math.ceil(counted / 3)
    recipe = recipe.with_settings({f"training.{k}": v for k, v in settings.items()})
    run = train(recipe.with_settings({"training.batch_size": size}), name="few", runs=data / "runs")
    assert [event["step"] for event in run.events() if event["kind"] == "eval"] == wanted


@pytest.mark.parametrize(
    ("idle", "spent", "is_due"),
    [(4.0, 0.0, False), (5.0, 0.0, True), (7.9, 4.0, False), (8.0, 4.0, True), (6.0, 2.0, True)],
)
def test_timed_evaluations_take_a_third_of_all_time(monkeypatch, idle, spent, is_due):
    """At most: after five seconds of training, or twice as long as the last evaluation took."""
    monkeypatch.setattr(loop, "seconds_of", lambda clock: 50.0 + idle)
    trainer = loop.Trainer.__new__(loop.Trainer)
    trainer.settings, trainer.standing = Training(evaluate_seconds=5.0), loop.TrainerState()
    trainer._evaluated_at, trainer._evaluation_seconds = 50.0, spent
    trainer.learner = SimpleNamespace(evaluation_interval=1)
    assert trainer.evaluation_is_due(told(3, 1)) == is_due
    trainer.settings = Training(evaluate_seconds=5.0, evaluate_steps=3)
    assert trainer.evaluation_is_due(told(3, 1)) and trainer.evaluation_is_due(told(6, 1))


def test_training_stops_early_by_default(scripted):
    """Ten evaluations without improvement, which are at least 250 steps."""
    losses = [3.0, 2.0, *[2.5] * 200]
    run = scripted(*({"loss": loss} for loss in losses))
    evaluated = [event["step"] for event in run.events() if event["kind"] == "eval"]
    best = evaluated[1]
    assert run.events()[-1]["reason"] == "no improvement" and len(evaluated) >= 12
    assert run.events()[-1]["best_step"] == best
    assert evaluated[-2] - best < 250 <= evaluated[-1] - best


def test_by_default_large_steps_of_evaluation_count_ten_times(scripted):
    losses = [3.0, 2.0, *[2.5] * 120]
    run = scripted(*({"loss": loss} for loss in losses), evaluate_steps=30)
    evaluated = [event["step"] for event in run.events() if event["kind"] == "eval"]
    assert evaluated == [30 * n for n in range(1, 13)]


def test_a_run_that_stopped_early_says_so_when_it_is_resumed(scripted, data):
    run = scripted(*({"loss": loss} for loss in [1.0, 2.0, 2.0, 2.0]), patience=2)
    again = resume(run.folder)
    assert again.events()[-1]["step"] == run.events()[-1]["step"]
    said = [event for event in again.events() if event["kind"] == "resume"][-1]
    assert "stopped early" in str(said) or "stopped early" in str(again.events())
