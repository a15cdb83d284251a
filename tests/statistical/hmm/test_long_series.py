"""Baum-Welch over long sequences, told states, and mixtures: beside log space, loops and scikit-learn."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.mixture import GaussianMixture as Oracle

from seqloom.statistical.hmm import compiled, emissions_reference
from seqloom.statistical.hmm.chain import EmissionScores, LinearChain
from seqloom.statistical.hmm.compiled import expected_counts
from seqloom.statistical.hmm.emissions import ColumnScale
from seqloom.statistical.hmm.gaussian_hmm import SeriesHMM
from seqloom.statistical.hmm.initialise import (
    ColumnMoments,
    InitialSample,
    evenly_spaced,
    kmeans,
)
from tests.statistical.hmm.test_emissions import EMISSIONS, FLOOR, random_hmm, sampled, scale_of

LENGTHS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 700, 0, 701, 702, 703])


def log_space(chain, scores):
    """What Baum-Welch counts, where nothing is scaled."""
    found = compiled.posteriors(chain, scores, np.ones(len(scores.lengths)))
    emitted = np.zeros_like(scores.table)
    np.add.at(emitted, scores.index, found.marginals)
    return float(found.log_partitions.sum()), {
        "initial": found.initial,
        "transitions": found.transitions,
        "final": found.final,
        "emissions": emitted,
    }


@pytest.mark.parametrize("spread", [1.0, 40.0])
@pytest.mark.parametrize("count", [1, 2, 4, 5, 9])
def test_scaled_sums_of_long_sequences_are_those_of_log_space(count, spread):
    """Sums are scaled up hundreds of times on the way; every count comes out as without."""
    rng = np.random.default_rng(count)
    first, last = np.log(rng.dirichlet(np.ones(count), 2))
    chain = LinearChain.first_order(first, np.log(rng.dirichlet(np.ones(count), count)), last)
    table = spread * rng.normal(size=(6, count)) - 50
    scores = EmissionScores(table, rng.integers(0, 6, LENGTHS.sum()), LENGTHS)
    likelihood, wanted = log_space(chain, scores)
    found = expected_counts(chain, scores)
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    for name, right in wanted.items():
        np.testing.assert_allclose(getattr(found, name), right, rtol=1e-7, atol=1e-9, err_msg=name)
    assert found.initial.sum() == pytest.approx((LENGTHS > 0).sum())
    assert found.transitions.sum() == pytest.approx(np.maximum(LENGTHS - 1, 0).sum())
    assert found.emissions.sum() == pytest.approx(LENGTHS.sum())


@pytest.mark.parametrize("kind", EMISSIONS)
@pytest.mark.parametrize("states", [1, 2, 5])
def test_scaled_passes_over_long_series_are_those_of_log_space(kind, states):
    model = random_hmm(kind, states, 2, 3)
    rows = sampled(model, int(LENGTHS.sum()), 4, 0.2)
    if kind != "poisson":
        rows *= 3  # far from every mean: fits are small wherever the model goes
    scale = scale_of(rows)
    found = model.e_step(rows, LENGTHS, scale)
    scores = model.emission_scores(rows, LENGTHS)
    likelihood, wanted = log_space(model.chain, scores)
    posterior = compiled.posteriors(model.chain, model.emission_scores(rows, LENGTHS)).marginals
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-12)
    np.testing.assert_allclose(found.initial, wanted["initial"], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.transitions, wanted["transitions"], rtol=1e-7, atol=1e-9)
    right = model.emission.statistics(rows, posterior, scale)
    for one, other in zip(found.emission.sums, right.sums, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("rare", [1e-20, 1e-40, 1e-70])
def test_sums_that_are_scaled_at_the_last_position(rare):
    """Rows call for the other state each time: every step divides the sums by as much."""
    lengths = np.arange(1, 9)
    moves = np.array([[1 - rare, rare], [rare, 1 - rare]])
    shown = EMISSIONS["diagonal"](np.array([[0.0], [20.0]]), np.ones((2, 1)))
    model = SeriesHMM(np.array([0.5, 0.5]), moves, shown)
    rows = np.concatenate([20.0 * (np.arange(n) % 2) for n in lengths])[:, None]
    likelihood, wanted = log_space(model.chain, model.emission_scores(rows, lengths))
    for found in (
        model.e_step(rows, lengths, scale_of(rows)),
        expected_counts(model.chain, model.emission_scores(rows, lengths)),
    ):
        assert found.log_likelihood == pytest.approx(likelihood, rel=1e-12)
        np.testing.assert_allclose(found.initial, wanted["initial"], rtol=1e-9)
        np.testing.assert_allclose(found.transitions, wanted["transitions"], rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_told_states_are_counted_within_each_series_alone(seed):
    """No transition leads from the end of one series to the beginning of the next."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, 8)
    lengths[rng.integers(8)] = 4
    model = random_hmm("diagonal", 3, 2, seed)
    size = int(lengths.sum())
    rows, states = sampled(model, size, seed, 0.2), rng.integers(0, 3, size)
    found = model.labelled_statistics(rows, lengths, states, scale_of(rows))
    first, moves, total, t = np.zeros(3), np.zeros((3, 3)), 0.0, 0
    for length in lengths.tolist():
        for place in range(length):
            state = states[t]
            total += emissions_reference.normal(
                rows[t], model.emission.mean[state], np.diag(model.emission.variance[state])
            )
            if place == 0:
                first[state] += 1
                total += math.log(model.initial[state])
            else:
                moves[states[t - 1], state] += 1
                total += math.log(model.transitions[states[t - 1], state])
            t += 1
    np.testing.assert_array_equal(found.initial, first)
    np.testing.assert_array_equal(found.transitions, moves)
    assert found.log_likelihood == pytest.approx(total)
    made = model.m_step(found, scale_of(rows), FLOOR, pseudo_count=0.5)
    np.testing.assert_allclose(made.initial, (first + 0.5) / (first + 0.5).sum())
    wanted = (moves + 0.5) / (moves + 0.5).sum(1, keepdims=True)
    np.testing.assert_allclose(made.transitions, wanted)
    for state in range(3):
        for column in range(2):
            mine = rows[states == state, column]
            mine = mine[~np.isnan(mine)]
            if len(mine):
                assert made.emission.mean[state, column] == pytest.approx(mine.mean())
                least = FLOOR * scale_of(rows).deviation[column] ** 2
                variance = max(mine.var(), least)
                assert made.emission.variance[state, column] == pytest.approx(variance)
            else:
                assert made.emission.mean[state, column] == model.emission.mean[state, column]


