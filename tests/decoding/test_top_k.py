"""The best continuations, against sorting all of them."""

import numpy as np
import pytest

from seqloom.decoding.top_k import SMALL, top_continuations


def by_sorting(before, log_probs, count):
    """Every possible total, largest first; of equals the first row, then the first column."""
    width, found = before.shape[1], []
    for source, scores in enumerate(before):
        totals = [
            (scores[row] + float(value), row, column)
            for row in range(width)
            for column, value in enumerate(log_probs[source * width + row])
        ]
        possible = [one for one in totals if one[0] > -np.inf]
        found.append(sorted(possible, key=lambda one: (-one[0], one[1], one[2]))[:count])
    return found


@pytest.mark.parametrize("columns", [1, 3, 60, SMALL + 1, 1000, 1024])
@pytest.mark.parametrize("kind", ["apart", "equal", "impossible", "dead"])
@pytest.mark.parametrize("sources, width", [(1, 1), (1, 5), (3, 4)])
def test_they_are_those_of_sorting(columns, kind, sources, width):
    chance = np.random.default_rng(columns)
    for dtype in (np.float32, np.float64):
        log_probs = -9 * chance.random((sources * width, columns + 2))
        before = -5 * chance.random((sources, width))
        if kind == "equal":  # many sums are the same
            log_probs, before = np.round(log_probs), np.round(before)
        if kind == "impossible":
            log_probs[chance.random(log_probs.shape) < 0.95] = -np.inf
        if kind == "dead":
            before[:, 1:] = -np.inf
        log_probs = log_probs.astype(dtype)[:, 2:]
        found = top_continuations(before, log_probs, 2 * width)
        for place, right in enumerate(by_sorting(before, log_probs, 2 * width)):
            totals = found.total[place, : len(right)]
            assert totals.tolist() == [total for total, _, _ in right]
            assert found.origin[place, : len(right)].tolist() == [row for _, row, _ in right]
            assert found.column[place, : len(right)].tolist() == [column for *_, column in right]
            assert (found.total[place, len(right) :] == -np.inf).all()


@pytest.mark.parametrize("columns", [5, 2000])
def test_what_is_not_a_number_is_never_taken(columns):
    found = top_continuations(np.zeros((2, 3)), np.full((6, columns), np.nan, dtype=np.float32), 6)
    assert (found.total == -np.inf).all()
