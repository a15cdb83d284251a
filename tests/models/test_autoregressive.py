"""Autoregression: equal to statsmodels, and to brute force where values are missing."""

import warnings

import numpy as np
import pytest
from scipy.stats import invwishart
from scipy.stats import t as student

from seqloom.batch import Batch, Item, Sequences
from seqloom.errors import ModelError
from seqloom.model import Search
from seqloom.models.autoregressive import Autoregressive
from seqloom.prediction import LEVELS, NORMAL_QUANTILES
from seqloom.signature import Form, Series, Signature
from seqloom.training.closed_form import ClosedForm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.datasets import macrodata, sunspots
    from statsmodels.tsa.api import VAR
    from statsmodels.tsa.ar_model import AutoReg, ar_select_order

NAN = np.nan


def made(width=1, known=0, period=1, clock=False, **options):
    spaces = (Series(width, n, period, 4, clock and n > 0) for n in (known, 0))
    return Autoregressive(Signature(Form.FORECAST, *spaces), **options)


def whole(*series, known=None):
    """Series to learn from: no past."""
    rows = Sequences.pad([np.asarray(one, dtype=float) for one in series])
    hidden = np.full_like(rows.values, NAN)
    inputs = [] if known is None else [Sequences.pad([*known]).values]
    return Batch(Sequences(np.concatenate([hidden, *inputs], -1), rows.lengths), rows)


def learned(series, known=None, **options):
    inputs = 0 if known is None else known.shape[1]
    model = made(series.shape[1], inputs, **options)
    model.update(model.statistics(whole(series, known=None if known is None else [known])))
    return model


def source(past, steps, known=None):
    rows = np.concatenate([past, np.full((steps, past.shape[1]), NAN)])
    rows = rows if known is None else np.concatenate([rows, known], axis=1)
    return Sequences(rows[None], np.array([len(rows)]))


def ahead(model, past, steps, known=None):
    return model.predict(source(past, steps, known), Search(horizon=steps)).forecasts[0]


@pytest.fixture(scope="module")
def economy():
    data = macrodata.load_pandas().data[["realgdp", "realcons", "realinv"]]
    return np.diff(np.log(data.to_numpy()), axis=0)


@pytest.fixture(scope="module")
def spots():
    return sunspots.load_pandas().data["SUNACTIVITY"].to_numpy()[:, None]


def test_vector_autoregression_is_that_of_statsmodels(economy):
    right = VAR(economy).fit(3)
    model = learned(economy, order=3, guessed=False)
    np.testing.assert_allclose(model.process.coefficients, right.coefs, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.weights()["driven"][:, 0], right.intercept, rtol=1e-8)
    np.testing.assert_allclose(model.process.noise, right.sigma_u, rtol=1e-8)
    mean, low, high = right.forecast_interval(economy[-3:], 12, alpha=0.05)
    found = ahead(model, economy, 12)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.interval(0.95)[0], low, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.interval(0.95)[1], high, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_the_order_is_that_of_statsmodels(economy, criterion):
    right = VAR(economy).select_order(8)
    model = learned(economy, most=8, criterion=criterion)
    scores = [model.criteria[order] for order in range(9)]
    np.testing.assert_allclose(scores, right.ics[criterion], rtol=1e-8)
    chosen = right.selected_orders[criterion]
    assert model.process.order == chosen
    best = VAR(economy).fit(chosen)  # over all rows that this order has
    np.testing.assert_allclose(model.process.coefficients, best.coefs, rtol=1e-8, atol=1e-10)


def test_one_series_is_that_of_statsmodels(spots):
    right = AutoReg(spots[:, 0], 9).fit()
    model = learned(spots, order=9, guessed=False)
    np.testing.assert_allclose(model.process.coefficients[:, 0, 0], right.params[1:], rtol=1e-7)
    found = ahead(model, spots, 20)
    wanted = right.get_prediction(len(spots), len(spots) + 19)
    np.testing.assert_allclose(found.mean[:, 0], wanted.predicted_mean, rtol=1e-6)
    # Ours divides squared errors by rows less weights, theirs by rows.
    deviation = (found.quantiles[:, 0, -1] - found.mean[:, 0]) / NORMAL_QUANTILES[-1]
    ratio = (right.nobs - 10) / right.nobs
    np.testing.assert_allclose(deviation**2 * ratio, wanted.var_pred_mean, rtol=1e-6)
    chosen = ar_select_order(spots[:, 0], 15, ic="aic").ar_lags
    assert learned(spots, most=15, criterion="aic").process.order == len(chosen)