def test_a_told_path_that_cannot_be_is_no_number_but_minus_infinity_or_counts():
    """A transition with probability 0 that never comes adds nothing: 0 log 0 is 0."""
    model = random_hmm("diagonal", 2, 1, 0)
    model = type(model)(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.5]]), model.emission)
    rows, lengths = np.zeros((3, 1)), np.array([3])
    found = model.labelled_statistics(rows, lengths, np.zeros(3, int), scale_of(rows))
    fits = [
        emissions_reference.normal(row, model.emission.mean[0], np.diag(model.emission.variance[0]))
        for row in rows
    ]
    assert found.log_likelihood == pytest.approx(sum(fits))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("components", [1, 2, 4])
def test_a_pass_of_one_mixture_is_that_of_scikit_learn(seed, components):
    """Weights, means and variances after one EM iteration from the same start."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(90, 2)) * [1, 3] + rng.choice([-2.0, 4.0], (90, 1))
    shape = (1, components, 2)
    mixture = EMISSIONS["mixture"](
        rng.dirichlet(np.ones(components), 1), 3 * rng.normal(size=shape), rng.gamma(3, 1, shape)
    )
    scale = scale_of(rows)
    found = mixture.m_step(mixture.statistics(rows, np.ones((90, 1)), scale), scale, FLOOR)
    oracle = Oracle(
        components,
        covariance_type="diag",
        tol=0,
        reg_covar=0,
        max_iter=1,
        weights_init=mixture.share[0],
        means_init=mixture.mean[0],
        precisions_init=1 / mixture.variance[0],
    )
    with pytest.warns(UserWarning):  # it did not converge
        oracle.fit(rows)
    np.testing.assert_allclose(found.share[0], oracle.weights_, rtol=1e-9)
    np.testing.assert_allclose(found.mean[0], oracle.means_, rtol=1e-9)
    np.testing.assert_allclose(found.variance[0], oracle.covariances_, rtol=1e-8)
    np.testing.assert_allclose(found.log_probs(rows)[:, 0], oracle.score_samples(rows), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_pass_of_mixtures_with_missing_values_is_a_loop(seed):
    """Responsibilities of every row, state and component, of what was observed alone."""
    rng = np.random.default_rng(seed)
    model = random_hmm("mixture", 2, 3, seed)
    rows, shown = sampled(model, 40, seed, 0.4), model.emission
    posterior, scale = rng.dirichlet(np.ones(2), 40), scale_of(rows)
    found = shown.m_step(shown.statistics(rows, posterior, scale), scale, FLOOR)
    for state in range(2):
        weights = np.zeros((40, 2))
        for t, row in enumerate(rows):
            each = [
                math.log(shown.share[state, k])
                + emissions_reference.normal(
                    row, shown.mean[state, k], np.diag(shown.variance[state, k])
                )
                for k in range(2)
            ]
            shares = np.exp(np.array(each) - max(each))
            weights[t] = posterior[t, state] * shares / shares.sum()
        np.testing.assert_allclose(found.share[state], weights.sum(0) / weights.sum())
        for k in range(2):
            for d in range(3):
                seen = ~np.isnan(rows[:, d])
                w, x = weights[seen, k], rows[seen, d]
                mean = w @ x / w.sum()
                assert found.mean[state, k, d] == pytest.approx(mean, rel=1e-7, abs=1e-9)
                spread = w @ (x - mean) ** 2 / w.sum()
                assert found.variance[state, k, d] == pytest.approx(spread, rel=1e-6)


def test_moments_and_samples_of_mixtures():
    mixture = random_hmm("mixture", 3, 2, 8).emission
    rng = np.random.default_rng(1)
    for state in range(3):
        drawn = mixture.sample(np.full(60_000, state), rng)
        reach = mixture.deviations()[state]
        np.testing.assert_allclose(drawn.mean(0), mixture.means()[state], atol=0.03 * reach.max())
        np.testing.assert_allclose(drawn.std(0), reach, rtol=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_quantiles_are_where_the_distribution_reaches_its_level(seed):
    """By SciPy's cumulative distributions of every state and component."""
    rng, levels = np.random.default_rng(seed), np.array([0.001, 0.1, 0.5, 0.8, 0.999])
    weights = rng.dirichlet(np.ones(3), 4)
    weights[0] = [0, 1, 0]  # states without weight have no say, however far they are
    mixture = random_hmm("mixture", 3, 2, seed).emission
    mixture.mean[0] += 1e4
    found = mixture.quantiles(weights, levels)
    for t in range(4):
        for d in range(2):
            parts = stats.norm.cdf(
                found[t, d][:, None, None], mixture.mean[..., d], np.sqrt(mixture.variance[..., d])
            )
            reached = np.einsum("lsk,sk,s->l", parts, mixture.share, weights[t])
            np.testing.assert_allclose(reached, levels, atol=1e-7)
    counts = random_hmm("poisson", 3, 2, seed).emission
    counts.rate[1] *= 50
    least = counts.quantiles(weights, levels)
    for t in range(4):
        for d in range(2):
            for level, count in zip(levels, least[t, d], strict=True):
                at, below = (
                    float(weights[t] @ stats.poisson.cdf(n, counts.rate[:, d]))
                    for n in (count, count - 1)
                )
                assert below < level <= at + 1e-12


