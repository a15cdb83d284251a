"""What states show: quick twins equal the readable equations, all paths summed, and hmmlearn."""

from itertools import product

import numpy as np
import pytest
from hmmlearn.hmm import GMMHMM, GaussianHMM, PoissonHMM

from seqloom.prediction import LEVELS
from seqloom.statistical.hmm import emissions_reference
from seqloom.statistical.hmm.emissions import Ground
from seqloom.statistical.hmm.gaussian_hmm import KINDS, Regimes
from seqloom.statistical.hmm.initialise import Spread

SEEDS = range(3)
FLOOR = 1e-9  # too low to matter, so that updates are those of hmmlearn
every_kind = pytest.mark.parametrize("kind", KINDS)


def random_emission(kind, states, width, chance):
    if kind == "poisson":
        return KINDS[kind](chance.gamma(2.0, 2.0, (states, width)))
    if kind == "mixture":
        shape = (states, 2, width)
        shares = chance.dirichlet(np.ones(2), states)
        return KINDS[kind](shares, chance.normal(size=shape), chance.gamma(2.0, 0.5, shape))
    mean = chance.normal(size=(states, width))
    if kind == "diagonal":
        return KINDS[kind](mean, chance.gamma(2.0, 0.5, (states, width)))
    root = chance.normal(size=(states, width, width))
    return KINDS[kind](mean, root @ root.transpose(0, 2, 1) + 0.1 * np.eye(width))


def random_regimes(kind, states, width, seed):
    chance = np.random.default_rng(seed)
    shown = random_emission(kind, states, width, chance)
    first, moves = chance.dirichlet(np.ones(states)), chance.dirichlet(np.ones(states), states)
    return Regimes(first, moves, shown)


def drawn(regimes, steps, seed, missing=0.0):
    chance = np.random.default_rng([seed, 7])
    rows = regimes.futures(regimes.first, steps, 1, chance)[0]
    rows[chance.random(rows.shape) < missing] = np.nan
    return rows


def density(shown, state, row):
    """log p(row | state) by the readable equations."""
    match type(shown).__name__:
        case "Poisson":
            return emissions_reference.counted(row, shown.rate[state])
        case "Mixture":
            return emissions_reference.mixed(
                row, shown.share[state], shown.mean[state], shown.variance[state]
            )
        case "Diagonal":
            return emissions_reference.normal(
                row, shown.mean[state], np.diag(shown.variance[state])
            )
    return emissions_reference.normal(row, shown.mean[state], shown.covariance[state])


def ground_of(rows):
    return Spread.of(rows).ground()


@every_kind
@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_scores_are_the_readable_densities(kind, width, missing):
    regimes = random_regimes(kind, 3, width, 1)
    rows = drawn(regimes, 20, 1, missing)
    rows[4] = np.nan if missing else rows[4]
    right = [[density(regimes.shown, state, row) for state in range(3)] for row in rows]
    np.testing.assert_allclose(regimes.shown.scores(rows), right, rtol=1e-10, atol=1e-10)
    if missing:
        np.testing.assert_allclose(regimes.shown.scores(rows)[4], 0, atol=1e-12)


