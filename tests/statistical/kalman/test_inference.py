"""Kalman filter and smoother: by brute force, against statsmodels, and compiled against reference."""

import functools
import operator
import warnings

import numpy as np
import pytest
import statsmodels.api as statsmodels
from statsmodels.tsa.statespace.dynamic_factor_mq import DynamicFactorMQ
from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

from seqloom.errors import ModelError
from seqloom.statistical.kalman import compiled, inference
from seqloom.statistical.kalman.compiled import kalman_smoother
from seqloom.statistical.kalman.em import e_step, e_step_of_all, m_step
from seqloom.statistical.kalman.fit import expected_moments, log_likelihood
from seqloom.statistical.kalman.shared import shareable, shared_smoother
from seqloom.statistical.kalman.simulate import simulate
from seqloom.statistical.kalman.structure import (
    FreeMatrices,
    LatentAutoregression,
    UnobservedComponents,
    ar_coefficients,
    partial_autocorrelations,
)
from seqloom.statistical.kalman.system import InitialDistribution, StateSpace

from .random_models import brute, random_model

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
    return StateSpace(
        one, walk * one, one, noise * one, start or InitialDistribution.fully_diffuse(1)
    ).validated()


def rival(model, values, inputs=None):
    """The same model in statsmodels, where the matrices of a step lead to the next one."""
    states, width, time = model.states, model.width, len(values)
    inputs = np.zeros((time, 0)) if inputs is None else inputs
    arrays = model.filter_input(np.zeros_like(values), inputs)
    made = KalmanSmoother(width, states, states)
    made.bind(np.array(values))

    def moved(matrices):
        matrices = np.concatenate([matrices[1:], matrices[-1:]]) if len(matrices) > 1 else matrices
        return np.moveaxis(matrices, 0, -1)

    made["design"], made["obs_cov"] = (
        np.moveaxis(m, 0, -1) for m in (arrays.observation, arrays.observation_noise)
    )
    made["transition"], made["state_cov"] = moved(arrays.transition), moved(arrays.process_noise)
    made["selection"], made["obs_intercept"] = np.eye(states), -arrays.values.T
    if arrays.state_offset.any():
        made["state_intercept"] = moved(arrays.state_offset)
    start = model.initial
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
    model, values, inputs = random_model(seed, **kind)
    right = brute(model, values, inputs)
    found = compiled.kalman_smoother(model, values, inputs, lagged=True)
    assert found.log_likelihood.sum() == pytest.approx(right.log_likelihood, rel=1e-9)
    np.testing.assert_allclose(found.mean, right.mean, rtol=1e-6, atol=1e-7)
    for t in range(len(values)):
        joint = right.covariance[t, :, t]
        np.testing.assert_allclose(found.covariance[t], joint, rtol=1e-5, atol=1e-7)
        if t:
            lag = right.covariance[t, :, t - 1]
            np.testing.assert_allclose(found.lag_covariance[t - 1], lag, rtol=1e-5, atol=1e-7)
    for now in (4, len(values)):  # what is filtered is smoothed by what came before
        before = brute(model, values[:now], inputs[:now]) if not kind["varies"] else None
        if before is not None:
            known = compiled.kalman_filter(model, values[:now], inputs[:now])
            np.testing.assert_allclose(known.mean[-1], before.mean[-1], rtol=1e-6, atol=1e-7)


@every_kind
def test_compiled_equals_reference(kind):
    """The kernels give what the reference implementation gives."""
    model, values, inputs = random_model(7, time=12, **kind)
    right, found = (
        inference.kalman_smoother(model, values, inputs),
        compiled.kalman_smoother(model, values, inputs, lagged=True),
    )
    known, exact = (
        compiled.kalman_filter(model, values, inputs),
        inference.kalman_filter(model, values, inputs),
    )
    np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, atol=1e-8)
    np.testing.assert_allclose(known.mean, exact.filtered, atol=1e-7)
    np.testing.assert_allclose(known.covariance[:], exact.filtered_covariances, atol=1e-7)
    np.testing.assert_allclose(known.predicted_mean, exact.predicted, atol=1e-7)
    pairs = [(found.mean, right.mean), (found.covariance[:], right.covariance[:])]
    for one, other in [*pairs, (found.lag_covariance[:], right.lag_covariance[:])]:
        np.testing.assert_allclose(one, other, atol=1e-9 * max(1, np.abs(other).max()))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("width", [1, 3])
