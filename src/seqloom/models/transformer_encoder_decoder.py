"""The first Transformer: one stack of layers reads the source, another writes the target."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ..batch import Batch, Sequences
from ..decoding import search as find
from ..errors import ModelError
from ..model import Prediction, Search, State, Still
from ..nn.embedding import Embedding, input_layer, tensors
from ..nn.numpy_steps import QuickDecoder
from ..nn.output.heads import Symbols, output_layer
from ..nn.token_options import Ends
from ..nn.transformer.decoder import TransformerDecoder
from ..nn.transformer.encoder import TransformerStack
from ..nn.transformer.layers import Assembly
from ..nn.transformer.positions import START
from ..signature import BEGIN, Form, Signature
from ..trace import is_watched, watching
from .backbone import take_vectors, tie
from .neural import Neural
from .transformer import start_ends

FIRST = Assembly(norm="after", positions="sinusoid", activation="relu")
TIED = Ends(tie_vectors=True)


class TransformerEncoderDecoder(Neural):
    """Attention alone, from one sequence to another (Vaswani et al., 2017).

    m   = encoder(E x + P)               every place of the source looks at all others
    h_t = decoder(E' y_{t-1} + P, m)     every place of the target looks at itself, at those before
                                         it, and at all of m
    p(y_t | y_<t, x) = softmax(W h_t + b)

    In each layer of the encoder, and of the decoder with a second look, at m, in between:

    x ← N(x + A [a₁; …; a_H]),  a = softmax(q kᵀ / √d) v   for each head; q, k, v = W x
    x ← N(x + V relu(U x))

    Symbols are looked up with √width E x where positions are sinusoids. With `biases` the small
    networks are V relu(U x + b) + b', as in the paper, and all other products and norms have a
    bias too. While it writes, keys and values are kept: a step costs one place.

    Args:
        width: The width of the vector that stands for a symbol, and of all layers.
        encoder_layers: How many layers read the source.
        decoder_layers: How many layers write the target.
        context: How many learned positions there are on each side, an even number; sequences may be
            no longer. Sinusoids and rotary positions have no end.
        dropout: The share of numbers dropped while training: of the first vectors, and of what
            each part of a layer adds.
        smoothing: How much of each right answer's weight is spread over all symbols in training;
            the training loss then reads higher than the same loss on validation.
        share_vectors: Whether source and target symbols have the same vectors; they must then be
            the same symbols, as joint subwords are.
        assembly: How the layers are made.
        ends: How symbols come in and go out; what is tied is the target's vectors and the output.
    """

    forms = frozenset({Form.TRANSDUCE})

    def __init__(  # noqa: PLR0913 - options are keyword-only
        self,
        signature: Signature,
        *,
        width: int = 128,
        encoder_layers: int = 3,
        decoder_layers: int = 3,
        context: int = 256,
        dropout: float = 0.1,
        smoothing: float = 0.1,
        share_vectors: bool = False,
        assembly: Assembly = FIRST,
        ends: Ends = TIED,
    ) -> None:
        super().__init__(signature)
        self.smoothing, self.ends, self.assembly = smoothing, ends, assembly
        self.source_input = input_layer(signature.source, width, 0.0, ends)
        self.target_input = input_layer(signature.target, width, 0.0, ends)
        self.encoder = TransformerStack(
            width,
            layers=encoder_layers,
            context=context,
            causal=False,
            dropout=dropout,
            assembly=assembly,
        )
        self.decoder = TransformerDecoder(
            width, layers=decoder_layers, context=context, dropout=dropout, assembly=assembly
        )
        self.output = output_layer(signature.target, width, ends)
        if share_vectors:
            self._share()
        if ends.tie_vectors:
            tie(self.target_input, self.output, width, width)
        self._start(width)
        parts = (self.target_input, self.decoder, self.output)
        self._stepped = [weight for part in parts for weight in part.parameters()]
        self._twin: tuple[Any, QuickDecoder | None] = ((), None)

    def _share(self) -> None:
        read, write, size = self.source_input, self.target_input, self.signature.target
        if not isinstance(read, Embedding) or not isinstance(write, Embedding):
            raise ModelError("M180", "share_vectors: the source is numbers, not symbols")
        if self.signature.source != size:
            counts = read.table.num_embeddings, write.table.num_embeddings
            raise ModelError(
                "M180",
                f"share_vectors: the source has {counts[0]:,} symbols and the target {counts[1]:,}"
                "; they must be the same symbols",
                help=["--set model.share_vectors=false", "learn joint subwords for both sides"],
            )
        write.table.weight = read.table.weight

    def _start(self, width: int) -> None:
        """As in a stack alone; vectors that also score are small (see `Transformer`)."""
        is_large = self.assembly.positions == "sinusoid"
        given, spread = self.ends.spread, width**-0.5 if is_large else START
        start_ends(self.source_input, self.output, given or spread)
        written = START if self.ends.tie_vectors else spread
        start_ends(self.target_input, self.output, given or written)

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.output.log_prob(self._states(batch), batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return self.output.loss(self._states(batch), batch.target, self.smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        if self.assembly.positions == "learned":  # there is no place beyond the last position
            search = replace(search, limit=min(search.limit, self.decoder.context))
        return find(self, source, search)

    def begin(self, source: Sequences) -> State:
        """The layers' keys and values of the source, its real places, and nothing written."""
        memory, real = self._encoded(source)
        return Still(memory), Still(real), self.decoder.initial(len(source))

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        memory, real, known = state
        if (quick := self._quickly()) is not None:
            arrays = np.asarray(memory.values), np.asarray(real.values)
            log_probs, known = quick.step(symbols, _grown_or_array(known), *arrays)
            return log_probs, (memory, real, known)
        vectors = self.target_input(torch.from_numpy(symbols))
        parts = [torch.as_tensor(np.asarray(part)) for part in (known, memory.values, real.values)]
        h, known = self.decoder.step(vectors, *parts)
        return self.output(h).numpy(), (memory, real, known)

    def step_looking(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State, Float[np.ndarray, "batch place"]]:
        """As `step`, and where it looked: the mean of the last layer's heads."""
        with watching(self) as trace:
            log_probs, state = self.step(symbols, state)
        seen = trace.of_kind("attention")[-1].value  # (sources, heads, candidates, places)
        return log_probs, state, seen.mean(1).reshape(len(symbols), -1)

    def take_vectors(self, symbols: Sequence[str]) -> str:
        """Start the source's vectors from those of a file, where one is named."""
        return take_vectors(self.source_input, self.ends, symbols)

    def _quickly(self) -> QuickDecoder | None:
        """The decoder's twin in NumPy, where the model is used and nobody watches."""
        learns = any(weight.grad is not None for weight in self._stepped)
        if learns or self.training or is_watched() or torch.is_grad_enabled():
            return None
        mark = [(weight.data_ptr(), weight._version) for weight in self._stepped]
        if mark != self._twin[0]:  # what was restored since is arranged anew
            read, output = self.target_input, self.output
            twin = None
            if isinstance(read, Embedding) and isinstance(output, Symbols):
                twin = QuickDecoder(read, self.decoder, output)
            self._twin = mark, twin
        return self._twin[1]

    def _encoded(self, source: Sequences) -> tuple[Tensor, Bool[Tensor, "batch place"]]:
        values, lengths = tensors(source)
        encoded = self.encoder(self.source_input(values), lengths)
        return self.decoder.memory(encoded), torch.from_numpy(source.mask)

    def _states(self, batch: Batch) -> Float[Tensor, "batch time width"]:
        """The top layer's output at every place of the target, all at once."""
        if torch.is_grad_enabled():  # who learns changes the weights, and does not always tell
            self._twin = (), None
        memory, real = self._encoded(batch.source)
        values, _ = tensors(batch.target.late(BEGIN))
        return self.decoder(self.target_input(values), memory, real)


def _grown_or_array(known: Any) -> np.ndarray:
    return known if isinstance(known, np.ndarray) else np.asarray(known)
