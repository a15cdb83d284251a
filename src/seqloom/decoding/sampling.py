"""Sampling: temperature, top-k, top-p (nucleus) and min-p, token by token, for any `Generator`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..cancellation import check_cancelled
from ..errors import UsageError
from ..model import Generator, State, Stateful, Stepper, Streaming
from ..prediction import Search
from ..signature import BEGIN, END, PAD
from .constraints import Constraints, output_limit
from .state import compact_order, grow_history, reorder_state

Ids = Int[np.ndarray, " kept"]
Probabilities = Float[np.ndarray, " kept"]
SHORT_PROMPT = 16  # tokens up to which a prompt is read step by step: one pass is not faster
CHUNK = 1024  # tokens of a prompt read in one pass
NUCLEUS_GUESS = 64  # tokens sorted at first to find the nucleus


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampling options: temperature, top-k, top-p (nucleus) and min-p, and constraints.

    Args:
        temperature: Sampling temperature; below 1 is more conservative, above 1 more diverse; 0
            always takes the most probable token.
        top_k: Sample among the k most probable tokens only; 0 disables it.
        top_p: Sample among the fewest most probable tokens whose probabilities sum to this
            (nucleus sampling); 1 disables it.
        min_p: Sample among tokens that are at least this fraction as probable as the most probable
            one; 0 disables it.
        block_ngrams: No-repeat n-gram size: no n-gram of this size is sampled twice; 0 disables
            it.
        shortest: Minimum number of tokens before the end of sequence.
        limit: Maximum number of tokens; 0 is half as many again as the longest target in training
            has, and at least 100.
        seed: Random seed.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    block_ngrams: int = 0
    shortest: int = 0
    limit: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        right = {
            "temperature": (isfinite(self.temperature) and self.temperature >= 0, "0 or more"),
            "top_k": (self.top_k >= 0, "a whole number of at least 1, or 0 for all"),
            "top_p": (0 < self.top_p <= 1, "more than 0 and at most 1"),
            "min_p": (0 <= self.min_p <= 1, "from 0 to 1"),
            "block_ngrams": (self.block_ngrams >= 0, "a whole number of at least 1, or 0 for none"),
            "shortest": (self.shortest >= 0, "a whole number of at least 0"),
            "limit": (self.limit >= 0, "a whole number of at least 1, or 0 for the default"),
            "seed": (self.seed >= 0, "a whole number of at least 0"),
        }
        for name, (is_right, expected) in right.items():
            if not is_right:
                raise UsageError("U030", f"{name} {getattr(self, name):g}: expected {expected}")

    def rng(self, *numbers: int) -> np.random.Generator:
        """The random generator of one sequence, independent of what is sampled beside it."""
        return np.random.default_rng([self.seed, *numbers])


class GenerativeModel(Generator, Protocol):
    """A `Generator` that can be put into inference mode."""

    def inference_mode(self) -> AbstractContextManager[Any]: ...


@dataclass(frozen=True)
class SampledTokens:
    """One sampled token for each of some rows, and the log-probabilities of all tokens there."""

    rows: Int[np.ndarray, " growing"]
    tokens: Int[np.ndarray, " growing"]
    log_probs: Float[np.ndarray, "growing vocabulary"]


def sample(
    model: GenerativeModel,
    source: Sequences,
    settings: Sampling,
    prefix: Sequences,
    *,
    rngs: Sequence[np.random.Generator] = (),
    allow: frozenset[int] = frozenset(),
) -> list[Int[np.ndarray, " _"]]:
    """Sample a sequence for each source, which continues its prefix; without the end."""
    sequences: list[list[int]] = [[] for _ in range(len(source))]
    for step in sample_steps(model, source, settings, prefix, rngs=rngs, allow=allow):
        for row, token in zip(step.rows.tolist(), step.tokens.tolist(), strict=True):
            sequences[row] += [token] * (token != END)
    return [np.array(row, dtype=np.int64) for row in sequences]


def sample_steps(  # noqa: PLR0913 - keyword-only but for what every call needs
    model: GenerativeModel,
    source: Sequences,
    settings: Sampling,
    prefix: Sequences,
    *,
    rngs: Sequence[np.random.Generator] = (),
    allow: frozenset[int] = frozenset(),
    is_last: Callable[[int, int], bool] = lambda row, token: token == END,
) -> Iterator[SampledTokens]:
    """Tokens as they are sampled after the prefixes, one step of all rows at a time.

    Each row has a random generator of its own, `settings.rng(row)` unless `rngs` are given, so that
    it samples the same alone as beside others. (A neural model's outputs differ in the last digits
    with the batch size, so one sample in a million may still differ.)

    `allow` are the only tokens that are sampled, beside the end; empty allows all.

    A row continues until `is_last(row, token)`, which is called once for each of its tokens, or to
    the limit. Then it leaves the batch, which makes the steps of the others faster.
    """
    settings = replace(settings, limit=output_limit(model, settings.limit))
    rngs = rngs or [settings.rng(row) for row in range(len(source))]
    rows, time = np.arange(len(source)), int(prefix.lengths.min(initial=0))
    limits = Search(block_ngrams=settings.block_ngrams, shortest=settings.shortest, allow=allow)
    constraints = Constraints(limits, prefix)
    history, is_first = prefix.values[:, :time].astype(np.int64), True
    stepper, tokens, state = _begin(model, source, prefix, time)
    while len(rows):
        check_cancelled()
        log_probs, state = stepper.step(tokens, state)
        is_sampled = prefix.lengths[rows] <= time  # other rows still read their prefix
        tokens = np.zeros_like(rows)
        tokens[~is_sampled] = prefix.values[rows[~is_sampled], time : time + 1].ravel()
        masked = constraints.masked(log_probs, _history(history, rows, time, settings), rows)
        for index in np.flatnonzero(is_sampled):
            tokens[index] = _sample_token(masked[index], settings, rngs[rows[index]])
        if settings.block_ngrams:
            history = grow_history(history, time)
            history[rows, time] = tokens
        time += 1
        if is_sampled.any():
            # Indexing by a mask copies, which is needless where all rows are sampled.
            likely = log_probs if is_sampled.all() else log_probs[is_sampled]
            yield SampledTokens(rows[is_sampled], tokens[is_sampled], likely)
        over = is_sampled & (time - prefix.lengths[rows] >= settings.limit)
        for index in np.flatnonzero(is_sampled):
            over[index] |= is_last(int(rows[index]), int(tokens[index]))
        if over.any():
            order = compact_order(~over)
            rows, tokens = rows[order], tokens[order]
            if len(rows):
                state = reorder_state(state, order, order, is_first=is_first)
            is_first = False


def _history(
    history: Int[np.ndarray, "sources room"], rows: Ids, time: int, settings: Sampling
) -> Int[np.ndarray, "rows time"]:
    """The tokens of the rows so far; where only their number matters, a view without a copy."""
    if settings.block_ngrams:
        return history[rows, :time]
    return np.broadcast_to(np.int64(PAD), (len(rows), time))


def truncated_distribution(
    log_probs: Float[np.ndarray, " vocabulary"], settings: Sampling
) -> tuple[Ids, Probabilities]:
    """The tokens that may be sampled, in the order of their ids, and their probabilities.

    q_i ∝ p_i^(1/T)                             temperature T
    K   = the k most probable                   top-k (Fan et al., 2018)
    N   = the fewest of the most probable in K  top-p, nucleus sampling (Holtzman et al., 2020)
          with Σ_{i∈N} q_i ≥ p Σ_{i∈K} q_i
    M   = {i : q_i ≥ m max_j q_j}               min-p (Nguyen et al., 2024)

    A token is sampled with the probability q_i / Σ_{j∈N∩M} q_j. Ties go to the smaller id. Padding
    and the beginning of sequence are never sampled.
    """
    scores = log_probs.astype(np.float64)
    scores[[PAD, BEGIN]] = -np.inf
    best = scores.max()
    if not best > -np.inf:
        raise _no_token_possible()
    if settings.temperature == 0:
        return np.array([scores.argmax()]), np.ones(1)
    tokens = _top_k(scores, settings.top_k)
    # The maximum is subtracted first, so that the exponential cannot overflow at low temperatures.
    with np.errstate(over="ignore", under="ignore"):
        probs = np.exp((scores[tokens] - best) / settings.temperature)
    if settings.top_p < 1:
        chosen = _nucleus(probs, settings.top_p)
        tokens, probs = tokens[chosen], probs[chosen]
    if settings.min_p > 0:
        chosen = np.flatnonzero(probs >= settings.min_p)  # unnormalised: the most probable has 1
        tokens, probs = tokens[chosen], probs[chosen]
    return tokens, probs / probs.sum()


def _top_k(scores: Float[np.ndarray, " vocabulary"], k: int) -> Ids:
    """The indices of the k largest scores, in order of index; all where k is 0."""
    if not 0 < k < len(scores):
        return np.arange(len(scores))
    # Partition, not sort: linear in the vocabulary. Ties with the k-th are filled up by index.
    least = np.partition(scores, -k)[-k]
    is_kept = scores > least
    ties = np.flatnonzero(scores == least)[: k - int(is_kept.sum())]
    is_kept[ties] = True
    return np.flatnonzero(is_kept)


def _nucleus(probs: Probabilities, top_p: float) -> Int[np.ndarray, " _"]:
    """The indices of the fewest that sum to this fraction of the whole, in order."""
    needed, size = top_p * probs.sum(), NUCLEUS_GUESS
    top = _top_k(probs, size)
    # A nucleus is mostly small: a few of the largest are tried first, so that few are sorted.
    while len(top) < len(probs) and probs[top].sum() < needed:
        size *= 8
        top = _top_k(probs, size)
    order = top[np.argsort(-probs[top], kind="stable")]
    count = int(np.searchsorted(np.cumsum(probs[order]), needed)) + 1
    return np.sort(order[:count])


def _sample_token(
    log_probs: Float[np.ndarray, " vocabulary"], settings: Sampling, rng: np.random.Generator
) -> int:
    """Inverse transform sampling: where the cumulative sum passes a uniform random number."""
    tokens, probs = truncated_distribution(log_probs, settings)
    if len(tokens) == 1:
        return int(tokens[0])
    sums = np.cumsum(probs)
    index = np.searchsorted(sums, rng.random() * sums[-1], side="right")
    return int(tokens[min(index, len(tokens) - 1)])


class _SingleSequence:
    """A `Stepper`, which steps one sequence only, as a `Generator` of a batch of one."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    def begin(self, source: Sequences) -> State:
        return self._stepper.begin()

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        log_probs, state = self._stepper.step(int(tokens[0]), state)
        return log_probs[None], state


