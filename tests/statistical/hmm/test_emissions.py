"""Emissions of HMMs: against the reference densities, against every path, and against hmmlearn."""

from itertools import product

import numpy as np
import pytest
from hmmlearn.hmm import GMMHMM, GaussianHMM, PoissonHMM

from seqloom.prediction import LEVELS
from seqloom.statistical.hmm import emissions_reference
from seqloom.statistical.hmm.emissions import ColumnScale
from seqloom.statistical.hmm.gaussian_hmm import EMISSIONS, SeriesHMM
from seqloom.statistical.hmm.initialise import ColumnMoments

SEEDS = range(3)
FLOOR = 1e-9  # too low to matter, so that updates are those of hmmlearn
every_kind = pytest.mark.parametrize("kind", EMISSIONS)


def random_emission(kind, states, width, rng):
    if kind == "poisson":
        return EMISSIONS[kind](rng.gamma(2.0, 2.0, (states, width)))
    if kind == "mixture":
        shape = (states, 2, width)
        weights = rng.dirichlet(np.ones(2), states)
        return EMISSIONS[kind](weights, rng.normal(size=shape), rng.gamma(2.0, 0.5, shape))
    mean = rng.normal(size=(states, width))
    if kind == "diagonal":
        return EMISSIONS[kind](mean, rng.gamma(2.0, 0.5, (states, width)))
    root = rng.normal(size=(states, width, width))
    return EMISSIONS[kind](mean, root @ root.transpose(0, 2, 1) + 0.1 * np.eye(width))


def random_hmm(kind, states, width, seed):
    rng = np.random.default_rng(seed)
    shown = random_emission(kind, states, width, rng)
    first, moves = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    return SeriesHMM(first, moves, shown)


def sampled(model, steps, seed, missing=0.0):
    rng = np.random.default_rng([seed, 7])
    rows = model.sample_paths(model.initial, steps, 1, rng)[0]
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def density(shown, state, row):
    """log p(row | state) by the reference implementation."""
    match type(shown).__name__:
        case "Poisson":
            return emissions_reference.poisson(row, shown.rate[state])
        case "GaussianMixture":
            return emissions_reference.mixture(
                row, shown.share[state], shown.mean[state], shown.variance[state]
            )
        case "DiagonalGaussian":
            return emissions_reference.normal(
                row, shown.mean[state], np.diag(shown.variance[state])
            )
    return emissions_reference.normal(row, shown.mean[state], shown.covariance[state])


def scale_of(rows):
    return ColumnMoments.of(rows).scale()


@every_kind
@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_log_probs_are_the_reference_densities(kind, width, missing):
    model = random_hmm(kind, 3, width, 1)
    rows = sampled(model, 20, 1, missing)
    rows[4] = np.nan if missing else rows[4]
    right = [[density(model.emission, state, row) for state in range(3)] for row in rows]
    np.testing.assert_allclose(model.emission.log_probs(rows), right, rtol=1e-10, atol=1e-10)
    if missing:
        np.testing.assert_allclose(model.emission.log_probs(rows)[4], 0, atol=1e-12)


