"""Convolutions read the source and write the target, attention joins them."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..decoding import search as find
from ..errors import ModelError
from ..model import Prediction, Search, State, Still
from ..nn.attention import Seen
from ..nn.conv_seq2seq import SPREAD, GatedDecoder, GatedEncoder, Places
from ..nn.dropout import SequenceDropout
from ..nn.embedding import Embedding, input_layer, tensors
from ..nn.output.heads import output_layer
from ..signature import BEGIN, PAD, Form, Signature
from .neural import Neural

KNOWN = 3  # parts of a state that belong to the source: its memory, the keys, which places are real


class ConvolutionalEncoderDecoder(Neural):
    """Gated convolutions on both sides, a look at the source in every layer (Gehring et al., 2017).

    e_s = E x_s + P_s,  g_t = E' y_{t-1} + P'_t       symbols and their places
    z, m = encoder(e)                                 gated convolutions; keys and memory
    h    = gated(h')                                  in each layer of the decoder, of the past
    c_t  = √S Σ_s softmax_s(d_t · z_s) m_s            d_t = √½ (Q h_t + g_t)
    p(y_t | y_<t, x) = softmax(W drop(O h_t) + b)

    Every sum of two is scaled by √½, kernels are normalised (Salimans & Kingma, 2016). A whole
    target is learned from at once; a single step needs the last kernel - 1 inputs of each layer.

    Args:
        width: The width of the vectors of symbols and places.
        hidden: How many channels each convolution has.
        encoder_layers: How many convolutions are stacked in the encoder.
        decoder_layers: How many convolutions, each with attention, are stacked in the decoder.
        kernel: How many places each convolution sees.
        positions: How many places have a vector of their own; all beyond share the last.
        dropout: The share of numbers dropped from what each layer reads while training.
        smoothing: How much of each right answer's weight is spread over all symbols in training;
            the training loss then reads higher than the same loss on validation.
    """

    forms = frozenset({Form.TRANSDUCE})

    def __init__(
        self,
        signature: Signature,
        *,
        width: int = 128,
        hidden: int = 256,
        encoder_layers: int = 4,
        decoder_layers: int = 3,
        kernel: int = 3,
        positions: int = 256,
        dropout: float = 0.2,
        smoothing: float = 0.1,
    ) -> None:
        super().__init__(signature)
        if positions < 1:
            raise ModelError(
                "M205",
                f"positions = {positions}: expected 1 or more",
                help=["--set model.positions=256"],
            )
        self.smoothing = smoothing
        self.source_input = input_layer(signature.source, width, dropout)
        self.target_input = input_layer(signature.target, width, dropout)
        for layer in (self.source_input, self.target_input):
            if isinstance(layer, Embedding):
                nn.init.normal_(layer.table.weight, std=SPREAD)
                layer.table.weight.data[PAD] = 0
        self.source_places, self.target_places = (Places(positions, width) for _ in range(2))
        self.encoder = GatedEncoder(width, hidden, encoder_layers, kernel, dropout)
        self.decoder = GatedDecoder(width, hidden, decoder_layers, kernel, dropout)
        self.dropout = SequenceDropout(dropout)
        self.output = output_layer(signature.target, width)

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.output.log_prob(self._states(batch), batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return self.output.loss(self._states(batch), batch.target, self.smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return find(self, source, search)

    def begin(self, source: Sequences) -> State:
        """What is known of the source; then the place, and the past inputs of each layer."""
        place = torch.zeros(len(source), dtype=torch.int64)
        return (*map(Still, self._read(source)), place, *self.decoder.initial(len(source)))

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        log_probs, state, _ = self.step_looking(symbols, state)
        return log_probs, state

    def step_looking(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch place"]]:
        """As `step`, and where it looked in the source: the mean of all layers."""
        known, (place, *past) = state[:KNOWN], state[KNOWN:]
        seen = Seen(*(part.values for part in known))
        g = self.target_places(self.target_input(torch.from_numpy(symbols[:, None])), place)
        h, looked, after = self.decoder(g, seen, tuple(past))
        log_probs = self.output(self.dropout(h[:, 0])).numpy()
        return log_probs, (*known, place + 1, *after), looked[:, 0].numpy()

    def _read(self, source: Sequences) -> Seen:
        values, lengths = tensors(source)
        seen: Seen = self.encoder(self.source_places(self.source_input(values)), lengths)
        return seen

    def _states(self, batch: Batch) -> Float[Tensor, "batch time width"]:
        """What symbols are scored from at every place of the target, all at once."""
        values, _ = tensors(batch.target.late(BEGIN))
        g = self.target_places(self.target_input(values))
        seen = self._read(batch.source)
        h, _, _ = self.decoder(g, seen, self.decoder.initial(len(g)))
        return self.dropout(h)
