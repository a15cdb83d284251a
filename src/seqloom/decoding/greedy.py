"""Greedy search: a beam of one, without what only a wider one needs."""

import numpy as np
from jaxtyping import Float, Int

from ..batch import Sequences
from ..forms import BEGIN, END
from ..model import Generator
from ..search import Prediction, Search
from .finished import Finished
from .moving import moved, with_room, without_gaps
from .rules import FIRST


def is_greedy(settings: Search) -> bool:
    """Whether nothing is asked for but the likeliest symbol each time."""
    return settings == Search(length_penalty=settings.length_penalty, limit=settings.limit)


def greedy(model: Generator, source: Sequences, settings: Search, given: Sequences) -> Prediction:
    """y_t = argmax_v p(v | y_<t, x), up to END or the limit: what a beam of one finds.

    What is given is taken as it is, at no cost, and is no part of the answer.
    """
    finished, sources = Finished(settings, len(source)), np.arange(len(source))
    totals, history = np.zeros(len(source)), np.zeros((len(source), 0), dtype=np.int64)
    symbols, state = np.full(len(source), BEGIN), model.begin(source)
    forced_until, is_first, time = int(given.lengths.max(initial=0)), True, 0
    first_end = int(given.lengths.min(initial=0)) + settings.limit
    while len(sources):
        log_probs, state = model.step(symbols, state)
        symbols, chances = _best(log_probs)
        is_end, is_stuck = symbols == END, ~(chances > -np.inf)
        if time < forced_until:
            forced = given.lengths[sources] > time
            symbols = np.where(forced, given.values[sources, time], symbols)
            chances = np.where(forced, 0.0, chances)
            is_end, is_stuck = is_end & ~forced, is_stuck & ~forced
        history = with_room(history, time)
        history[sources, time] = symbols
        time += 1
        over = is_end | is_stuck
        if time >= first_end:
            over |= time - given.lengths[sources] >= settings.limit
        totals[sources] += np.where(is_stuck, 0.0, chances) if over.any() else chances
        if not over.any():
            continue
        for place in np.flatnonzero(over).tolist():
            row = sources[place]
            answer = history[row, given.lengths[row] : time - is_stuck[place]]
            ended = bool(is_end[place] and not is_stuck[place])
            finished.add(int(row), answer, float(totals[row]), ended=ended)
        places = without_gaps(~over)
        sources, symbols = sources[places], symbols[places]
        if len(places):
            state = moved(state, places, places, is_first=is_first)
        is_first = False
    return Prediction.of(finished.ranked())


def _best(
    log_probs: Float[np.ndarray, "rows vocabulary"],
) -> tuple[Int[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """The likeliest symbol that may be written, the first of equals, and its log-probability."""
    best = log_probs[:, FIRST:].argmax(1) + FIRST
    return best, log_probs[np.arange(len(best)), best]
