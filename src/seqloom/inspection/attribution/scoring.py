"""Scores of a fixed output given altered inputs: what perturbation methods compare."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int

from ...batch import Sequences
from ...model import Generator, Search
from ...signature import BEGIN, UNKNOWN, Form
from .target import AttributionProblem

SEQUENCES_AT_ONCE, TOKENS_AT_ONCE = 64, 8192


class PerturbedInput(NamedTuple):
    """An altered input, and which of its positions was removed, if one was."""

    inputs: np.ndarray
    removed: int | None = None


def score_perturbed(
    problem: AttributionProblem, perturbed: Sequence[PerturbedInput]
) -> Float[np.ndarray, "perturbed parts"]:
    """The log-probability of each part of the output given each input; real outputs themselves.

    A label is scored by its marginal probability given the whole input, a generated token by its
    probability given the input and the tokens before it. The score is not a number for a position
    that was removed, or where no input is left.
    """
    score = {Form.NEXT: _next, Form.TRANSDUCE: _generated}.get(problem.form, _labels)
    scores = np.full((len(perturbed), len(problem.parts)), np.nan)
    whole = [number for number, one in enumerate(perturbed) if len(one.inputs)]
    for batch in _batches(whole, max(1, len(problem.inputs), len(problem.output))):
        scores[batch] = score(problem, [perturbed[number] for number in batch])
    return scores


def _batches(numbers: Sequence[int], length: int) -> Iterator[list[int]]:
    """Batches of at most `TOKENS_AT_ONCE` tokens."""
    left = iter(numbers)
    size = max(1, min(SEQUENCES_AT_ONCE, TOKENS_AT_ONCE // length))
    while batch := list(islice(left, size)):
        yield batch


def _labels(
    problem: AttributionProblem, batch: Sequence[PerturbedInput]
) -> Float[np.ndarray, "batch parts"]:
    prediction = problem.model.predict(
        Sequences.pad([one.inputs for one in batch]), Search(chances=not problem.is_real)
    )
    values: np.ndarray = prediction.target.values
    if prediction.probabilities is not None:
        values = prediction.probabilities
    scores = np.full((len(batch), len(problem.parts)), np.nan)
    for number, one in enumerate(batch):
        for column, part in enumerate(problem.parts):
            position = _shifted(problem.form, part.position, one.removed)
            if position is not None:
                scores[number, column] = _score(values[number, position], part.value)
    return scores


def _shifted(form: Form, position: int, removed: int | None) -> int | None:
    """The index of a position after one was removed; None if it is that one."""
    if form is Form.WHOLE or removed is None or position < removed:
        return position
    return position - 1 if position > removed else None


def _score(values: Float[np.ndarray, " classes"], label: int | None) -> float:
    """The log of a probability, clipped to stay finite where the probability underflows."""
    if label is None:
        return float(values.sum())
    return float(np.log(max(values[label], np.finfo(values.dtype).tiny)))


def _generated(
    problem: AttributionProblem, batch: Sequence[PerturbedInput]
) -> Float[np.ndarray, "batch parts"]:
    source = Sequences.pad([one.inputs for one in batch])
    shifted = np.concatenate([[BEGIN], problem.output[:-1]])  # teacher forcing
    forced = np.tile(shifted, (len(batch), 1))
    steps = np.tile([part.position for part in problem.parts], (len(batch), 1))
    return _step_scores(problem, source, forced, steps)


def _next(
    problem: AttributionProblem, batch: Sequence[PerturbedInput]
) -> Float[np.ndarray, "batch parts"]:
    inputs = Sequences.pad([one.inputs for one in batch])
    # A token is predicted one step earlier where one of the tokens before it was removed.
    removed = [len(problem.inputs) if one.removed is None else one.removed for one in batch]
    positions = np.array([part.position for part in problem.parts])
    steps = positions - (np.array(removed)[:, None] <= positions)
    return _step_scores(problem, inputs, inputs.values, steps)


def _step_scores(
    problem: AttributionProblem,
    source: Sequences,
    forced: Int[np.ndarray, "batch time"],
    steps: Int[np.ndarray, "batch parts"],
) -> Float[np.ndarray, "batch parts"]:
    """Log-probability of each part after the given step of each row; step -1 predicts nothing."""
    model = cast(Generator, problem.model)  # all models that generate tokens are
    values, scores = [part.value or 0 for part in problem.parts], np.full(steps.shape, np.nan)
    state = model.begin(source)
    for time in range(int(steps.max()) + 1):
        log_probs, state = model.step(forced[:, time], state)
        array = np.asarray(log_probs)
        for column, value in enumerate(values):
            rows = np.flatnonzero(steps[:, column] == time)
            token = value if value < array.shape[1] else UNKNOWN
            scores[rows, column] = array[rows, token]
    return scores
