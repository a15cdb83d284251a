"""Greedy and beam search, for any `Generator`: n-gram, recurrent or attention alike.

Greedy search: a beam of one, without what only a wider one needs.

Keep all that a search looks at, as a tree for each source.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Sequences
from ..errors import ModelError
from ..model import Generator, Looks
from ..prediction import Fate, Hypothesis, Node, Prediction, Search, Tree
from ..signature import BEGIN, END
from .constraints import FIRST, Rules
from .hypotheses import Finished
from .state import moved, put, spread, with_room, without_gaps
from .top_k import likeliest


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


class Recorder:
    """Grows a tree for each source beside the beam."""

    def __init__(self, sources: int, width: int) -> None:
        self._nodes: list[list[Node]] = [[] for _ in range(sources)]
        self._ends: list[list[tuple[Hypothesis, int]]] = [[] for _ in range(sources)]
        self._seated = np.full((sources, width), -1)  # the nodes that grow, by source and row
        self._looked_at: list[dict[tuple[int, int], int]] = [{} for _ in range(sources)]

    def step(
        self,
        time: int,
        sources: Int[np.ndarray, " sources"],
        origin: Int[np.ndarray, "sources count"],
        symbol: Int[np.ndarray, "sources count"],
        total: Float[np.ndarray, "sources count"],
    ) -> None:
        """Candidates as they are looked at; all are dropped until more is said of them."""
        for place, source in enumerate(sources.tolist()):
            nodes, seen = self._nodes[source], {}
            rows = zip(origin[place], symbol[place], total[place], strict=True)
            for row, number, log_prob in rows:
                if log_prob > -np.inf:
                    parent = int(self._seated[source, row])
                    seen[int(row), int(number)] = len(nodes)
                    nodes.append(Node(parent, time, int(number), float(log_prob), "dropped"))
            self._looked_at[source] = seen

    def ended(self, source: int, row: int, symbol: int, hypothesis: Hypothesis) -> None:
        """A candidate became an answer, by its end or because it was cut off."""
        node = self._looked_at[source][row, symbol]
        self._become(source, node, "ended" if hypothesis.ended else "cut", hypothesis.score)
        self._ends[source].append((hypothesis, node))

    def stuck(self, source: int, row: int, hypothesis: Hypothesis) -> None:
        """Nothing can follow what stands in this row."""
        node = int(self._seated[source, row])
        if node >= 0:
            self._become(source, node, "cut", hypothesis.score)
        self._ends[source].append((hypothesis, node))

    def grow(
        self,
        sources: Int[np.ndarray, " sources"],
        origin: Int[np.ndarray, "sources width"],
        symbol: Int[np.ndarray, "sources width"],
        alive: Bool[np.ndarray, "sources width"],
        seats: Int[np.ndarray, "sources width"],
        leaving: Sequence[bool],
    ) -> None:
        """The candidates that are kept, and the rows of their sources in which they go on."""
        for place, source in enumerate(sources.tolist()):
            seated = np.full(seats.shape[1], -1)
            for rank in np.flatnonzero(alive[place]):
                seen = int(origin[place, rank]), int(symbol[place, rank])
                node = self._looked_at[source][seen]
                if self._nodes[source][node].fate == "dropped":
                    self._become(source, node, "cut" if leaving[place] else "grows")
                seated[seats[place, rank]] = node
            self._seated[source] = seated

    def trees(self, ranked: list[tuple[Hypothesis, ...]]) -> tuple[Tree, ...]:
        """All of it, with the nodes of the answers."""
        found = []
        for nodes, ends, answers in zip(self._nodes, self._ends, ranked, strict=True):
            places = [next(node for other, node in ends if other is one) for one in answers]
            found.append(Tree(tuple(nodes), tuple(places)))
        return tuple(found)

    def _become(self, source: int, node: int, fate: Fate, score: float | None = None) -> None:
        old = self._nodes[source][node]
        self._nodes[source][node] = Node(
            old.parent, old.step, old.symbol, old.log_prob, fate, score
        )


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
            self._grow(*self._candidates(self._step()))
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
    ) -> tuple[_Candidates, Bool[np.ndarray, "sources count"]]:
        """Twice the width, because up to half of them may end; and which of them end."""
        rules, time = self.rules, self.time
        columns = rules.writable(log_probs, self.history[:, :time], self.sources)
        best = likeliest(self.totals, columns, 2 * self.width)
        found = _Candidates(best.origin, rules.symbols(best.column), best.total)
        is_end = (found.symbol == END) & (found.total > -np.inf)
        if time < rules.forced_until:
            places = np.flatnonzero(rules.forced.lengths[self.sources] > time)
            self._force(places, found, log_probs)
            is_end[places] = False
        if self.recorder:
            self.recorder.step(time, self.sources, *found)
        return found, is_end

    def _force(
        self,
        places: Int[np.ndarray, " forced"],
        found: _Candidates,
        log_probs: Float[np.ndarray, "rows vocabulary"],
    ) -> None:
        """One candidate alone where a symbol is forced: it stands in the first row there."""
        rows = self.sources[places]
        symbols = self.rules.forced.values[rows, self.time]
        costs = log_probs[places * self.width, symbols]
        costs = np.where(self.rules.given[rows] > self.time, 0.0, costs)
        found.total[places] = -np.inf
        found.total[places, 0] = self.totals[places, 0] + costs
        found.origin[places, 0], found.symbol[places, 0] = 0, symbols

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
        """What ends among the best is an answer; the best of the rest go on, where sources do."""
        if is_end.any():
            for place, rank in np.argwhere(is_end[:, : self.width]).tolist():
                self._add(place, found, rank, ended=True)
            chosen = is_end.argsort(axis=1, kind="stable")[:, : self.width]
            kept = found.at((np.arange(len(chosen))[:, None], chosen))
        else:
            kept = found.at((slice(None), slice(self.width)))
        leaving = self._leaving(kept)
        alive = kept.total > -np.inf
        rows = _rows(kept.origin, alive)
        if self.recorder:
            seats = (rows % self.width, leaving.tolist())
            self.recorder.grow(self.sources, kept.origin, kept.symbol, alive, *seats)
        self._move(kept, rows, leaving)

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
        rows: Int[np.ndarray, "sources width"],
        leaving: Bool[np.ndarray, " sources"],
    ) -> None:
        """Take every candidate that goes on to its row; sources that leave are closed up."""
        width, places, is_first = self.width, np.arange(len(leaving)), not self.has_moved
        if leaving.any():
            places = without_gaps(~leaving)
            if not len(places):
                self.sources = self.sources[places]
                return
            rows = rows[places] + ((np.arange(len(places)) - places) * width)[:, None]
            kept, self.sources, self.has_moved = kept.at(places), self.sources[places], True
        size, rows = rows.size, rows.ravel()
        order, self.last, totals = np.empty(size, int), np.empty(size, int), np.empty(size)
        order[rows] = (kept.origin + (places * width)[:, None]).ravel()
        self.last[rows], totals[rows] = kept.symbol.ravel(), kept.total.ravel()
        self.totals = totals.reshape(-1, width)
        changed = (order != np.arange(size)).nonzero()[0]
        self.state = moved(self.state, places, order, changed, is_first=is_first)
        self.history = put(with_room(self.history, self.time), order, changed)
        self.history[:, self.time] = self.last
        if self.looked is not None:
            self.looked = put(self.looked, order, changed)
        self.time += 1


def _rows(
    origin: Int[np.ndarray, "sources width"], alive: Bool[np.ndarray, "sources width"]
) -> Int[np.ndarray, "sources width"]:
    """The row in which each candidate goes on: its parent's own where it is the first child.

    Only what shares a parent with a better one must move, to the row of a parent without children.
    """
    sources, width = origin.shape
    parents = origin + np.arange(0, sources * width, width)[:, None]
    rank = np.arange(width)
    first = np.full(sources * width, -1)  # the best child of each row
    if alive.all():  # of several that are written to one place the last stays: the best
        first[parents.ravel()[::-1]] = np.broadcast_to(rank[::-1], origin.shape).ravel()
    else:
        own, of = alive.nonzero()
        first[parents[own, of][::-1]] = of[::-1]
    stays = (first[parents] == rank) & alive
    parents[~stays] = (first < 0).nonzero()[0]  # as many of each source, in the same order
    return parents


def cannot_look(name: str) -> ModelError:
    """A model that has no attention to count."""
    return ModelError(
        "M190",
        f"{name} does not look at its source place by place, so a coverage penalty has no meaning",
        help=["leave the coverage penalty out, or choose a model with attention"],
    )
