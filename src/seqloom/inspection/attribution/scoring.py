"""Scores of a fixed output given altered inputs: what perturbation methods compare."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int

from ...batch import Sequences
from ...cancellation import check_cancelled
from ...decoding.state import repeat_rows
from ...model import Generator, LimitedContext, Search, State
from ...signature import BEGIN, UNKNOWN, Form
from .target import AttributionProblem

SEQUENCES_AT_ONCE, TOKENS_AT_ONCE = 64, 8192
STATE_BYTES = 2**27  # of the states of altered texts that are read side by side


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
    if problem.form is Form.NEXT:
        return _next(problem, perturbed)
    score = _generated if problem.form is Form.TRANSDUCE else _labels
    scores = np.full((len(perturbed), len(problem.parts)), np.nan)
    whole = [number for number, one in enumerate(perturbed) if len(one.inputs)]
    for batch in _batches(whole, max(1, len(problem.inputs), len(problem.output))):
        check_cancelled()
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
        Sequences.pad([one.inputs for one in batch]), Search(probabilities=not problem.is_real)
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
    state = cast(Generator, problem.model).begin(source)
    return _step_scores(problem, state, forced, steps)


def _next(
    problem: AttributionProblem, perturbed: Sequence[PerturbedInput]
) -> Float[np.ndarray, "perturbed parts"]:
    """The scores of a text's tokens; what comes before an alteration is read once for all.

    A row of the plan is an altered text: where it must be read from, and for each part the step
    that predicts it, -1 where that is the score of the unaltered text, because the part is before
    the alteration or too far after it for the context of the model.
    """
    positions = np.array([part.position for part in problem.parts], dtype=np.int64)
    starts, steps = _plan(problem, perturbed, positions)
    base, size = _read_unaltered(problem, positions)
    scores = np.where(steps == -1, base, np.nan)
    readers = np.flatnonzero((steps >= 0).any(1))
    order = readers[np.argsort(starts[readers], kind="stable")]
    batches = [order[first : first + size] for first in range(0, len(order), size)]
    states = _states_at(problem, [int(starts[batch[0]]) for batch in batches])
    for batch, (start, state) in zip(batches, states, strict=True):
        inputs = Sequences.pad([perturbed[number].inputs[start:] for number in batch])
        state = repeat_rows(state, len(batch))
        found = _step_scores(problem, state, inputs.values, steps[batch] - start)
        scores[batch] = np.where(steps[batch] >= 0, found, scores[batch])
    return scores


def _plan(
    problem: AttributionProblem,
    perturbed: Sequence[PerturbedInput],
    positions: Int[np.ndarray, " parts"],
) -> tuple[Int[np.ndarray, " perturbed"], Int[np.ndarray, "perturbed parts"]]:
    """For each altered text the step to read from, and the step that predicts each part.

    -1 is the score of the unaltered text, and -2 none, as nothing is left that could predict it.
    """
    model, length = problem.model, len(problem.inputs)
    context = model.context_length if isinstance(model, LimitedContext) else length
    starts, steps = np.zeros(len(perturbed), dtype=np.int64), []
    for number, one in enumerate(perturbed):
        first = one.removed
        if first is None:
            differs = (one.inputs != problem.inputs).reshape(length, -1).any(1)
            first = int(differs.argmax()) if differs.any() else length
        # A token is predicted one step earlier where one of the tokens before it was removed.
        shift = 0 if one.removed is None else 1
        is_affected = (first <= positions) & (positions < first + context)
        after = np.where(positions >= shift, positions - shift, -2)
        steps.append(np.where(is_affected, after, -1))
        starts[number] = max(0, first - shift)
    return starts, np.array(steps, dtype=np.int64).reshape(len(perturbed), len(positions))


def _read_unaltered(
    problem: AttributionProblem, positions: Int[np.ndarray, " parts"]
) -> tuple[Float[np.ndarray, " parts"], int]:
    """The scores of the text itself, and how many altered texts are to be read side by side."""
    model = cast(Generator, problem.model)  # all models of the next token are
    base, state = np.full(len(positions), np.nan), model.begin(Sequences.pad([problem.inputs]))
    for time, token in enumerate(problem.inputs[: int(positions.max(initial=-1)) + 1]):
        check_cancelled()
        log_probs, state = model.step(np.array([token]), state)
        for column in np.flatnonzero(positions == time):
            base[column] = _of_token(np.asarray(log_probs), problem.parts[column].value or 0)[0]
    size = STATE_BYTES // max(1, sum(getattr(part, "nbytes", 0) for part in state))
    if isinstance(problem.model, LimitedContext):
        size = min(size, problem.model.context_length)  # of more, the first would wait for the last
    return base, int(min(max(1, size), SEQUENCES_AT_ONCE))


def _states_at(problem: AttributionProblem, steps: Sequence[int]) -> Iterator[tuple[int, State]]:
    """The state before each of these steps of the text itself, which are in order."""
    model = cast(Generator, problem.model)
    time, state = 0, model.begin(Sequences.pad([problem.inputs]))
    for step in steps:
        while time < step:
            check_cancelled()
            _, state = model.step(problem.inputs[time : time + 1], state)
            time += 1
        yield time, state


def _step_scores(
    problem: AttributionProblem,
    state: State,
    forced: Int[np.ndarray, "batch time"],
    steps: Int[np.ndarray, "batch parts"],
) -> Float[np.ndarray, "batch parts"]:
    """Log-probability of each part after the given step of each row; step -1 predicts nothing."""
    model = cast(Generator, problem.model)  # all models that generate tokens are
    values, scores = [part.value or 0 for part in problem.parts], np.full(steps.shape, np.nan)
    for time in range(int(steps.max(initial=-1)) + 1):
        check_cancelled()
        log_probs, state = model.step(forced[:, time], state)
        array = np.asarray(log_probs)
        for column, value in enumerate(values):
            rows = np.flatnonzero(steps[:, column] == time)
            scores[rows, column] = _of_token(array, value)[rows]
    return scores


def _of_token(
    log_probs: Float[np.ndarray, "batch vocabulary"], token: int
) -> Float[np.ndarray, " batch"]:
    """The column of a token; an unknown one where the output has none of its own."""
    return log_probs[:, token if token < log_probs.shape[1] else UNKNOWN]
