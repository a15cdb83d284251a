"""Forward-backward, Viterbi, k best, sampling: against every path, and compiled against reference."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from seqloom.statistical.hmm import compiled, inference
from seqloom.statistical.hmm.chain import EmissionScores, LinearChain
from seqloom.statistical.hmm.compiled import expected_counts

KINDS = ["dense", "forbidden", "second-order", "far"]


def chain_of(kind, seed, count=3):
    """A random chain: dense, with forbidden transitions, of second order, or with huge scores."""
    rng = np.random.default_rng(seed)
    first, last = rng.normal(size=(2, count))
    moves = rng.normal(size=(count, count)) * (900 if kind == "far" else 1)
    if kind == "second-order":
        second, third = rng.normal(size=(count, count)), rng.normal(size=(count,) * 3)
        third[rng.random(third.shape) < 0.2] = -np.inf
        return LinearChain.second_order(first, second, third, rng.normal(size=(count + 1, count)))
    if kind == "forbidden":
        moves[rng.random(moves.shape) < 0.4] = -np.inf
        first[rng.integers(count)] = last[rng.integers(count)] = -np.inf
    return LinearChain.first_order(first, moves, last)


def scores_of(seed, time, count=3, *, scale=1.0):
    found = np.random.default_rng(seed + 100).normal(size=(time, count)) * scale
    found[np.random.default_rng(seed).random(found.shape) < 0.1] = -np.inf
    return found


def every_path(chain, scores):
    """All paths with their scores, by the definition alone."""
    transitions, emissions = chain.transition_matrix(), scores[:, chain.column]
    paths = np.array(list(product(range(len(chain.initial)), repeat=len(scores))))
    total = chain.initial[paths[:, 0]] + chain.final[paths[:, -1]]
    total = total + emissions[np.arange(len(scores)), paths].sum(1)
    return paths, total + transitions[paths[:, :-1], paths[:, 1:]].sum(1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("time", [1, 2, 4])
def test_forward_backward_sums_every_path(kind, seed, time):
    count = 2 if kind == "second-order" else 3
    chain, scores = chain_of(kind, seed, count), scores_of(seed, time, count)
    paths, totals = every_path(chain, scores)
    found = inference.posteriors(chain, scores)
    total = float(inference.logsumexp(totals))
    assert found.log_partition == pytest.approx(total)
    if total == -np.inf:
        assert not found.marginals.any()
        return
    probabilities, states = np.exp(totals - total), np.zeros((time, len(chain.initial)))
    transitions = np.zeros((len(chain.initial),) * 2)
    for path, probability in zip(paths, probabilities, strict=True):
        states[np.arange(time), path] += probability
        np.add.at(transitions, (path[:-1], path[1:]), probability)
    columns = np.zeros((time, count))
    np.add.at(columns, (slice(None), chain.column), states)
    np.testing.assert_allclose(found.marginals, columns, atol=1e-9)
    np.testing.assert_allclose(found.transitions, transitions, atol=1e-9)
    np.testing.assert_allclose(found.initial, states[0], atol=1e-9)
    np.testing.assert_allclose(found.final, states[-1], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_best_paths_against_every_path(kind, seed):
    count = 2 if kind == "second-order" else 3
    chain, scores = chain_of(kind, seed, count), scores_of(seed, 4, count)
    paths, totals = every_path(chain, scores)
    order = [place for place in np.argsort(-totals, kind="stable")[:5] if totals[place] > -np.inf]
    path, score = inference.viterbi(chain, scores)
    assert score == pytest.approx(totals.max())
    found = inference.best_paths(chain, scores, 5)
    assert [score for _, score in found] == pytest.approx(totals[order].tolist())
    if order:
        assert path.tolist() == found[0][0].tolist() == paths[order[0]].tolist()


def emission_scores_of(seeds, count):
    lengths = [1, 5, 0, 7, 3]
    rows = [scores_of(seed, time, count) for seed, time in zip(range(5), lengths, strict=True)]
    order = np.random.default_rng(seeds).permutation(sum(lengths))
    table = np.empty((len(order), count))
    table[order] = np.concatenate(rows)
    return EmissionScores(table, order, np.array(lengths))


@pytest.mark.parametrize("kind", KINDS)
def test_filtered_marginals_are_those_of_the_prefix(kind):
    """The filtered marginals of a position are the posterior of the sequence up to it."""
    count = 3
    chain = chain_of(kind, 5, count)
    chain = replace(chain, final=np.zeros_like(chain.final))
    scores = np.random.default_rng(6).normal(size=(5, count))
    found = inference.filtered_marginals(chain, scores)
    for time in range(1, 6):
        so_far = inference.posteriors(chain, scores[:time]).marginals[-1]
        np.testing.assert_allclose(found[time - 1], so_far, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_compiled_equals_reference(kind, seed):
    count = 6 if kind != "second-order" else 3
    chain, emissions = chain_of(kind, seed, count), emission_scores_of(seed, count)
    weights = np.array([1.0, 0.5, 3.0, 2.0, 0.0])
    found = compiled.posteriors(chain, emissions, weights)
    np.testing.assert_allclose(
        found.log_partitions, compiled.log_partitions(chain, emissions), rtol=1e-12
    )
    filtered = compiled.filtered_marginals(chain, emissions)
    best, tops = compiled.viterbi(chain, emissions)
    ranked = compiled.best_paths(chain, emissions, 4)
    counts = [
        np.zeros_like(part) for part in (found.initial, chain.transition_matrix(), found.final)
    ]
    for place, (scores, weight) in enumerate(zip(emissions.by_sequence(), weights, strict=True)):
        if not len(scores):
            assert found.log_partitions[place] == tops[place] == 0
            continue
        here = slice(*emissions.offsets[place : place + 2])
        right = inference.posteriors(chain, scores)
        assert found.log_partitions[place] == pytest.approx(right.log_partition, rel=1e-12)
        np.testing.assert_allclose(found.marginals[here], right.marginals, atol=1e-12)
        so_far = inference.filtered_marginals(chain, scores)
        np.testing.assert_allclose(filtered[here], so_far, atol=1e-12)
        for total, part in zip(
            counts, (right.initial, right.transitions, right.final), strict=True
        ):
            total += weight * part
        path, top = inference.viterbi(chain, scores)
        assert (best[here].tolist(), tops[place]) == (path.tolist(), pytest.approx(top))
        several = (
            inference.best_paths(chain, scores, 4) if kind != "second-order" else ranked[place]
        )
        assert [p.tolist() for p, _ in ranked[place]] == [p.tolist() for p, _ in several]
        assert [s for _, s in ranked[place]] == pytest.approx([s for _, s in several])
    into = chain.successor[:, None] + np.arange(chain.transitions.shape[1])
    moved = np.take_along_axis(counts[1], into, axis=1)
    pairs = [(found.initial, counts[0]), (found.transitions, moved), (found.final, counts[2])]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, atol=1e-10)
    if kind == "dense":  # scaled sums give the same counts
        some = expected_counts(chain, emissions), expected_counts(chain, emissions)
        alike = compiled.posteriors(chain, emissions, np.ones(5))
        rows = np.zeros_like(emissions.table)
        np.add.at(rows, emissions.index, alike.marginals)
        assert some[0].log_likelihood == pytest.approx(alike.log_partitions.sum())
        both = sum(some[1:], some[0])
        for one, other in zip(
            (both.initial, both.transitions, both.final, both.emissions),
            (alike.initial, alike.transitions, alike.final, rows),
            strict=True,
        ):
            np.testing.assert_allclose(one, 2 * other, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_probabilities_of_paths(kind):
    count = 2
    chain, scores = chain_of(kind, 3, count), np.random.default_rng(0).normal(size=(3, count))
    uniform = np.random.default_rng(2).random((4000, 3))
    sampled = compiled.samples(chain, scores, uniform)
    few = [inference.sample(chain, scores, row).tolist() for row in uniform[:50]]
    assert sampled[:50].tolist() == few
    paths, totals = every_path(chain, scores)
    for path, total in zip(paths, np.exp(totals - inference.logsumexp(totals)), strict=True):
        assert (sampled == path).all(1).mean() == pytest.approx(total, abs=0.04)


def test_scores_far_apart_are_summed_exactly():
    """A path that begins a billionth of a billionth … as likely, and is the only one that ends."""
    first, moves = np.array([0.0, -3000.0]), np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    chain = LinearChain.first_order(first, moves, np.array([-np.inf, 0.0]))
    emissions = EmissionScores.from_padded(np.zeros((1, 3, 2)), np.array([3]))
    found = compiled.posteriors(chain, emissions, np.ones(1))
    assert found.log_partitions.tolist() == [-3000.0]
    assert found.marginals.tolist() == [[0, 1]] * 3
    assert found.transitions.tolist() == [[0, 0], [0, 2]]


@pytest.mark.parametrize("seed", range(4))
def test_scaled_sums_where_states_cannot_be_reached(seed):
    """Left-to-right chains: β of a state that no path reaches grows beyond all numbers."""
    rng, count, time = np.random.default_rng(seed), 5, 400
    with np.errstate(divide="ignore"):
        moves = np.log(np.triu(rng.random((count, count))))
        first = np.log(np.eye(count)[2])  # states 0 and 1 cannot be reached
    table = np.concatenate([np.zeros((3, 2)), rng.uniform(-12, -8, (3, 3))], axis=1)
    chain = LinearChain.first_order(first, moves, np.zeros(count))
    scores = EmissionScores(table, rng.integers(0, 3, time), np.array([time // 2, 0, time // 2]))
    found, right = expected_counts(chain, scores), compiled.posteriors(chain, scores, np.ones(3))
    emitted = np.zeros_like(table)
    np.add.at(emitted, scores.index, right.marginals)
    assert found.log_likelihood == pytest.approx(right.log_partitions.sum())
    pairs = [(found.initial, right.initial), (found.transitions, right.transitions)]
    for one, other in [*pairs, (found.final, right.final), (found.emissions, emitted)]:
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    assert found.transitions.sum() == pytest.approx(time - 2)


def test_scaled_sums_that_underflow_are_taken_in_log_space():
    """Only the state whose scores are exp(-600) of the other's can end: it is possible."""
    first, moves = np.zeros(2), np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    chain = LinearChain.first_order(first, moves, np.array([-np.inf, 0.0]))
    scores = EmissionScores(np.array([[0.0, -600.0]]), np.zeros(3, np.int64), np.array([3]))
    found = expected_counts(chain, scores)
    assert found.log_likelihood == pytest.approx(-1800)
    assert found.emissions.tolist() == [[0, 3]] and found.transitions.tolist() == [[0, 0], [0, 2]]


def test_sampling_without_a_possible_path_is_an_error():
    chain = LinearChain.first_order(np.zeros(2), np.full((2, 2), -np.inf), np.zeros(2))
    for draw, uniform in ((inference.sample, np.zeros(3)), (compiled.samples, np.zeros((1, 3)))):
        with pytest.raises(ValueError, match="no path"):
            draw(chain, np.zeros((3, 2)), uniform)
