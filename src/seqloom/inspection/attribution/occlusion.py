"""Attribution by occlusion (Zeiler & Fergus, 2014): hide one token after another."""

import numpy as np

from ...signature import UNKNOWN, Columns, Labels, Letters, Series, Space, Tokens, Vectors
from ...views.draw.text import visible
from .base import AttributionMethod, Attributions
from .options import AttributionOptions
from .scoring import PerturbedInput, score_perturbed
from .target import AttributionProblem


def attribute(problem: AttributionProblem, how: AttributionOptions) -> Attributions:
    """log p(y | x) - log p(y | x without x_s), for each input token x_s.

    Without x_s is with UNKNOWN in its place (Zeiler & Fergus, 2014; Li et al., 2016), or with the
    token removed. The model is evaluated on each altered input, so the differences are exact.
    """
    space = problem.model.signature.source
    leave_out = how.leave_out or isinstance(space, Labels)
    positions = range(len(problem.inputs))
    if leave_out:
        altered = [PerturbedInput(np.delete(problem.inputs, n, axis=0), n) for n in positions]
    else:
        altered = [PerturbedInput(hidden(problem.inputs, n, space)) for n in positions]
    base, *others = score_perturbed(problem, [PerturbedInput(problem.inputs), *altered])
    values = (base - np.array(others)).T
    by = "occlusion, tokens left out" if leave_out else "occlusion"
    return Attributions(values, by, tuple(_notes(problem, altered, leave_out, values)))


def hidden(inputs: np.ndarray, position: int, space: Space) -> np.ndarray:
    """The input with one position hidden: UNKNOWN, with one unknown character; of numbers, 0."""
    altered: np.ndarray = inputs.copy()
    if isinstance(space, Vectors):
        altered[position] = 0
    elif isinstance(space, Series):
        altered[position, : space.width] = np.nan
    elif isinstance(space, Columns):
        altered[position] = _unknown(space, inputs[position])
    else:
        altered[position] = UNKNOWN
    return altered


def _unknown(space: Columns, row: np.ndarray) -> np.ndarray:
    """All columns of a position hidden, except labels: there is no unknown label."""
    columns, start = row.copy(), 0
    for part in space.parts:
        length = part.length if isinstance(part, Letters) else 1
        if isinstance(part, Tokens | Letters):
            columns[start] = UNKNOWN
            columns[start + 1 : start + length] = 0
        start += length
    return columns


def _notes(
    problem: AttributionProblem, altered: list[PerturbedInput], leave_out: bool, values: np.ndarray
) -> list[str]:
    if leave_out:
        notes = ["each token in turn was removed from the input"]
    elif isinstance(problem.model.signature.source, Vectors):
        notes = ["each position in turn was replaced by zeros"]
    elif isinstance(problem.model.signature.source, Series):
        notes = ["the observations of each step in turn were treated as missing"]
    else:
        notes = ["each token in turn was replaced by <unk>"]
        same = [
            token
            for token, one in zip(problem.tokens, altered, strict=True)
            if np.array_equal(one.inputs, problem.inputs)
        ]
        if same:
            listed = ", ".join(dict.fromkeys(map(visible, same)))
            notes.append(f"unknown to the model from the start, so nothing changed: {listed}")
    if np.isnan(values).any():
        notes.append("? where the token was removed whose own label is explained")
    return notes


METHOD = AttributionMethod(lambda problem: True, attribute, "it applies to any model")
