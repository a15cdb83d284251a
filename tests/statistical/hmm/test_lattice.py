"""The readable lattice against every path there is, and the quick twin against the readable one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from seqloom.statistical.hmm import compiled, inference
from seqloom.statistical.hmm.chain import Lattice, Places
from seqloom.statistical.hmm.compiled import expected

KINDS = ["dense", "barred", "pairs", "far"]


def lattice_of(kind, seed, count=3):
    """A random lattice: any moves, some that cannot be, of pairs of labels, or of huge scores."""
    chance = np.random.default_rng(seed)
    first, last = chance.normal(size=(2, count))
    moves = chance.normal(size=(count, count)) * (900 if kind == "far" else 1)
    if kind == "pairs":
        second, third = chance.normal(size=(count, count)), chance.normal(size=(count,) * 3)
        third[chance.random(third.shape) < 0.2] = -np.inf
        return Lattice.of_pairs(first, second, third, chance.normal(size=(count + 1, count)))
    if kind == "barred":
        moves[chance.random(moves.shape) < 0.4] = -np.inf
        first[chance.integers(count)] = last[chance.integers(count)] = -np.inf
    return Lattice.of(first, moves, last)


def scores_of(seed, time, count=3, *, scale=1.0):
    found = np.random.default_rng(seed + 100).normal(size=(time, count)) * scale
    found[np.random.default_rng(seed).random(found.shape) < 0.1] = -np.inf
    return found


def every_path(lattice, scores):
    """All paths with their scores, by the definition alone."""
    moves, seen = lattice.matrix(), scores[:, lattice.seen]
    paths = np.array(list(product(range(len(lattice.first)), repeat=len(scores))))
    total = lattice.first[paths[:, 0]] + lattice.last[paths[:, -1]]
    total = total + seen[np.arange(len(scores)), paths].sum(1)
    return paths, total + moves[paths[:, :-1], paths[:, 1:]].sum(1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("time", [1, 2, 4])
def test_the_sums_are_those_over_every_path(kind, seed, time):
    count = 2 if kind == "pairs" else 3
    lattice, scores = lattice_of(kind, seed, count), scores_of(seed, time, count)
    paths, totals = every_path(lattice, scores)
    found = inference.posteriors(lattice, scores)
    total = float(inference.add(totals))
    assert found.total == pytest.approx(total)
    if total == -np.inf:
        assert not found.chances.any()
        return
    chances, states = np.exp(totals - total), np.zeros((time, len(lattice.first)))
    moves = np.zeros((len(lattice.first),) * 2)
    for path, chance in zip(paths, chances, strict=True):
        states[np.arange(time), path] += chance
        np.add.at(moves, (path[:-1], path[1:]), chance)
    columns = np.zeros((time, count))
    np.add.at(columns, (slice(None), lattice.seen), states)
    np.testing.assert_allclose(found.chances, columns, atol=1e-9)
    np.testing.assert_allclose(found.moves, moves, atol=1e-9)
    np.testing.assert_allclose(found.first, states[0], atol=1e-9)
    np.testing.assert_allclose(found.last, states[-1], atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_paths_are_the_best_of_all(kind, seed):
    count = 2 if kind == "pairs" else 3
    lattice, scores = lattice_of(kind, seed, count), scores_of(seed, 4, count)
    paths, totals = every_path(lattice, scores)
    order = [place for place in np.argsort(-totals, kind="stable")[:5] if totals[place] > -np.inf]
    path, score = inference.viterbi(lattice, scores)
    assert score == pytest.approx(totals.max())
    found = inference.best_paths(lattice, scores, 5)
    assert [score for _, score in found] == pytest.approx(totals[order].tolist())
    if order:
        assert path.tolist() == found[0][0].tolist() == paths[order[0]].tolist()


def places_of(seeds, count):
    lengths = [1, 5, 0, 7, 3]
    rows = [scores_of(seed, time, count) for seed, time in zip(range(5), lengths, strict=True)]
    order = np.random.default_rng(seeds).permutation(sum(lengths))
    table = np.empty((len(order), count))
    table[order] = np.concatenate(rows)
    return Places(table, order, np.array(lengths))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_so_far_is_what_the_beginning_says(kind):
    """Filtered at a place is smoothed of the sequence up to there, if any state may be the last."""
    count = 3
    lattice = lattice_of(kind, 5, count)
    lattice = replace(lattice, last=np.zeros_like(lattice.last))
    scores = np.random.default_rng(6).normal(size=(5, count))
    found = inference.filtered(lattice, scores)
    for time in range(1, 6):
        so_far = inference.posteriors(lattice, scores[:time]).chances[-1]
        np.testing.assert_allclose(found[time - 1], so_far, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_quick_twin_gives_the_same(kind, seed):
    count = 6 if kind != "pairs" else 3
    lattice, places = lattice_of(kind, seed, count), places_of(seed, count)
    weights = np.array([1.0, 0.5, 3.0, 2.0, 0.0])
    found = compiled.posteriors(lattice, places, weights)
    np.testing.assert_allclose(found.totals, compiled.totals(lattice, places), rtol=1e-12)
    filtered = compiled.filtered(lattice, places)
    best, tops = compiled.viterbi(lattice, places)
    ranked = compiled.best_paths(lattice, places, 4)
    counts = [np.zeros_like(part) for part in (found.first, lattice.matrix(), found.last)]
    for place, (scores, weight) in enumerate(zip(places.rows(), weights, strict=True)):
        if not len(scores):
            assert found.totals[place] == tops[place] == 0
            continue
        here = slice(*places.starts[place : place + 2])
        right = inference.posteriors(lattice, scores)
        assert found.totals[place] == pytest.approx(right.total, rel=1e-12)
        np.testing.assert_allclose(found.chances[here], right.chances, atol=1e-12)
        so_far = inference.filtered(lattice, scores)
        np.testing.assert_allclose(filtered[here], so_far, atol=1e-12)
        for total, part in zip(counts, (right.first, right.moves, right.last), strict=True):
            total += weight * part
        path, top = inference.viterbi(lattice, scores)
        assert (best[here].tolist(), tops[place]) == (path.tolist(), pytest.approx(top))
        several = inference.best_paths(lattice, scores, 4) if kind != "pairs" else ranked[place]
        assert [p.tolist() for p, _ in ranked[place]] == [p.tolist() for p, _ in several]
        assert [s for _, s in ranked[place]] == pytest.approx([s for _, s in several])
    into = lattice.onto[:, None] + np.arange(lattice.moves.shape[1])
    moved = np.take_along_axis(counts[1], into, axis=1)
    pairs = [(found.first, counts[0]), (found.moves, moved), (found.last, counts[2])]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, atol=1e-10)
    if kind == "dense":  # scaled sums count the same
        some = expected(lattice, places), expected(lattice, places)
        alike = compiled.posteriors(lattice, places, np.ones(5))
        rows = np.zeros_like(places.table)
        np.add.at(rows, places.which, alike.chances)
        assert some[0].log_likelihood == pytest.approx(alike.totals.sum())
        both = sum(some[1:], some[0])
        for one, other in zip(
            (both.first, both.moves, both.last, both.rows),
            (alike.first, alike.moves, alike.last, rows),
            strict=True,
        ):
            np.testing.assert_allclose(one, 2 * other, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_are_drawn_as_often_as_paths_are_likely(kind):
    count = 2
    lattice, scores = lattice_of(kind, 3, count), np.random.default_rng(0).normal(size=(3, count))
    uniform = np.random.default_rng(2).random((4000, 3))
    drawn = compiled.samples(lattice, scores, uniform)
    few = [inference.sample(lattice, scores, row).tolist() for row in uniform[:50]]
    assert drawn[:50].tolist() == few
    paths, totals = every_path(lattice, scores)
    for path, total in zip(paths, np.exp(totals - inference.add(totals)), strict=True):
        assert (drawn == path).all(1).mean() == pytest.approx(total, abs=0.04)


def test_what_is_far_apart_is_summed_exactly():
    """A path that begins a billionth of a billionth … as likely, and is the only one that ends."""
    first, moves = np.array([0.0, -3000.0]), np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    lattice = Lattice.of(first, moves, np.array([-np.inf, 0.0]))
    places = Places.of(np.zeros((1, 3, 2)), np.array([3]))
    found = compiled.posteriors(lattice, places, np.ones(1))
    assert found.totals.tolist() == [-3000.0]
    assert found.chances.tolist() == [[0, 1]] * 3
    assert found.moves.tolist() == [[0, 0], [0, 2]]


def test_where_no_path_can_be_nothing_is_drawn():
    lattice = Lattice.of(np.zeros(2), np.full((2, 2), -np.inf), np.zeros(2))
    for draw, chances in ((inference.sample, np.zeros(3)), (compiled.samples, np.zeros((1, 3)))):
        with pytest.raises(ValueError, match="no path"):
            draw(lattice, np.zeros((3, 2)), chances)
