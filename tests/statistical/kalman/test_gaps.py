"""Rows with gaps around steady states: the fast filter beside the one that goes value by value."""

import numpy as np
import pytest

from seqloom.statistical.kalman import compiled, inference
from seqloom.statistical.kalman.em import e_step
from seqloom.statistical.kalman.simulate import OnlineFilter

from .random_models import brute, random_model

TIME = 130


HALF = TIME // 2
PLACES = {  # steps and columns of what is missing
    "none": [],
    "first": [(0, slice(None))],
    "last": [(-1, slice(None))],
    "one-value-last": [(-1, -1)],
    "single": [(HALF, slice(None))],
    "single-value": [(HALF, 0)],
    "two-apart": [(HALF, 0), (HALF + 2, -1)],
    "long": [(slice(HALF, HALF + 30), slice(None))],
    "one-column": [(slice(HALF, None), 0)],
    "alternate": [(slice(None, None, 2), -1)],
    "early": [(slice(1, 4), slice(None)), (6, 0)],
    "often": [(slice(3, None, 17), 0), (slice(5, None, 23), -1)],
    "all": [(slice(None), slice(None))],
}


def gaps(kind, width):
    """Where values of a series are missing."""
    found = np.zeros((TIME, width), dtype=bool)
    for place in PLACES[kind]:
        found[place] = True
    return found


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize(
    ("width", "full", "diffuse"), [(1, False, 0), (1, False, 2), (3, True, 0), (3, False, 1)]
)
def test_gains_are_those_of_each_step_however_rows_are_missing(kind, width, full, diffuse):
    """Likelihoods, predicted, filtered and smoothed moments, and those of neighbours."""
    model, values, inputs = random_model(3, time=TIME, width=width, full=full, diffuse=diffuse)
    values = np.nan_to_num(values)
    missing = gaps(kind, width)
    if diffuse and missing.all():
        return  # nothing ever says where it began
    values[missing] = np.nan
    exact = inference.kalman_filter(model, values, inputs)
    right = inference.kalman_smoother(model, values, inputs)
    known = compiled.kalman_filter(model, values, inputs)
    found = compiled.kalman_smoother(model, values, inputs, lagged=True)
    close = {"rtol": 1e-7, "atol": 1e-8}
    each = compiled.log_likelihoods(model, values, inputs)
    for likelihood in (each, known.log_likelihood, found.log_likelihood):
        np.testing.assert_allclose(likelihood, exact.log_likelihood, **close)
    assert (each[missing.all(1)] == 0).all()
    steps = known.diffuse_steps
    np.testing.assert_allclose(known.predicted_mean, exact.predicted, **close)
    np.testing.assert_allclose(known.mean, exact.filtered, **close)
    predicted, filtered = known.predicted_covariance, known.covariance
    np.testing.assert_allclose(predicted[:][steps:], exact.predicted_covariances[steps:], **close)
    np.testing.assert_allclose(filtered[:][steps:], exact.filtered_covariances[steps:], **close)
    np.testing.assert_allclose(found.mean, right.mean, **close)
    np.testing.assert_allclose(found.covariance[:], right.covariance[:], **close)
    np.testing.assert_allclose(found.lag_covariance[:], right.lag_covariance[:], **close)
    if kind in ("none", "single", "long", "last"):
        assert len(predicted.distinct) < TIME, "it never became steady"


@pytest.mark.parametrize("kind", ["none", "single-value", "two-apart", "often"])
def test_weighted_sums_of_covariances_are_sums_over_steps(kind):
    """Equal covariances are stored once, and counted as often as they come."""
    model, values, inputs = random_model(5, time=TIME, width=2)
    values = np.nan_to_num(values)
    values[gaps(kind, 2)] = np.nan
    found = compiled.kalman_smoother(model, values, inputs, lagged=True)
    weights = np.random.default_rng(1).random(TIME)
    wanted = np.einsum("t,tij->ij", weights, found.covariance[:])
    np.testing.assert_allclose(found.covariance.weighted_sum(weights), wanted)
    wanted = np.einsum("t,tij->ij", weights[1:], found.lag_covariance[:])
    np.testing.assert_allclose(found.lag_covariance.weighted_sum(weights[1:]), wanted)
    assert len(found.covariance) == TIME and len(found.lag_covariance) == TIME - 1