@every_kind
@pytest.mark.parametrize("seed", SEEDS)
def test_all_paths_summed_by_brute_force(kind, seed):
    """Likelihood, chances of states and of moves, where numbers and a whole row are missing."""
    regimes = random_regimes(kind, 3, 2, seed)
    rows = drawn(regimes, 5, seed, 0.3)
    rows[2] = np.nan
    fits = np.array([[density(regimes.shown, s, row) for s in range(3)] for row in rows])
    total, states, moves = 0.0, np.zeros((5, 3)), np.zeros((3, 3))
    for path in product(range(3), repeat=5):
        weight = regimes.first[path[0]] * np.exp(sum(fits[t, s] for t, s in enumerate(path)))
        weight *= np.prod([regimes.moves[a, b] for a, b in zip(path, path[1:], strict=False)])
        total += weight
        states[range(5), path] += weight
        for a, b in zip(path, path[1:], strict=False):
            moves[a, b] += weight
    lengths, ground = np.array([5]), ground_of(rows)
    found = regimes.visited(rows, lengths, ground)
    assert found.log_likelihood == pytest.approx(np.log(total), rel=1e-10)
    assert regimes.totals(rows, lengths)[0] == pytest.approx(np.log(total), rel=1e-10)
    np.testing.assert_allclose(regimes.chances(rows, lengths), states / total, atol=1e-10)
    np.testing.assert_allclose(found.moves, moves / total, atol=1e-10)
    np.testing.assert_allclose(found.first, states[0] / total, atol=1e-10)
    right = regimes.shown.moments(rows, states / total, ground)
    for one, other in zip(found.moments.sums, right.sums, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_full_normal_puts_what_it_expects_in_the_place_of_missing_numbers(seed):
    regimes = random_regimes("full", 2, 3, seed)
    rows = drawn(regimes, 40, seed, 0.3)
    chances = np.random.default_rng(seed).dirichlet(np.ones(2), 40)
    ground = ground_of(rows)
    found = regimes.shown.learned(regimes.shown.moments(rows, chances, ground), ground, FLOOR)
    for state in range(2):
        told = regimes.shown.mean[state], regimes.shown.covariance[state]
        mean, covariance = emissions_reference.learned_normal(rows, chances[:, state], *told)
        np.testing.assert_allclose(found.mean[state], mean, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found.covariance[state], covariance, rtol=1e-8, atol=1e-10)


@every_kind
@pytest.mark.parametrize("floor", [FLOOR, 0.3])
def test_the_likelihood_never_falls(kind, floor):
    """Also where the floor holds variances up, from any start that keeps to it."""
    regimes = random_regimes(kind, 3, 2, 3)
    rows, lengths = drawn(regimes, 120, 3, 0.2), np.array([50, 0, 70])
    ground, chance = ground_of(rows), np.random.default_rng(0)
    blank = KINDS[kind].blank(3, 2, ground)
    shown = blank.started(rows, chance.integers(0, 3, 120), ground, floor, chance)
    now, before = Regimes(regimes.first, regimes.moves, shown), -np.inf
    for _ in range(12):
        found = now.visited(rows, lengths, ground)
        assert found.log_likelihood >= before - 1e-9
        before, now = found.log_likelihood, now.learned(found, ground, floor)
    if kind == "full":
        flat = now.shown.covariance / np.outer(ground.spread, ground.spread)
        assert np.linalg.eigvalsh(flat).min() >= floor * (1 - 1e-9)
    elif kind != "poisson":
        assert (now.shown.variance >= floor * ground.spread**2 * (1 - 1e-12)).all()


def test_numbers_far_from_zero_lose_nothing():
    """A mean of 1e8 beside a deviation of 1: squares around the mean, not around 0."""
    regimes = random_regimes("diagonal", 2, 1, 5)
    rows = drawn(regimes, 200, 5)
    moved = Regimes(
        regimes.first,
        regimes.moves,
        KINDS["diagonal"](regimes.shown.mean + 1e8, regimes.shown.variance),
    )
    variances = []
    for model, values in ((regimes, rows), (moved, rows + 1e8)):
        ground = ground_of(values)
        found = model.visited(values, np.array([200]), ground)
        variances.append(model.learned(found, ground, FLOOR).shown.variance)
    np.testing.assert_allclose(*variances, rtol=1e-5)


def test_states_that_come_in_order_are_not_lost_to_better_ones():
    """Scaled sums would say 0 where the only path goes through a state a thousand nats down."""
    shown = KINDS["diagonal"](np.array([[0.0], [100.0]]), np.ones((2, 1)))
    regimes = Regimes.blank(shown, 2, left_to_right=True)
    rows, lengths = np.array([[0.0], [100.0], [0.0], [0.0], [100.0]]), np.array([5])
    found = regimes.visited(rows, lengths, ground_of(rows))
    right = -4999.5 * 1 + np.log(0.5) * 4  # one step in the wrong state, and three stays and a move
    assert found.log_likelihood == pytest.approx(regimes.totals(rows, lengths)[0], rel=1e-12)
    assert found.log_likelihood == pytest.approx(right, rel=1e-2)
    np.testing.assert_allclose(found.first, [1, 0])


def theirs(kind, regimes, implementation):
    """The same model in hmmlearn, with no priors."""
    states, shown = len(regimes.first), regimes.shown
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
    model.startprob_, model.transmat_ = regimes.first, regimes.moves
    return model


@every_kind
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_as_hmmlearn(kind, implementation):
    """Likelihood, chances of states, and one update from the same start."""
    regimes = random_regimes(kind, 3, 2, 4)
    rows, lengths = drawn(regimes, 300, 4), np.array([100, 200])
    other = theirs(kind, regimes, implementation)
    read = rows.astype(np.int64) if kind == "poisson" else rows
    total, chances = other.score_samples(read, lengths)
    assert regimes.totals(rows, lengths).sum() == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(regimes.chances(rows, lengths), chances, atol=1e-9)
    ground = ground_of(rows)
    found = regimes.learned(regimes.visited(rows, lengths, ground), ground, FLOOR)
    other.fit(read, lengths)
    np.testing.assert_allclose(found.first, other.startprob_, atol=1e-9)
    np.testing.assert_allclose(found.moves, other.transmat_, atol=1e-9)
    if kind == "poisson":
        np.testing.assert_allclose(found.shown.rate, other.lambdas_, rtol=1e-9)
        return
    np.testing.assert_allclose(found.shown.mean, other.means_, atol=1e-9)
    if kind == "mixture":
        np.testing.assert_allclose(found.shown.share, other.weights_, atol=1e-9)
    variance = found.shown.covariance if kind == "full" else found.shown.variance
    right = other.covars_
    if kind == "diagonal":
        right = np.diagonal(right, axis1=1, axis2=2)
    if kind == "mixture":  # theirs is around the means before the update, ours around those after
        right = right - (found.shown.mean - regimes.shown.mean) ** 2
    np.testing.assert_allclose(variance, right, rtol=1e-8, atol=1e-9)


@every_kind
def test_quantiles_are_those_of_many_drawn_numbers(kind):
    """And exactly: the chance below each of them is its level, or just reaches it for counts."""
    regimes = random_regimes(kind, 3, 2, 6)
    chances, chance = np.array([[0.2, 0.5, 0.3]]), np.random.default_rng(0)
    found = regimes.shown.quantiles(chances, np.array(LEVELS))[0]
    rows = regimes.shown.drawn(chance.choice(3, 40_000, p=chances[0]), chance)
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
    normal = KINDS["diagonal"](np.array([[3.0]]), np.array([[4.0]]))
    found = normal.quantiles(np.ones((1, 1)), np.array([0.025, 0.5, 0.975]))[0, 0]
    np.testing.assert_allclose(found, [3 - 2 * 1.959963984540054, 3, 3 + 2 * 1.959963984540054])
    counted = KINDS["poisson"](np.array([[1e6]]))
    found = counted.quantiles(np.ones((1, 1)), np.array([0.025, 0.5, 0.975]))[0, 0]
    np.testing.assert_allclose(found, [1e6 - 1960, 1e6, 1e6 + 1960], atol=2)


def test_spreads_add_up():
    rows = np.random.default_rng(0).normal(1e6, 1, (50, 2))
    rows[::7, 0] = np.nan
    both = Spread.of(rows[:20]) + Spread.of(rows[20:])
    np.testing.assert_allclose(both.ground().spread, np.nanstd(rows, axis=0), rtol=1e-9)
    np.testing.assert_allclose(both.ground().centre, np.nanmean(rows, axis=0), rtol=1e-12)
    assert isinstance(both.ground(), Ground)
