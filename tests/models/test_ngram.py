"""The n-gram model against its equation, counted by hand."""

from collections import Counter

import numpy as np
import pytest

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.forms import BEGIN, Form, Labels, Signature, Tokens
from seqloom.models.ngram import NGram

SIZE = 7


def rows(seed, count=8):
    chance = np.random.default_rng(seed)
    return [chance.integers(2, SIZE, chance.integers(1, 9)) for _ in range(count)]


def by_hand(training, order):
    """Witten and Bell's equation, word for word, on dictionaries."""
    counts = [Counter() for _ in range(order)]
    for row in training:
        padded = [BEGIN] * (order - 1) + list(row)
        for t in range(order - 1, len(padded)):
            for level in range(order):
                counts[level][tuple(padded[t - level : t + 1])] += 1

    def chance(context, symbol, level):
        if level < 0:
            return 1 / SIZE
        start = context[len(context) - level :]
        seen = {gram: n for gram, n in counts[level].items() if gram[:-1] == start}
        lower = chance(context, symbol, level - 1)
        if not seen:
            return lower
        total, kinds = sum(seen.values()), len(seen)
        return (seen.get((*start, symbol), 0) + kinds * lower) / (total + kinds)

    return lambda context, symbol: chance(tuple(context), symbol, order - 1)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_equation(order, seed):
    training, held_out = rows(seed), rows(seed + 100)
    model = NGram(Signature(Form.NEXT, Tokens(SIZE), Tokens(SIZE)), order=order)
    halves = [Sequences.pad(training[:3]), Sequences.pad(training[3:])]
    one, other = (model.statistics(Batch(half, half)) for half in halves)
    model.update(one + other)
    chance = by_hand(training, order)
    target = Sequences.pad(held_out)
    expected = []
    for row in held_out:
        padded = [BEGIN] * (order - 1) + list(row)
        places = range(order - 1, len(padded))
        expected.append(sum(np.log(chance(padded[t - order + 1 : t], padded[t])) for t in places))
    np.testing.assert_allclose(model.log_prob(Batch(target, target)), expected, rtol=1e-10)


def test_numbers_cannot_be_counted():
    with pytest.raises(ModelError, match="counts symbols"):
        NGram(Signature(Form.NEXT, Tokens(SIZE), Labels(3)))
    with pytest.raises(ModelError, match="at least one symbol"):
        NGram(Signature(Form.NEXT, Tokens(SIZE), Tokens(SIZE)), order=0)
