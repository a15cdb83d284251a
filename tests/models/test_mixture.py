"""Interpolated models: the weighted mean of two distributions, at every token."""

import itertools

import numpy as np
import pytest

from seqloom.batch import Batch, Sequences
from seqloom.config import options
from seqloom.errors import ModelError, SeqloomError
from seqloom.experiments.ensemble import best_weight
from seqloom.model import Generator, Search, Stateful, StatisticsTrained
from seqloom.models import MODELS
from seqloom.models.mixture import Mixture
from seqloom.signature import BEGIN, Form, Signature, Tokens, Vectors

SIZE = 6
NEXT = Signature(Form.NEXT, Tokens(SIZE), Tokens(SIZE))
SMALL = {"embedding_size": 4, "hidden_size": 6}
TABLES = {
    "ngram": {"name": "ngram", "order": 2},
    "cache": {"name": "cache", "window": 3},
    "recurrent": {"name": "recurrent", **SMALL},
    "mixture": {"name": "mixture", "first": {"name": "ngram"}, "second": {"name": "cache"}},
}
PAIRS = [("ngram", "cache"), ("ngram", "recurrent"), ("recurrent", "cache"), ("mixture", "ngram")]


def learned(part):
    if isinstance(part, Mixture):
        learned(part.first), learned(part.second)
    if isinstance(part, StatisticsTrained):
        rows = [np.random.default_rng(1).integers(2, SIZE, 20)]
        part.update(part.statistics(Batch(Sequences.pad(rows), Sequences.pad(rows))))
    return part


def mixture(first, second, weight=0.3):
    model = Mixture(NEXT, weight=weight, first=TABLES[first], second=TABLES[second])
    learned(model.first), learned(model.second)
    return model


@pytest.mark.parametrize("first, second", PAIRS)
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_every_symbol_is_the_average_of_two(first, second, weight):
    model = mixture(first, second, weight)
    text = np.random.default_rng(2).integers(2, SIZE, (3, 5))
    every = Sequences(text, np.full(3, 5))
    total = np.zeros(3)
    with model.inference_mode():
        state, symbols = model.begin(every), np.full(3, BEGIN)
        own, rest = model.first.begin(every), model.second.begin(every)
        for time in range(5):
            one, own = model.first.step(symbols, own)
            other, rest = model.second.step(symbols, rest)
            found, state = model.step(symbols, state)
            average = weight * np.exp(one) + (1 - weight) * np.exp(other)
            np.testing.assert_allclose(np.exp(found), average, rtol=1e-5)
            np.testing.assert_allclose(np.exp(found).sum(1), 1, rtol=1e-5)
            symbols = text[:, time]
            total += found[np.arange(3), symbols]
        np.testing.assert_allclose(model.log_prob(Batch(every, every)), total, rtol=1e-5)


@pytest.mark.parametrize("first, second", PAIRS)
def test_probabilities_of_all_texts_sum_to_one(first, second):
    model = mixture(first, second)
    texts = np.array(list(itertools.product(range(SIZE), repeat=3)))
    every = Sequences(texts, np.full(len(texts), 3))
    with model.inference_mode():
        assert np.exp(model.log_prob(Batch(every, every))).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("first, second", PAIRS)
def test_windows_after_one_another_are_the_whole(first, second):
    model = mixture(first, second)
    assert isinstance(model, Stateful) and isinstance(model, Generator)
    text = np.random.default_rng(3).integers(2, SIZE, (2, 12))
    read, whole = np.insert(text[:, :-1], 0, BEGIN, axis=1), Sequences(text, np.full(2, 12))
    found = []
    with model.inference_mode():
        state = model.begin(whole)
        for start in (0, 5, 10):
            cut = slice(start, min(12, start + 5))
            lengths = np.full(2, cut.stop - start)
            window = Batch(Sequences(read[:, cut], lengths), Sequences(text[:, cut], lengths))
            log_probs, state = model.log_probs_from(window, state)
            found.append(log_probs)
        at_once = model.log_prob(Batch(whole, whole))
    np.testing.assert_allclose(np.concatenate(found, 1).sum(1), at_once, rtol=1e-5)


