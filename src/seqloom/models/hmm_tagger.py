"""Hidden Markov model of labels that were seen in training: counted, not trained."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Prediction, Search, Walked, Weights
from ..prediction import Hypothesis
from ..signature import UNKNOWN, Columns, Form, Labels, Letters, Signature, Tokens
from ..statistical.hmm import compiled
from ..statistical.hmm.chain import Lattice, Places
from ..statistical.ngram.smoothing import NEVER_SEEN, interpolated
from ..statistical.ngram.suffixes import Endings

MOST = 1 << 24  # moves that are counted; several arrays of so many numbers are held at once
RARE = 10  # words seen no more often than this tell what endings mean


@dataclass(frozen=True)
class Seen:
    """How often labels stood in a row, and every word with its letters and its label.

    Two of them can be added; rows of words are then only kept side by side.
    """

    runs: Float[np.ndarray, "*labels"]
    rows: tuple[Int[np.ndarray, "_ columns"], ...]  # word, letters, label, and how often

    def __add__(self, other: "Seen") -> "Seen":
        return Seen(self.runs + other.runs, self.rows + other.rows)


def fold(rows: Int[np.ndarray, "_ columns"]) -> Int[np.ndarray, "_ columns"]:
    """Different rows, and in the last column how often each was seen."""
    distinct, which = np.unique(rows[:, :-1], axis=0, return_inverse=True)
    times = np.bincount(which.ravel(), rows[:, -1], len(distinct)).astype(np.int64)
    return np.column_stack([distinct, times])


class HiddenMarkov(Model):
    """Labels follow one another, and each word is what a label looks like; all is counted.

    p(y, x) = Π_t p(y_t | y_{t-2}, y_{t-1}) p(x_t | y_t) · p(end | y_{T-1}, y_T)
    p(y | x) = p(y, x) / Σ_y' p(y', x)                                  summed over all paths
    p(x_t | y_t) ∝ p(y_t | x_t) / p(y_t)
    p(y | x) = (f(x, y) + s · p(y | ending of x)) / (f(x) + s)          s the smoothing

    Moves are interpolated between all lengths of context, and what a word never seen may be is told
    by its last letters, as in TnT (Brants, 2000). Sums over all paths and the best path are exact.

    Args:
        order: How many labels back a label depends on: 1 or 2.
        smoothing: How many times every known word counts as seen with the labels that its ending
            suggests; 0 lets a word have only labels it was seen with.
        case: Whether labels of words with a capital first are told apart from those of others, in
            what follows what; where a task gives letters.
        decoding: What is found: the likeliest labels together (viterbi), or at each place the
            likeliest label whatever others are (posterior).
    """

    forms = frozenset({Form.EACH})
    reads = frozenset({Tokens, Labels, Columns})
    writes = frozenset({Labels})

    def __init__(
        self,
        signature: Signature,
        *,
        order: int = 2,
        smoothing: float = 1.0,
        case: bool = True,
        decoding: Literal["viterbi", "posterior"] = "viterbi",
    ) -> None:
        super().__init__(signature)
        if order not in (1, 2):
            raise _wrong(f"order = {order}: a label depends on one or two before it", "order=2")
        if smoothing < 0:
            raise _wrong(f"smoothing = {smoothing:g} must not be negative", "smoothing=1")
        self.order, self.smoothing, self.decoding = order, smoothing, decoding
        self._letters, words, target = _parts(signature)
        self.labels, self._pairs = target.size, target.barred
        self._capitals = sorted(self._letters.capitals) if case and self._letters else []
        self.states = self.labels * (2 if self._capitals else 1)  # a label, with a capital or not
        if (self.states + 1) ** (order + 1) > MOST:
            raise _wrong(
                f"order = {order}: with {self.labels:,} labels there are too many moves to count",
                f"order={max(1, order - 1)}" if order > 1 else "case=false",
            )
        even = np.full((self.states + 1,) * (order + 1), 1 / (self.states + 1))
        prior = np.full(self.states, 1 / self.states)
        endings = Endings.none(self._letters.size if self._letters else 1, self.labels)
        self._take(even, prior, np.zeros((words, self.labels)), endings)

    def statistics(self, batch: Batch) -> Seen:
        rows, labels = self._rows(batch.source), batch.target.values[batch.target.mask]
        counts = np.zeros((self.states + 1,) * (self.order + 1))
        np.add.at(counts, self._runs(self._states(batch), batch.target.lengths), 1)
        return Seen(counts, (fold(np.column_stack([rows, labels, np.ones_like(labels)])),))

    def update(self, statistics: Seen) -> None:
        rows = fold(np.concatenate(statistics.rows))
        labels, times = rows[:, -2], rows[:, -1]
        words = np.zeros_like(self._words)
        np.add.at(words, (rows[:, 0], labels), times)
        if self._letters:  # what an unknown word is, its letters tell
            words[UNKNOWN] = 0
        kinds, which = np.unique(rows[:, :-2], axis=0, return_inverse=True)
        each = np.zeros((len(kinds), self.labels))
        np.add.at(each, (which.ravel(), labels), times)
        kinds, each = kinds[each.sum(1) <= RARE], each[each.sum(1) <= RARE]
        letters = kinds[:, 1:] if self._letters else np.zeros((len(kinds), 1), dtype=np.int64)
        endings = Endings.of(self._endings.size, letters, self._is_capital(kinds), each)
        seen = statistics.runs.sum(axis=tuple(range(self.order)))[:-1] + NEVER_SEEN
        self._take(interpolated(statistics.runs)[0], seen / seen.sum(), words, endings)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        places, lengths, states = (
            self._places(batch.source),
            batch.target.lengths,
            self._states(batch),
        )
        mask, seen = batch.target.mask, np.zeros(batch.target.values.shape)
        seen[mask] = places.table[places.which, states[mask]]
        moves = self._log_moves[self._runs(states, lengths)]
        owners = np.repeat(np.arange(len(lengths)), (lengths + 1) * (lengths > 0))
        scores = np.bincount(owners, moves, len(lengths)) + seen.sum(1)
        return _given(scores, compiled.totals(self._lattice, places))

    def predict(self, source: Sequences, search: Search) -> Prediction:
        if search.nbest > 1:
            return Prediction.of(self.best_labels(source, search.nbest))
        places = self._places(source)
        chances = self._chances(source, places) if search.chances else None
        if self.decoding == "posterior":
            found = self._chances(source, places).argmax(-1)
            log_probs = self.log_prob(Batch(source, Sequences(found, source.lengths)))
        else:
            path, scores = compiled.viterbi(self._lattice, places)
            found = np.zeros(source.values.shape[:2], dtype=np.int64)
            found[source.mask] = self._lattice.seen[path] % self.labels
            log_probs = _given(scores, compiled.totals(self._lattice, places))
        return Prediction(Sequences(found, source.lengths), log_probs, chances=chances)

    def posteriors(
        self, source: Sequences, heard: Bool[np.ndarray, "batch time"]
    ) -> Float[np.ndarray, "batch time labels"]:
        """The chances of all labels at each place; what is not heard fits all labels alike."""
        places = self._places(source)
        table = np.concatenate([places.table, np.zeros((1, self.states))])
        which = np.where(heard[source.mask], places.which, len(places.table))
        return self._chances(source, Places(table, which, source.lengths))

    def walked(self, source: Sequences) -> Walked:
        """What the words of a sentence say of its labels, which are the states."""
        one = Sequences(source.values[:1, : source.lengths[0]], source.lengths[:1])
        places = self._places(one)
        states = compiled.filtered(self._lattice, places)
        filtered = states.reshape(len(states), -1, self.labels).sum(1)
        path, _ = compiled.viterbi(self._lattice, places)
        found = self._lattice.seen[path] % self.labels
        return Walked(filtered, self._chances(one, places)[0], found)

    def best_labels(self, source: Sequences, count: int) -> list[tuple[Hypothesis, ...]]:
        """The likeliest sequences of labels for each source, the best first."""
        places = self._places(source)
        totals = compiled.totals(self._lattice, places).tolist()
        ranked = compiled.best_paths(self._lattice, places, count)
        return [
            tuple(
                Hypothesis(self._lattice.seen[path] % self.labels, score - total, score - total)
                for path, score in paths
            )
            for paths, total in zip(ranked, totals, strict=True)
        ]

    def weights(self) -> Weights:
        endings = {"endings.codes": self._endings.codes, "endings.chances": self._endings.chances}
        return {"moves": self._moves, "prior": self._prior, "words": self._words, **endings}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(
            weights[name].shape != mine[name].shape for name in ("moves", "prior", "words")
        ):
            raise ModelError("M111", "the counts do not fit this hidden Markov model")
        codes, chances = weights["endings.codes"], weights["endings.chances"]
        endings = Endings(self._endings.size, codes, chances)
        self._take(weights["moves"], weights["prior"], weights["words"], endings)

    def _take(
        self,
        moves: Float[np.ndarray, "*labels"],
        prior: Float[np.ndarray, " states"],
        words: Float[np.ndarray, "words labels"],
        endings: Endings,
    ) -> None:
        """Keep what was learned, and make the lattice of it."""
        self._moves, self._prior, self._words, self._endings = moves, prior, words, endings
        possible = np.where(self._barred(), 0.0, moves)
        with np.errstate(divide="ignore"):
            log = np.log(possible / np.maximum(possible.sum(-1, keepdims=True), 1e-300))
        self._log_moves, n = log, self.states
        if self.order == 1:
            self._lattice = Lattice.of(log[n, :n], log[:n, :n], log[:n, n])
        else:
            last = np.concatenate([log[:n, :n, n], log[n:, :n, n]])
            self._lattice = Lattice.of_pairs(log[n, n, :n], log[n, :n, :n], log[:n, :n, :n], last)

    def _barred(self) -> Bool[np.ndarray, "before now"]:
        """True for pairs of states that never stand side by side, the last being the borders."""
        size, found = self.labels, np.zeros((self.states + 1,) * 2, dtype=bool)
        states = [[*range(label, self.states, size)] for label in range(size)] + [[self.states]]
        for before, now in self._pairs:
            found[np.ix_(states[before], states[now])] = True
        return found

    def _rows(self, source: Sequences) -> Int[np.ndarray, "places columns"]:
        """The word at each real place, and its letters where there are any."""
        values = source.values[source.mask]
        if values.ndim == 1:
            return values[:, None]
        return values[:, : 1 + (self._letters.length if self._letters else 0)]

    def _is_capital(self, rows: Int[np.ndarray, "places columns"]) -> Int[np.ndarray, " places"]:
        """1 where a word begins with a capital."""
        if not self._capitals:
            return np.zeros(len(rows), dtype=np.int64)
        return np.isin(rows[:, 1], self._capitals).astype(np.int64)

    def _states(self, batch: Batch) -> Int[np.ndarray, "batch time"]:
        """The state at each place; the number after the last where there is none."""
        found, mask = np.full(batch.target.values.shape, self.states), batch.target.mask
        capital = self._is_capital(self._rows(batch.source))
        found[mask] = batch.target.values[mask] + self.labels * capital
        return found

    def _runs(
        self, states: Int[np.ndarray, "batch time"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Int[np.ndarray, " runs"], ...]:
        """All runs of states as long as the order and one more, from the beginning to the end."""
        border = np.full((len(states), self.order), self.states)
        whole = np.concatenate([border, states, border[:, :1]], axis=1)
        time = states.shape[1] + 1
        real = (np.arange(time) <= lengths[:, None]) & (lengths > 0)[:, None]
        return tuple(whole[:, start : start + time][real] for start in range(self.order + 1))

    def _places(self, source: Sequences) -> Places:
        """How well each word fits each state: log p(y | x) - log p(y), a row for each word."""
        rows, which = np.unique(self._rows(source), axis=0, return_inverse=True)
        letters = rows[:, 1:] if self._letters else np.zeros((len(rows), 1), dtype=np.int64)
        capital, seen = self._is_capital(rows), self._words[rows[:, 0]]
        guessed = self._endings.of_words(letters, capital)
        some = self.smoothing + (seen.sum(1, keepdims=True) == 0)
        share = (seen + some * guessed) / (seen.sum(1, keepdims=True) + some)
        table = np.full((len(rows), self.states), -np.inf)
        with np.errstate(divide="ignore"):
            for flag in range(self.states // self.labels):
                here = slice(flag * self.labels, (flag + 1) * self.labels)
                fits = np.log(share) - np.log(self._prior[here])
                table[:, here] = np.where(capital[:, None] == flag, fits, -np.inf)
        return Places(table, which.ravel(), source.lengths)

    def _chances(self, source: Sequences, places: Places) -> Float[np.ndarray, "batch time labels"]:
        found = np.zeros((*source.values.shape[:2], self.labels))
        states = compiled.posteriors(self._lattice, places).chances
        found[source.mask] = states.reshape(len(states), -1, self.labels).sum(1)
        return found


def _parts(signature: Signature) -> tuple[Letters | None, int, Labels]:
    """The letters that a source has, how many words there are, and the labels."""
    source, target = signature.source, signature.target
    if not isinstance(target, Labels) or not isinstance(source, Tokens | Labels | Columns):
        raise TypeError("a hidden Markov model reads symbols and gives each a label")
    if not isinstance(source, Columns):
        return None, source.size, target
    letters = next((part for part in source.parts if isinstance(part, Letters)), None)
    return letters, source.parts[0].size, target


def _given(
    scores: Float[np.ndarray, " batch"], totals: Float[np.ndarray, " batch"]
) -> Float[np.ndarray, " batch"]:
    """log p(y | x); -inf where no labels can be at all."""
    return np.where(totals > -np.inf, scores - np.where(totals > -np.inf, totals, 0.0), -np.inf)


def _wrong(problem: str, example: str) -> ModelError:
    return ModelError("M300", f"model.{problem}", help=[f"--set model.{example}"])
