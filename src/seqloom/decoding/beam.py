"""Greedy and beam search, for any `Generator`: n-gram, recurrent or attention alike."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Sequences
from ..errors import ModelError
from ..forms import BEGIN, END
from ..model import Generator, Looks
from ..search import Prediction, Search
from .finished import Finished
from .greedy import greedy, is_greedy
from .likeliest import likeliest
from .moving import moved, put, spread, with_room, without_gaps
from .recording import Recorder
from .rules import Rules


def search(
    model: Generator, source: Sequences, settings: Search, prefix: Sequences | None = None
) -> Prediction:
    """The most probable targets that a beam finds for each source.

    Step by step every candidate is continued by every symbol, and the likeliest are kept. What ends
    among the best `beam` of them is an answer, ranked by `Finished`. A source is done when as many
    have ended as the beam is wide, when nothing better can come, or at the limit; then it leaves
    the batch, so that the rest goes on quicker.

    A prefix is forced: its symbols are taken as they are, at no cost, and are not part of the
    answer; `settings.prefix` is, and costs what the model says.
    """
    given = prefix or Sequences.pad([np.zeros(0, dtype=np.int64)] * len(source))
    if is_greedy(settings):
        return greedy(model, source, settings, given)
    return _Beam(model, source, settings, given).search()


class _Candidates(NamedTuple):
    """Continuations of each source, best first: whom they continue, and by which symbol."""

    origin: Int[np.ndarray, "sources count"]
    symbol: Int[np.ndarray, "sources count"]
    total: Float[np.ndarray, "sources count"]

    def at(self, places: Any) -> "_Candidates":
        return _Candidates(*(part[places] for part in self))


class _Beam:
    """The candidates still growing: `beam` rows for each source that is not done."""

    def __init__(
        self, model: Generator, source: Sequences, settings: Search, given: Sequences
    ) -> None:
        self.model, self.settings, self.lengths = model, settings, source.lengths
        self.rules, self.finished = Rules(settings, given), Finished(settings, len(source))
        self.width, self.time, self.has_moved = settings.beam, 0, False
        self.recorder = Recorder(len(source), self.width) if settings.tree else None
        rows = len(source) * self.width
        self.sources = np.arange(len(source))
        self.totals = np.full((len(source), self.width), -np.inf)
        self.totals[:, 0] = 0.0  # all candidates are the same at first: only one may count
        self.last, self.history = np.full(rows, BEGIN), np.zeros((rows, 0), dtype=np.int64)
        self.state = spread(model.begin(source), self.width)
        looks = settings.coverage_penalty > 0
        self.looked = np.zeros((rows, source.values.shape[1])) if looks else None

    def search(self) -> Prediction:
        """Until no source is left."""
        while len(self.sources):
            candidates, forced = self._candidates(self._step())
            self._grow(candidates, self._ended(candidates, forced))
        ranked = self.finished.ranked()
        return Prediction.of(ranked, self.recorder.trees(ranked) if self.recorder else ())

    def _step(self) -> Float[np.ndarray, "rows vocabulary"]:
        if self.looked is None:
            log_probs, self.state = self.model.step(self.last, self.state)
            return log_probs
        if not isinstance(self.model, Looks):
            raise cannot_look(f"the model {type(self.model).__name__}")
        log_probs, self.state, weights = self.model.step_looking(self.last, self.state)
        self.looked += weights
        return log_probs

    def _candidates(
        self, log_probs: Float[np.ndarray, "rows vocabulary"]
    ) -> tuple[_Candidates, Bool[np.ndarray, " sources"]]:
        """Twice the width, because up to half of them may end; and whose symbols are forced."""
        rules, time, width = self.rules, self.time, self.width
        given = rules.given[self.sources].repeat(width)
        columns = rules.writable(log_probs, self.history[:, :time], given)
        best = likeliest(self.totals, columns, 2 * width)
        found = _Candidates(best.origin, rules.symbols(best.column), best.total)
        forced = rules.forced.lengths[self.sources] > time
        if time < rules.forced_until:
            places = np.flatnonzero(forced)  # all candidates but the first are impossible there
            rows = self.sources[places]
            symbols = rules.forced.values[rows, time]
            cost = np.where(rules.given[rows] > time, 0.0, log_probs[places * width, symbols])
            found.total[places] = -np.inf
            found.total[places, 0] = self.totals[places, 0] + cost
            found.origin[places, 0], found.symbol[places, 0] = 0, symbols
        if self.recorder:
            self.recorder.step(time, self.sources, *found)
        return found, forced

    def _ended(
        self, found: _Candidates, forced: Bool[np.ndarray, " sources"]
    ) -> Bool[np.ndarray, "sources count"]:
        """Which candidates end; those among the best `beam` are answers."""
        is_end = (found.symbol == END) & (found.total > -np.inf) & ~forced[:, None]
        for place, rank in np.argwhere(is_end[:, : self.width]).tolist():
            self._add(place, found, rank, ended=True)
        return is_end

    def _add(self, place: int, found: _Candidates, rank: int, *, ended: bool) -> None:
        """A candidate becomes an answer."""
        source, origin = int(self.sources[place]), int(found.origin[place, rank])
        row, symbol = place * self.width + origin, int(found.symbol[place, rank])
        before = self.history[row, self.rules.given[source] : self.time]
        looked = None if self.looked is None else self.looked[row, : self.lengths[source]]
        total = float(found.total[place, rank])
        made = self.finished.add(source, np.append(before, symbol), total, looked, ended)
        if self.recorder:
            self.recorder.ended(source, origin, symbol, made)

    def _grow(self, found: _Candidates, is_end: Bool[np.ndarray, "sources count"]) -> None:
        """The best candidates that have not ended go on, where their sources do."""
        if is_end.any():
            chosen = is_end.argsort(axis=1, kind="stable")[:, : self.width]
            places = np.arange(len(chosen))[:, None], chosen
            kept = found.at(places)
        else:
            kept = found.at((slice(None), slice(self.width)))
        leaving = self._leaving(kept)
        seats = _seats(kept.origin, kept.total > -np.inf)
        if self.recorder:
            for place, source in enumerate(self.sources.tolist()):
                alive, leaves = kept.total[place] > -np.inf, bool(leaving[place])
                row = (kept.origin[place], kept.symbol[place], alive, seats[place], leaves)
                self.recorder.grow(source, *row)
        self._move(kept, seats, without_gaps(~leaving) if leaving.any() else None)

    def _leaving(self, kept: _Candidates) -> Bool[np.ndarray, " sources"]:
        """Sources that are done; at the limit, or where nothing can follow, they take what grew."""
        lengths = self.time + 1 - self.rules.given[self.sources]
        growing = kept.total[:, 0]  # best first
        at_limit = lengths >= self.settings.limit
        for place in np.flatnonzero(at_limit).tolist():
            alive = int((kept.total[place] > -np.inf).sum())
            for rank in range(min(alive, self.finished.lacks(int(self.sources[place])))):
                self._add(place, kept, rank, ended=False)
        for place in np.flatnonzero(growing == -np.inf).tolist():
            if not self.finished.found[self.sources[place]]:
                self._stick(place)
        return at_limit | self.finished.are_done(self.sources, growing, lengths)

    def _stick(self, place: int) -> None:
        """Nothing can follow any candidate of a source: the likeliest of them is what there is."""
        source, best = int(self.sources[place]), int(self.totals[place].argmax())
        row = place * self.width + best
        symbols = self.history[row, self.rules.given[source] : self.time].copy()
        looked = None if self.looked is None else self.looked[row, : self.lengths[source]]
        total = float(self.totals[place, best])
        made = self.finished.add(source, symbols, total, looked, ended=False)
        if self.recorder:
            self.recorder.stuck(source, best, made)

    def _move(
        self,
        kept: _Candidates,
        seats: Int[np.ndarray, "sources width"],
        places: Int[np.ndarray, " left"] | None,
    ) -> None:
        """Take every candidate that goes on to its row."""
        is_first = not self.has_moved
        if places is None:
            places = np.arange(len(self.sources))
        else:
            self.sources, kept, seats = self.sources[places], kept.at(places), seats[places]
            self.has_moved = True
        width, size = self.width, len(places) * self.width
        if not size:
            return
        rows = (seats + np.arange(0, size, width)[:, None]).ravel()
        order, self.last, totals = np.empty(size, int), np.empty(size, int), np.empty(size)
        order[rows] = (kept.origin + (places * width)[:, None]).ravel()
        self.last[rows] = kept.symbol.ravel()
        totals[rows] = kept.total.ravel()
        self.totals = totals.reshape(-1, width)
        self.state = moved(self.state, places, order, is_first=is_first)
        changed = np.flatnonzero(order != np.arange(size))
        self.history = put(with_room(self.history, self.time), order, changed)
        self.history[:, self.time] = self.last
        if self.looked is not None:
            self.looked = put(self.looked, order, changed)
        self.time += 1


def _seats(
    origin: Int[np.ndarray, "sources width"], alive: Bool[np.ndarray, "sources width"]
) -> Int[np.ndarray, "sources width"]:
    """The row in which each candidate goes on: its parent's own where it is the first child.

    Only what shares a parent with a better one must move, to the row of a parent without children.
    """
    width = origin.shape[1]
    earlier = np.tri(width, k=-1, dtype=bool)
    stays = alive & ~((origin[:, :, None] == origin[:, None, :]) & earlier).any(2)
    if stays.all():
        return origin
    taken = np.zeros(origin.shape, dtype=bool)
    sources, ranks = np.nonzero(stays)
    taken[sources, origin[sources, ranks]] = True
    free = taken.argsort(axis=1, kind="stable")  # those that nobody has taken come first
    turn = (~stays).cumsum(axis=1) - 1
    return np.where(stays, origin, free[np.arange(len(origin))[:, None], turn])


def cannot_look(name: str) -> ModelError:
    """A model that has no attention to count."""
    return ModelError(
        "M190",
        f"{name} does not look at its source place by place, so a coverage penalty has no meaning",
        help=["leave the coverage penalty out, or choose a model with attention"],
    )
