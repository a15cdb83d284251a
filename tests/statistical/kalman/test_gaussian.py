"""Filter and smoother are exact: by brute force, beside statsmodels, and quick as readable."""

import warnings

import numpy as np
import pytest
import statsmodels.api as statsmodels
from statsmodels.tsa.statespace.dynamic_factor_mq import DynamicFactorMQ
from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

from seqloom.errors import ModelError
from seqloom.statistical.kalman import compiled, inference
from seqloom.statistical.kalman.em import expected, maximised
from seqloom.statistical.kalman.fit import expected_of, total
from seqloom.statistical.kalman.simulate import drawn
from seqloom.statistical.kalman.structure import (
    Autoregression,
    Components,
    Free,
    coefficients,
    partials,
)
from seqloom.statistical.kalman.system import Start, System

from .systems import brute, random_system

KINDS = [
    {"states": states, "width": width, "diffuse": diffuse, "varies": varies, "full": full}
    for states, width, diffuse, varies, full in [
        (1, 1, 0, False, False),
        (3, 2, 0, True, True),
        (3, 2, 0, False, True),
        (2, 3, 1, False, True),
        (3, 2, 2, True, False),
        (4, 1, 4, False, False),
        (4, 3, 3, True, True),
        (5, 2, 5, False, True),
    ]
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: "-".join(map(str, k.values())))


def nile():
    return statsmodels.datasets.nile.data.load_pandas().data.volume.to_numpy()[:, None]


def level(noise=15099.0, walk=1469.1, start=None):
    one = np.eye(1)
    return System(one, walk * one, one, noise * one, start or Start.unknown(1)).checked()


def rival(system, values, inputs=None):
    """The same in statsmodels, where a step's matrices lead to the next step."""
    states, width, time = system.states, system.width, len(values)
    inputs = np.zeros((time, 0)) if inputs is None else inputs
    laid = system.laid(np.zeros_like(values), inputs)
    made = KalmanSmoother(width, states, states)
    made.bind(np.array(values))

    def moved(matrices):
        matrices = np.concatenate([matrices[1:], matrices[-1:]]) if len(matrices) > 1 else matrices
        return np.moveaxis(matrices, 0, -1)

    made["design"], made["obs_cov"] = (
        np.moveaxis(m, 0, -1) for m in (laid.observation, laid.error)
    )
    made["transition"], made["state_cov"] = moved(laid.transition), moved(laid.process)
    made["selection"], made["obs_intercept"] = np.eye(states), -laid.values.T
    if laid.drift.any():
        made["state_intercept"] = moved(laid.drift)
    start = system.start
    if start.diffuse.all():
        made.initialize_diffuse()
    else:
        made.initialize_known(start.mean, start.covariance)
    with warnings.catch_warnings():  # it tells of outputs that are not looked at
        warnings.simplefilter("ignore")
        return made.smooth()


@every_kind
@pytest.mark.parametrize("seed", range(3))
def test_filter_and_smoother_condition_one_large_gaussian(kind, seed):
    """Likelihood, means, covariances and those of neighbours; the last filtered is smoothed."""
    system, values, inputs = random_system(seed, **kind)
    right = brute(system, values, inputs)
    found = compiled.smoothed(system, values, inputs, lagged=True)
    assert found.log_likelihood.sum() == pytest.approx(right.log_likelihood, rel=1e-9)
    np.testing.assert_allclose(found.mean, right.mean, rtol=1e-6, atol=1e-7)
    for t in range(len(values)):
        joint = right.covariance[t, :, t]
        np.testing.assert_allclose(found.covariance[t], joint, rtol=1e-5, atol=1e-7)
        if t:
            lag = right.covariance[t, :, t - 1]
            np.testing.assert_allclose(found.lag[t - 1], lag, rtol=1e-5, atol=1e-7)
    for now in (4, len(values)):  # what is filtered is smoothed by what came before
        before = brute(system, values[:now], inputs[:now]) if not kind["varies"] else None
        if before is not None:
            known = compiled.filtered(system, values[:now], inputs[:now])
            np.testing.assert_allclose(known.mean[-1], before.mean[-1], rtol=1e-6, atol=1e-7)