def test_rows_may_end_at_different_places():
    model = mixture("ngram", "recurrent")
    rows = [np.array([4, 5, 2]), np.array([5])]
    both = Sequences.pad(rows)
    with model.inference_mode():
        alone = [
            model.log_prob(Batch(Sequences.pad([row]), Sequences.pad([row])))[0] for row in rows
        ]
        np.testing.assert_allclose(model.log_prob(Batch(both, both)), alone, rtol=1e-5)
        found = model.predict(both, Search(beam=2, limit=4))
    assert len(found.target) == 2


def test_weights_bring_back_the_same_mixture():
    model, other = mixture("ngram", "recurrent"), mixture("ngram", "recurrent")
    other.restore({name: np.array(array) for name, array in model.weights().items()})
    rows = Sequences.pad([np.array([4, 5, 4, 2])])
    with model.inference_mode(), other.inference_mode():
        assert model.log_prob(Batch(rows, rows)) == other.log_prob(Batch(rows, rows))
    assert model.num_parameters() == model.first.num_parameters() + model.second.num_parameters()
    with pytest.raises(ModelError, match="M111"):
        model.restore({"something": np.zeros(3)})


def test_an_encoder_decoder_can_be_mixed_too():
    signature = Signature(Form.TRANSDUCE, Vectors(3), Tokens(SIZE))
    table = {"name": "encoder-decoder", **SMALL, "attention_width": 4}
    model = Mixture(signature, weight=0.4, first=table, second={**table, "attention": "none"})
    source = Sequences(np.ones((216, 2, 3), np.float32), np.full(216, 2))
    texts = Sequences(np.array(list(itertools.product(range(SIZE), repeat=3))), np.full(216, 3))
    batch = Batch(source, texts)
    with model.inference_mode():
        total = np.exp(model.log_prob(batch))
        (one, other), _ = model.each_from(batch, model.begin(source))
        np.testing.assert_allclose(one.sum(1), model.first.log_prob(batch), rtol=1e-4)
        np.testing.assert_allclose(other.sum(1), model.second.log_prob(batch), rtol=1e-4)
    assert total.sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_share_is_where_expectation_maximisation_ends(seed):
    chance = np.random.default_rng(seed)
    first, second = np.log(chance.uniform(0.01, 1, (2, 50)))
    found, weight = best_weight(first, second), 0.5
    for _ in range(20_000):
        mine = weight * np.exp(first)
        weight = float(np.mean(mine / (mine + (1 - weight) * np.exp(second))))
    assert found == pytest.approx(weight, abs=1e-4)

    def likelihood(share):
        return np.log(share * np.exp(first) + (1 - share) * np.exp(second)).sum()

    assert likelihood(found) >= max(map(likelihood, np.linspace(0, 1, 101))) - 1e-12


def test_all_or_nothing():
    low, high = np.log([0.1, 0.2]), np.log([0.3, 0.4])
    assert best_weight(high, low) == 1.0
    assert best_weight(low, high) == 0.0
    never = np.array([-np.inf, np.log(0.5)])
    assert 0 < best_weight(never, np.log([0.2, 0.1])) < 1
    assert best_weight(np.array([-np.inf]), np.array([-np.inf])) in (0.0, 1.0)


@pytest.mark.parametrize("tables, code", [
    ({}, "M175"), ({"first": TABLES["ngram"]}, "M175"),
    ({"first": TABLES["ngram"], "second": TABLES["cache"], "weight": 1.5}, "M175"),
    ({"first": {"name": "ngram", "odrer": 3}, "second": TABLES["cache"]}, "U010"),
    ({"first": {"name": "ngarm"}, "second": TABLES["cache"]}, "U002"),
])  # fmt: skip
def test_what_cannot_be_mixed_is_refused(tables, code):
    with pytest.raises(SeqloomError) as told:
        Mixture(NEXT, **tables)
    assert told.value.code == code


def test_it_is_found_by_name_but_not_among_the_choices():
    assert MODELS["mixture"] is Mixture
    assert "mixture" not in list(MODELS) and len(MODELS) == len(list(MODELS))
    assert all(option.help and option.expects for option in options(Mixture))
