"""The state-space model: estimates against statsmodels, exact forecasts, streaming."""

import numpy as np
import pytest
import statsmodels.api as statsmodels

from seqloom.batch import Batch, Item, Sequences, collate
from seqloom.errors import ModelError
from seqloom.model import EMTrained, Filtering, Search
from seqloom.models.kalman import Kalman
from seqloom.signature import Form, Series, Signature

NILE = statsmodels.datasets.nile.data.load_pandas().data.volume.to_numpy()[:, None]


def signature(width=1, known=0, period=1, horizon=5):
    return Signature(
        Form.FORECAST, Series(width, known, period, horizon), Series(width, 0, period, horizon)
    )


def whole(*several):
    """Series to learn from, of which only the inputs come before."""
    items = []
    for values, *inputs in several:
        known = inputs[0] if inputs else np.zeros((len(values), 0))
        items.append(Item(np.concatenate([np.full_like(values, np.nan), known], 1), values))
    return collate(items)


def ahead(values, horizon):
    """A series, and room for its future."""
    return Sequences.pad([np.concatenate([values, np.full((horizon, values.shape[1]), np.nan)])])


@pytest.fixture(scope="module")
def level():
    made = Kalman(signature(), structure="local-level")
    made.update(made.statistics(whole((NILE,))))
    return made


def test_the_nile_is_learned(level):
    """Variances of Durbin and Koopman; the likelihood with the constant of every number."""
    assert isinstance(level, EMTrained)
    found = level.describe()
    assert found["variance of noise"] == pytest.approx(15099, rel=1e-3)
    assert found["variance of level"] == pytest.approx(1469.1, rel=1e-3)
    log_prob = level.log_prob(whole((NILE,)))[0]
    assert log_prob == pytest.approx(-633.4646, abs=1e-3)
    assert log_prob + 0.5 * np.log(2 * np.pi) == pytest.approx(-632.5456, abs=1e-3)


@pytest.mark.parametrize("missing", [False, True])
def test_forecasts_and_components_are_those_of_statsmodels(level, missing):
    values = NILE.copy()
    if missing:
        values[20:40] = values[60:80] = np.nan
    found = level.describe()
    rival = statsmodels.tsa.UnobservedComponents(values[:, 0], "llevel", use_exact_diffuse=True)
    right = rival.smooth([found["variance of noise"], found["variance of level"]])
    told = right.get_forecast(5)
    foreseen = level.predict(ahead(values, 5), Search()).forecasts[0]
    np.testing.assert_allclose(foreseen.mean[:, 0], told.predicted_mean, rtol=1e-6)
    low, high = foreseen.interval(0.95)
    np.testing.assert_allclose(
        np.stack([low[:, 0], high[:, 0]], 1), told.conf_int(alpha=0.05), rtol=1e-6
    )
    mean, size = level.components(values)["level"]
    np.testing.assert_allclose(mean[:, 0], right.smoothed_state[0], rtol=1e-6)
    np.testing.assert_allclose(size[:, 0] ** 2, right.smoothed_state_cov[0, 0], rtol=1e-6)


def test_expectation_never_falls():
    made = Kalman(signature(), structure="local-level", learning="expectation")
    data, likely = whole((NILE[:60],), (NILE[40:],)), []
    for _ in range(8):
        made.update(made.statistics(data))
        likely.append(made.log_prob(data).sum())
    assert np.all(np.diff(likely) > -1e-8)


def test_steps_are_the_filter(level):
    """The next step as `predict` foresees it, and the posterior as the whole filter has it."""
    values = NILE[:12].copy()
    values[[0, 5]] = np.nan
    stepper = level.stepper()
    assert isinstance(stepper, Filtering)
    state = stepper.begin()
    for now in range(1, 13):
        answer, state = stepper.step(values[now - 1], state)
        foreseen = level.predict(ahead(values[:now], 1), Search(horizon=1)).forecasts[0]
        np.testing.assert_allclose(answer[0], foreseen.mean[0], rtol=1e-9)
        np.testing.assert_allclose(answer[1:].T, foreseen.quantiles[0], rtol=1e-9)
        known, posterior = level.filtered(values[:now]), stepper.posterior(state)
        np.testing.assert_allclose(posterior["mean"], known.mean[-1], atol=1e-9)
        np.testing.assert_allclose(posterior["covariance"], known.covariance[-1], atol=1e-9)


def test_the_future_is_one_density(level):
    """log p(future | past) is the sum of its steps, and futures are drawn from it by the seed."""
    past, future = NILE[:90], NILE[90:93]
    asked = Batch(ahead(past, 3), Sequences.pad([future]))
    total = 0.0
    for step in range(3):
        seen = np.concatenate([past, future[:step]])
        total += level.log_prob(Batch(ahead(seen, 1), Sequences.pad([future[step : step + 1]])))[0]
    assert level.log_prob(asked)[0] == pytest.approx(total, rel=1e-9)
    one, same, other = (
        level.predict(ahead(past, 3), Search(horizon=3, samples=2000, seed=s)).forecasts[0]
        for s in (1, 1, 2)
    )
    assert np.array_equal(one.paths, same.paths) and not np.array_equal(one.paths, other.paths)
    size = (one.quantiles[..., -1] - one.mean) / 1.959964
    assert np.abs((one.paths.mean(0) - one.mean) / size).max() < 5 / np.sqrt(2000)


def test_a_past_that_tells_nothing_has_a_wide_answer(level):
    nothing = level.predict(ahead(np.full((2, 1), np.nan), 5), Search()).forecasts[0]
    assert np.isfinite(nothing.quantiles).all()
    assert 600 < nothing.mean[0, 0] < 1200
    told = level.predict(ahead(NILE, 5), Search()).forecasts[0]
    assert np.ptp(nothing.quantiles[0]) > np.ptp(told.quantiles[0])


@pytest.mark.parametrize(
    "options, code",
    [
        ({"states": 0}, "M403"),
        ({"order": 0}, "M403"),
        ({"tolerance": -1.0}, "M403"),
        ({"structure": "autoregression", "learning": "expectation"}, "M403"),
    ],
)
def test_options_that_cannot_be(options, code):
    with pytest.raises(ModelError) as told:
        Kalman(signature(), **options)
    assert told.value.code == code


def test_nothing_to_learn_from():
    made = Kalman(signature(), structure="local-level")
    with pytest.raises(ModelError) as told:
        made.update(made.statistics(whole((np.full((9, 1), np.nan),))))
    assert told.value.code == "M440"


def test_inputs_drive_what_is_observed():
    chance = np.random.default_rng(3)
    inputs = chance.normal(size=(80, 1))
    values = 5 + 2 * inputs + 0.1 * chance.normal(size=(80, 1))
    made = Kalman(signature(known=1), structure="local-level")
    made.update(made.statistics(whole((values, inputs))))
    assert made.describe()["input 1"] == pytest.approx(2, abs=0.1)
    known = np.concatenate([np.concatenate([values, np.full((2, 1), np.nan)])] * 1)
    source = np.concatenate([known, np.concatenate([inputs, [[1.0], [-1.0]]])], 1)
    mean = made.predict(Sequences.pad([source]), Search(horizon=2)).forecasts[0].mean
    np.testing.assert_allclose(mean[:, 0], [7, 3], atol=0.3)
