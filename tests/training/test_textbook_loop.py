"""Training beside loops that are written out: moving averages, truncated BPTT, penalties, rates."""

import math

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Item, Sequences
from seqloom.data.loading.batching import BucketLoader
from seqloom.data.loading.bptt import BPTTLoader
from seqloom.evaluation import evaluate as evaluation
from seqloom.signature import BEGIN
from seqloom.training.gradient_descent import GradientDescent
from seqloom.training.options import Training
from tests.contracts.cases import SIGNATURES, batch_for, build, small

TEXT = np.random.default_rng(4).integers(4, 6, 47)
PLAIN = {"optimizer": "sgd", "momentum": 0.0, "max_grad_norm": 0.0, "schedule": "constant"}
SLOW = {**PLAIN, "warmup_ratio": 0.0, "learning_rate": 0.0}


def weights_of(model):
    return [weight.detach().clone() for weight in model.parameters()]


def pairs(**settings):
    """A learner of labels, and one more model with the same weights."""
    model, twin = (build("recurrent", SIGNATURES["EACH"], small("recurrent", {})) for _ in range(2))
    batch = batch_for(SIGNATURES["EACH"], (6, 5, 7, 6, 5, 4, 3))
    rows = zip(batch.source.rows(), batch.target.rows(), strict=True)
    items = [Item(np.array(source), np.array(target)) for source, target in rows]
    made = Training(**{"epochs": 4, "warmup_ratio": 0.0, **settings})
    return GradientDescent(model, BucketLoader(items, 3, 0, made.seed), made), twin


def reader(name="recurrent", cell="", length=4, in_order=True, **settings):
    """A learner of a continuous text, and one more model with the same weights."""
    options = small(name, {"dropout": 0.0} | ({"cell": cell} if cell else {}))
    model, twin = (build(name, SIGNATURES["NEXT"], options) for _ in range(2))
    made = Training(**{"epochs": 2, "batch_size": 3, "bptt": length, **PLAIN, **settings})
    cut = np.split(TEXT, [5, 6, 30])
    loader = BPTTLoader([Item(t, t) for t in cut], 3, length, made.seed, in_order)
    return GradientDescent(model, loader, made), twin


@pytest.mark.parametrize("decay", [0.15, 0.6, 0.999])
def test_the_moving_average_is_the_recursion(decay):
    """a = k a + (1 - k) w after every step, k = min(decay, t / (t + 9)) at the t-th."""
    learner, _ = pairs(ema_decay=decay, learning_rate=0.05)
    average = weights_of(learner.model)
    for step in learner.steps():
        keep = min(decay, step.number / (step.number + 9))
        own = weights_of(learner.model)
        average = [keep * a + (1 - keep) * w for a, w in zip(average, own, strict=True)]
        with learner.evaluation_weights():
            torch.testing.assert_close(weights_of(learner.model), average, rtol=1e-5, atol=1e-6)
    assert step.number == 12


def test_the_moving_average_is_only_judged_never_learned_from():
    """With it and without it, the weights take the same way."""
    with_average, _ = pairs(ema_decay=0.9)
    without, _ = pairs()
    for one, other in zip(with_average.steps(), without.steps(), strict=True):
        assert one.values == other.values
        with with_average.evaluation_weights(), without.evaluation_weights():
            assert with_average.model.training
    assert all(map(torch.equal, weights_of(with_average.model), weights_of(without.model)))


def test_weights_come_back_after_an_evaluation_that_fails():
    learner, _ = pairs(ema_decay=0.9)
    next(learner.steps())
    own = weights_of(learner.model)
    with pytest.raises(KeyboardInterrupt), learner.evaluation_weights():
        raise KeyboardInterrupt
    assert all(map(torch.equal, weights_of(learner.model), own))


@pytest.mark.parametrize("l1", [0.0, 0.01])
@pytest.mark.parametrize("clip", [0.0, 0.05])
def test_training_is_a_plain_loop(l1, clip):
    """Batch by batch, epoch by epoch: the loss, the norm, the rate and the weights after each."""
    learner, twin = pairs(
        **PLAIN | {"l1": l1, "max_grad_norm": clip, "learning_rate": 0.2, "schedule": "linear"}
    )
    steps, progress = learner.steps(), 0.0
    for epoch in range(4):
        for place, which in enumerate(learner.batches.epoch(epoch)):
            batch = learner.batches.batch(which)
            twin.zero_grad()
            loss = twin.loss(batch)
            loss.backward()
            for weight in twin.parameters():
                weight.grad += l1 * weight.detach().sign()
            norm = math.sqrt(sum(float(w.grad.square().sum()) for w in twin.parameters()))
            rate = 0.2 * (1 - 0.99 * progress)
            scale = min(1.0, clip / norm) if clip else 1.0
            with torch.no_grad():
                for weight in twin.parameters():
                    weight -= rate * scale * weight.grad
            told = next(steps)
            assert told.values["loss"] == pytest.approx(loss.item(), rel=1e-5)
            assert told.values["gradient"] == pytest.approx(norm, rel=1e-4)
            assert told.values["rate"] == pytest.approx(rate)
            assert told.tokens == int(batch.target.lengths.sum())
            assert told.ends_epoch == (place == 2) and told.number == 3 * epoch + place + 1
            progress = (epoch + (place + 1) / 3) / 4
            assert told.epoch == pytest.approx(4 * progress)
            assert told.progress == pytest.approx(progress)
            torch.testing.assert_close(
                weights_of(learner.model), weights_of(twin), rtol=1e-4, atol=1e-6
            )
    assert next(steps, None) is None