@pytest.mark.parametrize("width", [1, 3, 6])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_densities_of_states_near_and_far(width, far):
    """Both ways to compute them, as matrix products and value by value, are SciPy's."""
    rng = np.random.default_rng(width)
    mean, variance = rng.normal(size=(3, width)), rng.gamma(2, 1, (3, width))
    mean[1] += far
    rows = mean[rng.integers(0, 3, 20)] + rng.normal(size=(20, width))
    wanted = stats.norm.logpdf(rows[:, None], mean, np.sqrt(variance)).sum(-1)
    found = EMISSIONS["diagonal"](mean, variance).log_probs(rows)
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_clusters_are_a_fixed_point_in_order_of_their_first_column(seed):
    rng = np.random.default_rng(seed)
    centres = np.array([[4.0, 0.0], [-3.0, 9.0], [0.0, -5.0]])
    right = rng.integers(0, 3, 80)
    rows = centres[right] + 0.3 * rng.normal(size=(80, 2))
    rows[rng.random(80) < 0.1, 1] = np.nan
    scale = scale_of(rows)
    found = kmeans(rows, 3, scale, rng)
    flat = np.where(np.isnan(rows), 0.0, (rows - scale.mean) / scale.deviation)
    means = np.array([flat[found == n].mean(0) for n in range(3)])
    assert (np.diff(means[:, 0]) > 0).all()
    nearest = ((flat[:, None] - means) ** 2).sum(-1).argmin(1)
    np.testing.assert_array_equal(nearest, found)


