"""Draw sequences from anything that can `begin` and `step`, symbol by symbol."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float, Int

from ..batch import Batch, Sequences
from ..errors import UsageError
from ..model import Carries, Generator, State, Stepper, Streams
from ..prediction import Search
from ..signature import BEGIN, END, PAD
from .constraints import Rules
from .state import moved, with_room, without_gaps

Ids = Int[np.ndarray, " kept"]
Chances = Float[np.ndarray, " kept"]
BY_STEPS = 16  # so short a prompt is read step by step as quickly
AT_ONCE = 1024  # symbols of a prompt read in one pass
FEW = 64  # so many of the likeliest are looked at before more are


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a sequence is drawn.

    Args:
        temperature: Below 1 the likely becomes likelier, above 1 the choice becomes wilder; 0
            always takes the likeliest.
        top_k: Only so many of the likeliest symbols are drawn from; 0 draws from all.
        top_p: Only the likeliest symbols that have this share of the probability together are
            drawn from; 1 draws from all.
        min_p: Only symbols that have at least this share of the likeliest one's probability are
            drawn from; 0 draws from all.
        block_ngrams: No so many symbols in a row are drawn twice; 0 lets them.
        shortest: The fewest symbols drawn before the end.
        limit: The most symbols drawn.
        seed: Where randomness starts: the same seed draws the same symbols.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    block_ngrams: int = 0
    shortest: int = 0
    limit: int = 100
    seed: int = 1

    def __post_init__(self) -> None:
        right = {
            "temperature": (isfinite(self.temperature) and self.temperature >= 0, "0 or more"),
            "top_k": (self.top_k >= 0, "a whole number of at least 1, or 0 for all"),
            "top_p": (0 < self.top_p <= 1, "more than 0 and at most 1"),
            "min_p": (0 <= self.min_p <= 1, "from 0 to 1"),
            "block_ngrams": (self.block_ngrams >= 0, "a whole number of at least 1, or 0 for none"),
            "shortest": (self.shortest >= 0, "a whole number of at least 0"),
            "limit": (self.limit >= 1, "a whole number of at least 1"),
            "seed": (self.seed >= 0, "a whole number of at least 0"),
        }
        for name, (is_right, expected) in right.items():
            if not is_right:
                raise UsageError("U030", f"{name} {getattr(self, name):g}: expected {expected}")

    def stream(self, *numbers: int) -> np.random.Generator:
        """The random numbers of one sequence: those of no other, whatever is drawn beside it."""
        return np.random.default_rng([self.seed, *numbers])


class Writer(Generator, Protocol):
    """A generator that can be used without being trained."""

    def at_rest(self) -> AbstractContextManager[Any]: ...


@dataclass(frozen=True)
class Drawn:
    """One symbol more for some rows, and how likely the model held every symbol there."""

    rows: Int[np.ndarray, " growing"]
    symbols: Int[np.ndarray, " growing"]
    log_probs: Float[np.ndarray, "growing vocabulary"]


def sample(
    model: Writer,
    source: Sequences,
    settings: Sampling,
    prefix: Sequences,
    *,
    streams: Sequence[np.random.Generator] = (),
    allow: frozenset[int] = frozenset(),
) -> list[Int[np.ndarray, " _"]]:
    """A sequence for each source, drawn after its prefix, without its end."""
    found: list[list[int]] = [[] for _ in range(len(source))]
    for drawn in drawing(model, source, settings, prefix, streams=streams, allow=allow):
        for row, symbol in zip(drawn.rows.tolist(), drawn.symbols.tolist(), strict=True):
            found[row] += [symbol] * (symbol != END)
    return [np.array(row, dtype=np.int64) for row in found]


def drawing(  # noqa: PLR0913 - keyword-only but for what every draw needs
    model: Writer,
    source: Sequences,
    settings: Sampling,
    prefix: Sequences,
    *,
    streams: Sequence[np.random.Generator] = (),
    allow: frozenset[int] = frozenset(),
    is_last: Callable[[int, int], bool] = lambda row, symbol: symbol == END,
) -> Iterator[Drawn]:
    """Symbols as they are drawn after the prefixes, a step of all rows at a time.

    Each row draws from a stream of its own, `settings.stream(row)` unless `streams` are given, so
    that a row draws the same beside others as alone. (A neural model's numbers differ in the last
    digits with the size of a batch, so one draw in a million may still fall otherwise.)

    Only the symbols of `allow` are drawn, and the end; if it names none, all.

    A row goes on until `is_last(row, symbol)`, which is asked once for each of its symbols, or to
    the limit; then it leaves the batch, and the rest goes on quicker.
    """
    streams = streams or [settings.stream(row) for row in range(len(source))]
    rows, time = np.arange(len(source)), int(prefix.lengths.min(initial=0))
    must = Search(block_ngrams=settings.block_ngrams, shortest=settings.shortest, allow=allow)
    rules = Rules(must, prefix)
    history, is_first = prefix.values[:, :time].astype(np.int64), True
    walker, symbols, state = _begin(model, source, prefix, time)
    while len(rows):
        log_probs, state = walker.step(symbols, state)
        is_drawn = prefix.lengths[rows] <= time
        symbols = np.zeros_like(rows)
        symbols[~is_drawn] = prefix.values[rows[~is_drawn], time : time + 1].ravel()
        ruled = rules.ruled(log_probs, _written(history, rows, time, settings), rows)
        for place in np.flatnonzero(is_drawn):
            symbols[place] = _draw(ruled[place], settings, streams[rows[place]])
        if settings.block_ngrams:
            history = with_room(history, time)
            history[rows, time] = symbols
        time += 1
        if is_drawn.any():
            likely = log_probs if is_drawn.all() else log_probs[is_drawn]  # no copy if it can be
            yield Drawn(rows[is_drawn], symbols[is_drawn], likely)
        over = is_drawn & (time - prefix.lengths[rows] >= settings.limit)
        for place in np.flatnonzero(is_drawn):
            over[place] |= is_last(int(rows[place]), int(symbols[place]))
        if over.any():
            places = without_gaps(~over)
            rows, symbols = rows[places], symbols[places]
            if len(rows):
                state = moved(state, places, places, is_first=is_first)
            is_first = False


def _written(
    history: Int[np.ndarray, "sources room"], rows: Ids, time: int, settings: Sampling
) -> Int[np.ndarray, "rows time"]:
    """What the rows have so far; only how much that is, where no symbol of it matters."""
    if settings.block_ngrams:
        return history[rows, :time]
    return np.broadcast_to(np.int64(PAD), (len(rows), time))


def kept(log_probs: Float[np.ndarray, " vocabulary"], settings: Sampling) -> tuple[Ids, Chances]:
    """The symbols that may be drawn, in the order of their numbers, and their probabilities.

    q_i ∝ p_i^(1/T)                         temperature T
    K   = the k likeliest                   top-k (Fan et al., 2018)
    N   = the fewest of the likeliest in K  nucleus, or top-p (Holtzman et al., 2020)
          with Σ_{i∈N} q_i ≥ p Σ_{i∈K} q_i
    M   = {i : q_i ≥ m max_j q_j}           min-p (Nguyen et al., 2024)

    What is drawn has the probability q_i / Σ_{j∈N∩M} q_j. Of equals the first are kept. Padding
    and a second beginning are never drawn.
    """
    scores = log_probs.astype(np.float64)
    scores[[PAD, BEGIN]] = -np.inf
    best = scores.max()
    if not best > -np.inf:
        raise _nothing_can_follow()
    if settings.temperature == 0:
        return np.array([scores.argmax()]), np.ones(1)
    found = _likeliest(scores, settings.top_k)
    with np.errstate(over="ignore", under="ignore"):  # what is too unlikely for a number is 0
        chances = np.exp((scores[found] - best) / settings.temperature)
    if settings.top_p < 1:
        chosen = _nucleus(chances, settings.top_p)
        found, chances = found[chosen], chances[chosen]
    if settings.min_p > 0:
        chosen = np.flatnonzero(chances >= settings.min_p)  # the likeliest has 1 here
        found, chances = found[chosen], chances[chosen]
    return found, chances / chances.sum()


def _likeliest(scores: Float[np.ndarray, " vocabulary"], count: int) -> Ids:
    if not 0 < count < len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, -count)[-count]
    is_kept = scores > least
    equals = np.flatnonzero(scores == least)[: count - int(is_kept.sum())]
    is_kept[equals] = True
    return np.flatnonzero(is_kept)


def _nucleus(chances: Chances, share: float) -> Int[np.ndarray, " _"]:
    """The places of the fewest that have this share together, in order."""
    needed, size = share * chances.sum(), FEW
    found = _likeliest(chances, size)
    while len(found) < len(chances) and chances[found].sum() < needed:  # most need not be sorted
        size *= 8
        found = _likeliest(chances, size)
    order = found[np.argsort(-chances[found], kind="stable")]
    count = int(np.searchsorted(np.cumsum(chances[order]), needed)) + 1
    return np.sort(order[:count])


def _draw(
    log_probs: Float[np.ndarray, " vocabulary"], settings: Sampling, stream: np.random.Generator
) -> int:
    """The symbol at which the sum of probabilities passes an even random number."""
    found, chances = kept(log_probs, settings)
    if len(found) == 1:
        return int(found[0])
    sums = np.cumsum(chances)
    place = np.searchsorted(sums, stream.random() * sums[-1], side="right")
    return int(found[min(place, len(found) - 1)])


class _Alone:
    """A stepper, which knows one sequence only, as a batch of one."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    def begin(self, source: Sequences) -> State:
        return self._stepper.begin()

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        log_probs, state = self._stepper.step(int(symbols[0]), state)
        return log_probs[None], state


