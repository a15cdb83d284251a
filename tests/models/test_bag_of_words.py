"""Bag of words: its features, and logistic regression against scikit-learn's optimum."""

from collections import Counter

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.model import Search, StatisticsTrained
from seqloom.models.bag_of_words import BagOfWords
from seqloom.nn.bag_of_words import NGramHasher
from seqloom.nn.output.options import LossOptions
from seqloom.nn.token_options import TokenOptions
from seqloom.signature import END, UNKNOWN, Bits, Form, Labels, Signature, Tokens

SIZE = 14


def texts(count, seed=0, least=0):
    chance = np.random.default_rng(seed)
    rows = [chance.integers(3, SIZE, chance.integers(least, 9)) for _ in range(count)]
    return [np.append(row, END) for row in rows]


def labelled(target, count=60, seed=0):
    """Texts whose labels follow from their first words, with some noise."""
    source, chance = texts(count, seed, least=1), np.random.default_rng(seed)
    if isinstance(target, Bits):
        right = np.stack([[np.isin(k + 4, row) for k in range(target.size)] for row in source])
        return Batch(
            Sequences.pad(source), Sequences(right[:, None].astype("f4"), np.ones(count, int))
        )
    right = [(row[0] + chance.integers(0, 2)) % target.size for row in source]
    return Batch(Sequences.pad(source), Sequences.pad([np.array([one]) for one in right]))


def fitted(target, batch, **options):
    model = BagOfWords(Signature(Form.WHOLE, Tokens(SIZE), target), **options)
    half = len(batch) // 2
    parts = [
        Batch(Sequences(batch.source.values[s], batch.source.lengths[s]),
              Sequences(batch.target.values[s], batch.target.lengths[s]))
        for s in (slice(half), slice(half, None))
    ]  # fmt: skip
    model.update(model.statistics(parts[0]) + model.statistics(parts[1]))
    return model


@pytest.mark.parametrize("order", [1, 2, 3])
def test_grams_are_those_of_a_plain_count(order):
    """Neither END nor an unknown word is part of any, and none reaches over them."""
    grams = NGramHasher(Tokens(SIZE), order, 10**6)
    rows = [*texts(20), np.array([5, END, 5, 6, END]), np.array([END])]
    bags = grams.count(Sequences.pad(rows))
    for row, start, length in zip(rows, bags.offsets, bags.lengths, strict=True):
        expected = Counter(
            tuple(row[t : t + n])
            for n in range(1, order + 1)
            for t in range(len(row) - n + 1)
            if not {END, UNKNOWN} & set(row[t : t + n].tolist())
        )
        found = bags.values[start : start + length]
        assert sorted(found) == sorted(expected.values())
        assert len(set(bags.columns[start : start + length])) == length  # no two in one bucket
        for number, value in zip(bags.columns[start : start + length], found, strict=True):
            digits, number = [], int(number) if number < SIZE else int(number) - SIZE
            while number:
                number, digit = divmod(number, SIZE)
                digits.insert(0, digit)
            assert expected[tuple(digits)] == value


@pytest.mark.parametrize("features", ["tf-idf", "counts"])
@pytest.mark.parametrize("labels, balance", [(2, 0.0), (2, 1.0), (3, 0.0), (4, 1.0)])
def test_log_probabilities_are_those_of_scikit_learn(features, labels, balance):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    batch = labelled(Labels(labels))
    counts = np.bincount(batch.target.values[:, 0], minlength=labels)
    target = Labels(labels, counts=tuple(counts.tolist()))
    penalty, loss_options = 0.3, LossOptions(balance=balance)
    model = fitted(
        target, batch, features=features, order=2, penalty=penalty, loss_options=loss_options
    )

    def grams(row):
        known = [None if s in (END, UNKNOWN) else s for s in row]
        pairs = zip(known, known[1:], strict=False)
        return [f"{s}" for s in known if s] + [f"{a} {b}" for a, b in pairs if a and b]

    kind = text.TfidfVectorizer if features == "tf-idf" else text.CountVectorizer
    made = kind(analyzer=grams)
    rows = made.fit_transform(batch.source.rows())
    oracle = linear.LogisticRegression(
        C=1 / penalty, tol=1e-10, max_iter=10_000, class_weight="balanced" if balance else None
    ).fit(rows, batch.target.values[:, 0])
    fresh = labelled(Labels(labels), seed=5)
    expected = oracle.predict_log_proba(made.transform(fresh.source.rows()))
    with model.inference_mode():
        for label in range(labels):
            asked = Sequences.pad([np.array([label])] * len(fresh))
            found = model.log_prob(Batch(fresh.source, asked)).numpy()
            np.testing.assert_allclose(found, expected[:, label], atol=1e-4)