@every_kind
def test_quick_is_readable(kind):
    """The compiled loops give what the equations give, number by number."""
    system, values, inputs = random_system(7, time=12, **kind)
    right, found = (
        inference.smoothed(system, values, inputs),
        compiled.smoothed(system, values, inputs, lagged=True),
    )
    known, exact = (
        compiled.filtered(system, values, inputs),
        inference.filtered(system, values, inputs),
    )
    np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, atol=1e-8)
    np.testing.assert_allclose(known.mean, exact.means, atol=1e-7)
    np.testing.assert_allclose(known.covariance[:], exact.covariances, atol=1e-7)
    np.testing.assert_allclose(known.ahead, exact.ahead, atol=1e-7)
    pairs = [(found.mean, right.mean), (found.covariance[:], right.covariance[:])]
    for one, other in [*pairs, (found.lag[:], right.lag[:])]:
        np.testing.assert_allclose(one, other, atol=1e-9 * max(1, np.abs(other).max()))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("width", [1, 3])
def test_steady_states_change_nothing(missing, width):
    """A constant system converges; with a stretch that is missing it leaves and converges again."""
    system, values, inputs = random_system(3, time=400, width=width, full=width > 1)
    values = np.nan_to_num(values)
    if missing:
        values[150:160] = np.nan
        values[300, 0] = np.nan
    found, right = (
        compiled.smoothed(system, values, inputs, lagged=True),
        inference.smoothed(system, values, inputs),
    )
    assert len(found.covariance.kept) < 250, "it never became steady"
    np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, atol=1e-9)
    np.testing.assert_allclose(found.mean, right.mean, atol=1e-9)
    np.testing.assert_allclose(found.covariance[:], right.covariance[:], atol=1e-9)
    np.testing.assert_allclose(found.lag[:], right.lag[:], atol=1e-9)


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[2], KINDS[5], KINDS[7]], ids=str)
def test_random_systems_are_those_of_statsmodels(kind):
    system, values, inputs = random_system(11, time=60, **kind)
    right, found = (
        rival(system, values, inputs),
        compiled.smoothed(system, values, inputs, lagged=True),
    )
    np.testing.assert_allclose(found.log_likelihood, right.llf_obs, atol=1e-6)
    np.testing.assert_allclose(found.mean, right.smoothed_state.T, rtol=1e-6, atol=1e-6)
    covariances = np.moveaxis(right.smoothed_state_cov, -1, 0)
    np.testing.assert_allclose(found.covariance[:], covariances, rtol=1e-6, atol=1e-6)
    known = compiled.filtered(system, values, inputs)
    np.testing.assert_allclose(known.mean, right.filtered_state.T, rtol=1e-6, atol=1e-6)


def data_sets():
    """Series of statsmodels, each with a structure that fits it."""
    macro = statsmodels.datasets.macrodata.load_pandas().data
    co2 = statsmodels.datasets.co2.load_pandas().data.co2.to_numpy()[:400, None]
    quarters = Components(1, 0, trend=True, period=4)
    return {
        "nile": (Components(1, 0), nile()),
        "sunspots": (Components(1, 0), _values("sunspots", "SUNACTIVITY")),
        "co2": (Components(1, 0, trend=True), co2),  # with missing weeks
        "gdp": (quarters, np.log(macro.realgdp.to_numpy())[:, None]),
        "several": (Components(2, 0, trend=True), macro[["infl", "unemp"]].to_numpy()),
    }


def _values(name, column):
    return getattr(statsmodels.datasets, name).load_pandas().data[column].to_numpy()[:, None]


@pytest.mark.parametrize("name", ["nile", "sunspots", "co2", "gdp", "several"])
@pytest.mark.parametrize("missing", [False, True])
def test_data_sets_of_statsmodels(name, missing):
    """Smoothed states and forecasts to 1e-6 of their size, from an exactly diffuse start."""
    structure, values = data_sets()[name]
    system = structure.system(structure.begin(np.random.default_rng(0))[0] - 0.3)
    values = (values - np.nanmean(values, 0)) / np.nanstd(values, 0)
    values = np.concatenate([values, np.full((8, values.shape[1]), np.nan)])
    if missing:
        values[20:40] = values[60:61, 0] = np.nan
    right, found = rival(system, values), compiled.smoothed(system, values)
    np.testing.assert_allclose(found.log_likelihood, right.llf_obs, atol=1e-6)
    np.testing.assert_allclose(found.mean, right.smoothed_state.T, atol=1e-6)
    covariances = np.moveaxis(right.smoothed_state_cov, -1, 0)
    np.testing.assert_allclose(found.covariance[:], covariances, atol=1e-6)
    known = compiled.filtered(system, values)
    mean, covariance = compiled.shown(system, known.ahead[-8:], known.ahead_covariance[-8:])
    np.testing.assert_allclose(mean, right.forecasts.T[-8:], atol=1e-6)
    errors = np.moveaxis(right.forecasts_error_cov, -1, 0)[-8:]
    np.testing.assert_allclose(covariance, errors, atol=1e-6)


