"""Which words and short runs of words a sequence has, whatever their order: bags of grams.

Logistic regression: the best weights of a linear model, which are the only best ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag

from ..batch import Sequences
from ..signature import BEGIN, END, PAD, UNKNOWN, Columns, Labels, Space, Tokens

Flat = Int[np.ndarray, " grams"]


@dataclass(frozen=True)
class Bags:
    """The grams of each row, and how often or how much each counts: a sparse matrix, row by row.

    Args:
        starts: where each row begins in the other two.
        grams: the number of each gram.
        values: how much it counts.
    """

    starts: Int[np.ndarray, " rows"]
    grams: Flat
    values: Float[np.ndarray, " grams"]

    @classmethod
    def counted(cls, rows: Flat, grams: Flat, count: int, kinds: int) -> "Bags":
        """How often each gram comes in each of `count` rows."""
        found, counts = np.unique(rows * kinds + grams, return_counts=True)
        starts = np.searchsorted(found, np.arange(count) * kinds)
        return cls(starts, found % kinds, counts.astype(np.float64))

    @classmethod
    def joined(cls, several: Iterable["Bags"]) -> "Bags":
        """The rows of several below one another."""
        parts = list(several)
        ends = np.cumsum([0, *(len(part.grams) for part in parts[:-1])])
        return cls(
            np.concatenate([part.starts + end for part, end in zip(parts, ends, strict=True)]),
            np.concatenate([part.grams for part in parts]),
            np.concatenate([part.values for part in parts]),
        )

    @property
    def lengths(self) -> Int[np.ndarray, " rows"]:
        """How many kinds of grams each row has."""
        return np.diff(self.starts, append=len(self.grams))

    def weighed(self, weights: Float[np.ndarray, " kinds"]) -> "Bags":
        """Every value times the weight of its gram, each row then of length 1."""
        values = self.values * weights[self.grams]
        rows = np.repeat(np.arange(len(self.starts)), self.lengths)
        norms = np.sqrt(np.bincount(rows, values**2, minlength=len(self.starts)))
        norms[norms == 0] = 1  # nothing in it is known
        return Bags(self.starts, self.grams, values / np.repeat(norms, self.lengths))

    def turned(self, kinds: int) -> "Bags":
        """The same with rows and grams in each other's place."""
        order = np.argsort(self.grams, kind="stable")
        rows = np.repeat(np.arange(len(self.starts)), self.lengths)[order]
        starts = np.searchsorted(self.grams[order], np.arange(kinds))
        return Bags(starts, rows, self.values[order])

    def times(self, table: Float[Tensor, "kinds width"]) -> Float[Tensor, "rows width"]:
        """Of each row the sum of the table's rows of its grams, as much as each counts."""
        values = torch.from_numpy(self.values).to(table.dtype)
        grams, starts = torch.from_numpy(self.grams), torch.from_numpy(self.starts)
        return embedding_bag(grams, table, starts, per_sample_weights=values, mode="sum")


@dataclass(frozen=True)
class Grams:
    """The words of a sequence, and the runs of up to `order` of them, as numbers.

    A word is its own number. A run w₁ … w_n is the number w₁ … w_n in the base of the vocabulary's
    size, modulo `buckets`; these numbers come after those of the words. Runs that fall into one
    bucket are taken for each other, so a few of the rare ones are. What is no word, as the end of a
    sentence, is no part of any run.
    """

    space: Space
    order: int
    most: int  # buckets, unless there are fewer runs

    @property
    def size(self) -> int:
        """How many words there are."""
        match self.space:
            case Tokens(size) | Labels(size):
                return size
            case Columns((Tokens(size) | Labels(size), *_)):
                return size
        raise TypeError("a bag is of symbols")

    @property
    def buckets(self) -> int:
        """How many numbers all runs share."""
        return 0 if self.order == 1 else min(self.most, self.size**self.order)

    @property
    def kinds(self) -> int:
        """How many numbers there are."""
        return self.size + self.buckets

    def words(
        self, source: Sequences, known: bool
    ) -> tuple[Int[np.ndarray, "batch time"], Bool[np.ndarray, "batch time"]]:
        """The words alone, and where there is one; unknown ones count only if not `known`."""
        read = source.words()
        values, is_word = read.values, read.mask
        if isinstance(self.space, Labels):
            return values, is_word
        values = np.where(values < self.size, values, UNKNOWN)
        others = [PAD, BEGIN, END, UNKNOWN] if known else [PAD, BEGIN, END]
        return values, is_word & ~np.isin(values, others)

    def runs(
        self, words: Int[np.ndarray, "batch time"], is_word: Bool[np.ndarray, "batch time"]
    ) -> tuple[Flat, Flat]:
        """The row and the number of every run of two words and more."""
        rows, found = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        numbers, whole = words.astype(np.uint64), is_word
        for length in range(2, self.order + 1):
            numbers = numbers[:, :-1] * np.uint64(self.size) + words[:, length - 1 :].astype("u8")
            whole = whole[:, :-1] & is_word[:, length - 1 :]
            found.append((numbers[whole] % np.uint64(self.buckets)).astype(np.int64) + self.size)
            rows.append(whole.nonzero()[0])
        return np.concatenate(rows), np.concatenate(found)

    def bags(self, source: Sequences) -> Bags:
        """How often each word that is known, and each run of them, comes."""
        words, is_word = self.words(source, known=True)
        rows, runs = self.runs(words, is_word)
        rows = np.concatenate([is_word.nonzero()[0], rows])
        return Bags.counted(rows, np.concatenate([words[is_word], runs]), len(source), self.kinds)


