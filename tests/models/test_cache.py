"""The cache language model against its equation, computed by hand."""

import numpy as np
import pytest

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.models.cache import Cache
from seqloom.signature import BEGIN, END, PAD, UNKNOWN, Form, Labels, Signature, Tokens

SIZE = 8
NEXT = Signature(Form.NEXT, Tokens(SIZE), Tokens(SIZE))


def rows(seed, count=6):
    chance = np.random.default_rng(seed)
    return [chance.integers(2, SIZE, chance.integers(1, 12)) for _ in range(count)]


def learned(training, **options):
    model = Cache(NEXT, **options)
    halves = [Sequences.pad(training[:3]), Sequences.pad(training[3:])]
    one, other = (model.statistics(Batch(half, half)) for half in halves)
    model.update(one + other)
    return model


def by_hand(training, window, decay, weight, base):
    """The equation, word for word."""
    counts = np.bincount(np.concatenate(training), minlength=SIZE)
    total, kinds = sum(counts), sum(count > 0 for count in counts)

    def at_rest(symbol):
        if symbol in (PAD, BEGIN):
            return 0.0
        if base == "even":
            return 1 / (SIZE - 2)
        return (counts[symbol] + kinds / (SIZE - 2)) / (total + kinds)

    def chance(before, symbol):
        lately = list(reversed(before))[:window]
        if not lately:
            return at_rest(symbol)
        above = sum(decay**i for i, other in enumerate(lately) if other == symbol)
        again = above / sum(decay**i for i in range(len(lately)))
        return weight * again + (1 - weight) * at_rest(symbol)

    return chance


@pytest.mark.parametrize("window, decay, weight, base", [
    (1, 1.0, 0.5, "unigram"), (3, 0.7, 0.2, "unigram"), (100, 0.9, 0.9, "even"), (4, 1.0, 0.0, "even"),
])  # fmt: skip
def test_the_equation(window, decay, weight, base):
    training, held_out = rows(1), rows(2)
    model = learned(training, window=window, decay=decay, weight=weight, base=base)
    chance = by_hand(training, window, decay, weight, base)
    target = Sequences.pad(held_out)
    expected = [
        sum(np.log(chance(row[:t].tolist(), row[t])) for t in range(len(row))) for row in held_out
    ]
    np.testing.assert_allclose(model.log_prob(Batch(target, target)), expected, rtol=1e-12)


@pytest.mark.parametrize("base", ["unigram", "even"])
def test_every_step_is_a_distribution_without_marks_of_place(base):
    model = learned(rows(3), window=4, base=base)
    state, symbols = model.begin(Sequences.pad([np.array([5])] * 2)), np.array([BEGIN, BEGIN])
    for symbol in (5, 6, END, UNKNOWN, 5):
        log_probs, state = model.step(symbols, state)
        np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=1e-12)
        assert np.isneginf(log_probs[:, [PAD, BEGIN]]).all()
        assert np.isfinite(log_probs[:, END:]).all()
        symbols = np.array([symbol, 7])


@pytest.mark.parametrize("cuts", [(0, 40), (0, 1, 2, 40), (0, 13, 26, 39, 40)])
def test_windows_after_one_another_are_the_whole(cuts):
    """The state is the last symbols and nothing else, so the numbers are equal, not merely close."""
    model = learned(rows(4), window=5, decay=0.8)
    text = np.random.default_rng(5).integers(2, SIZE, (2, 40))
    whole = Batch(Sequences(text, np.array([40, 40])), Sequences(text, np.array([40, 40])))
    read = np.concatenate([np.full((2, 1), BEGIN), text], axis=1)
    state, found = model.begin(whole.source), []
    for start, end in zip(cuts, cuts[1:], strict=False):
        lengths = np.full(2, end - start)
        window = Batch(
            Sequences(read[:, start:end], lengths), Sequences(text[:, start:end], lengths)
        )
        log_probs, state = model.log_probs_from(window, state)
        found.append(log_probs)
    at_once = np.concatenate(found, axis=1)
    np.testing.assert_allclose(at_once.sum(1), model.log_prob(whole), rtol=1e-14)
    np.testing.assert_array_equal(state[0], read[:, 35:40])


def test_rows_of_a_window_may_end_at_different_places():
    model = learned(rows(6), window=3)
    window = Sequences(np.array([[4, 5, 6], [7, PAD, PAD]]), np.array([3, 1]))
    log_probs, (lately,) = model.log_probs_from(Batch(window, window), model.begin(window))
    assert lately.tolist() == [[4, 5, 6], [BEGIN, BEGIN, 7]]
    assert log_probs[1, 1:].tolist() == [0, 0]


def test_what_was_said_is_likelier():
    model = learned(rows(7), weight=0.5)
    text = Sequences.pad([np.array([6, 6, 6, 6])])
    (log_probs, _) = model.log_probs_from(Batch(text.shift_right(BEGIN), text), model.begin(text))
    assert (log_probs[0, 1:] >= np.log(0.5)).all()
    assert log_probs[0, 0] < log_probs[0, 1]


@pytest.mark.parametrize("wrong", [{"window": 0}, {"decay": 0.0}, {"decay": 1.5}, {"weight": 1.0}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ModelError, match="out of range") as told:
        Cache(NEXT, **wrong)
    assert told.value.code == "M170"


def test_labels_are_refused():
    with pytest.raises(ModelError, match="predicts tokens, not labels"):
        Cache(Signature(Form.NEXT, Tokens(SIZE), Labels(3)))
