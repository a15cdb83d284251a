"""Metrics of forecasts and labels beside loops that are written out, value by value."""

import math

import numpy as np
import pytest

from seqloom.metrics import METRICS, value_of
from seqloom.metrics.forecasts import (
    absolute_error,
    crps,
    interval_coverage,
    mase,
    naive_scale,
    pinball,
    smape,
    squared_error,
)
from seqloom.metrics.labels import BINS, LabelScore, calibration_bins
from seqloom.prediction import LEVELS

SEEDS = range(12)


def with_gaps(chance, shape, size=3.0):
    """Values of which some are missing, some zero; in one example of six all are missing."""
    values = size * chance.normal(size=shape)
    values[chance.random(shape) < 0.15] = 0.0
    values[chance.random(shape) < 0.3] = np.nan
    return values if chance.random() < 5 / 6 else np.full(shape, np.nan)


def scale_of(column, period):
    """The mean change over a season of one column; the first of what stands for it that is not 0."""
    for lag in (period, 1):
        pairs = [(column[t], column[t - lag]) for t in range(lag, len(column))]
        apart = [abs(a - b) for a, b in pairs if not math.isnan(a) and not math.isnan(b)]
        if apart and sum(apart) > 0:
            return sum(apart) / len(apart)
    known = [abs(value) for value in column if not math.isnan(value)]
    return sum(known) / len(known) if sum(known) > 0 else 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_scale_of_mase_is_the_mean_change_that_was_observed(seed):
    """In whatever unit: also where changes are far below one."""
    chance = np.random.default_rng(seed)
    period, size = int(chance.integers(1, 5)), [1e-5, 0.01, 1.0, 1e4][seed % 4]
    known = with_gaps(chance, (int(chance.integers(1, 12)), 3), size)
    known[:, 1] = size  # never changes
    known[:, 2] = 0.0 if seed % 2 else np.nan
    found = naive_scale(known, period)
    wanted = [scale_of(known[:, n].tolist(), period) for n in range(3)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-9)
    assert wanted[1:] == [pytest.approx(size), 1.0]


@pytest.mark.parametrize("seed", SEEDS)
def test_errors_are_counted_where_something_was_observed(seed):
    """MASE and sMAPE are means of an example, which counts as one however much of it is missing."""
    chance = np.random.default_rng(100 + seed)
    forecasts = [2 * chance.normal(size=(5, 2)) for _ in range(4)]
    actuals = [with_gaps(chance, (5, 2)) for _ in forecasts]
    for forecast in forecasts:
        forecast[chance.random((5, 2)) < 0.2] = 0.0
    scale = np.array([0.5, 8.0])
    means: dict[str, list[float]] = {"mase": [], "smape": []}
    sums = {"mae": [], "mse": []}
    for actual, forecast in zip(actuals, forecasts, strict=True):
        scaled, shares = [], []
        for t in range(5):
            for n in range(2):
                a, f = actual[t, n], forecast[t, n]
                if math.isnan(a):
                    continue
                scaled.append(abs(a - f) / scale[n])
                shares.append(0.0 if a == f == 0 else 200 * abs(a - f) / (abs(a) + abs(f)))
                sums["mae"].append(abs(a - f))
                sums["mse"].append((a - f) ** 2)
        for name, found in (("mase", scaled), ("smape", shares)):
            means[name] += [sum(found) / len(found)] if found else []
    pairs = list(zip(actuals, forecasts, strict=True))
    found = {
        "mase": [mase(a, f, scale) for a, f in pairs],
        "smape": [smape(a, f) for a, f in pairs],
        "mae": [absolute_error(a, f) for a, f in pairs],
        "rmse": [squared_error(a, f) for a, f in pairs],
    }
    wanted = {name: np.mean(each) for name, each in means.items()}
    wanted |= {"mae": np.mean(sums["mae"]), "rmse": math.sqrt(np.mean(sums["mse"]))}
    for name, tallies in found.items():
        assert value_of(name, tallies) == pytest.approx(wanted[name]), name


