"""Convolutional encoder-decoder with attention (ConvS2S; Gehring et al., 2017)."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..config import Layers, Rate, Size, Steps
from ..decoding import beam_search
from ..errors import ModelError
from ..model import Constant, Prediction, Search, State
from ..nn.attention import KeyValues
from ..nn.conv_seq2seq import INIT_STD, GatedDecoder, GatedEncoder, PositionEmbedding
from ..nn.dropout import SequenceDropout
from ..nn.embedding import Embedding, input_layer, to_tensors
from ..nn.output.heads import output_layer
from ..signature import BEGIN, PAD, Form, Signature
from .neural import Neural

SOURCE_PARTS = 3  # parts of a state that belong to the source: values, keys, mask


class ConvolutionalEncoderDecoder(Neural):
    """Convolutional encoder-decoder, ConvS2S, with attention in every layer (Gehring et al., 2017).

    e_s = E x_s + P_s,  g_t = E' y_{t-1} + P'_t       token and position embeddings
    z, m = encoder(e)                                 gated convolutions; keys and values
    h    = gated(h')                                  in each decoder layer, causal
    c_t  = √S Σ_s softmax_s(d_t · z_s) m_s            d_t = √½ (Q h_t + g_t)
    p(y_t | y_<t, x) = softmax(W drop(O h_t) + b)

    Every sum of two is scaled by √½; kernels have weight normalisation (Salimans & Kingma, 2016).
    Training is parallel over the target; a decoding step needs the last kernel - 1 inputs of each
    layer.

    Args:
        embedding_size: Embedding size.
        hidden_size: Hidden size. The number of channels of each convolution.
        encoder_layers: Number of stacked layers of the encoder.
        decoder_layers: Number of stacked layers of the decoder.
        kernel: Kernel size of the convolutions.
        positions: Number of learned position embeddings; all positions beyond share the last.
        dropout: Dropout rate between layers.
        label_smoothing: Label smoothing (Szegedy et al., 2016): the fraction of each target's
            probability that is spread over all tokens in training; the training loss includes it.
    """

    forms = frozenset({Form.TRANSDUCE})

    def __init__(
        self,
        signature: Signature,
        *,
        embedding_size: Size = 128,
        hidden_size: Size = 256,
        encoder_layers: Layers = 4,
        decoder_layers: Layers = 3,
        kernel: Size = 3,
        positions: Steps = 256,
        dropout: Rate = 0.2,
        label_smoothing: Rate = 0.1,
    ) -> None:
        super().__init__(signature)
        if positions < 1:
            raise ModelError(
                "M205",
                f"positions = {positions}: expected 1 or more",
                help=["--set model.positions=256"],
            )
        self.label_smoothing = label_smoothing
        self.source_input = input_layer(signature.source, embedding_size, dropout)
        self.target_input = input_layer(signature.target, embedding_size, dropout)
        for layer in (self.source_input, self.target_input):
            if isinstance(layer, Embedding):
                nn.init.normal_(layer.table.weight, std=INIT_STD)
                layer.table.weight.data[PAD] = 0
        self.source_places, self.target_places = (
            PositionEmbedding(positions, embedding_size) for _ in range(2)
        )
        self.encoder = GatedEncoder(embedding_size, hidden_size, encoder_layers, kernel, dropout)
        self.decoder = GatedDecoder(embedding_size, hidden_size, decoder_layers, kernel, dropout)
        self.dropout = SequenceDropout(dropout)
        self.output = output_layer(signature.target, embedding_size)

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.output.log_prob(self._states(batch), batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return self.output.loss(self._states(batch), batch.target, self.label_smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return beam_search(self, source, search)

    def begin(self, source: Sequences) -> State:
        """Keys and values of the source; then the position, and the past inputs of each layer."""
        position = torch.zeros(len(source), dtype=torch.int64)
        return (*map(Constant, self._encode(source)), position, *self.decoder.initial(len(source)))

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        log_probs, state, _ = self.step_with_attention(tokens, state)
        return log_probs, state

    def step_with_attention(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch position"]]:
        """As `step`, with the attention weights over source positions: the mean of all layers."""
        constant, (position, *past) = state[:SOURCE_PARTS], state[SOURCE_PARTS:]
        keys_values = KeyValues(*(part.values for part in constant))
        g = self.target_places(self.target_input(torch.from_numpy(tokens[:, None])), position)
        h, weights, after = self.decoder(g, keys_values, tuple(past))
        log_probs = self.output(self.dropout(h[:, 0])).numpy()
        return log_probs, (*constant, position + 1, *after), weights[:, 0].numpy()

    def _encode(self, source: Sequences) -> KeyValues:
        values, lengths = to_tensors(source)
        embedded = self.source_places(self.source_input(values))
        keys_values: KeyValues = self.encoder(embedded, lengths)
        return keys_values

    def _states(self, batch: Batch) -> Float[Tensor, "batch time width"]:
        """The states of the output layer at all target positions, in parallel (teacher forcing)."""
        values, _ = to_tensors(batch.target.shift_right(BEGIN))
        g = self.target_places(self.target_input(values))
        keys_values = self._encode(batch.source)
        h, _, _ = self.decoder(g, keys_values, self.decoder.initial(len(g)))
        return self.dropout(h)
