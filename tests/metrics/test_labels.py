"""Scores of labels, beside those of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as oracle
from sklearn.calibration import calibration_curve

from seqloom.metrics import METRICS, Ratio, value_of
from seqloom.metrics.calibration import debiased_calibration_error
from seqloom.metrics.labels import NONE, ConfusionMatrix, calibration_bins, label_counts, micro_f1
from seqloom.metrics.tallies import TallySums, as_matrix


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


@pytest.mark.parametrize("size", [30, 100, 400])
def test_a_calibrated_model_has_a_calibration_error_of_about_nothing(size):
    """The error as it is defined is 7 points of a hundred predictions that are as good as they say."""
    chance, raw, told, held = np.random.default_rng(size), [], [], 0
    for _ in range(120):
        sure = 0.5 + 0.5 * chance.random(size)
        right = chance.random(size) < sure
        tallies = [calibration_bins(float(a), bool(b)) for a, b in zip(sure, right, strict=True)]
        found = debiased_calibration_error(tallies)
        assert 0 <= found.low <= found.value <= found.high
        raw.append(value_of("calibration_error", tallies))
        told.append(found.value)
        held += found.low == 0
    assert np.mean(told) < 0.4 * np.mean(raw)
    assert held >= 0.92 * 120


def test_an_error_that_is_there_is_told():
    """Confident by 20 points too much: with many predictions the error is near, and no less."""
    chance, held = np.random.default_rng(5), 0
    for size in [300] * 40 + [3000] * 10:
        sure = 0.6 + 0.4 * chance.random(size)
        right = chance.random(size) < sure - 0.2
        tallies = [calibration_bins(float(a), bool(b)) for a, b in zip(sure, right, strict=True)]
        found = debiased_calibration_error(tallies)
        assert found.value == pytest.approx(0.2, abs=0.12 if size == 300 else 0.04)
        assert found.low > 0.05
        held += found.low <= 0.2 <= found.high
    assert held >= 44


def test_predictions_that_depend_on_each_other_count_as_fewer():
    """Ten copies of each prediction say no more than one, so the interval is no narrower."""
    chance = np.random.default_rng(3)
    sure = 0.5 + 0.5 * chance.random(150)
    tallies = [calibration_bins(float(p), bool(chance.random() < p)) for p in sure]
    once = debiased_calibration_error(tallies)
    often = debiased_calibration_error([tuple(10 * x for x in row) for row in tallies])
    assert often.high - often.low > 0.7 * (once.high - once.low)


def test_sums_that_are_counted_are_those_that_are_added():
    """Few kinds of tallies are counted: that gives what every row adds up to."""
    chance = np.random.default_rng(3)
    few = [Ratio(*row) for row in chance.integers(3, size=(50, 2)).tolist()]
    many = [Ratio(*row) for row in chance.random((50, 2)).tolist()]
    endless = [Ratio(np.inf, 1.0), *few]
    for tallies in (few, many, endless):
        assert np.allclose(TallySums(tallies).all(), as_matrix(tallies).sum(0))


def test_a_difference_of_macro_f1():
    right, guessed = drawn(0)
    first, _ = tallies_of(right, guessed, 6)
    second, _ = tallies_of(right, right, 6)
    found = METRICS["macro_f1"].difference(first, second)
    assert found.value == pytest.approx(1 - value_of("macro_f1", first))
    assert found.low > 0
    assert METRICS["macro_f1"].difference(first, first).p == 1