def test_trend_season_and_inputs_are_those_of_statsmodels(spots):
    """The clock begins at 1, as their trend does; a past that begins later knows its place."""
    chance = np.random.default_rng(0)
    steps, length, seen = len(spots), len(spots) + 12, 40
    inputs = chance.normal(size=(length, 2))
    known = np.column_stack([np.arange(1, length + 1), inputs])
    options = {"trend": "ct", "seasonal": True, "period": 4}
    right = AutoReg(spots[:, 0], 2, exog=inputs[:steps], **options).fit()
    model = learned(spots, known[:steps], order=2, trend=True, season=True, period=4, clock=True)
    np.testing.assert_allclose(model.process.coefficients[:, 0, 0], right.params[5:7], rtol=1e-6)
    np.testing.assert_allclose(model.weights()["driven"][0, -2:], right.params[-2:], rtol=1e-6)
    wanted = right.predict(steps, steps + 11, exog_oos=inputs[steps:])
    found = ahead(model, spots[seen:], 12, known[seen:])
    np.testing.assert_allclose(found.mean[:, 0], wanted, rtol=1e-6)


def test_batches_can_be_added(economy):
    """Many series, in one batch or in several, gaps and all: the same sums."""
    series = [economy[:50].copy(), economy[50:90].copy(), economy[90:]]
    series[0][[7, 30], 1] = NAN
    one, other = made(3, most=3), made(3, most=3)
    one.update(one.statistics(whole(*series)))
    first, second, third = (other.statistics(whole(single)) for single in series)
    other.update(first + second + third)
    for name, array in one.weights().items():
        np.testing.assert_allclose(array, other.weights()[name], rtol=1e-8, atol=1e-14)


def test_rows_with_gaps_are_left_out(spots):
    """Least squares over the rows that have all their taps, written out."""
    series = spots.copy()
    series[[5, 6, 40, 100]] = NAN
    table = np.column_stack([np.ones(len(series) - 2), series[1:-1], series[:-2], series[2:]])
    table = table[~np.isnan(table).any(1)]
    right = np.linalg.lstsq(table[:, :3], table[:, 3], rcond=None)[0]
    model = learned(series, order=2)
    np.testing.assert_allclose(model.process.coefficients[:, 0, 0], right[1:], rtol=1e-8)
    found = learned(series, most=2)  # the order that is chosen is fitted over its own rows
    assert found.process.order == 2
    np.testing.assert_allclose(found.process.coefficients, model.process.coefficients, rtol=1e-8)


def test_ridge_is_its_closed_form(economy):
    x = np.column_stack([np.ones(len(economy) - 2), economy[1:-1], economy[:-2]])
    penalty = 0.01 * np.diag([0, *[1] * 6])
    right = np.linalg.solve(x.T @ x + penalty, x.T @ economy[2:])
    model = learned(economy, order=2, ridge=0.01)
    found = np.concatenate([model.process.coefficients[0].T, model.process.coefficients[1].T])
    np.testing.assert_allclose(found, right[1:], rtol=1e-7)


def unrolled(model, length):
    """Mean and covariance of the first rows of a series, by the equation alone."""
    delays, first = model.process, model.begin()
    memory, width = len(first.mean), delays.width
    ways = np.zeros((memory + length * width, memory + length * width))  # x of start and noise
    ways[:memory, :memory] = np.eye(memory)
    constant = np.concatenate([np.zeros(memory), np.tile(model.weights()["driven"][:, 0], length)])
    for t in range(length):
        here = slice(memory + t * width, memory + (t + 1) * width)
        ways[here, here] = np.eye(width)
        for k, tap in enumerate(delays.coefficients, start=1):
            back = memory + (t - k) * width
            row = back if t >= k else (k - t - 1) * width
            ways[here] += tap @ ways[row : row + width]
            constant[here] += tap @ constant[row : row + width] * (t >= k)
    start = np.concatenate([first.mean, np.zeros(length * width)])
    noise = np.kron(np.eye(length), delays.noise)
    spread = np.block(
        [[first.covariance, np.zeros((memory, length * width))],
         [np.zeros((length * width, memory)), noise]]
    )  # fmt: skip
    mean, shared = ways @ start + constant, ways @ spread @ ways.T
    return mean[memory:], shared[memory:, memory:]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width, order", [(1, 3), (2, 2)])
