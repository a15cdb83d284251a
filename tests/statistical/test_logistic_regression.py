"""Logistic regression: scikit-learn's optimum, gradients of 0, and fits that are stopped."""

from dataclasses import replace

import numpy as np
import pytest

from seqloom.statistical.logistic_regression import newton
from seqloom.statistical.logistic_regression.newton import (
    Coefficients,
    ColumnMatrix,
    Problem,
    SigmoidLoss,
    SoftmaxLoss,
    minimise,
)


def counts(rows=80, columns=40, seed=0):
    """Sparse counts with columns that are never used, used once, and used in almost every row."""
    chance = np.random.default_rng(seed)
    likely = np.append(0.9 / np.arange(1, columns - 1), [0.0, 0.0])
    found = chance.poisson(1.5, (rows, columns)) * (chance.random((rows, columns)) < likely)
    found[3, -2] = 2
    return found.astype(float)


def columns_of(dense) -> ColumnMatrix:
    rows, columns = dense.nonzero()
    offsets = np.searchsorted(rows, np.arange(len(dense) + 1))
    return ColumnMatrix.from_rows(
        offsets, columns.astype(np.int32), dense[rows, columns], dense.shape[1]
    )


def problem_of(labels, penalty, row_weights=None, seed=0):
    dense = counts(seed=seed)
    weights = np.ones(len(dense)) if row_weights is None else row_weights
    wanted = np.eye(labels.max() + 1)[labels]
    loss = SigmoidLoss() if wanted.shape[1] == 2 else SoftmaxLoss()
    wanted = wanted[:, 1:] if wanted.shape[1] == 2 else wanted
    return Problem(columns_of(dense), wanted, weights, penalty, loss)


def labels_of(classes, seed=0):
    """Labels that follow from the first columns; the last one occurs once."""
    chance, dense = np.random.default_rng(seed), counts(seed=seed)
    found = (dense[:, 1] + 2 * dense[:, 2] + chance.integers(0, 2, len(dense))).astype(int)
    found %= classes - (classes > 2)
    found[5] = classes - 1
    return found


def test_columns_of_a_matrix_are_those_of_its_rows():
    dense = counts()
    made, rebuilt = columns_of(dense), np.zeros_like(dense)
    for column, (start, end) in enumerate(zip(made.starts, made.starts[1:], strict=False)):
        rebuilt[made.rows[start:end], column] = made.values[start:end]
    np.testing.assert_array_equal(rebuilt, dense)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("penalty", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("classes", [2, 5])
def test_coefficients_are_those_of_scikit_learn(classes, penalty, balanced):
    linear = pytest.importorskip("sklearn.linear_model")
    labels, dense = labels_of(classes), counts()
    weights = np.ones(len(dense))
    if balanced:
        frequency = np.bincount(labels)
        weights = len(labels) / (len(frequency) * frequency[labels])
    *_, found = minimise(problem_of(labels, penalty, weights))
    oracle = linear.LogisticRegression(
        C=1 / penalty,
        tol=1e-10,
        max_iter=100_000,
        class_weight="balanced" if balanced else None,
    ).fit(dense, labels)
    assert found.has_converged
    bias = oracle.intercept_ - oracle.intercept_.mean() * (classes > 2)
    np.testing.assert_allclose(found.table, oracle.coef_.T, atol=1e-4)
    np.testing.assert_allclose(found.bias, bias, atol=2e-4)
    scores = dense @ found.table + found.bias
    chances = found_probabilities(scores, classes)
    np.testing.assert_allclose(chances, oracle.predict_proba(dense), atol=1e-4)


def found_probabilities(scores, classes):
    if classes > 2:
        return SoftmaxLoss().probabilities(scores)
    yes = SigmoidLoss().probabilities(scores)
    return np.hstack([1 - yes, yes])


def test_several_labels_are_fitted_each_by_itself():
    dense = counts()
    wanted = np.column_stack([dense[:, 1] > 0, dense[:, 2] > 1, dense[:, 3] + dense[:, 4] > 1])
    wanted = wanted.astype(float)
    shared = Problem(columns_of(dense), wanted, np.ones(len(dense)), 0.5, SigmoidLoss())
    *_, together = minimise(shared)
    for k in range(3):
        *_, alone = minimise(replace(shared, targets=wanted[:, [k]]))
        np.testing.assert_allclose(together.table[:, k], alone.table[:, 0], atol=1e-5)
        np.testing.assert_allclose(together.bias[k], alone.bias[0], atol=1e-5)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gradient_is_zero_where_targets_are_shares(classes):
    """Label smoothing: targets of 0.9 and less. The gradient is written out anew."""
    dense, penalty = counts(), 0.2
    problem = problem_of(labels_of(classes), penalty)
    problem = replace(problem, targets=0.8 * problem.targets + 0.2 / classes)
    *_, found = minimise(problem)
    scores = dense @ found.table + found.bias
    chances = found_probabilities(scores, classes)[:, -problem.shape[1] :]
    slopes = chances - problem.targets
    assert np.abs(dense.T @ slopes + penalty * found.table).max() < 1e-4
    assert np.abs(slopes.sum(0)).max() < 1e-4


@pytest.mark.parametrize("classes", [2, 5])
def test_a_fit_goes_on_exactly_from_every_iteration(classes):
    problem = problem_of(labels_of(classes), 0.1)
    states, losses, progress = [], [], []
    for found in minimise(problem):
        progress.append(found.progress)
        if not found.is_between:
            losses.append(found.loss)
            states.append({name: array.copy() for name, array in found.arrays().items()})
    assert len(states) > 3
    assert losses == sorted(losses, reverse=True)  # no iteration makes it worse
    assert min(progress) >= 0
    assert progress[-1] == 1
    for state in states:
        *_, again = minimise(problem, Coefficients.from_arrays(state))
        np.testing.assert_array_equal(again.table, states[-1]["table"])
        np.testing.assert_array_equal(again.bias, states[-1]["bias"])


def test_a_label_that_all_rows_have_ends_the_fit():
    """Its bias has no finite optimum; the probability is 1 to many digits."""
    dense = counts()
    wanted = np.ones((len(dense), 1))
    *_, found = minimise(
        Problem(columns_of(dense), wanted, np.ones(len(dense)), 1.0, SigmoidLoss())
    )
    assert np.isfinite(found.bias).all()
    assert SigmoidLoss().probabilities(dense @ found.table + found.bias).min() > 1 - 1e-3


def test_a_fit_that_is_cut_short_has_not_converged(monkeypatch):
    monkeypatch.setattr(newton, "MAX_ITERATIONS", 2)
    *_, found = minimise(problem_of(labels_of(5), 0.01))
    assert found.is_final
    assert not found.has_converged