class _InferenceMode:
    """A model in inference mode during each step only: training may go on between steps."""

    def __init__(self, model: GenerativeModel) -> None:
        self._model = model

    def begin(self, source: Sequences) -> State:
        with self._model.inference_mode():
            return self._model.begin(source)

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        with self._model.inference_mode():
            return self._model.step(tokens, state)


def _begin(
    model: GenerativeModel, source: Sequences, prefix: Sequences, time: int
) -> tuple[Generator, Int[np.ndarray, " batch"], State]:
    """What steps the model, the last of the first `time` tokens, and the state before it.

    A single sequence is stepped by the model's own `Stepper`, which is faster. A long prompt is
    read in a few passes where the model can, and its state is handed to the stepper.
    """
    fast = model.stepper() if len(source) == 1 and isinstance(model, Streaming) else None
    stepper: Generator = _InferenceMode(model) if fast is None else _SingleSequence(fast)
    if time > SHORT_PROMPT and isinstance(model, Stateful):
        read = Sequences(prefix.values[:, :time], np.full(len(source), time))
        with model.inference_mode():
            first = model.begin(source)
            if fast is None or _are_rows(fast.begin(), first):
                state = _state_after(model, read, first)
                if fast is not None:
                    state = tuple(np.asarray(part[0]) for part in state)
                return stepper, read.values[:, -1], state
    tokens, state = np.full(len(source), BEGIN), stepper.begin(source)
    for position in range(time):
        check_cancelled()
        _, state = stepper.step(tokens, state)
        tokens = prefix.values[:, position]
    return stepper, tokens, state


def _state_after(model: Stateful, read: Sequences, state: State) -> State:
    """The state after all tokens but the last are read, chunk by chunk."""
    before = read.shift_right(BEGIN).values
    for start in range(0, before.shape[1], CHUNK):
        check_cancelled()
        chunk = slice(start, start + CHUNK)
        source, target = before[:, chunk], read.values[:, chunk]
        lengths = np.full(len(read), target.shape[1])
        segment = Batch(Sequences(source, lengths), Sequences(target, lengths))
        _, state = model.log_probs_from(segment, state)
    return state


def _are_rows(single: State, batch: State) -> bool:
    """Whether a stepper's state is a row of its model's, so that it can continue from there."""
    shapes = [tuple(part.shape) for part in single], [tuple(part.shape[1:]) for part in batch]
    return shapes[0] == shapes[1]


def _no_token_possible() -> UsageError:
    return UsageError(
        "U032",
        "the model gives all tokens the probability 0 here",
        notes=["Without smoothing, an n-gram that was not in training has the probability 0."],
        help=["give another prompt, or train a model that smooths its counts"],
    )
