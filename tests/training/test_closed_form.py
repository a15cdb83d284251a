"""Fits to statistics by an optimizer: progress, and stops and resumes after any step."""

from itertools import islice

import numpy as np
import pytest

from seqloom.batch import Item
from seqloom.models.bag_of_words import BagOfWords
from seqloom.signature import END, Form, Labels, Signature, Tokens
from seqloom.training import closed_form
from seqloom.training.closed_form import ClosedForm
from seqloom.training.options import Training

SIZE, CLASSES = 30, 4


@pytest.fixture
def items(monkeypatch):
    """Texts in several batches, whose labels follow from their first words."""
    monkeypatch.setattr(closed_form, "TOKENS_PER_BATCH", 100)
    chance = np.random.default_rng(3)
    texts = [chance.integers(4, SIZE, chance.integers(2, 9)) for _ in range(60)]
    return [Item(np.append(text, END), np.array([(text[0] + text[1]) % CLASSES])) for text in texts]


def learner_of(items, **training):
    model = BagOfWords(Signature(Form.WHOLE, Tokens(SIZE), Labels(CLASSES)), penalty=0.1)
    return ClosedForm(model, items, Training(**training))


def test_steps_tell_the_progress_of_a_fit(items):
    steps = list(learner_of(items).steps())
    progress = [step.progress for step in steps]
    assert progress == sorted(progress)
    assert len(set(progress)) > 10
    assert [step.ends_epoch for step in steps] == [False] * (len(steps) - 1) + [True]
    assert progress[-1] == 1
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert sum(step.tokens for step in steps) == len(items)
    assert not any(step.warning for step in steps)
    losses = [step.values["loss"] for step in steps if step.values]
    assert losses[-1] < 0.7 * losses[0]


def test_stopped_after_any_step_it_ends_with_the_same_weights(items):
    whole = learner_of(items)
    steps = list(whole.steps())
    weights = whole.model.weights()
    resumed_from = set()
    for stop in range(1, len(steps)):
        first = learner_of(items)
        *_, last = islice(first.steps(), stop)
        taken, second = first.snapshot(), learner_of(items)
        assert taken.facts["step"] <= last.number
        assert first.is_resumable(last) == (taken.facts["step"] == last.number)
        second.restore(taken)
        fresh = [step for step in second.steps() if step.number > taken.facts["step"]]
        assert [step.number for step in fresh] == [
            step.number for step in steps[taken.facts["step"] :]
        ]
        assert fresh[-1].ends_epoch
        for name, weight in second.model.weights().items():
            np.testing.assert_array_equal(weight, weights[name])
        resumed_from.add(taken.facts["step"])
    assert len(resumed_from) > 3


def test_what_was_counted_is_not_counted_twice(items):
    first = learner_of(items)
    for _ in first.steps():
        if first.state:
            break
    second = learner_of(items)
    second.restore(first.snapshot())
    assert sum(step.tokens for step in second.steps()) == 0


def test_the_time_budget_ends_a_fit_after_an_iteration(items):
    learner = learner_of(items, max_time="0.000001s")
    *_, last = learner.steps()
    assert last.ends_epoch
    assert last.progress == 1
    assert last.warning["code"] == "T137"
    assert learner.model.table.abs().max() > 0
