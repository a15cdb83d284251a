"""Greedy and beam search, for any `Generator`: n-gram, recurrent or attention alike."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Sequences
from ..forms import BEGIN, END, PAD
from ..model import Generator, Prediction, Search, State, Still


def search(
    model: Generator, source: Sequences, settings: Search, prefix: Sequences | None = None
) -> Prediction:
    """The most probable target that a beam finds for each source.

    score(y) = log p(y | x) / |y|^penalty

    A prefix is forced: its symbols are taken as they are, at no cost, and are not part of the
    answer. Sources whose search has ended leave the batch, so that the rest goes on quicker.
    """
    prefix = prefix or Sequences.pad([np.zeros(0, dtype=np.int64)] * len(source))
    finished = _Finished(settings, prefix.lengths, [[] for _ in range(len(source))])
    beams = _start(model, source, settings.beam)
    longest = settings.limit + int(prefix.lengths.max(initial=0))
    while len(beams.rows) and beams.time < longest:
        log_probs, state = model.step(beams.symbols[:, :, -1].ravel(), beams.state)
        candidates = _candidates(beams, _allowed(log_probs, beams, prefix))
        done = finished.collect(beams, candidates)
        beams = _grow(beams, candidates, state, ~done)
    finished.cut_off(beams)
    best = [max(found, key=lambda hypothesis: hypothesis.score) for found in finished.found]
    return Prediction(
        Sequences.pad([hypothesis.symbols for hypothesis in best]),
        np.array([hypothesis.log_prob for hypothesis in best], dtype=np.float64),
    )


@dataclass(frozen=True)
class _Beams:
    """The candidates still growing: `width` for each source that has not ended."""

    rows: Int[np.ndarray, " batch"]
    symbols: Int[np.ndarray, "batch width time"]
    scores: Float[np.ndarray, "batch width"]
    state: State

    @property
    def time(self) -> int:
        """How many symbols each candidate has, its BEGIN not counted."""
        return int(self.symbols.shape[2]) - 1


@dataclass(frozen=True)
class _Candidates:
    """Each source's best continuations, best first: whom they continue, and by which symbol."""

    origin: Int[np.ndarray, "batch count"]
    symbol: Int[np.ndarray, "batch count"]
    score: Float[np.ndarray, "batch count"]


@dataclass(frozen=True)
class _Hypothesis:
    """A finished candidate: its symbols, its log-probability, and the score that ranks it."""

    symbols: Int[np.ndarray, " time"]
    log_prob: float
    score: float


@dataclass(frozen=True)
class _Finished:
    """The hypotheses that have ended, by source."""

    settings: Search
    skip: Int[np.ndarray, " batch"]
    found: list[list[_Hypothesis]] = field(default_factory=list)

    def collect(self, beams: _Beams, candidates: _Candidates) -> Bool[np.ndarray, " batch"]:
        """Keep what ends among the best `beam` candidates; true for sources that are done."""
        width = self.settings.beam
        ended = candidates.symbol[:, :width] == END
        ended &= np.isfinite(candidates.score[:, :width])
        for place, rank in zip(*np.nonzero(ended), strict=True):
            history = beams.symbols[place, candidates.origin[place, rank]]
            score = float(candidates.score[place, rank])
            self._add(int(beams.rows[place]), np.append(history, END), score)
        growing = np.where(candidates.symbol == END, -np.inf, candidates.score).max(1)
        return np.array(
            [
                self._is_done(*pair)
                for pair in zip(beams.rows.tolist(), growing.tolist(), strict=True)
            ],
            dtype=bool,
        )

    def cut_off(self, beams: _Beams) -> None:
        """Where the limit came before any end, take the best of what there is."""
        for place, row in enumerate(beams.rows.tolist()):
            if not self.found[row]:
                self._add(row, beams.symbols[place, 0], float(beams.scores[place, 0]))

    def _add(self, row: int, symbols: np.ndarray, log_prob: float) -> None:
        answer = symbols[1 + self.skip[row] :]
        score = log_prob / self._scale(len(answer))
        self.found[row].append(_Hypothesis(answer, log_prob, score))

    def _is_done(self, row: int, growing: float) -> bool:
        """As many have ended as the beam is wide, or nothing that grows can be better."""
        found = self.found[row]
        if not found:
            return False
        hope = growing / self._scale(self.settings.limit)
        return len(found) >= self.settings.beam or max(h.score for h in found) >= hope

    def _scale(self, length: int) -> float:
        return float(max(1, length) ** self.settings.length_penalty)


