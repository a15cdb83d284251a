"""Bag of words: hashed n-gram counts as sparse matrices."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag

from ..batch import Sequences
from ..signature import BEGIN, END, PAD, UNKNOWN, Columns, Labels, Space, Tokens

Ids = Int[np.ndarray, " grams"]


@dataclass(frozen=True)
class CSRMatrix:
    """A sparse matrix in compressed sparse row (CSR) format: a row of n-gram values for each text.

    Args:
        offsets: where each row begins in the other two.
        columns: the n-gram of each entry.
        values: its count or weight.
    """

    offsets: Int[np.ndarray, " rows"]
    columns: Ids
    values: Float[np.ndarray, " grams"]

    @classmethod
    def from_ids(cls, rows: Ids, columns: Ids, num_rows: int, num_columns: int) -> "CSRMatrix":
        """Counts: how often each column occurs in each row."""
        # One sort of row * num_columns + column orders by row, then by column, and counts both.
        cells, counts = np.unique(rows * num_columns + columns, return_counts=True)
        offsets = np.searchsorted(cells, np.arange(num_rows) * num_columns)
        return cls(offsets, cells % num_columns, counts.astype(np.float64))

    @classmethod
    def concatenate(cls, matrices: Iterable["CSRMatrix"]) -> "CSRMatrix":
        """The rows of several matrices, one below the other."""
        parts = list(matrices)
        ends = np.cumsum([0, *(len(part.columns) for part in parts[:-1])])
        return cls(
            np.concatenate([part.offsets + end for part, end in zip(parts, ends, strict=True)]),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.values for part in parts]),
        )

    def compact(self) -> "CSRMatrix":
        """The same in half the memory: columns of 32 bits, values in single precision."""
        columns, values = self.columns.astype(np.int32), self.values.astype(np.float32)
        return CSRMatrix(self.offsets, columns, values)

    @property
    def lengths(self) -> Int[np.ndarray, " rows"]:
        """Number of entries of each row."""
        return np.diff(self.offsets, append=len(self.columns))

    def weighted(self, weights: Float[np.ndarray, " columns"]) -> "CSRMatrix":
        """Every value times the weight of its column (its IDF), rows then scaled to L2 norm 1."""
        values = self.values * weights[self.columns]
        rows = np.repeat(np.arange(len(self.offsets)), self.lengths)
        norms = np.sqrt(np.bincount(rows, values**2, minlength=len(self.offsets)))
        norms[norms == 0] = 1  # a row without known n-grams stays 0
        return CSRMatrix(self.offsets, self.columns, values / np.repeat(norms, self.lengths))

    def matmul(self, table: Float[Tensor, "columns width"]) -> Float[Tensor, "rows width"]:
        """The product with a dense matrix, by torch's embedding_bag, which has a gradient."""
        values = torch.from_numpy(self.values).to(table.dtype)
        columns, offsets = torch.from_numpy(self.columns), torch.from_numpy(self.offsets)
        return embedding_bag(columns, table, offsets, per_sample_weights=values, mode="sum")


@dataclass(frozen=True)
class NGramHasher:
    """Ids of words and of word n-grams up to `order`, by feature hashing.

    A word is its own id. An n-gram w₁ … w_n is the number w₁ … w_n in the base of the vocabulary
    size, modulo `buckets`; these ids come after those of the words. N-grams in one bucket collide,
    which happens to a few, mostly rare, ones. What is not a word, as the end of a sentence, is in
    no n-gram.
    """

    space: Space
    order: int
    max_buckets: int  # fewer if there are fewer n-grams

    @property
    def num_words(self) -> int:
        """The vocabulary size."""
        match self.space:
            case Tokens(size) | Labels(size):
                return size
            case Columns((Tokens(size) | Labels(size), *_)):
                return size
        raise TypeError("a bag of words is of tokens")

    @property
    def buckets(self) -> int:
        """Number of ids that all n-grams share."""
        return 0 if self.order == 1 else min(self.max_buckets, self.num_words**self.order)

    @property
    def num_features(self) -> int:
        """Number of ids, of words and of n-grams."""
        return self.num_words + self.buckets

    def words(
        self, source: Sequences, known: bool
    ) -> tuple[Int[np.ndarray, "batch time"], Bool[np.ndarray, "batch time"]]:
        """The words, and where there is one; with `known` unknown words are left out."""
        read = source.words()
        values, is_word = read.values, read.mask
        if isinstance(self.space, Labels):
            return values, is_word
        values = np.where(values < self.num_words, values, UNKNOWN)
        others = [PAD, BEGIN, END, UNKNOWN] if known else [PAD, BEGIN, END]
        return values, is_word & ~np.isin(values, others)

    def ngrams(
        self, words: Int[np.ndarray, "batch time"], is_word: Bool[np.ndarray, "batch time"]
    ) -> tuple[Ids, Ids]:
        """The row and the id of every n-gram of two words or more."""
        rows, ids = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        # Unsigned, so that the hash of long n-grams wraps around instead of turning negative.
        codes, whole = words.astype(np.uint64), is_word
        for n in range(2, self.order + 1):
            codes = codes[:, :-1] * np.uint64(self.num_words) + words[:, n - 1 :].astype("u8")
            whole = whole[:, :-1] & is_word[:, n - 1 :]
            hashed = (codes[whole] % np.uint64(self.buckets)).astype(np.int64)
            ids.append(hashed + self.num_words)
            rows.append(whole.nonzero()[0])
        return np.concatenate(rows), np.concatenate(ids)

    def count(self, source: Sequences) -> CSRMatrix:
        """How often each known word, and each n-gram of them, occurs."""
        words, is_word = self.words(source, known=True)
        rows, ngrams = self.ngrams(words, is_word)
        rows = np.concatenate([is_word.nonzero()[0], rows])
        ids = np.concatenate([words[is_word], ngrams])
        return CSRMatrix.from_ids(rows, ids, len(source), self.num_features)
