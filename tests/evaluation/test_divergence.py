"""When an evaluation says that training diverged: never because a density is small."""

import math

import numpy as np
import pytest

import seqloom
from seqloom.evaluation import evaluate as evaluation
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.tasks.classify import Classify
from seqloom.tasks.forecast import Forecast
from tests.tasks.test_forecast import parts_of

MONTHS, FLAT = 60, 52  # the training part is flat to its end, what comes after it moves


def moves_late(height):
    steps = np.arange(MONTHS)
    return np.where(steps < FLAT, 0.0, height * (1 + steps % 3))


def found_with(monkeypatch, task, examples, nats):
    """The evaluation where the model has these losses."""
    task.prepare(examples)
    model = MODELS["nlinear" if isinstance(task, Forecast) else "bag-of-words"](task.signature())
    monkeypatch.setattr(evaluation, "_nats_by_length", lambda *rest: nats)
    monkeypatch.setattr(task, "score", lambda *rest: {})
    return evaluation.evaluate(model, task, examples, Search())


@pytest.mark.parametrize(
    ("nats", "diverged"), [(9e3, False), (1.1e4, True), (math.nan, True), (math.inf, False)]
)
def test_probabilities_are_bounded(monkeypatch, nats, diverged):
    task = Classify()
    examples = [task.question(text)._replace(labels=(label,)) for text, label in ("ax", "by")]
    assert found_with(monkeypatch, task, examples, [0.1, nats]).has_diverged is diverged


@pytest.mark.parametrize(("nats", "diverged"), [(1e12, False), (math.inf, False), (math.nan, True)])
def test_densities_are_not(tmp_path, monkeypatch, nats, diverged):
    task = Forecast(horizon=4)
    examples = parts_of(tmp_path, task, moves_late(1e6)).valid
    assert found_with(monkeypatch, task, examples, [nats] * len(examples)).has_diverged is diverged


def test_a_series_that_begins_to_move_after_training_can_be_trained(tmp_path):
    rows = "\n".join(f"{step},{value}" for step, value in enumerate(moves_late(1e6)))
    (tmp_path / "late.csv").write_text(f"t,x\n{rows}\n")
    settings = {"task.horizon": 4, "training.max_steps": 60, "training.learning_rate": 0.05}
    settings |= {"training.evaluate_steps": 20}
    file = tmp_path / "late.csv"
    run = seqloom.train("forecast", file, model="nlinear", runs=tmp_path, settings=settings)
    assert run.events()[-1]["reason"] == "finished"
    evaluations = [event for event in run.events() if event["kind"] == "eval"]
    assert max(event["loss"] for event in evaluations) > evaluation.DIVERGED
