"""What the last letters of a word say of its label: for words that were never seen."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...signature import PAD

LONGEST = 10  # letters of an ending
ROOTS = 2  # words that begin with a capital have endings of their own


@dataclass(frozen=True)
class Endings:
    """How likely each label is for words with an ending, longer endings leaning on shorter ones.

    p(t | l₁ … l_m) = (p̂(t | l₁ … l_m) + θ p(t | l₁ … l_{m-1})) / (1 + θ)          (Brants, 2000)

    l₁ is the last letter; θ is the standard deviation of p̂(t) over all labels. An ending is a
    node:
    that of one letter less, and a letter. Nodes 0 and 1 are the endings of no letter, of words
    without a capital and with one; node n + 2 has the code parent · size + letter, in order.
    """

    size: int  # letters are 0 ... size-1
    codes: Int[np.ndarray, " nodes"]
    chances: Float[np.ndarray, "nodes_2 labels"]

    @classmethod
    def none(cls, size: int, labels: int) -> "Endings":
        """Nothing is known of any ending."""
        return cls(size, np.zeros(0, dtype=np.int64), np.full((ROOTS, labels), 1 / labels))

    @classmethod
    def of(
        cls,
        size: int,
        letters: Int[np.ndarray, "words letters"],
        capital: Int[np.ndarray, " words"],
        counts: Float[np.ndarray, "words labels"],
    ) -> "Endings":
        """From how often each label was seen with each of some words."""
        backwards = reversed_letters(letters)
        labels = counts.shape[1]
        whole = (counts.sum(0) + 1) / (counts.sum() + labels)
        lean = float(whole.std(ddof=1)) if labels > 1 else 1.0
        sums = _summed(capital, counts, ROOTS)
        found, chances = [], [_leaning(sums, np.broadcast_to(whole, sums.shape), lean)]
        node, first = capital.copy(), 0
        inside = np.arange(len(letters))
        for place in range(backwards.shape[1]):
            inside = inside[backwards[inside, place] != PAD]
            codes, which = np.unique(
                node[inside] * size + backwards[inside, place], return_inverse=True
            )
            above = codes // size - first
            sums = _summed(which.ravel(), counts[inside], len(codes))
            chances.append(_leaning(sums, chances[-1][above], lean))
            found.append(codes)
            first = ROOTS + sum(map(len, found[:-1]))
            node[inside] = first + which.ravel()
        return cls(size, np.concatenate(found) if found else node[:0], np.concatenate(chances))

    def of_words(
        self, letters: Int[np.ndarray, "words letters"], capital: Int[np.ndarray, " words"]
    ) -> Float[np.ndarray, "words labels"]:
        """How likely each label is, by the longest ending of each word that is known."""
        backwards, node = reversed_letters(letters), capital.copy()
        inside = np.arange(len(letters))
        for place in range(backwards.shape[1]):
            inside = inside[backwards[inside, place] != PAD]
            codes = node[inside] * self.size + backwards[inside, place]
            found = np.minimum(np.searchsorted(self.codes, codes), max(0, len(self.codes) - 1))
            hit = self.codes[found] == codes if len(self.codes) else np.zeros(len(codes), bool)
            inside = inside[hit]
            node[inside] = found[hit] + ROOTS
        return self.chances[node]


def reversed_letters(letters: Int[np.ndarray, "words letters"]) -> Int[np.ndarray, "words few"]:
    """The last letters of each word, the very last first, then PAD."""
    lengths = (letters != PAD).sum(1)
    places = lengths[:, None] - 1 - np.arange(min(LONGEST, letters.shape[1]))
    return np.where(places >= 0, np.take_along_axis(letters, np.maximum(places, 0), 1), PAD)


def _summed(
    groups: Int[np.ndarray, " words"], counts: Float[np.ndarray, "words labels"], size: int
) -> Float[np.ndarray, "{size} labels"]:
    found = np.zeros((size, counts.shape[1]))
    np.add.at(found, groups, counts)
    return found


def _leaning(
    sums: Float[np.ndarray, "nodes labels"], shorter: Float[np.ndarray, "nodes labels"], lean: float
) -> Float[np.ndarray, "nodes labels"]:
    """Shares of what was seen, leaning on those of the shorter endings."""
    whole = sums.sum(1, keepdims=True)
    return np.where(whole > 0, (sums / np.maximum(whole, 1) + lean * shorter) / (1 + lean), shorter)