def test_gaps_are_conditioned_on_all_that_was_observed(seed, width, order):
    """Forecasts and densities with numbers missing anywhere equal those of one great Normal."""
    chance = np.random.default_rng(seed)
    model = learned(chance.normal(size=(60, width)).cumsum(0) * 0.3, order=order, guessed=False)
    length, steps = 12, 3
    rows = chance.normal(size=(length, width))
    rows[chance.random(rows.shape) < 0.3] = NAN
    rows[4:8] = chance.normal(size=(4, width))  # a stretch without gaps: the memory is exact
    mean, shared = unrolled(model, length)
    seen = ~np.isnan(rows).ravel()
    seen[-steps * width :] = False
    gain = shared[:, seen] @ np.linalg.inv(shared[np.ix_(seen, seen)])
    right = mean + gain @ (rows.ravel()[seen] - mean[seen])
    left = shared - gain @ shared[seen]
    found = ahead(model, rows[:-steps], steps)
    tail = slice(-steps * width, None)
    np.testing.assert_allclose(found.mean.ravel(), right[tail], rtol=1e-8, atol=1e-9)
    deviation = (found.quantiles[..., -1] - found.mean).ravel() / NORMAL_QUANTILES[-1]
    np.testing.assert_allclose(deviation**2, np.diag(left)[tail], rtol=1e-7)
    told = ~np.isnan(rows[-steps:]).ravel()
    error, part = (rows.ravel() - right)[tail][told], left[tail, tail][np.ix_(told, told)]
    size = np.linalg.slogdet(2 * np.pi * part)[1]
    density = -0.5 * (size + error @ np.linalg.solve(part, error)) if told.any() else 0.0
    batch = Batch(source(rows[:-steps], steps), Sequences(rows[None, -steps:], np.array([steps])))
    np.testing.assert_allclose(model.log_prob(batch), density, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("differences, over", [("step", (1,)), ("season", (4,)), ("both", (1, 4))])
def test_changes_are_regressed_and_summed_up_again(spots, differences, over):
    """The forecast of the changes by statsmodels, added to the values they begin from."""
    changes = spots[:, 0]
    for steps in over:
        changes = changes[steps:] - changes[:-steps]
    right = AutoReg(changes, 3).fit()
    wanted = right.predict(len(changes), len(changes) + 9)
    model = learned(spots, order=3, period=4, differences=differences)
    mean = ahead(model, spots, 10).mean[:, 0]
    whole = np.concatenate([spots[:, 0], mean])
    for steps in over:
        whole = whole[steps:] - whole[:-steps]
    np.testing.assert_allclose(whole[-10:], wanted, rtol=1e-6, atol=1e-7)
    assert not model.warning()  # roots of 1 are what was asked for


def test_a_walk_of_one_step_has_the_variance_of_a_walk():
    """Without taps of its own, the change of a step is a random walk with drift."""
    series = np.random.default_rng(0).normal(size=(200, 1)).cumsum(0)
    model = learned(series, most=1, ridge=1e9, differences="step", guessed=False)
    found = ahead(model, series, 5)
    deviation = (found.quantiles[:, 0, -1] - found.mean[:, 0]) / NORMAL_QUANTILES[-1]
    noise = model.process.noise[0, 0]
    np.testing.assert_allclose(deviation**2, noise * np.arange(1, 6), rtol=1e-5)


@pytest.mark.parametrize("few", [12, 40])
def test_a_step_ahead_is_students(few):
    """With weights that are guessed, as regression has it: n - k degrees of freedom."""
    series = np.random.default_rng(few).normal(size=(few, 1))
    model, n, k = learned(series, order=2), few - 2, 3
    x = np.column_stack([np.ones(n), series[1:-1], series[:-2]])
    weights, squares, *_ = np.linalg.lstsq(x, series[2:, 0], rcond=None)
    now = np.array([1.0, series[-1, 0], series[-2, 0]])
    scale = np.sqrt(squares[0] / (n - k) * (1 + now @ np.linalg.solve(x.T @ x, now)))
    right = student(n - k, now @ weights, scale)
    found = ahead(model, series, 1)
    assert found.mean[0, 0] == pytest.approx(now @ weights)
    np.testing.assert_allclose(found.quantiles[0, 0], right.ppf(LEVELS), atol=0.12 * scale)
    for value in (right.mean(), right.ppf(0.9), right.ppf(0.02)):
        batch = Batch(source(series, 1), Sequences(np.full((1, 1, 1), value), np.array([1])))
        assert model.log_prob(batch)[0] == pytest.approx(right.logpdf(value), abs=0.12)


@pytest.mark.parametrize("differences", ["none", "season"])
def test_guessed_weights_widen_bands_as_drawing_them_does(differences):
    """Several steps ahead, against weights and futures drawn one by one, with other chances."""
    chance = np.random.default_rng(5)
    series = chance.normal(size=(36, 2)).cumsum(0)
    model, period = learned(series, order=1, period=3, differences=differences), 3
    changes = series[period:] - series[:-period] if differences == "season" else series
    x, y = np.column_stack([np.ones(len(changes) - 1), changes[:-1]]), changes[1:]
    weights = np.linalg.lstsq(x, y, rcond=None)[0]
    freedom, errors = len(y) - 3, y - x @ weights
    root, spread = np.linalg.cholesky(np.linalg.inv(x.T @ x)), errors.T @ errors
    paths = []
    for _ in range(6000):
        noise = invwishart.rvs(freedom, spread, random_state=chance)
        mine = weights + root @ chance.normal(size=(3, 2)) @ np.linalg.cholesky(noise).T
        past = list(series)
        for _ in range(4):
            last = past[-1] - past[-1 - period] if differences == "season" else past[-1]
            step = np.concatenate([[1], last]) @ mine + chance.multivariate_normal([0, 0], noise)
            past.append(step + past[-period] if differences == "season" else step)
        paths.append(past[-4:])
    right = np.moveaxis(np.quantile(paths, LEVELS, axis=0), 0, -1)
    found = ahead(model, series, 4).quantiles
    size = right[..., -1:] - right[..., :1]
    assert (np.abs(found - right) < 0.05 * size).all()


def test_bands_hold_with_few_steps():
    """Of 20 steps with a root of 0.8, five steps ahead; with weights known they are too narrow."""
    inside: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(100):
        chance = np.random.default_rng(seed)
        rows = np.zeros((75, 1))
        for t in range(1, 75):
            rows[t] = 0.8 * rows[t - 1] + chance.normal()
        for guessed, found in inside.items():
            model = learned(rows[50:70], order=2, guessed=guessed)
            low, high = ahead(model, rows[50:70], 5).interval(0.8)
            found.append(((rows[70:] >= low) & (rows[70:] <= high)).mean())
    assert np.mean(inside[False]) < 0.73 < 0.76 < np.mean(inside[True]) < 0.86


def test_densities_with_gaps_are_those_of_each_draw():
    """The covariance of a future at once, against a filter for every draw."""
    rows = np.random.default_rng(2).normal(size=(30, 2)).cumsum(0)
    model = learned(rows, order=2, period=3, differences="season")
    future = np.array([[0.3, NAN], [NAN, NAN], [1.0, -0.4], [NAN, 0.2]])
    whole, driven = np.concatenate([rows, future]), np.ones((34, 1))
    right = []
    for number in range(len(model.coefficient_samples.coefficients)):
        delays, inputs = model.coefficient_samples.one(number)
        right.append(delays.filter(whole, driven @ inputs.T, 30, model.begin())[0])
    recent = rows[-model.process.order :][::-1].ravel()
    found = model.coefficient_samples.log_densities_observed(recent, future, driven[30:])
    np.testing.assert_allclose(found, right, rtol=1e-7)
    batch = Batch(source(rows, 4), Sequences(future[None], np.array([4])))
    assert model.log_prob(batch)[0] == pytest.approx(np.log(np.exp(right).mean()))


def test_guesses_are_kept_with_the_weights(economy):
    model, other = learned(economy[:30], order=2), made(3)
    other.restore(model.weights())
    one, same = (ahead(m, economy[:30], 3) for m in (model, other))
    np.testing.assert_array_equal(one.quantiles, same.quantiles)


def test_few_steps_have_few_taps(spots):
    """The corrected criterion, written out; with many steps it is the plain one."""
    few = spots[:20]
    model = learned(few, most=8)
    rows = np.column_stack([np.ones(12), *(few[8 - k : 20 - k] for k in range(1, 9))])
    for order in (0, 3, 8):
        x = rows[:, : order + 1]
        errors = few[8:, 0] - x @ np.linalg.lstsq(x, few[8:, 0], rcond=None)[0]
        n, k = 12, order + 1
        right = np.log((errors**2).mean()) + (n + k) / (n - k - 2)
        assert model.criteria[order] == pytest.approx(right)
    assert model.process.order < learned(few, most=8, criterion="aic").process.order
    many = [learned(spots, most=15, criterion=c).process.order for c in ("aic", "aicc")]
    assert many[0] == many[1]


def test_the_long_run_is_where_a_series_begins():
    """The spread before the first step is the one that the recursion leaves as it is."""
    model = learned(np.random.default_rng(1).normal(size=(80, 2)), order=2)
    moves, spread = model.process._companion(), model.begin().covariance
    noise = np.zeros_like(spread)
    noise[:2, :2] = model.process.noise
    np.testing.assert_allclose(moves @ spread @ moves.T + noise, spread, rtol=1e-9, atol=1e-12)


def test_what_explodes_is_told():
    growing = (1.1 ** np.arange(40))[:, None] + np.random.default_rng(0).normal(size=(40, 1))
    model = learned(growing, order=1)
    assert model.process.radius() > 1
    items = [Item(np.full_like(growing, NAN), growing)]
    (step,) = ClosedForm(made(order=1), items).steps()
    assert step.warning["code"] == "M446" and "explosive" in step.warning["problem"]
    assert not learned(np.random.default_rng(0).normal(size=(40, 1)), order=1).warning()
    assert np.isfinite(ahead(model, growing[:0], 4).quantiles).all()


@pytest.mark.parametrize("period, most", [(1, 12), (24, 25), (365, 60)])
def test_the_highest_order_follows_the_season(period, most):
    assert made(period=period).most == most


def test_a_series_without_any_error_has_a_density():
    wave = np.sin(np.arange(60) * 0.3)[:, None]
    model = learned(wave, order=2)
    np.testing.assert_allclose(ahead(model, wave, 5).mean[:, 0], np.sin(np.arange(60, 65) * 0.3))
    constant = learned(np.full((30, 1), 2.0))
    np.testing.assert_allclose(ahead(constant, np.full((5, 1), 2.0), 3).mean, 2)


@pytest.mark.parametrize(
    "options, code, words",
    [
        ({"order": -1}, "M441", "model.order = -1"),
        ({"ridge": -0.5}, "M441", "must not be negative"),
        ({"order": 2, "most": 3}, "M441", "model.most has no effect"),
        ({"trend": True}, "M442", "needs a time index"),
        ({"differences": "season"}, "M445", "have no season"),
        ({"season": True, "known": 1, "clock": True}, "M445", "have no season"),
    ],
)
def test_what_cannot_be_is_refused(options, code, words):
    with pytest.raises(ModelError, match=words) as told:
        made(**options)
    assert told.value.code == code


def test_too_few_steps_are_told():
    with pytest.raises(ModelError, match="only 3 steps have all their lags") as told:
        learned(np.arange(6.0)[:, None], order=3)
    assert told.value.code == "M443"
    assert learned(np.arange(6.0)[:, None], order=3, ridge=1.0).process.order == 3


def test_columns_that_are_copies_are_told():
    one = np.random.default_rng(0).normal(size=(50, 1))
    with pytest.raises(ModelError, match="M444.*columns 1 and 3 are collinear"):
        learned(np.concatenate([one, one[::-1], 2 * one], axis=1), order=1)