def test_steady_states_change_nothing(missing, width):
    """A constant model converges; with a stretch that is missing it leaves and converges again."""
    model, values, inputs = random_model(3, time=400, width=width, full=width > 1)
    values = np.nan_to_num(values)
    if missing:
        values[150:160] = np.nan
        values[300, 0] = np.nan
    found, right = (
        compiled.kalman_smoother(model, values, inputs, lagged=True),
        inference.kalman_smoother(model, values, inputs),
    )
    assert len(found.covariance.distinct) < 250, "it never became steady"
    np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, atol=1e-9)
    np.testing.assert_allclose(found.mean, right.mean, atol=1e-9)
    np.testing.assert_allclose(found.covariance[:], right.covariance[:], atol=1e-9)
    np.testing.assert_allclose(found.lag_covariance[:], right.lag_covariance[:], atol=1e-9)


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[2], KINDS[5], KINDS[7]], ids=str)
def test_random_models_against_statsmodels(kind):
    model, values, inputs = random_model(11, time=60, **kind)
    right, found = (
        rival(model, values, inputs),
        compiled.kalman_smoother(model, values, inputs, lagged=True),
    )
    np.testing.assert_allclose(found.log_likelihood, right.llf_obs, atol=1e-6)
    np.testing.assert_allclose(found.mean, right.smoothed_state.T, rtol=1e-6, atol=1e-6)
    covariances = np.moveaxis(right.smoothed_state_cov, -1, 0)
    np.testing.assert_allclose(found.covariance[:], covariances, rtol=1e-6, atol=1e-6)
    known = compiled.kalman_filter(model, values, inputs)
    np.testing.assert_allclose(known.mean, right.filtered_state.T, rtol=1e-6, atol=1e-6)


def data_sets():
    """Series of statsmodels, each with a structure that fits it."""
    macro = statsmodels.datasets.macrodata.load_pandas().data
    co2 = statsmodels.datasets.co2.load_pandas().data.co2.to_numpy()[:400, None]
    quarters = UnobservedComponents(1, 0, trend=True, period=4)
    return {
        "nile": (UnobservedComponents(1, 0), nile()),
        "sunspots": (UnobservedComponents(1, 0), _values("sunspots", "SUNACTIVITY")),
        "co2": (UnobservedComponents(1, 0, trend=True), co2),  # with missing weeks
        "gdp": (quarters, np.log(macro.realgdp.to_numpy())[:, None]),
        "several": (UnobservedComponents(2, 0, trend=True), macro[["infl", "unemp"]].to_numpy()),
    }


def _values(name, column):
    return getattr(statsmodels.datasets, name).load_pandas().data[column].to_numpy()[:, None]


@pytest.mark.parametrize("name", ["nile", "sunspots", "co2", "gdp", "several"])
@pytest.mark.parametrize("missing", [False, True])
def test_data_sets_of_statsmodels(name, missing):
    """Smoothed states and forecasts to 1e-6 of their size, from an exactly diffuse start."""
    structure, values = data_sets()[name]
    model = structure.state_space(structure.initial_parameters(np.random.default_rng(0))[0] - 0.3)
    values = (values - np.nanmean(values, 0)) / np.nanstd(values, 0)
    values = np.concatenate([values, np.full((8, values.shape[1]), np.nan)])
    if missing:
        values[20:40] = values[60:61, 0] = np.nan
    right, found = rival(model, values), compiled.kalman_smoother(model, values)
    np.testing.assert_allclose(found.log_likelihood, right.llf_obs, atol=1e-6)
    np.testing.assert_allclose(found.mean, right.smoothed_state.T, atol=1e-6)
    covariances = np.moveaxis(right.smoothed_state_cov, -1, 0)
    np.testing.assert_allclose(found.covariance[:], covariances, atol=1e-6)
    known = compiled.kalman_filter(model, values)
    mean, covariance = compiled.observation_moments(
        model, known.predicted_mean[-8:], known.predicted_covariance[-8:]
    )
    np.testing.assert_allclose(mean, right.forecasts.T[-8:], atol=1e-6)
    errors = np.moveaxis(right.forecasts_error_cov, -1, 0)[-8:]
    np.testing.assert_allclose(covariance, errors, atol=1e-6)