def test_the_nile():
    """As Durbin and Koopman count it, all numbers have their constant; without that of the first,
    which the diffuse start takes up, it is the density of all the others given it."""
    terms = compiled.log_likelihoods(level(), nile())
    assert terms.sum() == pytest.approx(-633.4646, abs=1e-4)
    assert terms[1:].sum() == pytest.approx(-632.5456, abs=1e-4)
    near = compiled.log_likelihoods(level(start=Start.known(np.zeros(1), 1e7 * np.eye(1))), nile())
    assert near[1:].sum() == pytest.approx(-632.5456, abs=0.02)  # an approximate diffuse start


@pytest.mark.parametrize("known", [0, 2])
def test_passes_of_expectation_are_those_of_brute_force(known):
    """Sums of products from one joint Gaussian, with numbers missing one by one; it never falls."""
    system, values, inputs = random_system(5, time=7, width=2, full=True, known=known)
    right, found = brute(system, values, inputs), expected(system, values, inputs)
    second = right.covariance + np.einsum("tk,sl->tksl", right.mean, right.mean)
    states = system.states
    early = sum(second[t, :, t] for t in range(6))
    np.testing.assert_allclose(found.moved.given[:states, :states], early, atol=1e-8)
    np.testing.assert_allclose(
        found.moved.crossed[:, :states], sum(second[t + 1, :, t] for t in range(6)), atol=1e-8
    )
    shown, squares = missing_by_brute_force(system, values, inputs)
    np.testing.assert_allclose(found.shown.crossed[:, :states], shown, atol=1e-7)
    np.testing.assert_allclose(found.shown.own, squares, atol=1e-7)
    likely = []
    for _ in range(12):
        found = expected(system, values, inputs)
        likely.append(found.log_likelihood)
        system = maximised(found, system)
    assert np.all(np.diff(likely) > -1e-9) and likely[-1] > likely[0] + 0.1


def missing_by_brute_force(system, values, inputs):
    """Σ E[x zᵀ] and Σ E[x xᵀ]: a state beside the first ones holds what is observed, exactly."""
    states, width, time = system.states, system.width, len(values)
    size = states + width
    grown = System(
        transition=np.block(
            [
                [system.transition, np.zeros((states, width))],
                [system.observation @ system.transition, np.zeros((width, width))],
            ]
        ),
        process=np.block(
            [
                [system.process, system.process @ system.observation.T],
                [
                    system.observation @ system.process,
                    system.observation @ system.process @ system.observation.T + system.error,
                ],
            ]
        ),
        observation=np.eye(size)[states:],
        error=1e-10 * np.eye(width),
        start=Start.known(
            np.concatenate(
                [
                    system.start.mean,
                    system.observation @ system.start.mean
                    + system.offset
                    + system.direct @ inputs[0],
                ]
            ),
            np.block(
                [
                    [system.start.covariance, system.start.covariance @ system.observation.T],
                    [
                        system.observation @ system.start.covariance,
                        system.observation @ system.start.covariance @ system.observation.T
                        + system.error,
                    ],
                ]
            ),
        ),
        drive=np.concatenate([system.drive, system.observation @ system.drive + system.direct]),
        drift=np.concatenate([system.drift, system.observation @ system.drift + system.offset]),
        direct=np.zeros((width, inputs.shape[1])),
        offset=np.zeros(width),
    )
    found = brute(grown, values, inputs)
    second = [
        found.covariance[t, :, t] + np.outer(found.mean[t], found.mean[t]) for t in range(time)
    ]
    whole = sum(second)
    return whole[states:, :states], whole[states:, states:]