def test_the_way_is_by_epochs_or_steps_whichever_ends_first():
    for settings in ({"max_steps": 5}, {"max_steps": 500}):
        learner, _ = pairs(**settings)
        for step in learner.steps():
            wanted = max(step.number / 12, step.number / settings["max_steps"])
            assert step.progress == pytest.approx(wanted)


def test_truncated_bptt_is_a_plain_loop():
    """The state goes on from segment to segment without its gradient, and begins with each epoch."""
    learner, twin = reader(learning_rate=0.3, warmup_ratio=0.0)
    streams = TEXT[:45].reshape(3, 15)
    inputs = np.concatenate([[[BEGIN]], streams[:-1, -1:]])
    inputs = np.concatenate([inputs, streams[:, :-1]], axis=1)
    steps = learner.steps()
    for epoch in range(2):
        state = twin.begin(Sequences(inputs[:, :0], np.zeros(3, dtype=int)))
        for start in (0, 4, 8, 12):
            part = slice(start, min(start + 4, 15))
            size = np.full(3, part.stop - start)
            batch = Batch(Sequences(inputs[:, part], size), Sequences(streams[:, part], size))
            twin.zero_grad()
            loss, state = twin.loss_from(batch, tuple(one.detach() for one in state))
            loss.backward()
            with torch.no_grad():
                for weight in twin.parameters():
                    weight -= 0.3 * weight.grad
            told = next(steps)
            assert told.values["loss"] == pytest.approx(loss.item(), rel=1e-5), (epoch, start)
            assert told.ends_epoch == (start == 12)
            torch.testing.assert_close(
                weights_of(learner.model), weights_of(twin), rtol=1e-5, atol=1e-6
            )


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
def test_segments_in_order_have_the_losses_of_the_whole_streams(cell):
    """Where nothing is learned, a pass has the loss of every stream read at once, in each epoch."""
    learner, _ = reader(cell=cell, **SLOW)
    whole, _ = reader(cell=cell, length=15, **SLOW)
    at_once = [step.values["loss"] for step in whole.steps()]
    parts = [(step.values["loss"], step.tokens) for step in learner.steps()]
    for epoch in (0, 1):
        found = parts[4 * epoch : 4 * epoch + 4]
        assert [tokens for _, tokens in found] == [12, 12, 12, 9]
        mean = sum(loss * tokens for loss, tokens in found) / 45
        assert mean == pytest.approx(at_once[epoch], rel=1e-5)
    assert at_once[0] == at_once[1], "an epoch does not go on from the end of the one before"


def test_no_gradient_flows_into_the_segment_before():
    learner, _ = reader(learning_rate=0.1)
    steps = learner.steps()
    for _ in range(3):
        next(steps)
        assert learner.carried and not any(part.requires_grad for part in learner.carried)


def test_shuffled_segments_begin_without_a_state():
    """A model that is not read in order sees every segment from its own beginning."""
    learner, twin = reader(name="transformer", in_order=False, **SLOW)
    assert not learner.model.in_order
    losses = iter([step.values["loss"] for step in learner.steps()])
    for epoch in (0, 1):
        for which in learner.batches.epoch(epoch):
            batch = learner.batches.batch(which)
            loss, _ = twin.loss_from(batch, twin.begin(batch.source))
            assert next(losses) == pytest.approx(loss.item(), rel=1e-5)


@pytest.mark.parametrize("at_once", [1, 4, 7, 46, 47, 1000])
def test_evaluation_reads_a_continuous_text_once_with_its_state(monkeypatch, at_once):
    """The losses of lines do not depend on how many tokens are read at once, and sum to the whole."""
    monkeypatch.setattr(evaluation, "TOKENS_AT_ONCE", at_once)
    model = build("recurrent", SIGNATURES["NEXT"], small("recurrent", {}))
    lines = np.split(TEXT, [5, 6, 30])
    told = []
    with model.inference_mode():
        found = evaluation._nats_in_order(model, [Item(t, t) for t in lines], told.append)
        inputs = np.concatenate([[BEGIN], TEXT[:-1]])[None]
        size = np.array([47])
        batch = Batch(Sequences(inputs, size), Sequences(TEXT[None], size))
        log_probs, _ = model.log_probs_from(batch, model.begin(batch.source))
    wanted = [-part.sum() for part in np.split(np.asarray(log_probs, dtype=float)[0], [5, 6, 30])]
    assert found == pytest.approx(wanted, rel=1e-5)
    assert told == sorted(told) and told[-1] == 4
    assert evaluation._nats_in_order(model, [], told.append) == []