@every_kind
@pytest.mark.parametrize("seed", SEEDS)
def test_e_step_against_every_path(kind, seed):
    """Likelihood, posterior of states, transition counts; values and a whole row are missing."""
    model = random_hmm(kind, 3, 2, seed)
    rows = sampled(model, 5, seed, 0.3)
    rows[2] = np.nan
    fits = np.array([[density(model.emission, s, row) for s in range(3)] for row in rows])
    total, states, moves = 0.0, np.zeros((5, 3)), np.zeros((3, 3))
    for path in product(range(3), repeat=5):
        weight = model.initial[path[0]] * np.exp(sum(fits[t, s] for t, s in enumerate(path)))
        weight *= np.prod([model.transitions[a, b] for a, b in zip(path, path[1:], strict=False)])
        total += weight
        states[range(5), path] += weight
        for a, b in zip(path, path[1:], strict=False):
            moves[a, b] += weight
    lengths, scale = np.array([5]), scale_of(rows)
    found = model.e_step(rows, lengths, scale)
    assert found.log_likelihood == pytest.approx(np.log(total), rel=1e-10)
    assert model.log_likelihoods(rows, lengths)[0] == pytest.approx(np.log(total), rel=1e-10)
    np.testing.assert_allclose(model.state_probabilities(rows, lengths), states / total, atol=1e-10)
    np.testing.assert_allclose(found.transitions, moves / total, atol=1e-10)
    np.testing.assert_allclose(found.initial, states[0] / total, atol=1e-10)
    right = model.emission.statistics(rows, states / total, scale)
    for one, other in zip(found.emission.sums, right.sums, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def test_e_step_where_a_state_cannot_be_reached():
    """A state that fits all rows far better than the one reached: its β has no bound."""
    shown = EMISSIONS["diagonal"](np.array([[0.0], [5.0]]), np.ones((2, 1)))
    model = SeriesHMM(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.5]]), shown)
    rows = np.full((600, 1), 5.0)
    found = model.e_step(rows, np.array([600]), ColumnScale(np.zeros(1), np.ones(1)))
    assert found.log_likelihood == pytest.approx(600 * density(shown, 0, rows[0]))
    np.testing.assert_allclose(found.initial, [1, 0], rtol=1e-12)
    np.testing.assert_allclose(found.transitions, [[599, 0], [0, 0]], rtol=1e-12)
    np.testing.assert_allclose(found.emission.sums[0], [[600], [0]], rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_full_gaussian_takes_the_conditional_mean_of_missing_values(seed):
    model = random_hmm("full", 2, 3, seed)
    rows = sampled(model, 40, seed, 0.3)
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(2), 40)
    scale = scale_of(rows)
    found = model.emission.m_step(
        model.emission.statistics(rows, probabilities, scale), scale, FLOOR
    )
    for state in range(2):
        old = model.emission.mean[state], model.emission.covariance[state]
        mean, covariance = emissions_reference.fit_normal(rows, probabilities[:, state], *old)
        np.testing.assert_allclose(found.mean[state], mean, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found.covariance[state], covariance, rtol=1e-8, atol=1e-10)


@every_kind
@pytest.mark.parametrize("floor", [FLOOR, 0.3])
def test_the_likelihood_never_falls(kind, floor):
    """Also where the floor holds variances up, from any start that keeps to it."""
    model = random_hmm(kind, 3, 2, 3)
    rows, lengths = sampled(model, 120, 3, 0.2), np.array([50, 0, 70])
    scale, rng = scale_of(rows), np.random.default_rng(0)
    blank = EMISSIONS[kind].blank(3, 2, scale)
    shown = blank.fit_groups(rows, rng.integers(0, 3, 120), scale, floor, rng)
    now, before = SeriesHMM(model.initial, model.transitions, shown), -np.inf
    for _ in range(12):
        found = now.e_step(rows, lengths, scale)
        assert found.log_likelihood >= before - 1e-9
        before, now = found.log_likelihood, now.m_step(found, scale, floor)
    if kind == "full":
        flat = now.emission.covariance / np.outer(scale.deviation, scale.deviation)
        assert np.linalg.eigvalsh(flat).min() >= floor * (1 - 1e-9)
    elif kind != "poisson":
        assert (now.emission.variance >= floor * scale.deviation**2 * (1 - 1e-12)).all()


def test_values_far_from_zero_lose_no_digits():
    """A mean of 1e8 beside a deviation of 1: squares around the mean, not around 0."""
    model = random_hmm("diagonal", 2, 1, 5)
    rows = sampled(model, 200, 5)
    moved = SeriesHMM(
        model.initial,
        model.transitions,
        EMISSIONS["diagonal"](model.emission.mean + 1e8, model.emission.variance),
    )
    variances = []
    for each, values in ((model, rows), (moved, rows + 1e8)):
        scale = scale_of(values)
        found = each.e_step(values, np.array([200]), scale)
        variances.append(each.m_step(found, scale, FLOOR).emission.variance)
    np.testing.assert_allclose(*variances, rtol=1e-5)


def test_left_to_right_states_do_not_underflow():
    """Scaled sums would be 0: the only path goes through a state a thousand nats down."""
    shown = EMISSIONS["diagonal"](np.array([[0.0], [100.0]]), np.ones((2, 1)))
    model = SeriesHMM.blank(shown, 2, left_to_right=True)
    rows, lengths = np.array([[0.0], [100.0], [0.0], [0.0], [100.0]]), np.array([5])
    found = model.e_step(rows, lengths, scale_of(rows))
    right = -4999.5 * 1 + np.log(0.5) * 4  # one step in the wrong state, and three stays and a move
    assert found.log_likelihood == pytest.approx(model.log_likelihoods(rows, lengths)[0], rel=1e-12)
    assert found.log_likelihood == pytest.approx(right, rel=1e-2)
    np.testing.assert_allclose(found.initial, [1, 0])


