"""Attribution by gradients: gradient × input, integrated gradients (Sundararajan et al., 2017)."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from jaxtyping import Float, Int

from ...batch import Batch, Ids, Rows, Sequences
from ...cancellation import check_cancelled
from ...model import InputGradients
from ...signature import Form
from .base import AttributionMethod, Attributions
from .options import AttributionOptions
from .target import AttributionProblem, OutputPart

TOKENS_AT_ONCE = 8192
MIN_STEPS, MAX_STEPS = 16, 256  # of the quadrature of integrated gradients
TOLERANCE = 0.01  # of the completeness axiom, relative to the largest attribution

ScoresAndGradients = tuple[Float[np.ndarray, "*parts"], Float[np.ndarray, "*parts inputs"]]


def applies(problem: AttributionProblem) -> bool:
    """Whether the model embeds its input tokens and can be differentiated with respect to them."""
    model = problem.model
    return isinstance(model, InputGradients) and model.embedding_layer() is not None


def attribute(problem: AttributionProblem, how: AttributionOptions) -> Attributions:
    """Gradient × input: Σ_d x_d ∂log p(y)/∂x_d of the embedding x of each token.

    Integrated gradients are x · ∫ ∂log p/∂(αx) dα from α = 0 to 1, by Gauss-Legendre quadrature.
    Summed over all tokens (completeness), that is log p(y | x) - log p(y | all embeddings 0).
    """
    (whole, baseline), (gradient, _) = scaled_gradients(problem, [1.0, 0.0])
    if not how.integrated:
        note = "gradient × input: exact for small changes, an approximation for large ones"
        return Attributions(gradient, "gradient", (note,))
    difference, steps = whole - baseline, MIN_STEPS
    values = _integrated(problem, steps)
    while steps < MAX_STEPS and not _is_complete(values, difference):
        steps *= 2
        values = _integrated(problem, steps)
    sums, true = (", ".join(f"{x:+.2f}" for x in y[:3]) for y in (values.sum(1), difference))
    notes = (
        f"from embeddings of 0 to the actual ones, in {steps} steps",
        f"they sum to {sums}; the difference is {true}",
    )
    return Attributions(values, "integrated gradient", notes)


def _integrated(problem: AttributionProblem, steps: int) -> Float[np.ndarray, "parts inputs"]:
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    # Nodes and weights are for [-1, 1]; the path is [0, 1].
    gradients = scaled_gradients(problem, (1 + nodes) / 2)[1]
    integral: np.ndarray = np.tensordot(weights / 2, gradients, axes=1)
    return integral


def _is_complete(
    values: Float[np.ndarray, "parts inputs"], difference: Float[np.ndarray, " parts"]
) -> bool:
    """Whether the attributions sum to the difference, within the tolerance."""
    missing = abs(values.sum(1) - difference)
    return bool((missing <= TOLERANCE * abs(values).max(1)).all())


def scaled_gradients(
    problem: AttributionProblem, scales: Sequence[float] | Float[np.ndarray, " _"]
) -> ScoresAndGradients:
    """The scores and gradient × input with all embeddings multiplied by each of the scales."""
    parts = problem.parts * len(scales)
    each = np.repeat(np.asarray(scales, np.float64), len(problem.parts))
    if problem.form in (Form.NEXT, Form.TRANSDUCE):
        score, gradient = _of_tokens(problem, parts, each)
    else:
        labels: list[Ids | Rows] = [np.array([part.value or 0]) for part in parts]
        if problem.is_real:
            labels = [np.zeros((1, 1), dtype=np.float32)] * len(parts)
        positions = np.array([part.position for part in parts])
        score, gradient = _batched(problem, labels, each, positions)
    shape = len(scales), len(problem.parts)
    return score.reshape(shape), gradient.reshape(*shape, -1)


def _of_tokens(
    problem: AttributionProblem, parts: Sequence[OutputPart], scales: Float[np.ndarray, " parts"]
) -> ScoresAndGradients:
    """log p(y_t | y_<t, x) = log p(y_≤t | x) - log p(y_<t | x), and so for the gradients."""
    before = [problem.output[: part.position] for part in parts]
    targets = [np.append(y, part.value or 0) for y, part in zip(before, parts, strict=True)]
    score, gradient = _batched(problem, targets, scales)
    if later := [number for number, beginning in enumerate(before) if len(beginning)]:
        score_before, gradient_before = _batched(
            problem, [before[number] for number in later], scales[later]
        )
        score[later] -= score_before
        gradient[later] -= gradient_before
    return score, gradient


def _batched(
    problem: AttributionProblem,
    targets: Sequence[Ids | Rows],
    scales: Float[np.ndarray, " targets"],
    positions: Int[np.ndarray, " targets"] | None = None,
) -> ScoresAndGradients:
    """Scores and gradients of targets, each with its scale, in batches that fit into memory."""
    model = cast(InputGradients, problem.model)  # `applies` has checked it
    score, gradient = np.zeros(len(targets)), np.zeros((len(targets), len(problem.inputs)))
    size = max(1, TOKENS_AT_ONCE // max(1, len(problem.inputs), len(problem.output)))
    for start in range(0, len(targets), size):
        check_cancelled()
        some = slice(start, start + size)
        target = Sequences.pad(targets[some])
        is_next = problem.form is Form.NEXT
        source = target if is_next else Sequences.pad([problem.inputs] * len(target))
        at = None if positions is None else positions[some]
        value, products = model.gradient_times_input(Batch(source, target), at, scale=scales[some])
        # To predict the next token a batch has no input beyond its longest target.
        score[some], gradient[some, : products.shape[1]] = value, products
    return score, gradient


METHOD = AttributionMethod(
    applies, attribute, "it has no embeddings of its input, so there are no gradients"
)