def test_fewer_different_rows_than_clusters_are_no_trouble():
    rows = np.repeat([[1.0], [2.0]], 5, axis=0)
    found = kmeans(rows, 4, scale_of(rows), np.random.default_rng(0))
    assert len(set(found[:5])) == len(set(found[5:])) == 1 and found[0] < found[9]


def test_rows_before_the_first_pass_know_their_place():
    """Which model, which label, how far along their series; moments of all rows."""
    rows = np.arange(24.0).reshape(12, 2)
    rows[3] = np.nan
    lengths, models = np.array([4, 0, 3, 5]), np.array([1, 0, 0, 1])
    labels = np.arange(12) % 3
    found = InitialSample.of(rows, lengths, models, 3, labels)
    assert found.series.tolist() == [2, 2, 0]
    wanted = [0, 0.25, 0.5, 0.75, 0, 1 / 3, 2 / 3, 0, 0.2, 0.4, 0.6, 0.8]
    np.testing.assert_allclose(found.facts[:, 2], wanted)
    assert found.facts[:, 0].tolist() == [1] * 4 + [0] * 3 + [1] * 5
    assert found.facts[:, 1].tolist() == labels.tolist()
    assert (InitialSample.of(rows, lengths, models, 3).facts[:, 1] == -1).all()
    mine, facts = found.of_model(1)
    assert mine[:, 0].tolist() == [0, 2, 4, 14, 16, 18, 20, 22], "what is missing is no start"
    assert facts[:, 2].tolist() == pytest.approx([0, 0.25, 0.5, 0, 0.2, 0.4, 0.6, 0.8])
    assert len(found.of_model(2)[0]) == 11, "of a model without rows those of all"
    both = found + found
    assert len(both.rows) == 24 and both.series.tolist() == [4, 4, 0]
    assert both.log_likelihood == 2 * found.log_likelihood
    model = random_hmm("diagonal", 2, 2, 0)
    blank = EMISSIONS["diagonal"].blank(2, 1, scale_of(rows))
    start = type(model)(model.initial, model.transitions, blank)
    assert found.log_likelihood < start.log_likelihoods(rows, lengths).sum()


@pytest.mark.parametrize(("size", "most"), [(0, 5), (1, 5), (5, 5), (10, 5), (1000, 7)])
def test_evenly_spaced(size, most):
    found = evenly_spaced(size, most) if size else np.zeros(0)
    assert len(found) == min(size, most)
    if size:
        assert found[0] == 0 and (most == 1 or found[-1] == size - 1)
        steps = np.diff(found)
        assert len(steps) == 0 or steps.max() - steps.min() <= 1


def test_a_column_that_never_changes_has_the_scale_one():
    rows = np.array([[5.0, 1e-3, np.nan, 0.0], [5.0, 2e-3, np.nan, 0.0]])
    found = ColumnMoments.of(rows)
    assert isinstance(found.scale(), ColumnScale)
    np.testing.assert_allclose(found.scale().deviation, [1, 5e-4, 1, 1])
    np.testing.assert_allclose(found.scale().mean, [5, 1.5e-3, 0, 0])
    assert not found.is_constant()
    assert ColumnMoments.of(rows[:, [0, 2, 3]]).is_constant()
