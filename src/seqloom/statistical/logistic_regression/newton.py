"""L2-regularised logistic regression on sparse features, by a truncated Newton method.

    s = X W + b
    L = Σ_i w_i (log Σ_k exp s_ik - Σ_k y_ik s_ik) + ½ λ ‖W‖²            softmax: one label of all
    L = Σ_i w_i Σ_k (log(1 + exp s_ik) - y_ik s_ik) + ½ λ ‖W‖²           sigmoid: each by itself

The loss is convex, so there is one minimum. Each iteration minimises its second-order approximation
by conjugate gradients (CG), which need products with the Hessian alone, X' M X + λ, and never the
Hessian (Lin, Weng and Keerthi, 2008; Keerthi and DeCoste, 2005); they are scaled by the diagonal
(Hsia, Chiang and Lin, 2018). Between two iterations there are only W and b, so that a stopped fit
goes on exactly. Of arrays as large as W there are four, three of them in single precision: the
Newton step, its residual and the direction of CG need no more, since every iteration begins with
the gradient of W itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from . import kernels

MAX_ITERATIONS = 100  # about ten are enough
MAX_PRODUCTS = 1000  # of CG, in one iteration
PRECISION = 1e-5  # bound of the norm of the error of W: the loss is λ-strongly convex in it
ROUNDING = 1e-13  # of the loss: what an iteration gains beyond it is noise
FORCING = 0.1  # CG ends where the residual is this share of the gradient, later less
SUFFICIENT = 1e-4  # share of the gain of a linear model that a step must bring (Armijo)
MAX_HALVINGS = 40

Table = Float[np.ndarray, "features classes"]
Scores = Float[np.ndarray, "rows classes"]


@dataclass(frozen=True)
class ColumnMatrix:
    """A sparse matrix in compressed sparse column (CSC) format.

    Args:
        starts: where each column begins in the other two, and where the last one ends.
        rows: the row of each entry.
        values: its value.
        num_rows: the number of rows.
    """

    starts: Int[np.ndarray, " columns_and_1"]
    rows: Int[np.ndarray, " entries"]
    values: Float[np.ndarray, " entries"]
    num_rows: int

    @classmethod
    def from_rows(
        cls,
        offsets: Int[np.ndarray, " rows_and_1"],
        columns: Int[np.ndarray, " entries"],
        values: Float[np.ndarray, " entries"],
        num_columns: int,
    ) -> "ColumnMatrix":
        """Of a matrix by row (CSR)."""
        counts = np.bincount(columns, minlength=num_columns)
        starts = np.concatenate([[0], np.cumsum(counts)])
        rows, moved = np.empty(len(columns), np.int32), np.empty(len(columns), np.float32)
        kernels.by_column(offsets, columns, values, starts, rows, moved)
        return cls(starts, rows, moved, len(offsets) - 1)

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """What kernels take."""
        return self.starts, self.rows, self.values


class SigmoidLoss:
    """Binary cross-entropy: each label by itself."""

    def probabilities(self, scores: Scores) -> Scores:
        """Of each label."""
        return np.exp(-np.logaddexp(0, -scores))

    def log_normalizer(self, scores: Scores) -> Float[np.ndarray, " rows"]:
        """The log of what the exponential scores are divided by, for each row."""
        return np.logaddexp(0, scores).sum(1)

    def bend(self, probabilities: Scores, change: Scores) -> Scores:
        """The second derivative of the log-normalizer of each row, times a change of its scores."""
        return probabilities * (1 - probabilities) * change


class SoftmaxLoss(SigmoidLoss):
    """Cross-entropy: one label of all."""

    def probabilities(self, scores: Scores) -> Scores:
        found = np.exp(scores - scores.max(1, keepdims=True))
        return found / found.sum(1, keepdims=True)

    def log_normalizer(self, scores: Scores) -> Float[np.ndarray, " rows"]:
        highest = scores.max(1)
        return highest + np.log(np.exp(scores - highest[:, None]).sum(1))

    def bend(self, probabilities: Scores, change: Scores) -> Scores:
        weighted = probabilities * change
        return weighted - probabilities * weighted.sum(1, keepdims=True)


@dataclass(frozen=True)
class Problem:
    """What is fitted: features X, targets y, the weight of each row, the penalty λ and the loss."""

    features: ColumnMatrix
    targets: Scores
    row_weights: Float[np.ndarray, " rows"]
    penalty: float
    loss: SigmoidLoss

    @property
    def shape(self) -> tuple[int, int]:
        """That of W."""
        return len(self.features.starts) - 1, self.targets.shape[1]


@dataclass(frozen=True)
class Coefficients:
    """W and b, and what is known of the way to the minimum.

    Args:
        table: W.
        bias: b.
        iterations: how many iterations were made.
        first_slope: the norm of the gradient where all began, which progress is measured by.
        loss: the loss of a row, with the penalty.
        progress: how far the fit is, from 0 to 1, by the logarithm of the gradient.
        is_final: whether it ends here.
        has_converged: whether the gradient is as small as it should be, or can be.
        is_between: whether this is no iteration's end: W and b are still those of the last one.
    """

    table: Table
    bias: Float[np.ndarray, " classes"]
    iterations: int = 0
    first_slope: float = 0.0
    loss: float = float("nan")
    progress: float = 0.0
    is_final: bool = False
    has_converged: bool = False
    is_between: bool = False

    @classmethod
    def zero(cls, problem: Problem) -> "Coefficients":
        """Where a fit begins."""
        return cls(np.zeros(problem.shape), np.zeros(problem.shape[1]))

    def arrays(self) -> dict[str, np.ndarray]:
        """What a fit needs to go on."""
        known = np.array([self.iterations, self.first_slope])
        return {"table": self.table, "bias": self.bias, "known": known}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "Coefficients":
        """As `arrays` returned it."""
        iterations, first = arrays["known"]
        table, bias = np.array(arrays["table"]), np.array(arrays["bias"])
        return cls(table, bias, int(iterations), float(first))


def minimise(problem: Problem, begun: Coefficients | None = None) -> Iterator[Coefficients]:
    """Fit W and b, from zero or from where a fit was stopped.

    Every product with the Hessian is told; the last result is final. W and b are changed in place.
    """
    now = Newton(problem, begun or Coefficients.zero(problem))
    while True:
        last = now.result()
        if last.is_final:
            yield last
            return
        if now.iterations > (begun.iterations if begun else 0):
            yield last
        yield from now.iterate()


class Newton:
    """W and b on their way: iterations of a truncated Newton method with a line search."""

    def __init__(self, problem: Problem, begun: Coefficients) -> None:
        self.problem, self.table, self.bias = problem, begun.table, begun.bias
        self.iterations, self.first_slope = begun.iterations, begun.first_slope
        self.residual = np.empty(problem.shape, np.float32)
        self.step, self.direction = np.empty_like(self.residual), np.empty_like(self.residual)
        self.scaling = np.empty(problem.shape[0])
        self.is_exhausted = False
        self._differentiate()

    def _differentiate(self) -> None:
        """Scores, loss and gradient at W and b."""
        problem = self.problem
        weights = problem.row_weights[:, None]
        self.scores = np.tile(self.bias, (problem.features.num_rows, 1))
        self.square = kernels.add_products(*problem.features.arrays, self.table, self.scores)
        self.total = self._loss(self.scores) + problem.penalty / 2 * self.square
        self.probabilities = problem.loss.probabilities(self.scores)
        slopes = weights * (self.probabilities - problem.targets)
        curvatures = (weights * self.probabilities * (1 - self.probabilities)).mean(1)
        self.bias_residual = -slopes.sum(0)
        self.bias_scaling = 1 / max(float(curvatures.sum()), ROUNDING)
        square, scaled = kernels.descent(
            *problem.features.arrays,
            slopes,
            curvatures,
            self.table,
            problem.penalty,
            self.residual,
            self.scaling,
        )
        of_bias = float(self.bias_residual @ self.bias_residual)
        self.slope = sqrt(square + of_bias)
        self.scaled = float(scaled + of_bias * self.bias_scaling)
        self.first_slope = self.first_slope or self.slope

    def _loss(self, scores: Scores) -> float:
        problem = self.problem
        nats = problem.loss.log_normalizer(scores) - (problem.targets * scores).sum(1)
        return float(nats @ problem.row_weights)

    @property
    def tolerance(self) -> float:
        """The norm of the gradient that is small enough."""
        return self.problem.penalty * PRECISION

    @property
    def has_converged(self) -> bool:
        """Whether the gradient is small enough, or a Newton step would gain rounding errors."""
        small = self.slope <= self.tolerance
        return bool(small or self.scaled <= ROUNDING * abs(self.total))

    def result(self, share: float = 1.0) -> Coefficients:
        """Where the fit is; `share` of the gradient is left, within an iteration."""
        left = max(self.slope * share, self.tolerance)
        way = log(max(self.first_slope / self.tolerance, 1.0))
        progress = 1 - log(max(left / self.tolerance, 1.0)) / way if way else 1.0
        has_converged = self.has_converged
        is_over = has_converged or self.is_exhausted or self.iterations == MAX_ITERATIONS
        return Coefficients(
            self.table,
            self.bias,
            self.iterations,
            self.first_slope,
            self.total / max(1, self.problem.features.num_rows),
            min(1.0, max(0.0, progress)),
            is_final=is_over and share == 1.0,
            has_converged=has_converged,
            is_between=share < 1.0,
        )

    def iterate(self) -> Iterator[Coefficients]:
        """A Newton step by CG, and how far it is taken; every product with the Hessian is told."""
        problem, scaled = self.problem, self.scaled
        forcing = min(FORCING, sqrt(self.slope / self.first_slope))
        self.step.fill(0)
        self.direction.fill(0)
        bias_step, bias_direction = np.zeros_like(self.bias), np.zeros_like(self.bias)
        change, gain, share = np.zeros_like(self.scores), 0.0, 0.0
        for _ in range(MAX_PRODUCTS):
            bias_direction = self.bias_scaling * self.bias_residual + share * bias_direction
            product = np.tile(bias_direction, (len(change), 1))
            square = kernels.next_direction(
                *problem.features.arrays,
                self.residual,
                self.scaling,
                share,
                self.direction,
                product,
            )
            bent = problem.row_weights[:, None] * problem.loss.bend(self.probabilities, product)
            size = scaled / (float((product * bent).sum()) + problem.penalty * square)
            change += size * product
            gain += size * scaled
            bias_step += size * bias_direction
            self.bias_residual = self.bias_residual - size * bent.sum(0)
            left = kernels.advance(
                *problem.features.arrays,
                bent,
                self.direction,
                problem.penalty,
                size,
                self.step,
                self.residual,
                self.scaling,
            )
            left += float(self.bias_residual @ self.bias_residual) * self.bias_scaling
            share, scaled = left / scaled, left
            reached = sqrt(left / self.scaled)
            if reached <= forcing:
                break
            yield self.result(min(reached, 1 - 1e-9))
        self._take(bias_step, change, gain)

    def _take(self, bias_step: Any, change: Scores, gain: float) -> None:
        """Go along the step, half as far as long as the loss gains too little (Armijo)."""
        crossed, square = _dots(self.table, self.step)
        size, penalty = 1.0, self.problem.penalty
        for _ in range(MAX_HALVINGS):
            reached = self._loss(self.scores + size * change)
            reached += penalty / 2 * (self.square + 2 * size * crossed + size**2 * square)
            noise = ROUNDING * abs(self.total)
            if reached <= self.total - SUFFICIENT * size * gain + noise:
                break
            size /= 2
        else:
            self.is_exhausted = True
            return
        self.table += size * self.step if size < 1 else self.step
        self.bias += size * bias_step
        self.iterations += 1
        self._differentiate()


def _dots(table: Table, step: Table) -> tuple[float, float]:
    """The products of a step with W and with itself, in double precision, a few rows at a time."""
    crossed, square = 0.0, 0.0
    for start in range(0, len(table), 1 << 14):
        rows = step[start : start + (1 << 14)].astype(np.float64)
        crossed += float((table[start : start + (1 << 14)] * rows).sum())
        square += float((rows * rows).sum())
    return crossed, square
