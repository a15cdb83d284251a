"""Transformer decoding steps in NumPy, with a key-value cache: one position at a time.

Products of few rows take NumPy half the time they take torch, and every other operation costs less.
All arrays have a row for each sequence, or beam candidate; weights are copied as they are now.

No step calls torch, not even for GELU: torch's threads and those of NumPy's BLAS would wait for
each other, which makes a step ten times as slow where both have two threads.
"""

from contextlib import nullcontext
from copy import deepcopy
from math import erf, sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Complex, Float, Int
from torch import nn

from ...signature import UNKNOWN
from ..embedding import Embedding
from ..output.heads import SoftmaxOutput
from ..transformer.attention import TransformerAttention
from ..transformer.decoder import TransformerDecoder
from ..transformer.encoder import TransformerStack, block_inputs
from ..transformer.layers import ACTIVATIONS, TransformerBlocks, TransformerLayer
from ..transformer.positions import SinusoidalPositions
from .base import Row, Rows, to_array
from .kv_cache import reserve_position
from .threads import MAX_ROWS, single_thread

# erf(x) = 1 - (a₁t + a₂t² + … + a₅t⁵) exp(-x²), t = 1 / (1 + p x), for x ≥ 0: the error is at most
# 1.5e-7 (Hastings; Abramowitz & Stegun, 7.1.26). NumPy has no error function of its own.
P = np.float32(0.3275911)
A = np.array([0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429], np.float32)
_EXACT = np.vectorize(erf, otypes=[float])


