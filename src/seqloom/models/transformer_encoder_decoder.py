"""Transformer encoder-decoder, the original Transformer (Vaswani et al., 2017)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..batch import Batch, Sequences
from ..config import Layers, Rate, Size, Steps
from ..decoding import beam_search
from ..errors import ModelError
from ..model import Constant, Prediction, Search, State
from ..nn.embedding import Embedding, input_layer, to_tensors
from ..nn.numpy_steps import NumpyTransformerDecoder
from ..nn.output.heads import SoftmaxOutput, output_layer
from ..nn.token_options import TokenOptions
from ..nn.transformer.decoder import TransformerDecoder
from ..nn.transformer.encoder import TransformerStack
from ..nn.transformer.layers import TransformerOptions
from ..nn.transformer.positions import INIT_STD
from ..signature import BEGIN, Form, Signature
from ..trace import is_watched, watch
from .backbone import load_embeddings, tie_weights
from .neural import Neural
from .transformer import init_embeddings

ORIGINAL = TransformerOptions(norm="after", positions="sinusoid", activation="relu")
TIED = TokenOptions(tie_embeddings=True)


class TransformerEncoderDecoder(Neural):
    """Transformer encoder-decoder (Vaswani et al., 2017).

    m   = encoder(E x + P)               self-attention over all source positions
    h_t = decoder(E' y_{t-1} + P, m)     causal self-attention, and cross-attention to m
    p(y_t | y_<t, x) = softmax(W h_t + b)

    In each encoder layer, and in each decoder layer with cross-attention to m in between:

    x ← N(x + A [a₁; …; a_H]),  a = softmax(q kᵀ / √d) v   for each head; q, k, v = W x
    x ← N(x + V relu(U x))

    With sinusoidal positions embeddings are √hidden_size E x. With `biases` the feed-forward
    networks are V relu(U x + b) + b', as in the paper, and all other products and norms have a
    bias, too. Decoding keeps keys and values (KV cache), so a step costs one position.

    Args:
        hidden_size: Hidden size. Embeddings have the same size.
        encoder_layers: Number of stacked layers of the encoder.
        decoder_layers: Number of stacked layers of the decoder.
        context: Context size: number of learned positions on each side, an even number, and the
            maximum length. Sinusoidal and rotary positions have no limit.
        dropout: Dropout rate between layers: of embeddings, and of the output of each sublayer.
        label_smoothing: Label smoothing (Szegedy et al., 2016): the fraction of each target's
            probability that is spread over all tokens in training; the training loss includes it.
        share_embeddings: Share the embeddings of source and target, which must then have a joint
            vocabulary.
        transformer_options: Options of Transformer layers.
        token_options: Options of embeddings and output layer; the tied ones are the target's.
    """

    forms = frozenset({Form.TRANSDUCE})

    def __init__(  # noqa: PLR0913 - options are keyword-only
        self,
        signature: Signature,
        *,
        hidden_size: Size = 128,
        encoder_layers: Layers = 3,
        decoder_layers: Layers = 3,
        context: Steps = 256,
        dropout: Rate = 0.1,
        label_smoothing: Rate = 0.1,
        share_embeddings: bool = False,
        transformer_options: TransformerOptions = ORIGINAL,
        token_options: TokenOptions = TIED,
    ) -> None:
        super().__init__(signature)
        self.label_smoothing = label_smoothing
        self.token_options, self.transformer_options = token_options, transformer_options
        self.source_input = input_layer(signature.source, hidden_size, 0.0, token_options)
        self.target_input = input_layer(signature.target, hidden_size, 0.0, token_options)
        self.encoder = TransformerStack(
            hidden_size,
            num_layers=encoder_layers,
            context=context,
            causal=False,
            dropout=dropout,
            transformer_options=transformer_options,
        )
        self.decoder = TransformerDecoder(
            hidden_size,
            num_layers=decoder_layers,
            context=context,
            dropout=dropout,
            transformer_options=transformer_options,
        )
        self.output = output_layer(signature.target, hidden_size, token_options)
        if share_embeddings:
            self._share_embeddings()
        if token_options.tie_embeddings:
            tie_weights(self.target_input, self.output, hidden_size, hidden_size)
        self._init_embeddings(hidden_size)
        parts = (self.target_input, self.decoder, self.output)
        self._decoder_weights = [weight for part in parts for weight in part.parameters()]
        # The weights that the NumPy decoder was made of, and the decoder.
        self._numpy_decoder: tuple[Any, NumpyTransformerDecoder | None] = ((), None)

    def _share_embeddings(self) -> None:
        source, target = self.source_input, self.target_input
        if not isinstance(source, Embedding) or not isinstance(target, Embedding):
            raise ModelError("M180", "share_embeddings needs token input, not numbers")
        if self.signature.source != self.signature.target:
            counts = source.table.num_embeddings, target.table.num_embeddings
            raise ModelError(
                "M180",
                f"share_embeddings: the source has {counts[0]:,} tokens and the target"
                f" {counts[1]:,}; they need a joint vocabulary",
                help=["--set model.share_embeddings=false", "learn joint subwords for both sides"],
            )
        target.table.weight = source.table.weight

    def _init_embeddings(self, hidden_size: int) -> None:
        """As in `Transformer`, which says why tied embeddings are small."""
        is_large = self.transformer_options.positions == "sinusoid"
        option, std = self.token_options.spread, hidden_size**-0.5 if is_large else INIT_STD
        init_embeddings(self.source_input, self.output, option or std)
        target_std = INIT_STD if self.token_options.tie_embeddings else std
        init_embeddings(self.target_input, self.output, option or target_std)

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.output.log_prob(self._states(batch), batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return self.output.loss(self._states(batch), batch.target, self.label_smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        return beam_search(self, source, search)

    def output_limit(self, limit: int = 0) -> int:
        """As of every model; there are no learned positions beyond the context."""
        wanted = super().output_limit(limit)
        is_learned = self.transformer_options.positions == "learned"
        return min(wanted, self.decoder.context) if is_learned else wanted

    def begin(self, source: Sequences) -> State:
        """Cross-attention keys and values of all layers, the source mask, and an empty KV cache."""
        keys_values, mask = self._encode(source)
        return Constant(keys_values), Constant(mask), self.decoder.initial(len(source))

    def step(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        keys_values, mask, cache = state
        if (decoder := self._fast_decoder()) is not None:
            arrays = np.asarray(keys_values.values), np.asarray(mask.values)
            log_probs, cache = decoder.step(tokens, _as_array(cache), *arrays)
            return log_probs, (keys_values, mask, cache)
        embedded = self.target_input(torch.from_numpy(tokens))
        parts = (cache, keys_values.values, mask.values)
        tensors = [torch.as_tensor(np.asarray(part)) for part in parts]
        h, cache = self.decoder.step(embedded, *tensors)
        return self.output(h).numpy(), (keys_values, mask, cache)

    def step_with_attention(
        self, tokens: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch position"]]:
        """As `step`, with cross-attention weights: the mean over the last layer's heads."""
        with watch(self) as trace:
            log_probs, state = self.step(tokens, state)
        weights = trace.of_kind("attention")[-1].value  # (sources, heads, candidates, positions)
        return log_probs, state, weights.mean(1).reshape(len(tokens), -1)

    def load_embeddings(self, tokens: Sequence[str]) -> str:
        """Load pretrained embeddings of the source, if a file is named."""
        return load_embeddings(self.source_input, self.token_options, tokens)

    def _fast_decoder(self) -> NumpyTransformerDecoder | None:
        """The NumPy decoder, for inference without `watch`; it is made anew for changed weights."""
        # In-place updates of the optimizer do not always change a weight's version: weights with
        # gradients are never copied.
        is_training = any(weight.grad is not None for weight in self._decoder_weights)
        if is_training or self.training or is_watched() or torch.is_grad_enabled():
            return None
        versions = [(weight.data_ptr(), weight._version) for weight in self._decoder_weights]
        if versions != self._numpy_decoder[0]:
            embedding, output = self.target_input, self.output
            decoder = None
            if isinstance(embedding, Embedding) and isinstance(output, SoftmaxOutput):
                decoder = NumpyTransformerDecoder(embedding, self.decoder, output)
            self._numpy_decoder = versions, decoder
        return self._numpy_decoder[1]

    def _encode(self, source: Sequences) -> tuple[Tensor, Bool[Tensor, "batch position"]]:
        values, lengths = to_tensors(source)
        encoded = self.encoder(self.source_input(values), lengths)
        return self.decoder.cross_keys_values(encoded), torch.from_numpy(source.mask)

    def _states(self, batch: Batch) -> Float[Tensor, "batch time width"]:
        """Decoder outputs at all target positions, in parallel (teacher forcing)."""
        if torch.is_grad_enabled():  # an optimizer may change weights without a new version
            self._numpy_decoder = (), None
        keys_values, mask = self._encode(batch.source)
        values, _ = to_tensors(batch.target.shift_right(BEGIN))
        return self.decoder(self.target_input(values), keys_values, mask)


def _as_array(cache: Any) -> np.ndarray:
    # `np.asarray` would drop the subclass that keeps room for the next positions.
    return cache if isinstance(cache, np.ndarray) else np.asarray(cache)
