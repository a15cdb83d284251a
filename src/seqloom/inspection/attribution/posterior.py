"""Attribution by exact posteriors, in hidden Markov models: remove the evidence of one token."""

from typing import cast

import numpy as np

from ...batch import Sequences
from ...cancellation import check_cancelled
from ...model import MaskedPosteriors
from .base import AttributionMethod, Attributions
from .options import AttributionOptions
from .scoring import SEQUENCES_AT_ONCE
from .target import AttributionProblem


def applies(problem: AttributionProblem) -> bool:
    """Whether the model can treat a token as not observed."""
    return isinstance(problem.model, MaskedPosteriors)


def attribute(problem: AttributionProblem, how: AttributionOptions) -> Attributions:
    """log p(z_t | x) - log p(z_t | x without x_s), by the forward-backward algorithm.

    Unlike in occlusion, no UNKNOWN takes the place of x_s: its emission is summed out.
    """
    time = len(problem.inputs)
    # Row 0 observes everything, row s + 1 everything but token s.
    observed = np.concatenate([np.ones((1, time), dtype=bool), ~np.eye(time, dtype=bool)])
    batches = np.array_split(observed, -(-(time + 1) // SEQUENCES_AT_ONCE))
    scores = np.concatenate([_log_posteriors(problem, batch) for batch in batches])
    values = (scores[0] - scores[1:]).T
    note = "the evidence of each token in turn was left out: it could have been any token"
    return Attributions(values, "posterior", (note,))


def _log_posteriors(problem: AttributionProblem, observed: np.ndarray) -> np.ndarray:
    """The log-posterior of each part of the output, for each row of observed tokens."""
    check_cancelled()
    model = cast(MaskedPosteriors, problem.model)  # `applies` has checked it
    probs = model.posteriors(Sequences.pad([problem.inputs] * len(observed)), observed)
    positions, labels = zip(*((part.position, part.value) for part in problem.parts), strict=True)
    chosen = np.asarray(probs, dtype=np.float64)[:, list(positions), list(labels)]
    return np.asarray(np.log(np.maximum(chosen, np.finfo(np.float64).tiny)))


METHOD = AttributionMethod(
    applies, attribute, "it is not a hidden Markov model, whose evidence could be left out"
)