def _start(model: Generator, source: Sequences, width: int) -> _Beams:
    rows = np.arange(len(source))
    scores = np.full((len(source), width), -np.inf)
    scores[:, 0] = 0.0  # all candidates are the same at first: only one may count
    symbols = np.full((len(source), width, 1), BEGIN)
    return _Beams(rows, symbols, scores, _reorder(model.begin(source), rows, rows.repeat(width)))


def _allowed(
    log_probs: Float[np.ndarray, "rows vocabulary"], beams: _Beams, prefix: Sequences
) -> Float[np.ndarray, "batch width vocabulary"]:
    """No padding and no second begin; where a prefix goes on, its symbol alone, at no cost."""
    shaped = log_probs.reshape(*beams.scores.shape, -1).copy()
    shaped[:, :, [PAD, BEGIN]] = -np.inf
    forced = np.flatnonzero(prefix.lengths[beams.rows] > beams.time)
    if len(forced):
        shaped[forced] = -np.inf
        shaped[forced, :, prefix.values[beams.rows[forced], beams.time]] = 0.0
    return shaped


def _candidates(
    beams: _Beams, log_probs: Float[np.ndarray, "batch width vocabulary"]
) -> _Candidates:
    """Twice the width, because up to half of them may end."""
    batch, width, vocabulary = log_probs.shape
    totals = (beams.scores[..., None] + log_probs).reshape(batch, -1)
    count = min(2 * width, totals.shape[1])
    best = np.argpartition(-totals, count - 1, axis=1)[:, :count]
    order = np.take_along_axis(-totals, best, axis=1).argsort(axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    return _Candidates(
        best // vocabulary, best % vocabulary, np.take_along_axis(totals, best, axis=1)
    )


def _grow(beams: _Beams, candidates: _Candidates, state: State, kept: np.ndarray) -> _Beams:
    """The best candidates that have not ended, for the sources that are kept."""
    width = beams.scores.shape[1]
    ended = candidates.symbol[kept] == END
    chosen = ended.argsort(axis=1, kind="stable")[:, :width]
    pick = lambda array: np.take_along_axis(array[kept], chosen, axis=1)  # noqa: E731
    origin, symbol = pick(candidates.origin), pick(candidates.symbol)
    scores = np.where(np.take_along_axis(ended, chosen, axis=1), -np.inf, pick(candidates.score))
    history = np.take_along_axis(beams.symbols[kept], origin[..., None], axis=1)
    symbols = np.concatenate([history, symbol[..., None]], axis=2)
    sources = np.flatnonzero(kept)
    order = (origin + sources[:, None] * width).ravel()
    return _Beams(beams.rows[kept], symbols, scores, _reorder(state, sources, order))


def _reorder(
    state: State, sources: Int[np.ndarray, " sources"], order: Int[np.ndarray, " rows"]
) -> State:
    """The state of these sources and candidates; what stays as it is is not copied."""
    return tuple(_chosen(part, sources if isinstance(part, Still) else order) for part in state)


def _chosen(part: Any, rows: Int[np.ndarray, " rows"]) -> Any:
    values = part.values if isinstance(part, Still) else part
    stays = len(rows) == len(values) and bool((rows == np.arange(len(rows))).all())
    return part if stays else part[rows]