STRUCTURES = {
    "level": Components(1, 0),
    "trend": Components(2, 1, trend=True),
    "season": Components(1, 1, trend=True, period=4),
    "autoregression": Autoregression(2, 1, 2),
    "free": Free(2, 1, 2),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_slopes_of_the_likelihood(name):
    """By Fisher's identity, from what is expected; beside differences of the likelihood itself."""
    structure, chance = STRUCTURES[name], np.random.default_rng(4)
    several = []
    for time in (25, 18):
        values = chance.normal(size=(time, structure.width)).cumsum(0)
        values[chance.random(values.shape) < 0.1] = np.nan
        several.append((values, chance.normal(size=(time, structure.known))))
    numbers = structure.begin(chance)[0]
    numbers = numbers + 0.1 * chance.normal(size=len(numbers))
    slope = structure.slope(expected_of(structure, numbers, several), numbers)
    for place in range(len(numbers)):
        step = np.zeros(len(numbers))
        step[place] = 1e-5
        more, less = (total(structure, numbers + s, several) for s in (step, -step))
        assert -slope[place] == pytest.approx((more - less) / 2e-5, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", STRUCTURES)
def test_numbers_make_a_system_and_come_back(name):
    structure, chance = STRUCTURES[name], np.random.default_rng(2)
    numbers = structure.begin(chance)[0]
    numbers = numbers + 0.3 * chance.normal(size=len(numbers))
    system = structure.system(numbers).checked()
    np.testing.assert_allclose(structure.numbers(system), numbers, atol=1e-6)


def test_partial_autocorrelations():
    factors = coefficients(np.array([0.9, -0.5, 0.3]))
    np.testing.assert_allclose(partials(factors), [0.9, -0.5, 0.3])
    assert np.abs(np.roots([1, *-factors])).max() < 1


def test_drawn_series_have_the_moments_of_the_forecast():
    system, _, inputs = random_system(2, time=5)
    paths = drawn(system, system.start, inputs, 40000, np.random.default_rng(1))
    known = compiled.filtered(system, np.full((5, 2), np.nan), inputs)
    mean, covariance = compiled.shown(system, known.ahead, known.ahead_covariance[:])
    mean = mean + compiled.offsets(system, inputs)
    sizes = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    assert np.abs((paths.mean(0) - mean) / sizes).max() < 5 / np.sqrt(40000)
    np.testing.assert_allclose(paths.std(0), sizes, rtol=0.03)


def test_what_cannot_be_is_refused():
    one = np.eye(1)
    with pytest.raises(ModelError) as told:
        level(noise=-1.0)
    assert told.value.code == "M401" and "-1" in str(told.value)
    with pytest.raises(ModelError) as told:
        System(
            np.eye(2), np.array([[1, 2], [0, 1.0]]), np.eye(2), np.eye(2), Start.unknown(2)
        ).checked()
    assert told.value.code == "M401" and "symmetric" in str(told.value)
    with pytest.raises(ModelError) as told:
        System(one, np.eye(2), one, one, Start.unknown(1)).checked()
    assert told.value.code == "M400"
    with pytest.raises(ModelError) as told:
        System(np.ones((3, 1, 1)), one, one, one, Start.unknown(1)).laid(
            np.zeros((5, 1)), np.zeros((5, 0))
        )
    assert told.value.code == "M400" and "3 steps" in str(told.value)
    wrong = System(one, one, one, -5 * one, Start.known(np.zeros(1), one))  # not checked
    with pytest.raises(ModelError) as told:
        compiled.log_likelihoods(wrong, np.zeros((3, 1)))
    assert told.value.code == "M402"


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")
def test_a_pass_of_expectation_maximisation_is_that_of_statsmodels():
    """One hidden factor of three series of the American economy, whose moves have no constant."""
    table = statsmodels.datasets.macrodata.load_pandas().data[["realgdp", "realcons", "realinv"]]
    grown = np.diff(np.log(table.to_numpy()), axis=0)
    values = (grown - grown.mean(0)) / grown.std(0)
    rival = DynamicFactorMQ(
        values, factors=1, factor_orders=1, idiosyncratic_ar1=False, standardize=False
    )
    begin = rival.start_params
    after = rival.fit_em(begin, maxiter=1, em_initialization=False, return_params=True, disp=False)
    rival.update(begin)
    names = ("transition", "state_cov", "design", "obs_cov")
    move, noise, show, error = (np.array(rival.ssm[name]) for name in names)
    start = Start.known(np.zeros(1), noise / (1 - move**2))
    found = expected(System(move, noise, show, error, start).checked(), values, np.zeros((202, 0)))
    for regression, wanted, sizes in (
        (found.moved, after[3:4], after[4:5] ** 2),
        (found.shown, after[:3], after[5:]),
    ):
        best = regression.crossed[:, :1] / regression.given[:1, :1]
        np.testing.assert_allclose(best[:, 0], wanted, rtol=1e-6)
        left = regression.own - best @ regression.crossed[:, :1].T
        np.testing.assert_allclose(np.diag(left) / regression.count, sizes, rtol=1e-6)
