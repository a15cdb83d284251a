"""Hierarchical attention network (HAN): words to sentences, sentences to documents."""

from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..batch import Sequences
from ..config import Layers, Rate, Size
from ..nn.cells import CellName
from ..nn.cells.options import DEFAULT_RNN_OPTIONS, RNNOptions
from ..nn.dropout import SequenceDropout
from ..nn.embedding import input_layer
from ..nn.output.options import DEFAULT_LOSS_OPTIONS, LossOptions
from ..nn.pooling import AttentionPooling
from ..nn.rnn import RNN
from ..nn.token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions
from ..signature import END, Columns, Signature, Tokens
from ..trace import intervened, is_watched, record
from .classifier import SequenceClassifier

MIN_BUCKET = 8  # sentences up to this length share a bucket


class HierarchicalAttention(SequenceClassifier):
    """Hierarchical attention network: attention over words, then sentences (Yang et al., 2016).

    h_it = bidirectional RNN over the words of sentence i
    u_it = tanh(W h_it + b),  α_it = softmax_t(u_it · u_w),  s_i = Σ_t α_it h_it
    h_i  = bidirectional RNN over the sentences s_1 … s_L
    u_i  = tanh(V h_i + c),   α_i  = softmax_i(u_i · u_s),   v   = Σ_i α_i h_i
    y    = softmax(A v + d)

    The token END, which belongs to the sentence, marks where each one ends; a source without any
    in the middle is one sentence.

    Args:
        cell: Recurrent cell.
        embedding_size: Embedding size.
        hidden_size: Hidden size. At both levels, half of it for each direction.
        num_layers: Number of stacked layers. The same at both levels.
        dropout: Dropout rate between layers.
        rnn_options: Options of the recurrent cells and layers.
        token_options: Options of embeddings and output layer.
        loss_options: Options of the training loss.
    """

    source_spaces = frozenset({Tokens, Columns})

    def __init__(
        self,
        signature: Signature,
        *,
        cell: CellName = "gru",
        embedding_size: Size = 128,
        hidden_size: Size = 128,
        num_layers: Layers = 1,
        dropout: Rate = 0.0,
        rnn_options: RNNOptions = DEFAULT_RNN_OPTIONS,
        token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
        loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
    ) -> None:
        super().__init__(
            signature,
            hidden_size=hidden_size,
            token_options=token_options,
            loss_options=loss_options,
        )
        made = partial(
            RNN, num_layers=num_layers, bidirectional=True, dropout=dropout, rnn_options=rnn_options
        )
        self.input = input_layer(signature.source, embedding_size, dropout, token_options)
        self.words = made(cell, embedding_size, hidden_size)
        self.word_attention = AttentionPooling(hidden_size)
        self.sentences = made(cell, hidden_size, hidden_size)
        self.sentence_attention = AttentionPooling(hidden_size)
        self.dropout = SequenceDropout(dropout)

    def encode(self, source: Sequences) -> Float[Tensor, "batch hidden"]:
        split = SentenceSplit(source)
        x = self.input(torch.from_numpy(source.values))
        sentences, word_weights = self._encode_sentences(x.flatten(0, 1), split)
        documents, real = split.documents(sentences)
        lengths = torch.from_numpy(split.counts)
        states = self.sentences(self.dropout(documents), lengths)
        weights = self.sentence_attention.weights(states, real)
        weights = intervened(self.sentence_attention, "attention", weights[:, None])[:, 0]
        if is_watched():
            self._record(split, word_weights, weights)
        return self.dropout((weights[:, None] @ states).squeeze(1))

    def _encode_sentences(
        self, x: Float[Tensor, "positions width"], split: "SentenceSplit"
    ) -> tuple[Float[Tensor, "sentences hidden"], list[Tensor]]:
        """A vector for each sentence of all sources, and the attention weights of its words.

        Sentences of similar length are read as one batch, so that little of it is padding.
        """
        vectors, weights = [], []
        for bucket in split.buckets():
            lengths = torch.from_numpy(split.lengths[bucket])
            steps = torch.arange(int(lengths.max()))
            real = steps < lengths[:, None]
            positions = torch.from_numpy(split.starts[bucket])[:, None] + steps
            states = self.words(x[positions.where(real, positions[:, :1])], lengths)
            attention = self.word_attention.weights(states, real)
            vectors.append((attention[:, None] @ states).squeeze(1))
            weights.append(attention)
        order = np.argsort(np.concatenate(split.buckets()))  # from buckets back to reading order
        return torch.cat(vectors)[torch.from_numpy(order)], weights

    def _record(self, split: "SentenceSplit", word_weights: list[Tensor], weights: Tensor) -> None:
        """Record the attention of words in their sentence, of sentences, and their product."""
        words = weights.new_zeros(split.size).flatten()
        for bucket, some in zip(split.buckets(), word_weights, strict=True):
            for number, row in zip(bucket, some, strict=True):
                start, length = split.starts[number], split.lengths[number]
                words[start : start + length] = row[:length]
        words = words.unflatten(0, split.size)
        numbers = torch.from_numpy(split.numbers)
        record(self.word_attention, "hierarchy.words", words)
        record(self.sentence_attention, "hierarchy.sentences", weights)
        record(self, "hierarchy.numbers", numbers)
        every = words * weights.gather(1, numbers)
        record(self.sentence_attention, "attention", every[:, None])


class SentenceSplit:
    """Starts and lengths of the sentences of all sources, as positions in the flattened batch."""

    def __init__(self, source: Sequences) -> None:
        real, values = source.mask, source.words().values
        time, last = values.shape[1], np.arange(values.shape[1]) == source.lengths[:, None] - 1
        ends = real & ((values == END) | last)
        begins = real & np.pad(ends, ((0, 0), (1, 0)), constant_values=True)[:, :time]
        self.size = values.shape
        self.starts = np.flatnonzero(begins)
        self.lengths = np.flatnonzero(ends) - self.starts + 1
        self.counts: Int[np.ndarray, " batch"] = begins.sum(1)
        self.numbers = (begins.cumsum(1) - 1).clip(0)  # the sentence index of each position
        self._buckets: list[Int[np.ndarray, " some"]] = []

    def buckets(self) -> list[Int[np.ndarray, " some"]]:
        """Sentences by length: each bucket has up to twice the length of the one before."""
        if not self._buckets:
            bucket = np.ceil(np.log2(np.maximum(self.lengths, MIN_BUCKET))).astype(np.int64)
            self._buckets = [np.flatnonzero(bucket == number) for number in np.unique(bucket)]
        return self._buckets

    def documents(
        self, sentences: Float[Tensor, "sentences hidden"]
    ) -> tuple[Float[Tensor, "batch most hidden"], Bool[Tensor, "batch most"]]:
        """The vectors of the sentences of each source, padded, and their mask."""
        real = torch.from_numpy(np.arange(self.counts.max()) < self.counts[:, None])
        starts = torch.from_numpy(np.cumsum(self.counts) - self.counts)[:, None]
        indices = (starts + torch.arange(real.shape[1])).clamp(max=len(sentences) - 1)
        return sentences[indices], real