@pytest.mark.parametrize("seed", SEEDS)
def test_losses_of_quantiles_are_those_of_every_level(seed):
    """Pinball and CRPS, with missing values and quantiles that coincide."""
    chance = np.random.default_rng(200 + seed)
    quantiles = np.sort(chance.normal(size=(4, 2, len(LEVELS))).round(seed % 3), axis=-1)
    actual = with_gaps(chance, (4, 2), 1.0).round(seed % 3)
    losses, areas = [], []
    fine = (np.arange(20_000) + 0.5) / 20_000
    for t in range(4):
        for n in range(2):
            if math.isnan(actual[t, n]):
                continue
            each = [
                max(level * (actual[t, n] - q), (level - 1) * (actual[t, n] - q))
                for level, q in zip(LEVELS, quantiles[t, n].tolist(), strict=True)
            ]
            losses.append(sum(each) / len(LEVELS))
            errors = actual[t, n] - np.interp(fine, LEVELS, quantiles[t, n])
            areas.append(2 * np.mean(np.maximum(fine * errors, (fine - 1) * errors)))
    assert pinball(actual, quantiles) == pytest.approx((sum(losses), len(losses)))
    assert crps(actual, quantiles) == pytest.approx((sum(areas), len(areas)), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_an_interval_covers_its_ends_and_no_more(size):
    """Rounding errors of its ends are forgiven, a millionth beyond them is not."""
    low, high = np.array([[-2.0 * size]]), np.array([[3.0 * size]])
    for end, outward in ((low, -1), (high, 1)):
        for off, is_inside in ((-1e-6, 1), (0, 1), (1e-12, 1), (1e-6, 0), (0.5, 0)):
            actual = end + outward * off * max(1.0, size)
            assert interval_coverage(actual, low, high) == (is_inside, 1.0), (end, off)
    missing = np.array([[np.nan]])
    assert interval_coverage(missing, low, high) == (0.0, 0.0)


@pytest.mark.parametrize("bins", [4, 10, 16])
def test_edges_belong_to_the_bin_above(bins):
    """Bins are [n/b, (n+1)/b), and the last has 1 as well."""
    for n in range(bins):
        for confidence in (n / bins, (n + 0.5) / bins, np.nextafter((n + 1) / bins, 0)):
            for is_right in (True, False):
                found = np.reshape(calibration_bins(float(confidence), is_right, bins), (3, bins))
                place = min(math.floor(confidence * bins), bins - 1)
                assert place == n or confidence * bins == n + 1, "but for rounding"
                assert found[:, place].tolist() == [confidence, float(is_right), 1.0]
                assert np.count_nonzero(np.delete(found, place, axis=1)) == 0
    assert np.reshape(calibration_bins(1.0, False, bins), (3, bins))[2].argmax() == bins - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_calibration_error_is_the_weighted_gap_of_bins(seed):
    chance = np.random.default_rng(seed)
    sure = chance.integers(0, 21, 60) / 20  # at edges and between them
    right = chance.random(60) < 0.6
    total = 0.0
    for n in range(BINS):
        inside = [k for k, s in enumerate(sure.tolist()) if min(int(s * BINS), BINS - 1) == n]
        if inside:
            gap = abs(np.mean(right[inside]) - np.mean(sure[inside]))
            total += len(inside) / 60 * gap
    tallies = [calibration_bins(float(s), bool(r)) for s, r in zip(sure, right, strict=True)]
    assert value_of("calibration_error", tallies) == pytest.approx(total)
    assert value_of("calibration_error", [(0.0,) * 3 * BINS]) == 0


def test_a_label_that_never_came_has_no_score_and_no_error():
    nothing = LabelScore("a", 0, 0, 0)
    assert (nothing.precision, nothing.recall, nothing.f1) == (0, 0, 0)
    one = LabelScore("a", 1, 2, 4)
    assert (one.precision, one.recall) == (0.5, 0.25) and one.f1 == pytest.approx(1 / 3)
    assert one.as_dict() == {"label": "a", "hits": 1, "guessed": 2, "right": 4} | {
        "precision": 0.5,
        "recall": 0.25,
        "f1": one.f1,
    }


HIGHER = {
    *("bleu", "chrf", "tokenised_bleu", "frame_accuracy", "entity_f1", "entity_precision"),
    *("entity_recall", "accuracy", "macro_f1", "micro_f1", "exact_match", "sentence_accuracy"),
}
SHARES = HIGHER - {"bleu", "chrf", "tokenised_bleu"} | {
    *("sequence_error", "symbol_error", "word_error", "calibration_error"),
    *("coverage_80", "coverage_95"),
}


@pytest.mark.parametrize("name", METRICS)
def test_what_is_better_has_the_smaller_rank(name):
    """Scores are better when high, errors and losses when low, a coverage when near its level."""
    metric = METRICS[name]
    ranked = sorted([0.1, 0.5, 0.9], key=metric.rank)
    if metric.aim is not None:
        assert name == f"coverage_{100 * metric.aim:.0f}" and ranked == [0.9, 0.5, 0.1]
        assert metric.rank(metric.aim) == 0 and metric.rank(0.99) > metric.rank(0.81 + 0.14)
    else:
        assert ranked == ([0.9, 0.5, 0.1] if name in HIGHER else [0.1, 0.5, 0.9])
        assert metric.lower_is_better == (name not in HIGHER)
    assert (metric.show(0.25) == "25.00 %") == (name in SHARES)
    assert metric.show(math.inf) == "infinite"


def test_perplexity_grows_without_bound_but_a_float_holds_it():
    assert value_of("perplexity", [(3.0, 2.0)]) == pytest.approx(math.exp(1.5))
    assert value_of("perplexity", [(699.0, 1.0)]) == pytest.approx(math.exp(699))
    assert value_of("perplexity", [(1e9, 1.0)]) == value_of("perplexity", [(701.0, 1.0)])
    assert value_of("perplexity", [(math.inf, 1.0)]) == math.inf
    assert math.isnan(value_of("perplexity", []))
