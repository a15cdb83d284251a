"""Beam search and greedy search, for any `Generator`, with length penalty and coverage penalty.

Hypotheses obey `Constraints`. The search tree, all candidates with what became of them, is recorded
where it is requested.
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Sequences
from ..cancellation import check_cancelled
from ..errors import ModelError
from ..model import Attends, Generator
from ..prediction import Hypothesis, NodeStatus, Prediction, Search, SearchNode, SearchTree
from ..signature import BEGIN, END
from .constraints import FIRST, Constraints, output_limit
from .state import compact_order, grow_history, reorder_rows, reorder_state, repeat_rows
from .top_k import top_continuations

MIN_COVERAGE = 1e-6  # of a position without attention, whose logarithm would be infinite


def is_greedy(settings: Search) -> bool:
    """Whether greedy search suffices: a beam of one without constraints, n-best list or tree."""
    return settings == Search(length_penalty=settings.length_penalty, limit=settings.limit)


def greedy_search(
    model: Generator, source: Sequences, settings: Search, prefix: Sequences
) -> Prediction:
    """Greedy search: y_t = argmax_v p(v | y_<t, x) up to END or the limit, as a beam of one.

    The prefix is forced at no cost, and is no part of the output.
    """
    finished, sources = FinishedHypotheses(settings, len(source)), np.arange(len(source))
    totals, history = np.zeros(len(source)), np.zeros((len(source), 0), dtype=np.int64)
    tokens, state = np.full(len(source), BEGIN), model.begin(source)
    forced_until, is_first, time = int(prefix.lengths.max(initial=0)), True, 0
    first_end = int(prefix.lengths.min(initial=0)) + settings.limit
    while len(sources):
        check_cancelled()
        log_probs, state = model.step(tokens, state)
        tokens, best = _argmax(log_probs)
        # Stuck: an n-gram model without smoothing may give all tokens the probability 0.
        is_end, is_stuck = tokens == END, ~(best > -np.inf)
        if time < forced_until:
            forced = prefix.lengths[sources] > time
            tokens = np.where(forced, prefix.values[sources, time], tokens)
            best = np.where(forced, 0.0, best)
            is_end, is_stuck = is_end & ~forced, is_stuck & ~forced
        history = grow_history(history, time)
        history[sources, time] = tokens
        time += 1
        over = is_end | is_stuck
        if time >= first_end:
            over |= time - prefix.lengths[sources] >= settings.limit
        totals[sources] += np.where(is_stuck, 0.0, best) if over.any() else best
        if not over.any():
            continue
        for row in np.flatnonzero(over).tolist():
            index = sources[row]
            output = history[index, prefix.lengths[index] : time - is_stuck[row]]
            ended = bool(is_end[row] and not is_stuck[row])
            stuck = bool(is_stuck[row])
            total = float(totals[index])
            finished.add(int(index), output, total, ended=ended, is_stuck=stuck)
        order = compact_order(~over)
        sources, tokens = sources[order], tokens[order]
        if len(order):
            state = reorder_state(state, order, order, is_first=is_first)
        is_first = False
    return Prediction.of(finished.ranked())


def _argmax(
    log_probs: Float[np.ndarray, "rows vocabulary"],
) -> tuple[Int[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """The most probable token that may be generated, the first of ties, and its log-probability."""
    best = log_probs[:, FIRST:].argmax(1) + FIRST
    return best, log_probs[np.arange(len(best)), best]


class TreeRecorder:
    """Records the search tree of each source beside the beam."""

    def __init__(self, sources: int, width: int) -> None:
        self._nodes: list[list[SearchNode]] = [[] for _ in range(sources)]
        self._ends: list[list[tuple[Hypothesis, int]]] = [[] for _ in range(sources)]
        self._growing = np.full((sources, width), -1)  # the nodes that grow, by source and row
        self._candidates: list[dict[tuple[int, int], int]] = [{} for _ in range(sources)]

    def step(
        self,
        time: int,
        sources: Int[np.ndarray, " sources"],
        origin: Int[np.ndarray, "sources count"],
        token: Int[np.ndarray, "sources count"],
        total: Float[np.ndarray, "sources count"],
    ) -> None:
        """Add the candidates of a step; all are `dropped` until the search keeps or ends them."""
        for index, source in enumerate(sources.tolist()):
            nodes, candidates = self._nodes[source], {}
            rows = zip(origin[index], token[index], total[index], strict=True)
            for row, number, log_prob in rows:
                if log_prob > -np.inf:
                    parent = int(self._growing[source, row])
                    candidates[int(row), int(number)] = len(nodes)
                    nodes.append(SearchNode(parent, time, int(number), float(log_prob), "dropped"))
            self._candidates[source] = candidates

    def ended(self, source: int, row: int, token: int, hypothesis: Hypothesis) -> None:
        """A candidate became a hypothesis, by its end or because it was cut off."""
        node = self._candidates[source][row, token]
        self._set_status(source, node, "ended" if hypothesis.ended else "cut", hypothesis.score)
        self._ends[source].append((hypothesis, node))

    def stuck(self, source: int, row: int, hypothesis: Hypothesis) -> None:
        """No token can follow the candidate in this row."""
        node = int(self._growing[source, row])
        if node >= 0:
            self._set_status(source, node, "cut", hypothesis.score)
        self._ends[source].append((hypothesis, node))

    def grow(
        self,
        sources: Int[np.ndarray, " sources"],
        origin: Int[np.ndarray, "sources width"],
        token: Int[np.ndarray, "sources width"],
        alive: Bool[np.ndarray, "sources width"],
        rows: Int[np.ndarray, "sources width"],
        leaving: Sequence[bool],
    ) -> None:
        """The candidates that are kept, and the rows of their sources in which they continue."""
        for index, source in enumerate(sources.tolist()):
            growing = np.full(rows.shape[1], -1)
            for rank in np.flatnonzero(alive[index]):
                candidate = int(origin[index, rank]), int(token[index, rank])
                node = self._candidates[source][candidate]
                if self._nodes[source][node].status == "dropped":
                    self._set_status(source, node, "cut" if leaving[index] else "grows")
                growing[rows[index, rank]] = node
            self._growing[source] = growing

    def trees(self, ranked: list[tuple[Hypothesis, ...]]) -> tuple[SearchTree, ...]:
        """The tree of each source, with the nodes that end its n-best list."""
        trees = []
        for nodes, ends, nbest in zip(self._nodes, self._ends, ranked, strict=True):
            last = [next(node for other, node in ends if other is one) for one in nbest]
            trees.append(SearchTree(tuple(nodes), tuple(last)))
        return tuple(trees)

    def _set_status(
        self, source: int, node: int, status: NodeStatus, score: float | None = None
    ) -> None:
        old = self._nodes[source][node]
        self._nodes[source][node] = SearchNode(
            old.parent, old.step, old.token, old.log_prob, status, score
        )


def beam_search(
    model: Generator, source: Sequences, settings: Search, prefix: Sequences | None = None
) -> Prediction:
    """Beam search (greedy with a beam of one): the best targets found for each source.

    At each step all candidates are continued by all tokens, and the `beam` best are kept. Those
    among the best that end are hypotheses, ranked by `FinishedHypotheses`. A source is done when as
    many have ended as the beam is wide and none that grows has a better score than the worst of
    them, when no growing candidate can do better, or at the limit. Then it leaves the batch, which
    makes the steps of the others faster.

    A prefix is forced: its tokens cost nothing and are no part of the output. `settings.prefix` is
    part of the output, and counts with its log-probability.
    """
    settings = replace(settings, limit=output_limit(model, settings.limit))
    prefix = prefix or Sequences.pad([np.zeros(0, dtype=np.int64)] * len(source))
    if is_greedy(settings):
        return greedy_search(model, source, settings, prefix)
    return _Beam(model, source, settings, prefix).search()


class _Candidates(NamedTuple):
    """Continuations of each source, best first: of candidate `origin` by `token`."""

    origin: Int[np.ndarray, "sources count"]
    token: Int[np.ndarray, "sources count"]
    total: Float[np.ndarray, "sources count"]

    def at(self, indices: Any) -> "_Candidates":
        return _Candidates(*(part[indices] for part in self))


class _Beam:
    """The growing candidates: `beam` rows for each source that is not done."""

    def __init__(
        self, model: Generator, source: Sequences, settings: Search, prefix: Sequences
    ) -> None:
        self.model, self.settings, self.lengths = model, settings, source.lengths
        self.constraints = Constraints(settings, prefix)
        self.finished = FinishedHypotheses(settings, len(source))
        self.width, self.time, self.has_moved = settings.beam, 0, False
        self.recorder = TreeRecorder(len(source), self.width) if settings.tree else None
        rows = len(source) * self.width
        self.sources = np.arange(len(source))
        self.totals = np.full((len(source), self.width), -np.inf)
        self.totals[:, 0] = 0.0  # all rows of a source are equal at first: only one may count
        self.last, self.history = np.full(rows, BEGIN), np.zeros((rows, 0), dtype=np.int64)
        self.state = repeat_rows(model.begin(source), self.width)
        has_coverage = settings.coverage_penalty > 0
        self.coverage = np.zeros((rows, source.values.shape[1])) if has_coverage else None

    def search(self) -> Prediction:
        """Step until no source is left."""
        while len(self.sources):
            check_cancelled()
            self._grow(*self._candidates(self._step()))
        ranked = self.finished.ranked()
        return Prediction.of(ranked, self.recorder.trees(ranked) if self.recorder else ())

    def _step(self) -> Float[np.ndarray, "rows vocabulary"]:
        if self.coverage is None:
            log_probs, self.state = self.model.step(self.last, self.state)
            return log_probs
        if not isinstance(self.model, Attends):
            raise no_attention_error(f"the model {type(self.model).__name__}")
        log_probs, self.state, weights = self.model.step_with_attention(self.last, self.state)
        self.coverage += weights
        return log_probs

    def _candidates(
        self, log_probs: Float[np.ndarray, "rows vocabulary"]
    ) -> tuple[_Candidates, Bool[np.ndarray, "sources count"]]:
        """The best continuations, and which of them end.

        Twice as many as the beam is wide: each candidate has one continuation that ends, so up to
        half of them may, and the beam stays full.
        """
        constraints, time = self.constraints, self.time
        columns = constraints.allowed_columns(log_probs, self.history[:, :time], self.sources)
        best = top_continuations(self.totals, columns, 2 * self.width)
        candidates = _Candidates(best.origin, constraints.tokens(best.column), best.total)
        is_end = (candidates.token == END) & (candidates.total > -np.inf)
        if time < constraints.forced_until:
            indices = np.flatnonzero(constraints.forced.lengths[self.sources] > time)
            self._force(indices, candidates, log_probs)
            is_end[indices] = False
        if self.recorder:
            self.recorder.step(time, self.sources, *candidates)
        return candidates, is_end

    def _force(
        self,
        indices: Int[np.ndarray, " forced"],
        candidates: _Candidates,
        log_probs: Float[np.ndarray, "rows vocabulary"],
    ) -> None:
        """Where a token is forced there is one candidate, in the first row of its source."""
        sources = self.sources[indices]
        tokens = self.constraints.forced.values[sources, self.time]
        costs = log_probs[indices * self.width, tokens]
        costs = np.where(self.constraints.prefix_lengths[sources] > self.time, 0.0, costs)
        candidates.total[indices] = -np.inf
        candidates.total[indices, 0] = self.totals[indices, 0] + costs
        candidates.origin[indices, 0], candidates.token[indices, 0] = 0, tokens

    def _finish(self, index: int, candidates: _Candidates, rank: int, *, ended: bool) -> None:
        """A candidate becomes a hypothesis."""
        source, origin = int(self.sources[index]), int(candidates.origin[index, rank])
        row, token = index * self.width + origin, int(candidates.token[index, rank])
        before = self.history[row, self.constraints.prefix_lengths[source] : self.time]
        total = float(candidates.total[index, rank])
        coverage = self._coverage_of(row, source)
        hypothesis = self.finished.add(source, np.append(before, token), total, coverage, ended)
        if self.recorder:
            self.recorder.ended(source, origin, token, hypothesis)

    def _coverage_of(self, row: int, source: int) -> Float[np.ndarray, " position"] | None:
        return None if self.coverage is None else self.coverage[row, : self.lengths[source]]

    def _grow(self, candidates: _Candidates, is_end: Bool[np.ndarray, "sources count"]) -> None:
        """Finish those of the best that end; continue the best of the rest, where sources do."""
        if is_end.any():
            # Only an end among the `beam` best counts: it must beat what the beam would keep.
            for index, rank in np.argwhere(is_end[:, : self.width]).tolist():
                self._finish(index, candidates, rank, ended=True)
            chosen = is_end.argsort(axis=1, kind="stable")[:, : self.width]
            kept = candidates.at((np.arange(len(chosen))[:, None], chosen))
        else:
            kept = candidates.at((slice(None), slice(self.width)))
        leaving = self._leaving(kept)
        alive = kept.total > -np.inf
        rows = _assign_rows(kept.origin, alive)
        if self.recorder:
            local = (rows % self.width, leaving.tolist())
            self.recorder.grow(self.sources, kept.origin, kept.token, alive, *local)
        self._move(kept, rows, leaving)

    def _leaving(self, kept: _Candidates) -> Bool[np.ndarray, " sources"]:
        """The sources that are done.

        At the limit, or where no token can follow, growing candidates fill the n-best list.
        """
        lengths = self.time + 1 - self.constraints.prefix_lengths[self.sources]
        growing = kept.total[:, 0]  # best first
        at_limit = lengths >= self.settings.limit
        for index in np.flatnonzero(at_limit).tolist():
            alive = int((kept.total[index] > -np.inf).sum())
            for rank in range(min(alive, self.finished.num_missing(int(self.sources[index])))):
                self._finish(index, kept, rank, ended=False)
        for index in np.flatnonzero(growing == -np.inf).tolist():
            if not self.finished.hypotheses[self.sources[index]]:
                self._finish_stuck(index)
        coverage = self._coverage_of_kept(kept)
        return at_limit | self.finished.are_done(self.sources, kept.total, lengths, coverage)

    def _coverage_of_kept(
        self, kept: _Candidates
    ) -> Float[np.ndarray, "sources width position"] | None:
        """The coverage of what grows on; padding of the source counts as covered."""
        if self.coverage is None:
            return None
        rows = kept.origin + (np.arange(len(kept.origin)) * self.width)[:, None]
        is_padding = np.arange(self.coverage.shape[1]) >= self.lengths[self.sources][:, None]
        return np.where(is_padding[:, None], 1.0, self.coverage[rows])

    def _finish_stuck(self, index: int) -> None:
        """No token can follow any candidate of a source: the best of them is its hypothesis."""
        source, best = int(self.sources[index]), int(self.totals[index].argmax())
        row = index * self.width + best
        tokens = self.history[row, self.constraints.prefix_lengths[source] : self.time].copy()
        total, coverage = float(self.totals[index, best]), self._coverage_of(row, source)
        hypothesis = self.finished.add(source, tokens, total, coverage, ended=False, is_stuck=True)
        if self.recorder:
            self.recorder.stuck(source, best, hypothesis)

    def _move(
        self,
        kept: _Candidates,
        rows: Int[np.ndarray, "sources width"],
        leaving: Bool[np.ndarray, " sources"],
    ) -> None:
        """Move every kept candidate to its row; the last sources fill the gaps of those leaving."""
        width, order, is_first = self.width, np.arange(len(leaving)), not self.has_moved
        if leaving.any():
            order = compact_order(~leaving)
            if not len(order):
                self.sources = self.sources[order]
                return
            rows = rows[order] + ((np.arange(len(order)) - order) * width)[:, None]
            kept, self.sources, self.has_moved = kept.at(order), self.sources[order], True
        size, rows = rows.size, rows.ravel()
        origin, self.last, totals = np.empty(size, int), np.empty(size, int), np.empty(size)
        origin[rows] = (kept.origin + (order * width)[:, None]).ravel()
        self.last[rows], totals[rows] = kept.token.ravel(), kept.total.ravel()
        self.totals = totals.reshape(-1, width)
        changed = (origin != np.arange(size)).nonzero()[0]
        self.state = reorder_state(self.state, order, origin, changed, is_first=is_first)
        self.history = reorder_rows(grow_history(self.history, self.time), origin, changed)
        self.history[:, self.time] = self.last
        if self.coverage is not None:
            self.coverage = reorder_rows(self.coverage, origin, changed)
        self.time += 1


def _assign_rows(
    origin: Int[np.ndarray, "sources width"], alive: Bool[np.ndarray, "sources width"]
) -> Int[np.ndarray, "sources width"]:
    """The row in which each candidate continues: its parent's own where it is the first child.

    So most states need no copying. Only a candidate that shares its parent with a better one moves,
    to the row of a parent without children.
    """
    sources, width = origin.shape
    parents = origin + np.arange(0, sources * width, width)[:, None]
    rank = np.arange(width)
    first = np.full(sources * width, -1)  # the best child of each row
    # Written in reverse: of several assignments to one index the last stays, which is the best.
    if alive.all():
        first[parents.ravel()[::-1]] = np.broadcast_to(rank[::-1], origin.shape).ravel()
    else:
        own, of = alive.nonzero()
        first[parents[own, of][::-1]] = of[::-1]
    stays = (first[parents] == rank) & alive
    parents[~stays] = (first < 0).nonzero()[0]  # as many of each source, in the same order
    return parents


def no_attention_error(name: str) -> ModelError:
    """The error for a coverage penalty where a model has no attention over its source."""
    return ModelError(
        "M190",
        f"{name} has no attention over its source, so a coverage penalty has no meaning",
        help=["leave the coverage penalty out, or choose a model with attention"],
    )


class FinishedHypotheses:
    """Finished hypotheses of each source, ranked with length and coverage penalty.

    score(y) = log p(y | x) / |y|^a + b Σ_s log min(Σ_t α_ts, 1)

    a is the length penalty, b the coverage penalty and α_ts the attention of step t to the source
    position s (Wu et al., 2016).
    """

    def __init__(self, settings: Search, sources: int) -> None:
        self.settings = settings
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in range(sources)]
        # Scores of the `beam` best that have ended, ascending, and what they say about the end:
        self._kept: list[list[float]] = [[] for _ in range(sources)]
        self._to_beat = np.full(sources, -inf)  # score of the nbest-th
        self._worst_kept = np.full(sources, -inf)  # score of the last, once there are `beam`

    def add(
        self,
        source: int,
        tokens: Int[np.ndarray, " time"],
        log_prob: float,
        coverage: Float[np.ndarray, " position"] | None = None,
        ended: bool = True,
        is_stuck: bool = False,
    ) -> Hypothesis:
        """Score a hypothesis and add it; `coverage` is the attention summed over steps."""
        score = log_prob / self._scale(len(tokens))
        if coverage is not None:
            score += float(self._coverage_penalty(coverage))
        hypothesis = Hypothesis(tokens, log_prob, score, ended, is_stuck)
        self.hypotheses[source].append(hypothesis)
        if ended:
            self._keep(source, score)
        return hypothesis

    def _keep(self, source: int, score: float) -> None:
        """Note the score of a hypothesis that has ended, if it is among the `beam` best."""
        kept = self._kept[source]
        insort(kept, score)
        if len(kept) >= self.settings.nbest:
            self._to_beat[source] = kept[-self.settings.nbest]
        if len(kept) >= self.settings.beam:
            del kept[: -self.settings.beam]
            self._worst_kept[source] = kept[0]

    def are_done(
        self,
        sources: Int[np.ndarray, " sources"],
        growing: Float[np.ndarray, "sources width"],
        lengths: Int[np.ndarray, " sources"],
        coverage: Float[np.ndarray, "sources width position"] | None = None,
    ) -> Bool[np.ndarray, " sources"]:
        """Whether what grows, after so many tokens, is beaten or cannot reach the n-best list."""
        beaten = self._are_beaten(sources, growing, lengths, coverage)
        return beaten | self._cannot_improve(sources, growing.max(1), lengths)

    def _are_beaten(
        self,
        sources: Int[np.ndarray, " sources"],
        growing: Float[np.ndarray, "sources width"],
        lengths: Int[np.ndarray, " sources"],
        coverage: Float[np.ndarray, "sources width position"] | None,
    ) -> Bool[np.ndarray, " sources"]:
        """Whether `beam` have ended, and nothing that grows is better than the worst of them.

        What grows counts with its score at its present length. How many have ended says nothing by
        itself: where a model is sure, improbable early ends fill the beam while the right output
        still grows.
        """
        scale = np.maximum(lengths, 1.0) ** self.settings.length_penalty
        scores = growing / scale[:, None]
        if coverage is not None:
            scores = scores + self._coverage_penalty(coverage)
        return self._worst_kept[sources] >= scores.max(1)

    def _cannot_improve(
        self,
        sources: Int[np.ndarray, " sources"],
        growing: Float[np.ndarray, " sources"],
        lengths: Int[np.ndarray, " sources"],
    ) -> Bool[np.ndarray, " sources"]:
        """Whether the best that grows must stay below the n-best list.

        Log-probabilities only fall, and the coverage penalty is never positive. So a candidate with
        the log-probability `growing` after `lengths` tokens ends with a score of at most
        growing / max_n n^a, where n is any length it may still reach: the limit if n^a rises, the
        next length if it falls.
        """
        settings = self.settings
        ends = np.full(len(lengths), float(settings.limit))
        if settings.length_penalty < 0:
            ends = np.maximum(lengths + 1.0, 1.0)
        scale = ends**settings.length_penalty
        return self._to_beat[sources] >= growing / scale

    def _coverage_penalty(
        self, coverage: Float[np.ndarray, "*shape position"]
    ) -> Float[np.ndarray, "*shape"]:
        logs = np.log(np.clip(coverage, MIN_COVERAGE, 1))
        return np.asarray(self.settings.coverage_penalty * logs.sum(-1))

    def num_missing(self, source: int) -> int:
        """How many hypotheses are missing from the n-best list."""
        return self.settings.nbest - len(self.hypotheses[source])

    def ranked(self) -> list[tuple[Hypothesis, ...]]:
        """The n-best list of each source; those that have ended precede those cut by the limit."""
        order = [
            sorted(finished, key=lambda h: (h.ended, h.score), reverse=True)
            for finished in self.hypotheses
        ]
        return [tuple(finished[: self.settings.nbest]) for finished in order]

    def _scale(self, length: int) -> float:
        return float(max(1, length) ** self.settings.length_penalty)