def test_the_nile():
    """As Durbin and Koopman count it, all values have their constant; without that of the first,
    which the diffuse start takes up, it is the density of all the others given it."""
    terms = compiled.log_likelihoods(level(), nile())
    assert terms.sum() == pytest.approx(-633.4646, abs=1e-4)
    assert terms[1:].sum() == pytest.approx(-632.5456, abs=1e-4)
    near = compiled.log_likelihoods(
        level(start=InitialDistribution.known(np.zeros(1), 1e7 * np.eye(1))), nile()
    )
    assert near[1:].sum() == pytest.approx(-632.5456, abs=0.02)  # an approximate diffuse start


@pytest.mark.parametrize("known", [0, 2])
def test_em_against_brute_force(known):
    """Sums of products from one joint Gaussian, with values missing one by one; it never falls."""
    model, values, inputs = random_model(5, time=7, width=2, full=True, known=known)
    right, found = brute(model, values, inputs), e_step(model, values, inputs)
    second = right.covariance + np.einsum("tk,sl->tksl", right.mean, right.mean)
    states = model.states
    early = sum(second[t, :, t] for t in range(6))
    np.testing.assert_allclose(found.transition.regressors[:states, :states], early, atol=1e-8)
    np.testing.assert_allclose(
        found.transition.cross[:, :states], sum(second[t + 1, :, t] for t in range(6)), atol=1e-8
    )
    shown, squares = missing_by_brute_force(model, values, inputs)
    np.testing.assert_allclose(found.observation.cross[:, :states], shown, atol=1e-7)
    np.testing.assert_allclose(found.observation.targets, squares, atol=1e-7)
    likely = []
    for _ in range(12):
        found = e_step(model, values, inputs)
        likely.append(found.log_likelihood)
        model = m_step(found, model)
    assert np.all(np.diff(likely) > -1e-9) and likely[-1] > likely[0] + 0.1


def missing_by_brute_force(model, values, inputs):
    """Σ E[x zᵀ] and Σ E[x xᵀ]: a state beside the first ones holds what is observed, exactly."""
    states, width, time = model.states, model.width, len(values)
    size = states + width
    grown = StateSpace(
        transition=np.block(
            [
                [model.transition, np.zeros((states, width))],
                [model.observation @ model.transition, np.zeros((width, width))],
            ]
        ),
        process_noise=np.block(
            [
                [model.process_noise, model.process_noise @ model.observation.T],
                [
                    model.observation @ model.process_noise,
                    model.observation @ model.process_noise @ model.observation.T
                    + model.observation_noise,
                ],
            ]
        ),
        observation=np.eye(size)[states:],
        observation_noise=1e-10 * np.eye(width),
        initial=InitialDistribution.known(
            np.concatenate(
                [
                    model.initial.mean,
                    model.observation @ model.initial.mean
                    + model.observation_offset
                    + model.feedthrough @ inputs[0],
                ]
            ),
            np.block(
                [
                    [model.initial.covariance, model.initial.covariance @ model.observation.T],
                    [
                        model.observation @ model.initial.covariance,
                        model.observation @ model.initial.covariance @ model.observation.T
                        + model.observation_noise,
                    ],
                ]
            ),
        ),
        input_matrix=np.concatenate(
            [model.input_matrix, model.observation @ model.input_matrix + model.feedthrough]
        ),
        state_offset=np.concatenate(
            [model.state_offset, model.observation @ model.state_offset + model.observation_offset]
        ),
        feedthrough=np.zeros((width, inputs.shape[1])),
        observation_offset=np.zeros(width),
    )
    found = brute(grown, values, inputs)
    second = [
        found.covariance[t, :, t] + np.outer(found.mean[t], found.mean[t]) for t in range(time)
    ]
    whole = sum(second)
    return whole[states:, :states], whole[states:, states:]


