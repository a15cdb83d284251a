"""Words to sentences, sentences to a document, with attention at both levels."""

from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..batch import Sequences
from ..nn.cells import CellName
from ..nn.cells.options import PLAIN, Wiring
from ..nn.dropout import SequenceDropout
from ..nn.embedding import input_layer
from ..nn.output.options import PLAIN_AIMS, Aims
from ..nn.pooling import Summary
from ..nn.rnn import Recurrence
from ..nn.token_options import PLAIN_ENDS, Ends
from ..signature import END, Columns, Signature, Tokens
from ..trace import changed, is_watched, record
from .classifier import Whole

FEWEST = 8  # sentences up to this length are read together


class HierarchicalAttention(Whole):
    """Reads words, looks at the telling ones of each sentence, then at the telling sentences.

    h_it = cell over the words of sentence i, from both sides
    u_it = tanh(W h_it + b),  α_it = softmax_t(u_it · u_w),  s_i = Σ_t α_it h_it
    h_i  = cell over the sentences s_1 … s_L, from both sides
    u_i  = tanh(V h_i + c),   α_i  = softmax_i(u_i · u_s),   v   = Σ_i α_i h_i
    y    = softmax(A v + d)                                  (Yang et al., 2016)

    A sentence ends where the source says so, by its symbol END, which belongs to it; a source
    without any in the middle is one sentence.

    Args:
        cell: The kind of recurrence at both levels.
        width: The width of the vector that stands for a word.
        hidden: The width of the states of both levels, half of it from each side.
        layers: How many cells are stacked at each level.
        dropout: The share of numbers dropped between layers while training.
        wiring: How the cells are made and joined.
        ends: How symbols come in and go out.
        aims: What descent aims at beside the right answer.
    """

    reads = frozenset({Tokens, Columns})

    def __init__(
        self,
        signature: Signature,
        *,
        cell: CellName = "gru",
        width: int = 128,
        hidden: int = 128,
        layers: int = 1,
        dropout: float = 0.0,
        wiring: Wiring = PLAIN,
        ends: Ends = PLAIN_ENDS,
        aims: Aims = PLAIN_AIMS,
    ) -> None:
        super().__init__(signature, hidden=hidden, ends=ends, aims=aims)
        made = partial(Recurrence, layers=layers, both=True, dropout=dropout, wiring=wiring)
        self.input = input_layer(signature.source, width, dropout, ends)
        self.words = made(cell, width, hidden)
        self.word_attention = Summary(hidden)
        self.sentences = made(cell, hidden, hidden)
        self.sentence_attention = Summary(hidden)
        self.dropout = SequenceDropout(dropout)

    def vectors(self, source: Sequences) -> Float[Tensor, "batch hidden"]:
        cut = Sentences(source)
        x = self.input(torch.from_numpy(source.values))
        found, word_weights = self._read(x.flatten(0, 1), cut)
        documents, real = cut.documents(found)
        lengths = torch.from_numpy(cut.counts)
        states = self.sentences(self.dropout(documents), lengths)
        weights = self.sentence_attention.weights(states, real)
        weights = changed(self.sentence_attention, "attention", weights[:, None])[:, 0]
        if is_watched():
            self._record(cut, word_weights, weights)
        return self.dropout((weights[:, None] @ states).squeeze(1))

    def _read(
        self, x: Float[Tensor, "places width"], cut: "Sentences"
    ) -> tuple[Float[Tensor, "sentences hidden"], list[Tensor]]:
        """A vector for each sentence of all sources; those of similar length are read together."""
        found, weights = [], []
        for which in cut.buckets():
            lengths = torch.from_numpy(cut.lengths[which])
            steps = torch.arange(int(lengths.max()))
            real = steps < lengths[:, None]
            places = torch.from_numpy(cut.starts[which])[:, None] + steps
            states = self.words(x[places.where(real, places[:, :1])], lengths)
            looks = self.word_attention.weights(states, real)
            found.append((looks[:, None] @ states).squeeze(1))
            weights.append(looks)
        back = np.argsort(np.concatenate(cut.buckets()))
        return torch.cat(found)[torch.from_numpy(back)], weights

    def _record(self, cut: "Sentences", looks: list[Tensor], weights: Tensor) -> None:
        """How much each word counts in its sentence, each sentence in its source, and in all."""
        words = weights.new_zeros(cut.size).flatten()
        for which, some in zip(cut.buckets(), looks, strict=True):
            for number, row in zip(which, some, strict=True):
                start, length = cut.starts[number], cut.lengths[number]
                words[start : start + length] = row[:length]
        words = words.unflatten(0, cut.size)
        numbers = torch.from_numpy(cut.numbers)
        record(self.word_attention, "hierarchy.words", words)
        record(self.sentence_attention, "hierarchy.sentences", weights)
        record(self, "hierarchy.numbers", numbers)
        every = words * weights.gather(1, numbers)
        record(self.sentence_attention, "attention", every[:, None])


class Sentences:
    """Where the sentences of all sources begin, and how long they are."""

    def __init__(self, source: Sequences) -> None:
        real, values = source.mask, source.words().values
        time, last = values.shape[1], np.arange(values.shape[1]) == source.lengths[:, None] - 1
        ends = real & ((values == END) | last)
        begins = real & np.pad(ends, ((0, 0), (1, 0)), constant_values=True)[:, :time]
        self.size = values.shape
        self.starts = np.flatnonzero(begins)
        self.lengths = np.flatnonzero(ends) - self.starts + 1
        self.counts: Int[np.ndarray, " batch"] = begins.sum(1)
        self.numbers = (begins.cumsum(1) - 1).clip(0)  # of each place, which sentence it is in
        self._buckets: list[Int[np.ndarray, " some"]] = []

    def buckets(self) -> list[Int[np.ndarray, " some"]]:
        """Sentences that are read together: each bucket's are up to twice as long as the last's."""
        if not self._buckets:
            which = np.ceil(np.log2(np.maximum(self.lengths, FEWEST))).astype(np.int64)
            self._buckets = [np.flatnonzero(which == number) for number in np.unique(which)]
        return self._buckets

    def documents(
        self, found: Float[Tensor, "sentences hidden"]
    ) -> tuple[Float[Tensor, "batch most hidden"], Bool[Tensor, "batch most"]]:
        """The vectors of the sentences, source by source, and which are real."""
        real = torch.from_numpy(np.arange(self.counts.max()) < self.counts[:, None])
        places = torch.from_numpy(np.cumsum(self.counts) - self.counts)[:, None]
        places = (places + torch.arange(real.shape[1])).clamp(max=len(found) - 1)
        return found[places], real
