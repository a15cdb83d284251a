"""Confidence intervals: against tables and definitions, and by how often they hold the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from seqloom.metrics import METRICS, Ratio
from seqloom.metrics.intervals import (
    MetricValue,
    influence,
    mean_with_interval,
    student_t_probability,
    student_t_quantile,
    wilson_interval,
)
from seqloom.metrics.labels import label_counts
from seqloom.metrics.tallies import ratio


@pytest.mark.parametrize("freedom, share, t", [  # from printed tables of Student's t
    (1, 0.95, 12.7062), (2, 0.95, 4.3027), (3, 0.95, 3.1824), (4, 0.95, 2.7764),
    (9, 0.95, 2.2622), (10, 0.95, 2.2281), (29, 0.95, 2.0452), (120, 0.95, 1.9799),
    (4, 0.99, 4.6041), (7, 0.9, 1.8946),
])  # fmt: skip
def test_students_t(freedom, share, t):
    assert student_t_quantile(freedom, share) == pytest.approx(t, abs=5e-5)


def test_the_mean_and_its_interval_by_hand():
    found = mean_with_interval([0.7, 0.8, 0.9])
    assert found.value == pytest.approx(0.8) and found.deviation == pytest.approx(0.1)
    assert found.high - 0.8 == pytest.approx(4.30265 * 0.1 / math.sqrt(3), rel=1e-5)
    assert 0.8 - found.low == pytest.approx(found.high - 0.8)
    wider = mean_with_interval([0.7, 0.8, 0.9], 0.5)
    assert wider.high - 0.8 == pytest.approx(4.30265 * 0.1 * math.sqrt(1 / 3 + 1 / 2), rel=1e-5)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    chance, held = np.random.default_rng(0), 0
    for _ in range(600):
        found = mean_with_interval(chance.normal(3, 2, 5).tolist())
        held += found.low <= 3 <= found.high
    assert held / 600 == pytest.approx(0.95, abs=0.025)


def test_repeating_folds_does_not_narrow_the_interval_without_end():
    values = np.random.default_rng(1).normal(0.8, 0.05, 500).tolist()
    found = mean_with_interval(values, 1 / 4)
    assert found.high - found.low > 2 * 1.96 * found.deviation * math.sqrt(1 / 4)


def test_of_one_run_or_one_without_bound_there_is_no_interval():
    for values in ([0.5], [1.0, math.inf]):
        found = mean_with_interval(values)
        assert found.value == np.mean(values) and math.isnan(found.low)


def test_shares():
    """Wilson's interval: where the share is z standard errors from its ends, those of the ends."""
    for count, size in ((0, 5), (1, 9), (30, 100), (7, 7)):
        found = wilson_interval(count, size)
        assert found.value == count / size
        assert 0 <= found.low <= found.value <= found.high <= 1
        for end in (found.low, found.high):
            if 0 < end < 1:
                error = math.sqrt(end * (1 - end) / size)
                assert abs(found.value - end) == pytest.approx(1.959964 * error, rel=1e-5)


def test_student_probability_is_that_of_scipy():
    for t, freedom in ((0.3, 1), (2.1, 4), (1.0, 9), (3.5, 100)):
        expected = 1 - 2 * stats.t.sf(t, freedom)
        assert student_t_probability(t, freedom) == pytest.approx(expected)


def ratios(tops, bottom=1.0):
    return [Ratio(float(top), bottom) for top in tops]


def test_shares_of_single_decisions_have_wilsons_interval():
    for hits, size in ((2, 2), (0, 3), (7, 10), (150, 200)):
        found = METRICS["accuracy"].measure(ratios([1] * hits + [0] * (size - hits)))
        assert found == wilson_interval(hits, size)
    assert METRICS["accuracy"].measure(ratios([1, 1])).low < 0.35, "two examples say little"


def test_all_words_right_counts_sentences():
    """Whether the words of a sentence depend on each other cannot be seen where all are right."""
    found = METRICS["accuracy"].measure([Ratio(9.0, 9.0)] * 12)
    assert (found.value, found.low, found.high) == (1.0, wilson_interval(12, 12).low, 1.0)


