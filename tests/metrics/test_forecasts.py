"""Metrics of forecasts against closed forms, and on the public figures of M4."""

import math
import os
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from seqloom.data.formats.series import read_series
from seqloom.data.options import Data
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
from seqloom.prediction import LEVELS, QuantileForecast

CHANCE = np.random.default_rng(5)
has_sets = pytest.mark.skipif(not os.environ.get("SEQLOOM_DATA"), reason="needs SEQLOOM_DATA")


def normal_crps(value, mean, deviation):
    """σ (z (2 Φ(z) - 1) + 2 φ(z) - 1/√π)"""
    z, normal = (value - mean) / deviation, NormalDist()
    return deviation * (z * (2 * normal.cdf(z) - 1) + 2 * normal.pdf(z) - 1 / math.sqrt(math.pi))


@pytest.mark.parametrize("value", [-3.0, -0.4, 0.0, 0.9, 2.2])
def test_the_crps_of_a_normal_is_its_closed_form(value):
    found = QuantileForecast.normal(np.array([[0.3]]), np.array([[1.7]]))
    top, bottom = crps(np.array([[value]]), found.quantiles)
    assert bottom == 1 and top == pytest.approx(normal_crps(value, 0.3, 1.7), rel=0.01)


def test_the_crps_is_the_integral_over_all_levels():
    """2 ∫ ρ_τ dτ by many small steps, of quantiles on lines."""
    quantiles = np.sort(CHANCE.normal(size=(1, 1, len(LEVELS))))
    levels = (np.arange(200_000) + 0.5) / 200_000
    for value in (-2.0, 0.1, 3.0):
        errors = value - np.interp(levels, LEVELS, quantiles[0, 0])
        wanted = 2 * np.mean(levels * errors + np.maximum(-errors, 0))
        assert crps(np.array([[value]]), quantiles)[0] == pytest.approx(wanted, rel=1e-4)


def test_a_single_value_has_its_absolute_error_as_crps_and_half_of_it_as_pinball():
    quantiles = np.full((3, 2, len(LEVELS)), 4.0)
    actual = CHANCE.normal(size=(3, 2))
    assert crps(actual, quantiles)[0] == pytest.approx(np.abs(actual - 4).sum())
    assert pinball(actual, quantiles)[0] == pytest.approx(np.abs(actual - 4).sum() / 2)


def test_what_is_missing_is_not_counted():
    actual = np.array([[1.0, np.nan], [np.nan, np.nan]])
    forecast = np.array([[3.0, 9.0], [9.0, 9.0]])
    assert absolute_error(actual, forecast) == (2.0, 1.0) and squared_error(actual, forecast) == (
        4.0,
        1.0,
    )
    assert smape(actual, forecast) == (100.0, 1.0)
    assert interval_coverage(actual, forecast - 3, forecast) == (1.0, 1.0)
    assert smape(actual[1:], forecast[1:]) == (0.0, 0.0)
    assert value_of("rmse", [squared_error(actual, forecast)]) == 2.0


def test_the_naive_scale_and_what_stands_for_it():
    known = np.array([[1.0, 5.0, 0.0], [3.0, 5.0, 0.0], [2.0, 5.0, 0.0], [7.0, 5.0, 0.0]])
    assert naive_scale(known, 2).tolist() == [2.5, 5.0, 1.0]
    assert naive_scale(known, 9)[0] == pytest.approx(8 / 3)  # too short for a season
    assert mase(known[:1, :1], known[1:2, :1], np.array([2.5])) == (0.8, 1.0)


def test_coverage_has_an_aim():
    assert (METRICS["coverage_80"].aim, METRICS["coverage_95"].aim) == (0.8, 0.95)


@has_sets
def test_naive_forecasts_of_m4_hourly():
    """The figures of the competition, to three decimals."""
    folder = Path(os.environ["SEQLOOM_DATA"]) / "m4-hourly"
    past, future = (
        read_series(folder / f"Hourly-{part}.csv", Data()).series for part in ("train", "test")
    )
    found = {"last": ([], []), "season": ([], [])}
    for known, actual in zip(past, future, strict=True):
        assert known.name == actual.name
        scale = naive_scale(known.values, 24)
        last, season = known.values[[-1] * 48], np.tile(known.values[-24:], (2, 1))
        for name, forecast in (("last", last), ("season", season)):
            found[name][0].append(smape(actual.values, forecast))
            found[name][1].append(mase(actual.values, forecast, scale))
    shown = {
        name: tuple(
            METRICS[metric].show(value_of(metric, tallies))
            for metric, tallies in zip(("smape", "mase"), both, strict=True)
        )
        for name, both in found.items()
    }
    assert shown == {"last": ("43.003", "11.608"), "season": ("13.912", "1.193")}
