"""Gradient descent: every optimiser, schedule and penalty does what its name says."""

import math
import time
from dataclasses import fields
from typing import get_args

import numpy as np
import pytest
import torch

from seqloom.batch import Item
from seqloom.config import options
from seqloom.data.loading.batching import BucketLoader
from seqloom.errors import TrainingError, UsageError
from seqloom.training.gradient_descent import GradientDescent
from seqloom.training.optimizers import SCHEDULES, factor
from seqloom.training.options import BOUNDS, Training
from tests.contracts.cases import SIGNATURES, batch_for, build

KINDS = {option.name: option.kind for option in options(Training)}
RATES = {"adam": 0.01, "sgd": 0.3, "adagrad": 0.05, "rmsprop": 0.003}


def descent(**settings):
    model = build("recurrent", SIGNATURES["EACH"], {"embedding_size": 6, "hidden_size": 8})
    batch = batch_for(SIGNATURES["EACH"], (6, 5, 7, 6, 5, 4))
    rows = zip(batch.source.rows(), batch.target.rows(), strict=True)
    items = [Item(np.array(source), np.array(target)) for source, target in rows]
    settings = Training(**{"epochs": 60, "warmup_ratio": 0.0, **settings})
    return GradientDescent(
        model, BucketLoader(items, 3, settings.batch_tokens, settings.seed), settings
    )


@pytest.mark.parametrize("optimizer", get_args(KINDS["optimizer"]))
@pytest.mark.parametrize("schedule", sorted({*get_args(KINDS["schedule"])} - {"exponential"}))
def test_the_loss_goes_down(optimizer, schedule):
    rate = RATES[optimizer]
    learner = descent(optimizer=optimizer, schedule=schedule, learning_rate=rate, warmup_ratio=0.2)
    losses = [step.values["loss"] for step in learner.steps()]
    assert len(losses) == 120
    assert np.mean(losses[-6:]) < 0.85 * np.mean(losses[:6])


def test_schedules_begin_and_end_where_they_should():
    for name in SCHEDULES:
        assert factor(name, 0.0, 0.0) == pytest.approx(1.0)
    assert factor("cosine", 0.5, 0.0) == pytest.approx(0.505)
    assert factor("linear", 1.0, 0.0) == pytest.approx(0.01)
    assert factor("cosine", 1.0, 0.0) == pytest.approx(0.01)
    assert factor("constant", 0.05, 0.1) == pytest.approx(0.5)
    assert factor("exponential", 0.9, 0.0, 70, 3) == pytest.approx(0.125)
    rates = [factor("cosine", p / 100, 0.1) for p in range(101)]
    assert max(rates) == rates[10] and rates == [*sorted(rates[:11]), *sorted(rates[11:])[::-1]]


def test_the_inverse_root_is_vaswanis():
    """min(t / w, √(w / t)) of the highest rate: with w steps, or with a fraction of training."""
    for step in range(50):
        wanted = min((step + 1) / 8, (8 / (step + 1)) ** 0.5)
        assert factor("inverse-sqrt", step / 99, 0.0, step, warmup_steps=8) == pytest.approx(wanted)
        share = step / 50
        wanted = max(0.01, min(share / 0.2, (0.2 / share) ** 0.5)) if step else 0.01
        assert factor("inverse-sqrt", share, 0.2, 10**6) == pytest.approx(wanted)
    assert factor("inverse-sqrt", 0.5, 0.0, 3) == pytest.approx(0.5)
    learner = descent(schedule="inverse-sqrt", warmup_steps=3)
    rates = [step.values["rate"] / learner.settings.learning_rate for step in learner.steps()][:12]
    assert rates == pytest.approx([min(t / 3, (3 / t) ** 0.5) for t in range(1, 13)])


def test_warm_up_can_be_steps():
    rates = [factor("constant", step / 100, 0.0, step, warmup_steps=4) for step in range(6)]
    assert rates == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_the_last_evaluations_are_averaged():
    """What is judged is the mean of the weights at the last three; learning goes on from its own."""
    learner, seen = descent(average_checkpoints=3), []
    steps = learner.steps()
    for number in range(5):
        for _ in range(4):
            next(steps)
        seen.append([weight.detach().clone() for weight in learner.parameters])
        with learner.evaluation_weights():
            for place, weight in enumerate(learner.parameters):
                wanted = sum(one[place] for one in seen[-3:]) / min(3, number + 1)
                torch.testing.assert_close(weight.detach(), wanted)
        assert all(map(torch.equal, learner.parameters, seen[-1]))
        taken, other = learner.snapshot(), descent(average_checkpoints=3)
        other.restore(taken)
        pairs = zip(learner.evaluated, other.evaluated, strict=True)
        assert all(all(map(torch.equal, one, its)) for one, its in pairs)