def test_few_examples_and_equal_ones_have_no_interval():
    for values in ([0.696], [1.0, 2.0, 3.0, 4.0, 5.0], [0.696] * 40, [1.0, math.inf] * 6):
        found = METRICS["mase"].measure(ratios(values))
        assert not found.has_interval and math.isnan(found.low) and math.isnan(found.high)
        assert found.value == np.mean(values)
    assert METRICS["mase"].measure(ratios([1, 2, 3, 4, 5, 7])).has_interval


def test_macro_f1_of_few_examples_for_each_label_has_none():
    def of(size):
        right = [number % 5 for number in range(size)]
        return [label_counts(((a, a if a % 2 else 0),), 5) for a in right]

    assert not METRICS["macro_f1"].measure(of(30)).has_interval
    found = METRICS["macro_f1"].measure(of(60))
    assert 0 <= found.low < found.value < found.high <= 1


def test_ends_stay_where_a_metric_can_be():
    found = METRICS["mae"].measure(ratios([0, 0, 0, 0, 0, 0, 0, 9]))
    assert found.low == 0 < found.value < found.high
    assert METRICS["loss"].measure(ratios([0, 0, 0, 0, 0, 0, 0, -9])).low < 0


def test_examples_that_say_nothing_are_not_counted():
    known = ratios([1.0, 2.0, 4.0, 3.0, 5.0, 9.0, 7.0])
    assert METRICS["mae"].measure([*known, Ratio(0.0, 0.0)]) == METRICS["mae"].measure(known)


@pytest.mark.parametrize("seed", range(3))
def test_influence_is_that_of_leaving_out(seed):
    rows = np.random.default_rng(seed).integers(1, 9, (12, 2)).astype(float)
    whole = rows[:, 0].sum() / rows[:, 1].sum()
    others = [np.delete(rows, place, 0).sum(0) for place in range(12)]
    expected = [11 * (whole - top / bottom) for top, bottom in others]
    tallies = [*map(tuple, rows.tolist())]
    assert influence(tallies, ratio) == pytest.approx(expected)
    assert influence(tallies, lambda sums: sums[0] / sums[1]) == pytest.approx(expected)


def test_hundreds_of_labels_have_an_interval_soon():
    chance = np.random.default_rng(1)
    right = chance.integers(300, size=5_000)
    guessed = np.where(chance.random(5_000) < 0.7, right, chance.integers(300, size=5_000))
    pairs = zip(right.tolist(), guessed.tolist(), strict=True)
    found = METRICS["macro_f1"].measure([label_counts((pair,), 300) for pair in pairs])
    assert found.low < found.value < found.high


def words(chance, size):
    """Wrong words of sentences, some of which are hard."""
    lengths = chance.integers(3, 30, size)
    wrong = chance.binomial(lengths, chance.beta(2, 18, size))
    return [Ratio(float(a), float(b)) for a, b in zip(wrong, lengths, strict=True)]


@pytest.mark.parametrize("metric, truth, draw, size", [
    ("accuracy", 0.5, lambda c, n: ratios((c.random(n) < 0.5).astype(float)), 20),
    ("mae", 1.0, lambda c, n: ratios(c.exponential(1, n)), 6),
    ("mae", 1.0, lambda c, n: ratios(c.exponential(1, n)), 30),
    ("mase", math.exp(0.125), lambda c, n: ratios(c.lognormal(0, 0.5, n)), 10),
    ("mae", 3.0, lambda c, n: ratios(c.normal(3, 1, n)), 8),
    ("word_error", 0.1, words, 10),
    ("word_error", 0.1, words, 60),
])  # fmt: skip
def test_intervals_hold_the_truth_as_often_as_they_say(metric, truth, draw, size):
    """92 to 98 % of 600; percentiles of a bootstrap would hold it in 77 to 90 % of few examples."""
    chance, held = np.random.default_rng(size), 0
    for _ in range(600):
        found = METRICS[metric].measure(draw(chance, size))
        assert found.low <= found.value <= found.high
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 600 <= 0.982


def test_a_metric_is_shown_with_its_interval_or_why_there_is_none():
    accuracy = METRICS["accuracy"]
    assert accuracy.show_interval(MetricValue(0.5, 0.25, 0.75)) == "50.00 % (25.00 % to 75.00 %)"
    assert accuracy.show_interval(MetricValue(0.5, np.nan, np.nan)) == "50.00 % (too few to say)"
    assert "few" not in METRICS["mase"].show_interval(MetricValue(np.inf, np.nan, np.nan))