def hmmlearn_model(kind, own, implementation):
    """The same model in hmmlearn, with no priors."""
    states, shown = len(own.initial), own.emission
    same = {"init_params": "", "n_iter": 1, "tol": 0, "implementation": implementation}
    if kind == "poisson":
        model = PoissonHMM(states, **same, lambdas_prior=0.0, lambdas_weight=0.0)
        model.lambdas_ = shown.rate
    elif kind == "mixture":
        model = GMMHMM(states, 2, **same, min_covar=0, covars_prior=-1.5, covars_weight=0)
        model.means_, model.covars_, model.weights_ = shown.mean, shown.variance, shown.share
    else:
        form = {"diagonal": "diag", "full": "full"}[kind]
        model = GaussianHMM(states, form, **same, min_covar=0, covars_prior=0, covars_weight=1)
        model.means_ = shown.mean
        model.covars_ = shown.variance if kind == "diagonal" else shown.covariance
    model.startprob_, model.transmat_ = own.initial, own.transitions
    return model


@every_kind
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_against_hmmlearn(kind, implementation):
    """Likelihood, posterior of states, and one EM iteration from the same start."""
    model = random_hmm(kind, 3, 2, 4)
    rows, lengths = sampled(model, 300, 4), np.array([100, 200])
    other = hmmlearn_model(kind, model, implementation)
    read = rows.astype(np.int64) if kind == "poisson" else rows
    total, probabilities = other.score_samples(read, lengths)
    assert model.log_likelihoods(rows, lengths).sum() == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(model.state_probabilities(rows, lengths), probabilities, atol=1e-9)
    scale = scale_of(rows)
    found = model.m_step(model.e_step(rows, lengths, scale), scale, FLOOR)
    other.fit(read, lengths)
    np.testing.assert_allclose(found.initial, other.startprob_, atol=1e-9)
    np.testing.assert_allclose(found.transitions, other.transmat_, atol=1e-9)
    if kind == "poisson":
        np.testing.assert_allclose(found.emission.rate, other.lambdas_, rtol=1e-9)
        return
    np.testing.assert_allclose(found.emission.mean, other.means_, atol=1e-9)
    if kind == "mixture":
        np.testing.assert_allclose(found.emission.share, other.weights_, atol=1e-9)
    variance = found.emission.covariance if kind == "full" else found.emission.variance
    right = other.covars_
    if kind == "diagonal":
        right = np.diagonal(right, axis1=1, axis2=2)
    if kind == "mixture":  # theirs is around the means before the update, ours around those after
        right = right - (found.emission.mean - model.emission.mean) ** 2
    np.testing.assert_allclose(variance, right, rtol=1e-8, atol=1e-9)


@every_kind
def test_quantiles_are_those_of_samples(kind):
    """The fraction of samples below each quantile is its level; counts just reach it."""
    model = random_hmm(kind, 3, 2, 6)
    probabilities, rng = np.array([[0.2, 0.5, 0.3]]), np.random.default_rng(0)
    found = model.emission.quantiles(probabilities, np.array(LEVELS))[0]
    rows = model.emission.sample(rng.choice(3, 40_000, p=probabilities[0]), rng)
    for number in range(2):
        below = (rows[:, number] <= found[number][:, None]).mean(1)
        if kind == "poisson":
            under = (rows[:, number] < found[number][:, None]).mean(1)
            assert (below >= np.array(LEVELS) - 0.01).all()
            assert (under <= np.array(LEVELS) + 0.01).all()
        else:
            np.testing.assert_allclose(below, LEVELS, atol=0.01)
            assert (np.diff(found[number]) > 0).all()


def test_quantiles_of_one_state_are_exact():
    normal = EMISSIONS["diagonal"](np.array([[3.0]]), np.array([[4.0]]))
    found = normal.quantiles(np.ones((1, 1)), np.array([0.025, 0.5, 0.975]))[0, 0]
    np.testing.assert_allclose(found, [3 - 2 * 1.959963984540054, 3, 3 + 2 * 1.959963984540054])
    counted = EMISSIONS["poisson"](np.array([[1e6]]))
    found = counted.quantiles(np.ones((1, 1)), np.array([0.025, 0.5, 0.975]))[0, 0]
    np.testing.assert_allclose(found, [1e6 - 1960, 1e6, 1e6 + 1960], atol=2)


def test_column_moments_add_up():
    rows = np.random.default_rng(0).normal(1e6, 1, (50, 2))
    rows[::7, 0] = np.nan
    both = ColumnMoments.of(rows[:20]) + ColumnMoments.of(rows[20:])
    np.testing.assert_allclose(both.scale().deviation, np.nanstd(rows, axis=0), rtol=1e-9)
    np.testing.assert_allclose(both.scale().mean, np.nanmean(rows, axis=0), rtol=1e-12)
    assert isinstance(both.scale(), ColumnScale)