ITERATIONS = 1000  # hardly ever needed: a hundred are enough for weighted words
SLOPE = 1e-8  # of the mean loss, where the valley's floor is reached


def fit(
    bags: Bags,
    right: Float[np.ndarray, "rows classes"],
    weights: Float[np.ndarray, " rows"],
    *,
    kinds: int,
    penalty: float,
    single: bool,
) -> tuple[Float[Tensor, "kinds classes"], Float[Tensor, " classes"]]:
    """The weights W and biases b for which the loss is least.

    s = X W + b
    L = Σ_i w_i (log Σ_k exp s_ik - Σ_k y_ik s_ik) + ½ λ ‖W‖²          one label is right
    L = Σ_i w_i Σ_k (log(1 + exp s_ik) - y_ik s_ik) + ½ λ ‖W‖²         any number of them is

    It is convex, so that wherever descent ends, it ends in the same place; L-BFGS with a line
    search goes there. Of two labels the difference of their scores is what counts, and the weights
    of that difference are what the penalty is of, as is usual; half of them is each label's own.
    Grams that no row has keep a weight of 0.
    """
    seen, numbers = np.unique(bags.grams, return_inverse=True)
    rows = Bags(bags.starts, numbers, bags.values)
    two = single and right.shape[1] == 2
    wanted = torch.from_numpy(right[:, 1:] if two else right)
    loss = _Softmax() if single and not two else _Logistic()
    found, bias = _descend(rows, len(seen), wanted, torch.from_numpy(weights), penalty, loss)
    if two:
        found, bias = torch.cat([-found, found], 1) / 2, torch.cat([-bias, bias]) / 2
    table = found.new_zeros(kinds, right.shape[1])
    table[torch.from_numpy(seen)] = found
    return table, bias


def _descend(
    rows: Bags, kinds: int, right: Tensor, weights: Tensor, penalty: float, loss: "_Logistic"
) -> tuple[Tensor, Tensor]:
    columns, count = rows.turned(kinds), len(rows.starts)
    table = torch.zeros(kinds, right.shape[1], dtype=torch.float64)
    bias = torch.zeros(right.shape[1], dtype=torch.float64)
    optimizer = torch.optim.LBFGS(
        [table, bias],
        max_iter=ITERATIONS,
        tolerance_grad=SLOPE,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def slope() -> float:
        """The loss, with the gradients where descent looks for them."""
        scores = rows.times(table) + bias
        of_scores = (loss.chances(scores) - right) * weights[:, None] / count
        table.grad = columns.times(of_scores) + penalty / count * table
        bias.grad = of_scores.sum(0)
        total = (loss.normalizer(scores) - (right * scores).sum(1)) @ weights
        return float(total + penalty / 2 * table.square().sum()) / count

    with torch.no_grad():
        optimizer.step(slope)
    return table, bias


class _Logistic:
    """Each class for itself."""

    def chances(self, scores: Tensor) -> Tensor:
        return scores.sigmoid()

    def normalizer(self, scores: Tensor) -> Tensor:
        return torch.nn.functional.softplus(scores).sum(1)


class _Softmax(_Logistic):
    """One of all classes."""

    def chances(self, scores: Tensor) -> Tensor:
        return scores.softmax(1)

    def normalizer(self, scores: Tensor) -> Tensor:
        return scores.logsumexp(1)
