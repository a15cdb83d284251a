"""HMM tagger: a hidden Markov model estimated from labelled data (part-of-speech tagging)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Prediction, Search, StatePosterior, Weights
from ..prediction import Hypothesis
from ..signature import UNKNOWN, Columns, Form, Labels, Letters, Signature, Tokens
from ..statistical.hmm import compiled
from ..statistical.hmm.chain import EmissionScores, LinearChain
from ..statistical.ngram.smoothing import UNSEEN_COUNT, deleted_interpolation
from ..statistical.ngram.suffixes import SuffixModel

MAX_TRANSITIONS = 1 << 24  # entries of the transition counts; several such arrays are in memory
RARE = 10  # words with at most this count train the suffix model


@dataclass(frozen=True)
class TagCounts:
    """Sufficient statistics: counts of label n-grams, and of words with their labels.

    Adding two of them only concatenates the rows of words; they are summed in `update`.
    """

    ngrams: Float[np.ndarray, "*labels"]
    rows: tuple[Int[np.ndarray, "_ columns"], ...]  # word, letters, label, count

    def __add__(self, other: "TagCounts") -> "TagCounts":
        return TagCounts(self.ngrams + other.ngrams, self.rows + other.rows)


def sum_counts(rows: Int[np.ndarray, "_ columns"]) -> Int[np.ndarray, "_ columns"]:
    """Distinct rows, with the sum of their counts in the last column."""
    distinct, which = np.unique(rows[:, :-1], axis=0, return_inverse=True)
    counts = np.bincount(which.ravel(), rows[:, -1], len(distinct)).astype(np.int64)
    return np.column_stack([distinct, counts])


class HMMTagger(Model):
    """Hidden Markov model for sequence labelling, with a suffix model (TnT; Brants, 2000).

    p(y, x) = Π_t p(y_t | y_{t-2}, y_{t-1}) p(x_t | y_t) · p(end | y_{T-1}, y_T)
    p(y | x) = p(y, x) / Σ_y' p(y', x)                                  forward algorithm
    p(x_t | y_t) ∝ p(y_t | x_t) / p(y_t)
    p(y | x) = (f(x, y) + s · p(y | suffix of x)) / (f(x) + s)          s is the smoothing

    All probabilities are estimated from counts of labelled data. Transition probabilities are
    interpolated between n-gram orders, and emissions of unknown words come from their suffixes, as
    in TnT. Inference is exact.

    Args:
        order: Order of the Markov chain of labels: 1 (bigrams) or 2 (trigrams).
        smoothing: Pseudocount of the labels that a word's suffix suggests; 0 allows a known word
            only labels it had in training.
        case: Split every state into one for capitalised words and one for others, if the task gives
            letters.
        decoding: The most probable sequence of labels (viterbi), or the most probable label at each
            position (posterior).
    """

    forms = frozenset({Form.EACH})
    source_spaces = frozenset({Tokens, Labels, Columns})
    target_spaces = frozenset({Labels})
    learns = "closed form (counts of tags and words, smoothed)"

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
            raise _wrong(f"order = {order}: expected 1 or 2", "order=2")
        if smoothing < 0:
            raise _wrong(f"smoothing = {smoothing:g} must not be negative", "smoothing=1")
        self.order, self.smoothing, self.decoding = order, smoothing, decoding
        self._letters, words, target = _parts(signature)
        self.labels, self._pairs = target.size, target.forbidden
        self._capitals = sorted(self._letters.capitals) if case and self._letters else []
        self.states = self.labels * (
            2 if self._capitals else 1
        )  # a label, of a capitalised word or another
        if (self.states + 1) ** (order + 1) > MAX_TRANSITIONS:
            raise _wrong(
                f"order = {order}: {self.labels:,} labels have too many transitions to count",
                f"order={max(1, order - 1)}" if order > 1 else "case=false",
            )
        uniform = np.full((self.states + 1,) * (order + 1), 1 / (self.states + 1))
        prior = np.full(self.states, 1 / self.states)
        endings = SuffixModel.uniform(self._letters.size if self._letters else 1, self.labels)
        self._set(uniform, prior, np.zeros((words, self.labels)), endings)

    def statistics(self, batch: Batch) -> TagCounts:
        rows, labels = self._rows(batch.source), batch.target.values[batch.target.mask]
        counts = np.zeros((self.states + 1,) * (self.order + 1))
        np.add.at(counts, self._ngrams(self._states(batch), batch.target.lengths), 1)
        return TagCounts(
            counts, (sum_counts(np.column_stack([rows, labels, np.ones_like(labels)])),)
        )

    def update(self, statistics: TagCounts) -> None:
        rows = sum_counts(np.concatenate(statistics.rows))
        labels, counts = rows[:, -2], rows[:, -1]
        words = np.zeros_like(self._words)
        np.add.at(words, (rows[:, 0], labels), counts)
        if self._letters:  # the label of an unknown word comes from its suffix alone
            words[UNKNOWN] = 0
        types, which = np.unique(rows[:, :-2], axis=0, return_inverse=True)
        by_type = np.zeros((len(types), self.labels))
        np.add.at(by_type, (which.ravel(), labels), counts)
        # Rare words are most like unknown ones, so they alone train the suffix model (Brants).
        types, by_type = types[by_type.sum(1) <= RARE], by_type[by_type.sum(1) <= RARE]
        letters = types[:, 1:] if self._letters else np.zeros((len(types), 1), dtype=np.int64)
        endings = SuffixModel.from_counts(
            self._endings.size, letters, self._is_capital(types), by_type
        )
        unigrams = statistics.ngrams.sum(axis=tuple(range(self.order)))[:-1] + UNSEEN_COUNT
        transitions = deleted_interpolation(statistics.ngrams)[0]
        self._set(transitions, unigrams / unigrams.sum(), words, endings)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        emissions, lengths, states = (
            self._emission_scores(batch.source),
            batch.target.lengths,
            self._states(batch),
        )
        mask, emission_scores = batch.target.mask, np.zeros(batch.target.values.shape)
        emission_scores[mask] = emissions.table[emissions.index, states[mask]]
        transitions = self._log_transitions[self._ngrams(states, lengths)]
        rows = np.repeat(np.arange(len(lengths)), (lengths + 1) * (lengths > 0))
        scores = np.bincount(rows, transitions, len(lengths)) + emission_scores.sum(1)
        return _conditional(scores, compiled.log_partitions(self._chain, emissions))

    def predict(self, source: Sequences, search: Search) -> Prediction:
        if search.nbest > 1:
            return Prediction.of(self.best_labels(source, search.nbest))
        emissions = self._emission_scores(source)
        probabilities = self._label_probabilities(source, emissions) if search.chances else None
        if self.decoding == "posterior":
            labels = self._label_probabilities(source, emissions).argmax(-1)
            log_probs = self.log_prob(Batch(source, Sequences(labels, source.lengths)))
        else:
            path, scores = compiled.viterbi(self._chain, emissions)
            labels = np.zeros(source.values.shape[:2], dtype=np.int64)
            labels[source.mask] = self._chain.column[path] % self.labels
            log_probs = _conditional(scores, compiled.log_partitions(self._chain, emissions))
        target = Sequences(labels, source.lengths)
        return Prediction(target, log_probs, probabilities=probabilities)

    def posteriors(
        self, source: Sequences, observed: Bool[np.ndarray, "batch time"]
    ) -> Float[np.ndarray, "batch time labels"]:
        """Posterior label probabilities; tokens that are not observed fit all labels alike."""
        emissions = self._emission_scores(source)
        table = np.concatenate([emissions.table, np.zeros((1, self.states))])
        which = np.where(observed[source.mask], emissions.index, len(emissions.table))
        return self._label_probabilities(source, EmissionScores(table, which, source.lengths))

    def infer_states(self, source: Sequences) -> StatePosterior:
        """Filtering, smoothing and Viterbi path of a sentence; the states are its labels."""
        one = Sequences(source.values[:1, : source.lengths[0]], source.lengths[:1])
        emissions = self._emission_scores(one)
        states = compiled.filtered_marginals(self._chain, emissions)
        filtered = states.reshape(len(states), -1, self.labels).sum(1)
        path, _ = compiled.viterbi(self._chain, emissions)
        labels = self._chain.column[path] % self.labels
        return StatePosterior(filtered, self._label_probabilities(one, emissions)[0], labels)

    def best_labels(self, source: Sequences, count: int) -> list[tuple[Hypothesis, ...]]:
        """The most probable sequences of labels of each source, best first (k-best Viterbi)."""
        emissions = self._emission_scores(source)
        totals = compiled.log_partitions(self._chain, emissions).tolist()
        ranked = compiled.best_paths(self._chain, emissions, count)
        return [
            tuple(
                Hypothesis(self._chain.column[path] % self.labels, score - total, score - total)
                for path, score in paths
            )
            for paths, total in zip(ranked, totals, strict=True)
        ]

    def weights(self) -> Weights:
        endings = {
            "endings.codes": self._endings.codes,
            "endings.chances": self._endings.probabilities,
        }
        return {"moves": self._transitions, "prior": self._prior, "words": self._words, **endings}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(
            weights[name].shape != mine[name].shape for name in ("moves", "prior", "words")
        ):
            raise ModelError("M111", "the weights do not fit this hidden Markov model")
        codes, probabilities = weights["endings.codes"], weights["endings.chances"]
        endings = SuffixModel(self._endings.size, codes, probabilities)
        self._set(weights["moves"], weights["prior"], weights["words"], endings)

    def _set(
        self,
        transitions: Float[np.ndarray, "*labels"],
        prior: Float[np.ndarray, " states"],
        words: Float[np.ndarray, "words labels"],
        endings: SuffixModel,
    ) -> None:
        """Set the parameters, and the lattice of log-probabilities that follows from them."""
        self._transitions, self._prior = transitions, prior
        self._words, self._endings = words, endings
        possible = np.where(self._forbidden(), 0.0, transitions)
        with np.errstate(divide="ignore"):
            log = np.log(possible / np.maximum(possible.sum(-1, keepdims=True), 1e-300))
        self._log_transitions, n = log, self.states
        if self.order == 1:
            self._chain = LinearChain.first_order(log[n, :n], log[:n, :n], log[:n, n])
        else:
            last = np.concatenate([log[:n, :n, n], log[n:, :n, n]])
            self._chain = LinearChain.second_order(
                log[n, n, :n], log[n, :n, :n], log[:n, :n, :n], last
            )

    def _forbidden(self) -> Bool[np.ndarray, "before now"]:
        """True for transitions that the label scheme forbids; the last index is the border."""
        size, forbidden = self.labels, np.zeros((self.states + 1,) * 2, dtype=bool)
        states = [[*range(label, self.states, size)] for label in range(size)] + [[self.states]]
        for before, now in self._pairs:
            forbidden[np.ix_(states[before], states[now])] = True
        return forbidden

    def _rows(self, source: Sequences) -> Int[np.ndarray, "positions columns"]:
        """The word at each real position, with its letters if there are any."""
        values = source.values[source.mask]
        if values.ndim == 1:
            return values[:, None]
        return values[:, : 1 + (self._letters.length if self._letters else 0)]

    def _is_capital(
        self, rows: Int[np.ndarray, "positions columns"]
    ) -> Int[np.ndarray, " positions"]:
        """1 for capitalised words, 0 for others."""
        if not self._capitals:
            return np.zeros(len(rows), dtype=np.int64)
        return np.isin(rows[:, 1], self._capitals).astype(np.int64)

    def _states(self, batch: Batch) -> Int[np.ndarray, "batch time"]:
        """The state at each position; the border state at padding."""
        states, mask = np.full(batch.target.values.shape, self.states), batch.target.mask
        capital = self._is_capital(self._rows(batch.source))
        states[mask] = batch.target.values[mask] + self.labels * capital
        return states

    def _ngrams(
        self, states: Int[np.ndarray, "batch time"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Int[np.ndarray, " ngrams"], ...]:
        """All state n-grams of length order + 1, borders included: an array for each element."""
        border = np.full((len(states), self.order), self.states)
        padded = np.concatenate([border, states, border[:, :1]], axis=1)
        time = states.shape[1] + 1
        real = (np.arange(time) <= lengths[:, None]) & (lengths > 0)[:, None]
        return tuple(padded[:, start : start + time][real] for start in range(self.order + 1))

    def _emission_scores(self, source: Sequences) -> EmissionScores:
        """Emission scores log p(y | x) - log p(y), a row for each distinct word of the batch."""
        rows, which = np.unique(self._rows(source), axis=0, return_inverse=True)
        letters = rows[:, 1:] if self._letters else np.zeros((len(rows), 1), dtype=np.int64)
        capital, seen = self._is_capital(rows), self._words[rows[:, 0]]
        by_suffix = self._endings.label_probabilities(letters, capital)
        # An unknown word has no counts; without smoothing, too, it takes those of its suffix.
        smoothing = self.smoothing + (seen.sum(1, keepdims=True) == 0)
        probability = (seen + smoothing * by_suffix) / (seen.sum(1, keepdims=True) + smoothing)
        table = np.full((len(rows), self.states), -np.inf)
        with np.errstate(divide="ignore"):
            for flag in range(self.states // self.labels):
                here = slice(flag * self.labels, (flag + 1) * self.labels)
                scores = np.log(probability) - np.log(self._prior[here])
                table[:, here] = np.where(capital[:, None] == flag, scores, -np.inf)
        return EmissionScores(table, which.ravel(), source.lengths)

    def _label_probabilities(
        self, source: Sequences, emissions: EmissionScores
    ) -> Float[np.ndarray, "batch time labels"]:
        probabilities = np.zeros((*source.values.shape[:2], self.labels))
        states = compiled.posteriors(self._chain, emissions).marginals
        probabilities[source.mask] = states.reshape(len(states), -1, self.labels).sum(1)
        return probabilities


def _parts(signature: Signature) -> tuple[Letters | None, int, Labels]:
    """The letters of the source, if it has any, the vocabulary size, and the labels."""
    source, target = signature.source, signature.target
    if not isinstance(target, Labels) or not isinstance(source, Tokens | Labels | Columns):
        raise TypeError("this hidden Markov model needs token input and labels as output")
    if not isinstance(source, Columns):
        return None, source.size, target
    letters = next((part for part in source.parts if isinstance(part, Letters)), None)
    return letters, source.parts[0].size, target


def _conditional(
    scores: Float[np.ndarray, " batch"], totals: Float[np.ndarray, " batch"]
) -> Float[np.ndarray, " batch"]:
    """log p(y | x) = log p(y, x) - log p(x); -inf where no sequence of labels is possible."""
    return np.where(totals > -np.inf, scores - np.where(totals > -np.inf, totals, 0.0), -np.inf)


def _wrong(problem: str, example: str) -> ModelError:
    return ModelError("M300", f"model.{problem}", help=[f"--set model.{example}"])
