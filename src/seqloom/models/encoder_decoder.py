"""An encoder reads the source, a decoder writes the target, attention joins them."""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..decoding import cannot_look
from ..decoding import search as find
from ..forms import BEGIN, Form, Signature
from ..model import Prediction, Search, State, Still
from ..nn.attention import AdditiveAttention
from ..nn.cells import CellName
from ..nn.dropout import SequenceDropout
from ..nn.inputs import input_layer, tensors
from ..nn.outputs import output_layer
from ..nn.recurrence import Recurrence
from ..nn.wiring import PLAIN, Wiring
from ..trace import watching
from .neural import Neural

KNOWN = 3  # parts of a state that belong to the source: its memory, the keys, which places are real


class EncoderDecoder(Neural):
    """A recurrent encoder and decoder, with or without attention (Bahdanau, 2015; Luong, 2015).

    m_s = encoder(x)_s                       a memory of the source, a place for each symbol
    h_0 = tanh(B [m⃗_S; m⃖_1])                the decoder starts from the encoder's last states
    h_t = decoder(y_{t-1}, h_{t-1})
    c_t = attention(h_t, m)                  left out where attention is "none"
    a_t = tanh(A [c_t; h_t])                 attentional state
    p(y_t | y_<t, x) = softmax(W a_t + b)

    Args:
        cell: The kind of recurrence on both sides.
        width: The width of the vector that stands for a symbol.
        hidden: The width of the states on both sides.
        encoder_layers: How many cells are stacked in the encoder.
        decoder_layers: How many cells are stacked in the decoder.
        directions: The encoder reads from the left alone, or from both sides.
        attention: How the decoder looks back at the source; "none" leaves only the first state.
        attention_width: The width of the small network that scores the places.
        dropout: The share of numbers dropped between layers while training.
        smoothing: How much of each right answer's weight is spread over all symbols in training;
            the training loss then reads higher than the same loss on validation.
        wiring: How the cells of both sides are made and joined.
    """

    forms = frozenset({Form.TRANSDUCE})

    def __init__(  # noqa: PLR0913 - options are keyword-only
        self,
        signature: Signature,
        *,
        cell: CellName = "lstm",
        width: int = 128,
        hidden: int = 256,
        encoder_layers: int = 1,
        decoder_layers: int = 1,
        directions: Literal["forward", "both"] = "both",
        attention: Literal["additive", "none"] = "additive",
        attention_width: int = 128,
        dropout: float = 0.2,
        smoothing: float = 0.1,
        wiring: Wiring = PLAIN,
    ) -> None:
        super().__init__(signature)
        self.smoothing = smoothing
        self.source_input = input_layer(signature.source, width, dropout)
        self.target_input = input_layer(signature.target, width, dropout)
        self.encoder = Recurrence(
            cell,
            width,
            hidden,
            layers=encoder_layers,
            both=directions == "both",
            dropout=dropout,
            wiring=wiring,
        )
        self.decoder = Recurrence(
            cell, width, hidden, layers=decoder_layers, dropout=dropout, wiring=wiring
        )
        self.state_parts = self.decoder.own_tensors
        self.bridge = nn.Linear(hidden, hidden * self.state_parts)
        attends = attention == "additive"
        self.attention = AdditiveAttention(hidden, hidden, attention_width) if attends else None
        self.join = nn.Linear(2 * hidden if attends else hidden, hidden)
        self.dropout = SequenceDropout(dropout)
        self.output = output_layer(signature.target, hidden)

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.output.log_prob(self._states(batch), batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return self.output.loss(self._states(batch), batch.target, self.smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return find(self, source, search)

    def begin(self, source: Sequences) -> State:
        """The memory with its keys and its real places, then the decoder's first state."""
        values, lengths = tensors(source)
        memory, ends = self.encoder.read(self.source_input(values), lengths)
        own = self.bridge(self.dropout(ends)).tanh().chunk(self.state_parts, dim=-1)
        state = self.decoder.begin(own)
        memory = self.dropout(memory)
        keys = memory if self.attention is None else self.attention.keys(memory)
        known = (memory, keys, torch.from_numpy(source.mask))
        return (*map(Still, known), *state)

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        known, old = state[:KNOWN], state[KNOWN:]
        vector = self.target_input(torch.from_numpy(symbols))
        h, new = self.decoder.step(vector, old)
        candidates = h.unflatten(0, (len(known[0].values), -1))  # as places of one target
        a = self._attend(candidates, known).flatten(0, 1)
        return self.output(a).numpy(), (*known, *new)

    def step_looking(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch place"]]:
        if self.attention is None:
            raise cannot_look("a model without attention")
        with watching(self) as trace:
            log_probs, state = self.step(symbols, state)
        seen = trace.of_kind("attention")[-1].value  # (sources, candidates, places)
        return log_probs, state, seen.reshape(len(symbols), -1)

    def _states(self, batch: Batch) -> Float[Tensor, "batch time hidden"]:
        """The attentional state at every place of the target, all at once."""
        state = self.begin(batch.source)
        values, lengths = tensors(batch.target.late(BEGIN))
        h = self.decoder(self.target_input(values), lengths, state[KNOWN:])
        return self._attend(h, state[:KNOWN])

    def _attend(
        self, h: Float[Tensor, "batch time hidden"], memory: State
    ) -> Float[Tensor, "batch time hidden"]:
        h = self.dropout(h)
        if self.attention is not None:
            values, keys, allowed = (part.values for part in memory)
            h = torch.cat([self.attention(h, keys, values, allowed), h], dim=-1)
        return self.dropout(self.join(h).tanh())