class _Resting:
    """A model that is used, not trained, in every step, and trained or not in between."""

    def __init__(self, model: Writer) -> None:
        self._model = model

    def begin(self, source: Sequences) -> State:
        with self._model.at_rest():
            return self._model.begin(source)

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        with self._model.at_rest():
            return self._model.step(symbols, state)


def _begin(
    model: Writer, source: Sequences, prefix: Sequences, time: int
) -> tuple[Generator, Int[np.ndarray, " batch"], State]:
    """How to step, the last of the first `time` symbols, and the state before it."""
    quick = model.stepper() if len(source) == 1 and isinstance(model, Streams) else None
    walker: Generator = _Resting(model) if quick is None else _Alone(quick)
    if time > BY_STEPS and isinstance(model, Carries):
        read = Sequences(prefix.values[:, :time], np.full(len(source), time))
        with model.at_rest():
            first = model.begin(source)
            if quick is None or _are_rows(quick.begin(), first):
                state = _state_after(model, read, first)
                if quick is not None:
                    state = tuple(np.asarray(part[0]) for part in state)
                return walker, read.values[:, -1], state
    symbols, state = np.full(len(source), BEGIN), walker.begin(source)
    for place in range(time):
        _, state = walker.step(symbols, state)
        symbols = prefix.values[:, place]
    return walker, symbols, state


def _state_after(model: Carries, read: Sequences, state: State) -> State:
    """The state once all but the last symbol are read, window by window."""
    before = read.late(BEGIN).values
    for start in range(0, before.shape[1], AT_ONCE):
        places = slice(start, start + AT_ONCE)
        source, target = before[:, places], read.values[:, places]
        lengths = np.full(len(read), target.shape[1])
        window = Batch(Sequences(source, lengths), Sequences(target, lengths))
        _, state = model.log_probs_from(window, state)
    return state


def _are_rows(alone: State, batch: State) -> bool:
    """Whether a stepper's state is a row of its model's, so that it can go on from there."""
    shapes = [tuple(part.shape) for part in alone], [tuple(part.shape[1:]) for part in batch]
    return shapes[0] == shapes[1]


def _nothing_can_follow() -> UsageError:
    return UsageError(
        "U032",
        "the model gives no symbol any chance here",
        notes=["A model without smoothing knows only what it has seen."],
        help=["give another prompt, or train a model that smooths its counts"],
    )