@pytest.mark.parametrize("target", [Labels(2), Labels(3), Bits(3)], ids=str)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_no_other_weights_are_better(target, smoothing):
    """The gradient of loss and penalty, by autograd, is 0; a smoothed loss is torch's own."""
    batch = labelled(target)
    model = fitted(
        target, batch, penalty=0.5, loss_options=LossOptions(label_smoothing=smoothing)
    ).double()
    two = 2 if target == Labels(2) else 1  # of two labels the difference is penalised
    bias = model.output.scores.bias.requires_grad_()
    loss = model.loss(batch) * len(batch) + two * 0.25 * model.table.square().sum()
    for slope in torch.autograd.grad(loss, [model.table, bias]):
        assert slope.abs().max() < 1e-4 * len(batch)
    assert model.table.abs().max() > 0.1


def test_it_learns_at_once_or_by_gradient():
    signature = Signature(Form.WHOLE, Tokens(SIZE), Labels(2))
    assert isinstance(BagOfWords(signature), StatisticsTrained)
    assert not isinstance(BagOfWords(signature, features="vectors"), StatisticsTrained)


def test_vectors_are_the_mean_of_all_grams():
    signature = Signature(Form.WHOLE, Tokens(SIZE), Labels(2))
    model = BagOfWords(signature, features="vectors", order=2, embedding_size=5)
    rows = [np.array([5, 6, END]), np.array([5, 6, 7, END]), np.array([END])]
    words, runs = model.input.table.weight, model.runs.weight
    with model.inference_mode():
        found = model.encode(Sequences.pad(rows))
    pair = [5 * SIZE + 6, 6 * SIZE + 7]
    torch.testing.assert_close(found[0], (words[5] + words[6] + runs[pair[0]]) / 3)
    torch.testing.assert_close(
        found[1], (words[5] + words[6] + words[7] + runs[pair[0]] + runs[pair[1]]) / 5
    )
    assert not found[2].any()


@pytest.mark.parametrize("features", ["tf-idf", "vectors"])
def test_words_have_no_order_but_runs_of_them_do(features):
    batch = labelled(Labels(3))
    one, other = (Sequences.pad([np.array(row)]) for row in ([5, 6, 7, 8], [8, 6, 5, 7]))
    for order, is_same in ((1, True), (2, False)):
        signature = Signature(Form.WHOLE, Tokens(SIZE), Labels(3))
        model = (
            fitted(Labels(3), batch, order=order)
            if features == "tf-idf"
            else BagOfWords(signature, features=features, order=order, embedding_size=6)
        )
        with model.inference_mode():
            found = [
                model.predict(s, Search(probabilities=True)).probabilities for s in (one, other)
            ]
        assert np.allclose(*found, atol=1e-6) == is_same


@pytest.mark.parametrize(
    "options, told",
    [
        ({"order": 0}, "order = 0"),
        ({"penalty": 0.0}, "must be positive"),
        ({"hidden_size": 8}, "hidden_size = 8 is for features = vectors, not for tf-idf"),
        ({"features": "vectors", "penalty": 2.0}, "penalty = 2.0 is for features = tf-idf"),
        (
            {"token_options": TokenOptions(pretrained_embeddings="some.txt")},
            "for features = vectors",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, told):
    with pytest.raises(ModelError, match=told) as error:
        BagOfWords(Signature(Form.WHOLE, Tokens(SIZE), Labels(2)), **options)
    assert error.value.code == "M322"