def test_plateau_halves_when_told():
    learner = descent(schedule="plateau")
    learner.on_no_improvement()
    steps = learner.steps()
    assert next(steps).values["rate"] == pytest.approx(0.5 * learner.settings.learning_rate)


def test_exponential_falls_after_every_epoch():
    learner = descent(schedule="exponential", warmup_ratio=0.0)
    rates = {}
    for step in learner.steps():
        rates.setdefault(math.ceil(step.epoch) - 1, set()).add(step.values["rate"])
    assert len(rates) > 1
    assert all(found == {learner.settings.learning_rate * 0.5**e} for e, found in rates.items())


@pytest.mark.parametrize("l1, l2", [(0.0, 0.3), (0.3, 0.0)])
def test_penalties_are_those_of_the_loss(l1, l2):
    """One plain step with the penalty equals one step on the loss with the penalty written out."""
    learner = descent(
        optimizer="sgd", momentum=0.0, max_grad_norm=0.0, l1=l1, l2=l2, learning_rate=0.1
    )
    reference = descent(optimizer="sgd", momentum=0.0, max_grad_norm=0.0, learning_rate=0.1)
    batch = reference.batches.batch(reference.batches.epoch(0)[0])
    loss = reference.model.loss(batch)
    for weight in reference.parameters:
        loss = loss + l1 * weight.abs().sum() + l2 / 2 * weight.square().sum()
    loss.backward()
    expected = [(w - 0.1 * w.grad).detach() for w in reference.parameters]
    next(learner.steps())
    for ours, theirs in zip(learner.parameters, expected, strict=True):
        torch.testing.assert_close(ours.detach(), theirs, rtol=1e-5, atol=1e-6)


def test_clipping_bounds_the_step():
    learner = descent(
        optimizer="sgd", momentum=0.0, max_grad_norm=0.01, learning_rate=1.0, schedule="constant"
    )
    before = [w.detach().clone() for w in learner.parameters]
    step = next(learner.steps())
    moved = math.sqrt(
        sum((w - b).square().sum().item() for w, b in zip(learner.parameters, before, strict=True))
    )
    assert step.values["gradient"] > 0.01
    assert moved == pytest.approx(0.01, rel=1e-3)


def test_the_running_mean_is_judged_and_the_weights_come_back():
    learner = descent(ema_decay=0.9)
    for _, _ in zip(learner.steps(), range(20), strict=False):
        pass
    own = [w.detach().clone() for w in learner.parameters]
    with learner.evaluation_weights():
        for weight, mean in zip(learner.parameters, learner.average, strict=True):
            assert torch.equal(weight.detach(), mean)
        assert not any(torch.equal(m, o) for m, o in zip(learner.average, own, strict=True))
    assert all(torch.equal(w.detach(), o) for w, o in zip(learner.parameters, own, strict=True))


def test_budgets_end_training():
    assert sum(1 for _ in descent(max_steps=7).steps()) == 7
    assert sum(1 for _ in descent(epochs=3).steps()) == 6
    assert sum(1 for _ in descent(epochs=2, batch_tokens=10).steps()) > 6


def test_a_budget_of_processor_time_counts_work_alone(monkeypatch):
    """A process that is held still, or waits, loses none of it; one that works does."""
    limits = {"max_steps": 3, "max_time": "1h", "clock": "process"}
    waiting, busy = descent(**limits), descent(**limits)
    own, began = waiting._loss, time.monotonic()
    monkeypatch.setattr(waiting, "_loss", lambda batch: (time.sleep(0.2), own(batch))[1])
    list(waiting.steps())
    assert time.monotonic() - began > 0.6 and 0 < waiting.seconds < 0.5

    def laborious(batch, own=busy._loss):
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        return own(batch)

    monkeypatch.setattr(busy, "_loss", laborious)
    list(busy.steps())
    assert busy.seconds > 0.3


