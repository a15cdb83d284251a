"""Logistic regression: the best weights of a linear model, which are the only best ones."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .bags import Bags

ITERATIONS = 1000  # hardly ever needed: a hundred are enough for weighted words
SLOPE = 1e-8  # of the mean loss, where the valley's floor is reached


def fit(
    bags: Bags,
    right: Float[np.ndarray, "rows classes"],
    weights: Float[np.ndarray, " rows"],
    *,
    kinds: int,
    penalty: float,
    single: bool,
) -> tuple[Float[Tensor, "kinds classes"], Float[Tensor, " classes"]]:
    """The weights W and biases b for which the loss is least.

    s = X W + b
    L = Σ_i w_i (log Σ_k exp s_ik - Σ_k y_ik s_ik) + ½ λ ‖W‖²          one label is right
    L = Σ_i w_i Σ_k (log(1 + exp s_ik) - y_ik s_ik) + ½ λ ‖W‖²         any number of them is

    It is convex, so that wherever descent ends, it ends in the same place; L-BFGS with a line
    search goes there. Of two labels the difference of their scores is what counts, and the weights
    of that difference are what the penalty is of, as is usual; half of them is each label's own.
    Grams that no row has keep a weight of 0.
    """
    seen, numbers = np.unique(bags.grams, return_inverse=True)
    rows = Bags(bags.starts, numbers, bags.values)
    two = single and right.shape[1] == 2
    wanted = torch.from_numpy(right[:, 1:] if two else right)
    loss = _Softmax() if single and not two else _Logistic()
    found, bias = _descend(rows, len(seen), wanted, torch.from_numpy(weights), penalty, loss)
    if two:
        found, bias = torch.cat([-found, found], 1) / 2, torch.cat([-bias, bias]) / 2
    table = found.new_zeros(kinds, right.shape[1])
    table[torch.from_numpy(seen)] = found
    return table, bias


def _descend(
    rows: Bags, kinds: int, right: Tensor, weights: Tensor, penalty: float, loss: "_Logistic"
) -> tuple[Tensor, Tensor]:
    columns, count = rows.turned(kinds), len(rows.starts)
    table = torch.zeros(kinds, right.shape[1], dtype=torch.float64)
    bias = torch.zeros(right.shape[1], dtype=torch.float64)
    optimizer = torch.optim.LBFGS(
        [table, bias],
        max_iter=ITERATIONS,
        tolerance_grad=SLOPE,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def slope() -> float:
        """The loss, with the gradients where descent looks for them."""
        scores = rows.times(table) + bias
        of_scores = (loss.chances(scores) - right) * weights[:, None] / count
        table.grad = columns.times(of_scores) + penalty / count * table
        bias.grad = of_scores.sum(0)
        total = (loss.normalizer(scores) - (right * scores).sum(1)) @ weights
        return float(total + penalty / 2 * table.square().sum()) / count

    with torch.no_grad():
        optimizer.step(slope)
    return table, bias


class _Logistic:
    """Each class for itself."""

    def chances(self, scores: Tensor) -> Tensor:
        return scores.sigmoid()

    def normalizer(self, scores: Tensor) -> Tensor:
        return torch.nn.functional.softplus(scores).sum(1)


class _Softmax(_Logistic):
    """One of all classes."""

    def chances(self, scores: Tensor) -> Tensor:
        return scores.softmax(1)

    def normalizer(self, scores: Tensor) -> Tensor:
        return scores.logsumexp(1)
