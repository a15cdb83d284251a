"""HMM tagger: a hidden Markov model estimated from labelled data (part-of-speech tagging)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Batch, Sequences
from ..config import SizeOrZero
from ..errors import ModelError
from ..model import Model, Prediction, Search, StatePosterior, Weights
from ..prediction import Hypothesis
from ..signature import UNKNOWN, Columns, Form, Labels, Letters, Signature, Tokens
from ..statistical.hmm import compiled
from ..statistical.hmm.chain import EmissionScores, LinearChain
from ..statistical.hmm.trigram import (
    Lattice,
    TrigramTransitions,
    best_labels,
    log_partitions,
    pruned_lattices,
)
from ..statistical.ngram.smoothing import UNSEEN_COUNT, deleted_interpolation
from ..statistical.ngram.suffixes import SuffixModel

MAX_TRANSITIONS = 1 << 24  # entries of a table of label pairs; several such arrays are in memory
EXACT_TRANSITIONS = 1 << 21  # entries of a second-order table that is stored whole
RARE = 10  # words with at most this count train the suffix model


@dataclass(frozen=True)
class TagCounts:
    """Sufficient statistics: counts of label n-grams, and of words with their labels.

    Adding two of them only concatenates the rows; they are summed in `update`.
    """

    ngrams: tuple[Int[np.ndarray, "_ labels"], ...]  # the labels of an n-gram, count
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
    in TnT.

    Inference is exact for up to 127 labels, half as many if `case` splits them. With more, a
    second-order chain is pruned from coarse to fine (Charniak & Johnson, 2005): exact over the
    labels that a first-order chain finds likely in a sentence.

    Args:
        order: Order of the Markov chain of labels: 1 (bigrams) or 2 (trigrams).
        prune: Posterior probability under the first-order chain below which a label is pruned,
            where there are too many labels for exact inference of the second order.
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
        order: SizeOrZero = 2,
        prune: float = 1e-4,
        smoothing: float = 1.0,
        case: bool = True,
        decoding: Literal["viterbi", "posterior"] = "viterbi",
    ) -> None:
        super().__init__(signature)
        if order not in (1, 2):
            raise _wrong(f"order = {order}: expected 1 or 2", "order=2")
        if smoothing < 0:
            raise _wrong(f"smoothing = {smoothing:g} must not be negative", "smoothing=1")
        if not 0 < prune < 1:
            raise _wrong(f"prune = {prune:g} must be between 0 and 1", "prune=0.0001")
        self.order, self.smoothing, self.decoding = order, smoothing, decoding
        self.prune = prune
        self._letters, words, target = _parts(signature)
        self.labels, self._pairs = target.size, target.forbidden
        self._capitals = sorted(self._letters.capitals) if case and self._letters else []
        self.states = self.labels * (
            2 if self._capitals else 1
        )  # a label, of a capitalised word or another
        if (self.states + 1) ** 2 > MAX_TRANSITIONS:
            raise _wrong(
                f"order = {order}: {self.labels:,} labels have too many transitions to count",
                "case=false" if self._capitals else "order=1",
            )
        is_whole = (self.states + 1) ** (order + 1) <= EXACT_TRANSITIONS
        prior = np.full(self.states, 1 / self.states)
        endings = SuffixModel.uniform(self._letters.size if self._letters else 1, self.labels)
        uniform: np.ndarray | TrigramTransitions = TrigramTransitions.uniform(~self._forbidden())
        if order == 1 or is_whole:
            uniform = np.full((self.states + 1,) * (order + 1), 1 / (self.states + 1))
        self._set(uniform, prior, np.zeros((words, self.labels)), endings)

    def statistics(self, batch: Batch) -> TagCounts:
        rows, labels = self._rows(batch.source), batch.target.values[batch.target.mask]
        ngrams = self._ngrams(self._states(batch), batch.target.lengths)
        parts = [*ngrams, np.ones_like(ngrams[0])], [rows, labels, np.ones_like(labels)]
        found = [(sum_counts(np.column_stack(columns)),) for columns in parts]
        return TagCounts(*found)

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
        ngrams = sum_counts(np.concatenate(statistics.ngrams))
        unigrams = np.bincount(ngrams[:, -2], ngrams[:, -1], self.states + 1)[:-1] + UNSEEN_COUNT
        self._set(self._interpolated(ngrams), unigrams / unigrams.sum(), words, endings)

    def _interpolated(
        self, ngrams: Int[np.ndarray, "seen columns"]
    ) -> Float[np.ndarray, "*labels"] | TrigramTransitions:
        """Transition probabilities by deleted interpolation, from distinct n-grams and counts."""
        counts = ngrams[:, -1].astype(np.float64)
        if isinstance(self._transitions, TrigramTransitions):
            return TrigramTransitions.from_counts(ngrams[:, :-1], counts, ~self._forbidden())
        table = np.zeros((self.states + 1,) * (self.order + 1))
        table[tuple(ngrams[:, :-1].T)] = counts
        return deleted_interpolation(table)[0]

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        emissions, lengths, states = (
            self._emission_scores(batch.source),
            batch.target.lengths,
            self._states(batch),
        )
        mask, emission_scores = batch.target.mask, np.zeros(batch.target.values.shape)
        emission_scores[mask] = emissions.table[emissions.index, states[mask]]
        ngrams = self._ngrams(states, lengths)
        if isinstance(self._transitions, TrigramTransitions):
            transitions = self._transitions.log_probs(*ngrams)
        else:
            transitions = self._log_transitions[ngrams]
        rows = np.repeat(np.arange(len(lengths)), (lengths + 1) * (lengths > 0))
        scores = np.bincount(rows, transitions, len(lengths)) + emission_scores.sum(1)
        return _conditional(scores, log_partitions(self._lattices(emissions)))

    def predict(self, source: Sequences, search: Search) -> Prediction:
        if search.nbest > 1:
            return Prediction.of(self.best_labels(source, search.nbest))
        emissions = self._emission_scores(source)
        probabilities = (
            self._label_probabilities(source, emissions) if search.probabilities else None
        )
        if self.decoding == "posterior":
            labels = self._label_probabilities(source, emissions).argmax(-1)
            log_probs = self.log_prob(Batch(source, Sequences(labels, source.lengths)))
        else:
            lattices = self._lattices(emissions)
            states, scores = best_labels(lattices)
            labels = np.zeros(source.values.shape[:2], dtype=np.int64)
            labels[source.mask] = states % self.labels
            log_probs = _conditional(scores, log_partitions(lattices))
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
        (lattice,) = lattices = self._lattices(emissions)
        filtered = lattice.over_all(
            compiled.filtered_marginals(lattice.chain, lattice.scores), self.states
        )
        labels = best_labels(lattices)[0] % self.labels
        smoothed = self._label_probabilities(one, emissions)[0]
        return StatePosterior(self._of_labels(filtered), smoothed, labels)

    def best_labels(self, source: Sequences, count: int) -> list[tuple[Hypothesis, ...]]:
        """The most probable sequences of labels of each source, best first (k-best Viterbi)."""
        emissions = self._emission_scores(source)
        lattices = self._lattices(emissions)
        totals = log_partitions(lattices).tolist()
        ranked = [
            [(lattice.path_labels(path) % self.labels, score) for path, score in paths]
            for lattice in lattices
            for paths in compiled.best_paths(lattice.chain, lattice.scores, count)
        ]
        return [
            tuple(Hypothesis(labels, score - total, score - total) for labels, score in paths)
            for paths, total in zip(ranked, totals, strict=True)
        ]

    def weights(self) -> Weights:
        endings = {
            "endings.codes": self._endings.codes,
            "endings.chances": self._endings.probabilities,
        }
        moves = self._transitions
        arrays = moves.arrays() if isinstance(moves, TrigramTransitions) else {"moves": moves}
        return {**arrays, "prior": self._prior, "words": self._words, **endings}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        size = self.states + 1
        shapes = {"prior": self._prior.shape, "words": self._words.shape}
        # A whole table also where this version would prune: an earlier one stored it so.
        is_whole = "moves" in weights
        shapes |= (
            {"moves": (size,) * (self.order + 1)} if is_whole else {"moves.lower": (size,) * 2}
        )
        others = {"endings.codes", "endings.chances"}
        others |= set() if is_whole else {"moves.keys", "moves.upper"}
        if weights.keys() != {*shapes, *others} or any(
            weights[name].shape != shape for name, shape in shapes.items()
        ):
            raise ModelError("M111", "the weights do not fit this hidden Markov model")
        codes, probabilities = weights["endings.codes"], weights["endings.chances"]
        endings = SuffixModel(self._endings.size, codes, probabilities)
        moves: np.ndarray | TrigramTransitions
        if is_whole:
            moves = weights["moves"]
        else:
            moves = TrigramTransitions.from_arrays(weights, ~self._forbidden())
        self._set(moves, weights["prior"], weights["words"], endings)

    def _set(
        self,
        transitions: Float[np.ndarray, "*labels"] | TrigramTransitions,
        prior: Float[np.ndarray, " states"],
        words: Float[np.ndarray, "words labels"],
        endings: SuffixModel,
    ) -> None:
        """Set the parameters, and the lattice of log-probabilities that follows from them."""
        self._transitions, self._prior = transitions, prior
        self._words, self._endings = words, endings
        if isinstance(transitions, TrigramTransitions):
            return
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
        found = [
            lattice.over_all(
                compiled.posteriors(lattice.chain, lattice.scores).marginals, self.states
            )
            for lattice in self._lattices(emissions)
        ]
        probabilities[source.mask] = self._of_labels(np.concatenate(found))
        return probabilities

    def _of_labels(
        self, states: Float[np.ndarray, "positions states"]
    ) -> Float[np.ndarray, "positions labels"]:
        """Probabilities of labels: those of their states, of capitalised words and others."""
        total: np.ndarray = states.reshape(len(states), -1, self.labels).sum(1)
        return total

    def _lattices(self, emissions: EmissionScores) -> list[Lattice]:
        """The lattices of all sequences together, or of each one where they are pruned."""
        if isinstance(self._transitions, TrigramTransitions):
            return pruned_lattices(self._transitions, emissions, self.prune)
        return [Lattice(self._chain, emissions, np.arange(self.states))]


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
    """log p(y | x) = log p(y, x) - log p(x); -inf where no sequence of labels is possible.

    At most 0, also for labels that are not in the pruned lattice of which p(x) is the sum.
    """
    found = np.where(totals > -np.inf, scores - np.where(totals > -np.inf, totals, 0.0), -np.inf)
    return np.minimum(found, 0.0)


def _wrong(problem: str, example: str) -> ModelError:
    return ModelError("M300", f"model.{problem}", help=[f"--set model.{example}"])
