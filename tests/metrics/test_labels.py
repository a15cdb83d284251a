"""Scores of labels, beside those of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as oracle
from sklearn.calibration import calibration_curve

from seqloom.metrics import METRICS, Ratio, measure, value_of
from seqloom.metrics.bootstrap import TallySums, as_matrix, paired_difference
from seqloom.metrics.labels import NONE, ConfusionMatrix, calibration_bins, label_counts, micro_f1


def drawn(seed, size=200, labels=6):
    """Random right labels and guesses; the last label is never right, the first never guessed."""
    chance = np.random.default_rng(seed)
    return chance.integers(labels - 1, size=size), chance.integers(1, labels, size=size)


def tallies_of(right, guessed, size):
    pairs = [((int(a), int(b)),) for a, b in zip(right, guessed, strict=True)]
    return [label_counts(pair, size) for pair in pairs], [micro_f1(pair) for pair in pairs]


@pytest.mark.parametrize("seed", range(3))
def test_f1_is_that_of_scikit_learn(seed):
    right, guessed = drawn(seed)
    macro, micro = tallies_of(right, guessed, 9)  # three more labels, which are nowhere
    expected = oracle.f1_score(right, guessed, average="macro", zero_division=0)
    assert value_of("macro_f1", macro) == pytest.approx(expected)
    assert value_of("micro_f1", micro) == pytest.approx(np.mean(right == guessed))


@pytest.mark.parametrize("seed", range(3))
def test_f1_of_several_labels_is_that_of_scikit_learn(seed):
    chance = np.random.default_rng(seed)
    right, guessed = (chance.random((80, 5)) < 0.3 for _ in range(2))
    pairs = [
        tuple((k if a else -1, k if b else -1) for k, (a, b) in enumerate(zip(r, g, strict=True)))
        for r, g in zip(right, guessed, strict=True)
    ]
    macro, micro = [label_counts(p, 5) for p in pairs], [micro_f1(p) for p in pairs]
    for name, tallies in (("macro", macro), ("micro", micro)):
        expected = oracle.f1_score(right, guessed, average=name, zero_division=0)
        assert value_of(f"{name}_f1", tallies) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_the_confusion_is_that_of_scikit_learn(seed):
    right, guessed = drawn(seed)
    found = ConfusionMatrix((str(a), str(b)) for a, b in zip(right, guessed, strict=True))
    assert found.matrix().tolist() == oracle.confusion_matrix(right, guessed).tolist()
    expected = oracle.precision_recall_fscore_support(right, guessed, zero_division=0)
    for place, score in enumerate(found.by_label()):
        mine = (score.precision, score.recall, score.f1, score.right)
        assert mine == pytest.approx([column[place] for column in expected])


def test_what_is_overlooked_or_made_up_is_counted_beside_the_labels():
    found = ConfusionMatrix([("a", "a"), ("a", NONE), (NONE, "b"), (NONE, NONE)])
    assert found.labels == ["a", "b", NONE]
    assert found.matrix().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    a, b = found.by_label()
    assert (a.hits, a.guessed, a.right) == (1, 1, 2) and (b.guessed, b.right) == (1, 0)
    assert found.errors() == [("", "b", 1), ("a", "", 1)]


def test_the_calibration_error_is_the_distance_of_bins_from_the_diagonal():
    """Beside the definition, bin by bin, as the curve of scikit-learn has them."""
    chance = np.random.default_rng(1)
    sure = chance.random(500)
    right = chance.random(500) < sure**2
    shares, means = calibration_curve(right, sure, n_bins=10)
    counts = np.histogram(sure, bins=10, range=(0, 1))[0]
    expected = (np.abs(shares - means) * counts[counts > 0]).sum() / 500
    tallies = [calibration_bins(float(s), bool(r)) for s, r in zip(sure, right, strict=True)]
    assert value_of("calibration_error", tallies) == pytest.approx(expected)
    assert calibration_bins(1.0, True)[9] == 1.0  # who is quite sure stands in the last bin


def test_sums_that_are_counted_are_those_that_are_added():
    """Few kinds of tallies are counted, many are added: both give what every row adds up to."""
    chance = np.random.default_rng(3)
    few = [Ratio(*row) for row in chance.integers(3, size=(50, 2)).tolist()]
    many = [Ratio(*row) for row in chance.random((50, 2)).tolist()]
    endless = [Ratio(np.inf, 1.0), *few]
    for tallies in (few, many, endless):
        which = chance.integers(len(tallies), size=(4, len(tallies)))
        expected = as_matrix(tallies)
        assert np.allclose(TallySums(tallies).all(), expected.sum(0))
        assert np.allclose(TallySums(tallies).of(which), [expected[draw].sum(0) for draw in which])


def test_hundreds_of_labels_have_an_interval_soon():
    """A bootstrap that copied rows of 900 numbers 5,000 times for each draw would take minutes."""
    right, guessed = drawn(0, size=5_000, labels=300)
    guessed = np.where(np.random.default_rng(1).random(len(right)) < 0.7, right, guessed)
    macro, _ = tallies_of(right, guessed, 300)
    found = measure(macro, METRICS["macro_f1"].value)
    assert found.low < found.value < found.high


def test_a_difference_draws_the_same_examples_for_both():
    right, guessed = drawn(0)
    first, _ = tallies_of(right, guessed, 6)
    second, _ = tallies_of(right, right, 6)
    value = METRICS["macro_f1"].value
    found = paired_difference(first, second, value)
    assert found.value == pytest.approx(1 - value_of("macro_f1", first))
    assert found.low > 0
    assert paired_difference(first, first, value).high == 0