@pytest.mark.parametrize("kind", ["none", "single-value", "long", "two-apart"])
def test_moments_of_a_long_series_are_sums_over_its_steps(kind):
    """The E-step beside one joint Gaussian of all states, where most covariances are shared."""
    model, values, inputs = random_model(2, time=45, states=2, width=2)
    values = np.nan_to_num(values)
    values[gaps(kind, 2)[HALF - 20 : HALF + 25]] = np.nan
    found, right = e_step(model, values, inputs), brute(model, values, inputs)
    assert found.log_likelihood == pytest.approx(right.log_likelihood)

    def second(s, t):
        return right.covariance[s, :, t] + np.outer(right.mean[s], right.mean[t])

    def regressors(t, at):
        g = np.concatenate([right.mean[t], inputs[at], [1.0]])
        squares = np.outer(g, g)
        squares[:2, :2] = second(t, t)
        return squares

    move = found.transition
    assert (move.count, found.series) == (44, 1)
    np.testing.assert_allclose(found.initial, right.mean[0], atol=1e-8)
    np.testing.assert_allclose(found.initial_squares, second(0, 0), atol=1e-8)
    np.testing.assert_allclose(move.targets, sum(second(t, t) for t in range(1, 45)), atol=1e-7)
    wanted = sum(regressors(t - 1, t) for t in range(1, 45))
    np.testing.assert_allclose(move.regressors, wanted, atol=1e-7)
    cross = sum(
        np.hstack([second(t, t - 1), np.outer(right.mean[t], np.concatenate([inputs[t], [1.0]]))])
        for t in range(1, 45)
    )
    np.testing.assert_allclose(move.cross, cross, atol=1e-7)
    seen = found.observation
    assert seen.count == 45
    np.testing.assert_allclose(seen.regressors, sum(regressors(t, t) for t in range(45)), atol=1e-7)


@pytest.mark.parametrize("kind", ["none", "first", "early", "alternate", "often"])
@pytest.mark.parametrize("diffuse", [0, 2])
def test_one_step_at_a_time_is_the_filter(kind, diffuse):
    """What a stream expects next is what the filter predicts; here inputs stay the same."""
    model, values, _ = random_model(4, time=30, width=2, diffuse=diffuse)
    inputs = np.tile([0.5, -1.0], (30, 1))
    values = np.nan_to_num(values)
    values[gaps(kind, 2)[:30]] = np.nan
    exact = inference.kalman_filter(model, values, inputs)
    stream = OnlineFilter(model, random_model(4)[0].initial)
    state = stream.begin()
    identified = [np.abs(exact.filtered_diffuse[t]).max() < 1e-8 for t in range(30)]
    offset = compiled.observation_offsets(model, inputs)
    for t in range(29):
        mean, covariance, state = stream.step(values[t], inputs[t], state)
        if identified[t]:
            design = model.observation
            wanted = design @ exact.predicted[t + 1] + offset[t + 1]
            np.testing.assert_allclose(mean, wanted, atol=1e-7)
            spread = design @ exact.predicted_covariances[t + 1] @ design.T
            np.testing.assert_allclose(covariance, spread + model.observation_noise, atol=1e-7)
            filtered = stream.filtered(state)
            np.testing.assert_allclose(filtered[0], exact.filtered[t], atol=1e-7)
            np.testing.assert_allclose(filtered[1], exact.filtered_covariances[t], atol=1e-7)
    assert identified[-1] and identified[0] == (diffuse == 0 or kind not in ("first", "alternate"))