def gelu(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """GELU: x Φ(x) = ½ x (1 + erf(x / √2))."""
    if x.dtype != np.float32:  # the approximation has seven digits only
        return x * (1 + _EXACT(x / sqrt(2))) / 2
    z = np.abs(x)
    z *= np.float32(1 / sqrt(2))
    t = 1 / (1 + P * z)
    tail = A[4] * t  # Horner's scheme, in place
    for a in A[3::-1]:
        tail += a
        tail *= t
    np.square(z, out=z)
    tail *= np.exp(np.negative(z, out=z), out=z)  # 1 - erf |x / √2|
    tail *= np.abs(x)
    # max(x, 0) - ½ |x| (1 - erf |x / √2|), the same formula on both sides of 0.
    result: np.ndarray = np.maximum(x, 0) - tail / 2
    return result


Many = Float[np.ndarray, "rows _"]
Rotation = Complex[np.ndarray, " half"] | None


class NumpyLinear:
    """A linear layer in NumPy: X Mᵀ + b, for any number of rows."""

    def __init__(self, product: nn.Linear) -> None:
        self.columns = np.ascontiguousarray(to_array(product.weight).T)
        self.bias = None if product.bias is None else to_array(product.bias)

    def scaled(self, scale: float, first: int | None = None) -> "NumpyLinear":
        """Itself, its outputs (all, or the first so many) multiplied by a constant for good."""
        self.columns[:, :first] *= scale
        if self.bias is not None:
            self.bias[:first] *= scale
        return self

    def __call__(self, x: Many) -> Many:
        result = np.dot(x, self.columns)
        if self.bias is not None:
            result += self.bias
        return result


class NumpyLayerNorm:
    """Layer normalisation in NumPy: s ⊙ (x - mean x) / deviation x + b of each row."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self.scale, self.size, self.eps = to_array(norm.weight), norm.weight.shape[0], norm.eps
        self.bias = None if norm.bias is None else to_array(norm.bias)

    def __call__(self, x: Many) -> Many:
        # ufunc.reduce and einsum: mean() and var() take longer than the arithmetic for few rows.
        centred = x - np.add.reduce(x, axis=-1, keepdims=True) / self.size
        variance = np.einsum("ij,ij->i", centred, centred)
        variance /= self.size
        variance += self.eps
        centred /= np.sqrt(variance, out=variance)[:, None]
        centred *= self.scale
        if self.bias is not None:
            centred += self.bias
        return centred


class NumpyCrossKeyValues(NamedTuple):
    """Keys and values of the sources for the cross-attention of one layer."""

    keys: Float[np.ndarray, "source heads position head_size"]
    values: Float[np.ndarray, "source heads position head_size"]
    padding: Bool[np.ndarray, "source 1 1 position"] | None  # true at padding


class NumpyCrossAttention:
    """Cross-attention in NumPy; the candidates of a source are further queries of it."""

    def __init__(self, attention: Any) -> None:
        self.heads = attention.heads
        self.ask = NumpyLinear(attention.ask).scaled(_scale(attention))
        self.join = NumpyLinear(attention.join)

    def __call__(self, x: Many, source: NumpyCrossKeyValues) -> Many:
        sources = len(source.keys)
        queries = self.ask(x).reshape(sources, -1, self.heads, x.shape[1] // self.heads)
        scores = queries.transpose(0, 2, 1, 3) @ source.keys.transpose(0, 1, 3, 2)
        if source.padding is not None:
            np.copyto(scores, -np.inf, where=source.padding)
        context = _softmax(scores) @ source.values
        return self.join(context.transpose(0, 2, 1, 3).reshape(x.shape))


class NumpyTransformerLayer:
    """One step of a Transformer layer in NumPy."""

    def __init__(self, layer: TransformerLayer) -> None:
        self.before, self.heads = layer.before, layer.attention.heads
        self.attention_norm, self.feed_norm = map(
            NumpyLayerNorm, (layer.attention_norm, layer.feed_norm)
        )
        self.read = NumpyLinear(layer.attention.read)
        # The first third of the product are the queries: 1 / √d is multiplied into their weights.
        self.read.scaled(_scale(layer.attention), first=len(self.read.columns))
        self.join = NumpyLinear(layer.attention.join)
        cross, norm = layer.cross_attention, layer.cross_norm
        self.cross = None if cross is None else NumpyCrossAttention(cross)
        self.cross_norm = None if norm is None else NumpyLayerNorm(norm)
        self.widen, self.narrow = NumpyLinear(layer.widen), NumpyLinear(layer.narrow)
        self.is_gelu = layer.activation is ACTIVATIONS["gelu"]

    def step(
        self,
        x: Many,
        cache: Float[np.ndarray, "rows 2 position width"],
        rotation: Rotation,
        source: NumpyCrossKeyValues | None = None,
    ) -> Many:
        """The output at the last position, whose key and value are written into the cache."""
        ready = self.attention_norm(x) if self.before else x
        x = self._residual(x, self.join(self._attend(ready, cache, rotation)), self.attention_norm)
        if source is not None and self.cross is not None and self.cross_norm is not None:
            ready = self.cross_norm(x) if self.before else x
            x = self._residual(x, self.cross(ready, source), self.cross_norm)
        wide = self.widen(self.feed_norm(x) if self.before else x)
        if self.is_gelu:
            wide = gelu(wide)
        else:
            np.maximum(wide, 0, out=wide)
        return self._residual(x, self.narrow(wide), self.feed_norm)

    def _attend(self, x: Many, cache: np.ndarray, rotation: Rotation) -> Many:
        parts, (count, width) = self.read(x), x.shape
        if rotation is not None:
            # Queries and keys lie side by side: both are rotated in place, as complex numbers.
            pairs = parts[:, : 2 * width].view(rotation.dtype)
            pairs.reshape(count, 2 * self.heads, -1)[...] *= rotation
        cache[:, 0, -1], cache[:, 1, -1] = parts[:, width : 2 * width], parts[:, 2 * width :]
        by_head = cache.reshape(count, 2, -1, self.heads, width // self.heads)
        keys, values = by_head[:, 0].transpose(0, 2, 1, 3), by_head[:, 1].transpose(0, 2, 1, 3)
        queries = parts[:, :width].reshape(count, self.heads, -1, 1)
        weights = _softmax((keys @ queries)[..., 0])
        return (weights[:, :, None] @ values).reshape(count, width)

    def _residual(self, x: Many, output: Many, norm: NumpyLayerNorm) -> Many:
        output += x
        return output if self.before else norm(output)


class NumpyTransformerLayers:
    """One step of stacked Transformer layers in NumPy, with their positions."""

    def __init__(self, blocks: TransformerBlocks) -> None:
        self.context, self.window = blocks.context, blocks.window
        self.layers = [NumpyTransformerLayer(layer) for layer in blocks.blocks()]
        self.norm = NumpyLayerNorm(blocks.norm) if isinstance(blocks.norm, nn.LayerNorm) else None
        self.positions, self.rotary = blocks.positions, blocks.rotary
        self.scale = (
            self.positions.scale if isinstance(self.positions, SinusoidalPositions) else 1.0
        )
        self.like = next(blocks.parameters()).new_zeros(1, blocks.context, blocks.width)
        # The positions of a whole context are computed once; only those beyond it ask torch.
        with torch.no_grad():
            self.added = None if self.positions is None else to_array(self.positions(self.like)[0])
            self.rotations = None if self.rotary is None else to_array(self.rotary(0, self.context))

    def step(
        self,
        x: Many,
        position: int,
        cache: Float[np.ndarray, "rows parts position width"],
        sources: list[NumpyCrossKeyValues] | None = None,
    ) -> Many:
        """The top layer's output at the last position of the cache, which is written."""
        h, rotation = self._add_position(x, position)
        visible = cache[:, :, -self.window :]  # all of it where the window is 0
        for number, layer in enumerate(self.layers):
            own = visible[:, 2 * number : 2 * number + 2]
            h = layer.step(h, own, rotation, None if sources is None else sources[number])
        return h if self.norm is None else self.norm(h)

    def _add_position(self, x: Many, position: int) -> tuple[Many, Rotation]:
        """The first layer's input at a position, and the rotation of its queries and keys."""
        if self.rotary is not None and self.rotations is not None:
            is_near = position < len(self.rotations)
            return x, self.rotations[position] if is_near else self.rotary(position, 1)[0].numpy()
        if self.positions is None or self.added is None:
            return x, None
        if position < len(self.added):
            return x * self.scale + self.added[position], None
        with torch.no_grad():
            return x * self.scale + self.positions(self.like[:, :1], position)[0].numpy(), None


class NumpyTransformer:
    """A causal Transformer in NumPy, for one sequence; its states have the shapes of torch's."""

    def __init__(self, stack: TransformerStack) -> None:
        self.layers = NumpyTransformerLayers(stack)
        self.stack = deepcopy(stack).eval()  # torch recomputes the cache when a new block begins
        with torch.no_grad():
            self.first = tuple(to_array(part[0]) for part in stack.initial(1))

    @staticmethod
    def supports(stack: TransformerStack) -> bool:
        """Whether it is causal: no position attends to later ones."""
        return stack.causal

    def begin(self) -> Rows:
        """The initial state."""
        return self.first

    def products(self, x: Row) -> Row:
        """x itself: unlike an RNN's, the first products depend on the position."""
        return x

    def step(self, x: Row, state: Rows) -> tuple[Row, Rows]:
        """The output at one more position, and the new state."""
        inputs, cache = state
        position = len(inputs) + len(cache)
        if position == self.stack.context or len(inputs):
            inputs, cache = self._new_block(state, position)
            position = len(cache)
        store = reserve_position(cache, self.stack.context)
        rows = store.values[None, :, : position + 1]
        rows[0, 0, position] = x
        output = self.layers.step(rows[:, 0, position], position, rows[:, 1:])
        return output[0], (inputs, store.rows(position + 1))

    def final_output(self, output: Row, state: Rows) -> Row:
        """The output itself."""
        return output

    def _new_block(self, state: Rows, position: int) -> Rows:
        """The state with a cache computed anew, of all inputs from the beginning of the block."""
        with torch.no_grad():
            batch = tuple(torch.from_numpy(np.asarray(part))[None] for part in state)
            inputs = block_inputs(batch)[:, self.stack.block_start(position) :]
            return inputs[0, :0].numpy(), self.stack.fill_cache(inputs)[0].numpy()


class NumpyTransformerDecoder:
    """A Transformer decoder in NumPy, with embedding and softmax, for any number of candidates."""

    def __init__(self, read: Embedding, decoder: TransformerDecoder, output: SoftmaxOutput) -> None:
        self.layers = NumpyTransformerLayers(decoder)
        self.vectors = to_array(read.table.weight)
        self.scores = NumpyLinear(output.scores)

    def step(
        self,
        tokens: Int[np.ndarray, " rows"],
        cache: Float[np.ndarray, "rows position parts width"],
        keys_values: Float[np.ndarray, "source parts heads source_position head_size"],
        real: Bool[np.ndarray, "source source_position"],
    ) -> tuple[Float[np.ndarray, "rows vocabulary"], np.ndarray]:
        """Log-probabilities of the next tokens, and the cache with these tokens."""
        with single_thread() if len(tokens) <= MAX_ROWS else nullcontext():
            return self._step(tokens, cache, keys_values, real)

    def _step(
        self, tokens: np.ndarray, cache: np.ndarray, keys_values: np.ndarray, real: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        position = cache.shape[1]
        tokens = np.where(tokens < len(self.vectors), tokens, UNKNOWN)
        store = reserve_position(cache, self.layers.context)
        padding = None if real.all() else ~real[:, None, None]
        sources = [
            NumpyCrossKeyValues(keys_values[:, part], keys_values[:, part + 1], padding)
            for part in range(0, keys_values.shape[1], 2)
        ]
        rows = store.values[:, :, : position + 1]
        logits = self.scores(self.layers.step(self.vectors[tokens], position, rows, sources))
        # log softmax; the largest logit is subtracted, so that no exponential overflows.
        logits -= np.maximum.reduce(logits, axis=-1, keepdims=True)
        logits -= np.log(np.add.reduce(np.exp(logits), axis=-1, keepdims=True))
        return logits, store.rows(position + 1)


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax in place; the largest score is subtracted, so that no exponential overflows."""
    scores -= np.maximum.reduce(scores, axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, axis=-1, keepdims=True)
    return scores


def _scale(attention: TransformerAttention) -> float:
    """1 / √d, multiplied into the weights of the queries once."""
    return float((attention.join.weight.shape[0] / attention.heads) ** -0.5)