STRUCTURES = {
    "level": UnobservedComponents(1, 0),
    "trend": UnobservedComponents(2, 1, trend=True),
    "season": UnobservedComponents(1, 1, trend=True, period=4),
    "autoregression": LatentAutoregression(2, 1, 2),
    "free": FreeMatrices(2, 1, 2),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_gradient_of_the_likelihood(name):
    """Fisher's identity, against differences of the likelihood itself."""
    structure, rng = STRUCTURES[name], np.random.default_rng(4)
    several = []
    for time in (25, 18):
        values = rng.normal(size=(time, structure.width)).cumsum(0)
        values[rng.random(values.shape) < 0.1] = np.nan
        several.append((values, rng.normal(size=(time, structure.known))))
    parameters = structure.initial_parameters(rng)[0]
    parameters = parameters + 0.1 * rng.normal(size=len(parameters))
    slope = structure.gradient(expected_moments(structure, parameters, several), parameters)
    for place in range(len(parameters)):
        step = np.zeros(len(parameters))
        step[place] = 1e-5
        more, less = (log_likelihood(structure, parameters + s, several) for s in (step, -step))
        assert -slope[place] == pytest.approx((more - less) / 2e-5, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", STRUCTURES)
def test_parameters_make_a_model_and_come_back(name):
    structure, rng = STRUCTURES[name], np.random.default_rng(2)
    parameters = structure.initial_parameters(rng)[0]
    parameters = parameters + 0.3 * rng.normal(size=len(parameters))
    model = structure.state_space(parameters).validated()
    np.testing.assert_allclose(structure.parameters(model), parameters, atol=1e-6)


def test_partial_autocorrelations():
    factors = ar_coefficients(np.array([0.9, -0.5, 0.3]))
    np.testing.assert_allclose(partial_autocorrelations(factors), [0.9, -0.5, 0.3])
    assert np.abs(np.roots([1, *-factors])).max() < 1


def test_simulated_series_have_the_moments_of_the_forecast():
    model, _, inputs = random_model(2, time=5)
    paths = simulate(model, model.initial, inputs, 40000, np.random.default_rng(1))
    known = compiled.kalman_filter(model, np.full((5, 2), np.nan), inputs)
    mean, covariance = compiled.observation_moments(
        model, known.predicted_mean, known.predicted_covariance[:]
    )
    mean = mean + compiled.observation_offsets(model, inputs)
    sizes = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    assert np.abs((paths.mean(0) - mean) / sizes).max() < 5 / np.sqrt(40000)
    np.testing.assert_allclose(paths.std(0), sizes, rtol=0.03)


def test_invalid_matrices_are_errors():
    one = np.eye(1)
    with pytest.raises(ModelError) as raised:
        level(noise=-1.0)
    assert raised.value.code == "M401" and "-1" in str(raised.value)
    with pytest.raises(ModelError) as raised:
        StateSpace(
            np.eye(2),
            np.array([[1, 2], [0, 1.0]]),
            np.eye(2),
            np.eye(2),
            InitialDistribution.fully_diffuse(2),
        ).validated()
    assert raised.value.code == "M401" and "symmetric" in str(raised.value)
    with pytest.raises(ModelError) as raised:
        StateSpace(one, np.eye(2), one, one, InitialDistribution.fully_diffuse(1)).validated()
    assert raised.value.code == "M400"
    with pytest.raises(ModelError) as raised:
        StateSpace(
            np.ones((3, 1, 1)), one, one, one, InitialDistribution.fully_diffuse(1)
        ).filter_input(np.zeros((5, 1)), np.zeros((5, 0)))
    assert raised.value.code == "M400" and "3 steps" in str(raised.value)
    wrong = StateSpace(
        one, one, one, -5 * one, InitialDistribution.known(np.zeros(1), one)
    )  # not checked
    with pytest.raises(ModelError) as raised:
        compiled.log_likelihoods(wrong, np.zeros((3, 1)))
    assert raised.value.code == "M402"


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")
def test_an_em_iteration_against_statsmodels():
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
    start = InitialDistribution.known(np.zeros(1), noise / (1 - move**2))
    found = e_step(
        StateSpace(move, noise, show, error, start).validated(), values, np.zeros((202, 0))
    )
    for regression, wanted, sizes in (
        (found.transition, after[3:4], after[4:5] ** 2),
        (found.observation, after[:3], after[5:]),
    ):
        best = regression.cross[:, :1] / regression.regressors[:1, :1]
        np.testing.assert_allclose(best[:, 0], wanted, rtol=1e-6)
        left = regression.targets - best @ regression.cross[:, :1].T
        np.testing.assert_allclose(np.diag(left) / regression.count, sizes, rtol=1e-6)


def sums_of(moments):
    """All numbers of expected moments, by name."""
    parts = {name: getattr(moments, name) for name in ("transition", "observation")}
    found = {name: value for name, value in vars(moments).items() if name not in parts}
    return found | {
        f"{name}.{key}": v for name, part in parts.items() for key, v in vars(part).items()
    }


@pytest.mark.parametrize("known", [0, 2])
@pytest.mark.parametrize(("states", "diffuse"), [(1, 1), (3, 0), (3, 2), (4, 4)])
@pytest.mark.parametrize(("width", "full"), [(1, True), (2, False), (2, True)])
def test_series_that_share_their_covariances(states, diffuse, width, full, known):
    """Long and short ones, one as long as another, and one with a missing value."""
    shape = {"states": states, "diffuse": diffuse, "width": width, "full": full, "known": known}
    model, *_ = random_model(states + 10 * diffuse, time=3, **shape)
    rng, dataset = np.random.default_rng(1), []
    lengths = [400, 390, 333, 401, 400, 250, 60, 5, 3, 300]
    for length in lengths:
        dataset.append((rng.normal(size=(length, width)), rng.normal(size=(length, known))))
    dataset[5][0][17, 0] = np.nan
    can_share = shareable(model, dataset)
    assert can_share.tolist() == [number != 5 for number in range(len(lengths))]
    complete = [
        series for series, is_complete in zip(dataset, can_share, strict=True) if is_complete
    ]
    smooth, serves = shared_smoother(model, complete)
    assert smooth is not None and serves.tolist()[:4] == [True] * 4 and not serves[6]
    apart = [e_step(model, *series) for series in dataset]
    expected = sums_of(functools.reduce(operator.add, apart))
    for name, value in sums_of(e_step_of_all(model, dataset)).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-7, atol=1e-6, err_msg=name)
    served = [one for one, is_served in zip(complete, serves, strict=True) if is_served]
    means = np.concatenate([kalman_smoother(model, *series).mean for series in served])
    np.testing.assert_allclose(smooth.means, means, rtol=1e-7, atol=1e-8)


def test_short_series_without_a_steady_stretch_share_nothing():
    model, *_ = random_model(3, states=3, diffuse=2, width=1, known=0)
    rng = np.random.default_rng(1)
    dataset = [(rng.normal(size=(length, 1)), np.zeros((length, 0))) for length in (3, 4, 5, 6, 7)]
    smooth, serves = shared_smoother(model, dataset)
    assert smooth is None and not serves.any()
    expected = sums_of(functools.reduce(operator.add, [e_step(model, *one) for one in dataset]))
    for name, value in sums_of(e_step_of_all(model, dataset)).items():
        np.testing.assert_allclose(value, expected[name], err_msg=name)


def test_matrices_that_change_in_time_are_not_shared():
    model, values, inputs = random_model(1, varies=True)
    assert not shareable(model, [(np.nan_to_num(values), inputs)] * 8).any()
