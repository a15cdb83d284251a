"""Suffix model for unknown words (TnT; Brants, 2000): label probabilities from the last letters."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...signature import PAD

LONGEST = 10  # letters of a suffix
ROOTS = 2  # words that begin with a capital have suffixes of their own


@dataclass(frozen=True)
class SuffixModel:
    """A suffix trie: label probabilities of words by suffix, longer ones smoothed by shorter ones.

    p(t | l₁ … l_m) = (p̂(t | l₁ … l_m) + θ p(t | l₁ … l_{m-1})) / (1 + θ)          (Brants, 2000)

    l₁ is the last letter; θ is the standard deviation of p̂(t) over all labels. A suffix is a node
    of the trie: that of one letter less, and a letter. Nodes 0 and 1 are the empty suffixes, of
    words without a capital and with one; node n + 2 has the code parent · size + letter, in
    ascending order.
    """

    size: int  # letters are 0 ... size-1
    codes: Int[np.ndarray, " nodes"]
    probabilities: Float[np.ndarray, "nodes_2 labels"]

    @classmethod
    def uniform(cls, size: int, labels: int) -> "SuffixModel":
        """A model before training: all labels have the same probability."""
        return cls(size, np.zeros(0, dtype=np.int64), np.full((ROOTS, labels), 1 / labels))

    @classmethod
    def from_counts(
        cls,
        size: int,
        letters: Int[np.ndarray, "words letters"],
        capital: Int[np.ndarray, " words"],
        counts: Float[np.ndarray, "words labels"],
    ) -> "SuffixModel":
        """From how often each label was seen with each of some words."""
        backwards = reversed_letters(letters)
        labels = counts.shape[1]
        whole = (counts.sum(0) + 1) / (counts.sum() + labels)
        theta = float(whole.std(ddof=1)) if labels > 1 else 1.0
        sums = _sums(capital, counts, ROOTS)
        found = []
        probabilities = [_smoothed(sums, np.broadcast_to(whole, sums.shape), theta)]
        node, first = capital.copy(), 0
        inside = np.arange(len(letters))
        # Depth by depth, all words at once. Nodes of a depth are numbered after those of the depth
        # above, so parents rise with depth and the codes of the whole trie are ascending.
        for place in range(backwards.shape[1]):
            inside = inside[backwards[inside, place] != PAD]
            codes, which = np.unique(
                node[inside] * size + backwards[inside, place], return_inverse=True
            )
            above = codes // size - first
            sums = _sums(which.ravel(), counts[inside], len(codes))
            probabilities.append(_smoothed(sums, probabilities[-1][above], theta))
            found.append(codes)
            first = ROOTS + sum(map(len, found[:-1]))
            node[inside] = first + which.ravel()
        every = np.concatenate(found) if found else node[:0]
        return cls(size, every, np.concatenate(probabilities))

    def label_probabilities(
        self, letters: Int[np.ndarray, "words letters"], capital: Int[np.ndarray, " words"]
    ) -> Float[np.ndarray, "words labels"]:
        """The probability of each label, by the longest known suffix of each word."""
        backwards, node = reversed_letters(letters), capital.copy()
        inside = np.arange(len(letters))
        for place in range(backwards.shape[1]):
            inside = inside[backwards[inside, place] != PAD]
            codes = node[inside] * self.size + backwards[inside, place]
            found = np.minimum(np.searchsorted(self.codes, codes), max(0, len(self.codes) - 1))
            hit = self.codes[found] == codes if len(self.codes) else np.zeros(len(codes), bool)
            inside = inside[hit]
            node[inside] = found[hit] + ROOTS
        return self.probabilities[node]


def reversed_letters(letters: Int[np.ndarray, "words letters"]) -> Int[np.ndarray, "words few"]:
    """The last letters of each word, the very last first, then PAD."""
    lengths = (letters != PAD).sum(1)
    places = lengths[:, None] - 1 - np.arange(min(LONGEST, letters.shape[1]))
    return np.where(places >= 0, np.take_along_axis(letters, np.maximum(places, 0), 1), PAD)


def _sums(
    groups: Int[np.ndarray, " words"], counts: Float[np.ndarray, "words labels"], size: int
) -> Float[np.ndarray, "{size} labels"]:
    """The sum of counts of each group."""
    found = np.zeros((size, counts.shape[1]))
    np.add.at(found, groups, counts)
    return found


def _smoothed(
    sums: Float[np.ndarray, "nodes labels"],
    shorter: Float[np.ndarray, "nodes labels"],
    theta: float,
) -> Float[np.ndarray, "nodes labels"]:
    """Relative frequencies, smoothed by the probabilities of the shorter suffixes."""
    whole = sums.sum(1, keepdims=True)
    mixed = (sums / np.maximum(whole, 1) + theta * shorter) / (1 + theta)
    return np.where(whole > 0, mixed, shorter)