@pytest.mark.parametrize("text, seconds", [("90s", 90), ("1.5m", 90), ("2h", 7200)])
def test_times(text, seconds):
    assert Training(max_time=text).seconds() == seconds
    with pytest.raises(UsageError, match="expected a time like"):
        Training(max_time=text[:-1])


def exploding(scales, **settings):
    """A descent whose loss is multiplied by the next of these scales at every step."""
    learner = descent(optimizer="sgd", momentum=0.0, learning_rate=1e-12, **settings)
    plain, left = learner.model.loss, iter(scales)
    learner.model.loss = lambda batch: next(left) * plain(batch)
    return learner


def test_an_exploding_gradient_is_told_with_its_step_norm_and_remedies():
    steps = exploding([1, 1, 1e6, 1e6, 1e9], max_grad_norm=0.0).steps()
    first, second, third, fourth, fifth = (next(steps) for _ in range(5))
    assert not first.warning and not second.warning
    assert third.warning["code"] == "T131"
    assert third.warning["gradient"] == third.values["gradient"] > 1e4
    assert "the gradient exploded at step 3: its norm is" in third.warning["problem"]
    told = " ".join(third.warning["help"])
    assert "training.max_grad_norm=1.0" in told and "training.learning_rate=1e-13" in told
    assert "model.cell=lstm" in told
    assert not fourth.warning, "once is enough, unless it gets ten times worse"
    assert "at step 5" in fifth.warning["problem"]


def test_a_clipped_gradient_cannot_explode():
    steps = exploding([1, 1e6, 1e9], max_grad_norm=1.0).steps()
    assert not any(next(steps).warning for _ in range(3))


def test_a_gradient_that_is_no_number_names_its_step_and_remedies():
    steps = exploding(
        [1, 1, 1e37], max_grad_norm=0.0
    ).steps()  # the loss is finite, its square is not
    next(steps), next(steps)
    with pytest.raises(TrainingError) as told:
        next(steps)
    assert told.value.code == "T130" and "the gradient became inf at step 3" in str(told.value)
    assert "--set training.max_grad_norm=1.0" in str(told.value)
    assert "--set model.cell=lstm" in str(told.value)


def test_penalties_reach_weights_that_a_batch_does_not_use():
    """Those of rare words in an adaptive softmax have no gradient of their own."""
    plain = {"optimizer": "sgd", "momentum": 0.0, "max_grad_norm": 0.0}
    learner = descent(**plain, l1=0.5, l2=0.25)
    before = torch.tensor([2.0, -3.0])
    learner.parameters.append(unused := torch.nn.Parameter(before.clone()))
    rate = next(learner.steps()).values["rate"]
    wanted = before - rate * (0.5 * before.sign() + 0.25 * before)
    torch.testing.assert_close(unused.detach(), wanted)


WRONG = [
    *(
        (name, value)
        for name in ("learning_rate", "l1", "l2", "max_grad_norm", "momentum", "warmup_ratio")
        for value in (math.nan, math.inf, -0.5)
    ),
    *((name, value) for name in ("momentum", "ema_decay", "warmup_ratio") for value in (1.0, 5.0)),
    *((name, math.nan) for name in ("ema_decay", "save_seconds", "curriculum_share")),
    *((name, -1) for name in ("evaluate_seconds", "save_seconds", "evaluate_steps", "seed")),
    ("patience", -2),
    *((name, -1) for name in ("probes", "average_checkpoints", "max_steps", "bptt")),
    *((name, 0) for name in ("batch_size", "evaluate_examples")),
    ("epochs", -1),
    *((name, 10**30) for name in ("epochs", "batch_size", "seed", "max_steps", "batch_tokens")),
    *(("max_time", value) for value in ("0s", "0.0h", "nan", "-1m", "1")),
    ("monitor", "accuracies"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_options_of_training_have_bounds(name, value):
    with pytest.raises(UsageError, match=name) as told:
        Training(**{name: value})
    assert told.value.code == "U010"


def test_every_number_among_the_options_of_training_has_bounds():
    numbers = {one.name for one in fields(Training) if isinstance(one.default, int | float)}
    assert numbers - {"curriculum_share"} == set(BOUNDS)
