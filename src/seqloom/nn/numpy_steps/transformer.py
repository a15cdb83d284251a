"""A Transformer one place at a time, without torch: for one sequence, and for a few side by side.

Products of few rows take NumPy half the time they take torch, and every other operation costs less.
All arrays have a row for each sequence; a twin keeps the weights as they are now.

GELU without torch: its threads and those of NumPy's products wait for each other.

One call of torch between two products makes a step ten times as slow where both have two threads.
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
from ..output.heads import Symbols
from ..transformer.attention import Heads
from ..transformer.decoder import TransformerDecoder
from ..transformer.encoder import TransformerStack, vectors_of
from ..transformer.layers import ACTIVATIONS, Layered, TransformerLayer
from ..transformer.positions import Sinusoid
from .base import Row, Rows, array_of
from .kv_cache import claimed
from .threads import FEW, one_thread

# erf(x) = 1 - (a₁t + a₂t² + … + a₅t⁵) exp(-x²), t = 1 / (1 + p x), for x ≥ 0: no further than
# 1.5e-7 from the truth (Hastings; Abramowitz & Stegun, 7.1.26).
P = np.float32(0.3275911)
A = np.array([0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429], np.float32)
_EXACT = np.vectorize(erf, otypes=[float])


def gelu(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """x Φ(x) = ½ x (1 + erf(x / √2))."""
    if x.dtype != np.float32:  # where more than seven digits matter, one number after another
        return x * (1 + _EXACT(x / sqrt(2))) / 2
    far = np.abs(x)
    far *= np.float32(1 / sqrt(2))
    t = 1 / (1 + P * far)
    tail = A[4] * t
    for a in A[3::-1]:
        tail += a
        tail *= t
    np.square(far, out=far)
    tail *= np.exp(np.negative(far, out=far), out=far)  # 1 - erf |x / √2|
    tail *= np.abs(x)
    found: np.ndarray = np.maximum(x, 0) - tail / 2  # the same on both sides of nought
    return found


Many = Float[np.ndarray, "rows _"]
Turns = Complex[np.ndarray, " half"] | None


class Product:
    """X Mᵀ + b, for any number of rows."""

    def __init__(self, product: nn.Linear) -> None:
        self.columns = np.ascontiguousarray(array_of(product.weight).T)
        self.bias = None if product.bias is None else array_of(product.bias)

    def scaled(self, scale: float, first: int | None = None) -> "Product":
        """Itself, what it finds multiplied for good: all numbers, or the first so many."""
        self.columns[:, :first] *= scale
        if self.bias is not None:
            self.bias[:first] *= scale
        return self

    def __call__(self, x: Many) -> Many:
        found = np.dot(x, self.columns)
        if self.bias is not None:
            found += self.bias
        return found


class RowNorm:
    """s ⊙ (x - mean x) / deviation x of each row, and b where there is one."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self.scale, self.share, self.least = array_of(norm.weight), norm.weight.shape[0], norm.eps
        self.bias = None if norm.bias is None else array_of(norm.bias)

    def __call__(self, x: Many) -> Many:
        apart = x - np.add.reduce(x, axis=-1, keepdims=True) / self.share
        size = np.einsum("ij,ij->i", apart, apart)
        size /= self.share
        size += self.least
        apart /= np.sqrt(size, out=size)[:, None]
        apart *= self.scale
        if self.bias is not None:
            apart += self.bias
        return apart


class QuickMemory(NamedTuple):
    """The keys and values a layer has of the sources."""

    keys: Float[np.ndarray, "source heads place numbers"]
    values: Float[np.ndarray, "source heads place numbers"]
    hidden: Bool[np.ndarray, "source 1 1 place"] | None  # true where a place is none


class QuickCross:
    """The twin of a look at the sources; candidates of a source are further queries of it."""

    def __init__(self, attention: Any) -> None:
        self.heads = attention.heads
        self.ask = Product(attention.ask).scaled(_scale(attention))
        self.join = Product(attention.join)

    def __call__(self, x: Many, memory: QuickMemory) -> Many:
        sources = len(memory.keys)
        queries = self.ask(x).reshape(sources, -1, self.heads, x.shape[1] // self.heads)
        scores = queries.transpose(0, 2, 1, 3) @ memory.keys.transpose(0, 1, 3, 2)
        if memory.hidden is not None:
            np.copyto(scores, -np.inf, where=memory.hidden)
        found = _softmax(scores) @ memory.values
        return self.join(found.transpose(0, 2, 1, 3).reshape(x.shape))


class QuickLayer:
    """The twin of a layer's step."""

    def __init__(self, layer: TransformerLayer) -> None:
        self.before, self.heads = layer.before, layer.attention.heads
        self.attention_norm, self.feed_norm = map(RowNorm, (layer.attention_norm, layer.feed_norm))
        self.read = Product(layer.attention.read)
        self.read.scaled(_scale(layer.attention), first=len(self.read.columns))  # the queries
        self.join = Product(layer.attention.join)
        cross, norm = layer.cross_attention, layer.cross_norm
        self.cross = None if cross is None else QuickCross(cross)
        self.cross_norm = None if norm is None else RowNorm(norm)
        self.widen, self.narrow = Product(layer.widen), Product(layer.narrow)
        self.is_gelu = layer.bend is ACTIVATIONS["gelu"]

    def step(
        self,
        x: Many,
        rows: Float[np.ndarray, "rows 2 place width"],
        turns: Turns,
        memory: QuickMemory | None = None,
    ) -> Many:
        """The output at the last place, whose key and value are written into `rows`."""
        ready = self.attention_norm(x) if self.before else x
        x = self._added(x, self.join(self._looked(ready, rows, turns)), self.attention_norm)
        if memory is not None and self.cross is not None and self.cross_norm is not None:
            ready = self.cross_norm(x) if self.before else x
            x = self._added(x, self.cross(ready, memory), self.cross_norm)
        wide = self.widen(self.feed_norm(x) if self.before else x)
        if self.is_gelu:
            wide = gelu(wide)
        else:
            np.maximum(wide, 0, out=wide)
        return self._added(x, self.narrow(wide), self.feed_norm)

    def _looked(self, x: Many, rows: np.ndarray, turns: Turns) -> Many:
        parts, (count, width) = self.read(x), x.shape
        if turns is not None:
            pairs = parts[:, : 2 * width].view(turns.dtype)
            pairs.reshape(count, 2 * self.heads, -1)[...] *= turns
        rows[:, 0, -1], rows[:, 1, -1] = parts[:, width : 2 * width], parts[:, 2 * width :]
        apart = rows.reshape(count, 2, -1, self.heads, width // self.heads)
        keys, values = apart[:, 0].transpose(0, 2, 1, 3), apart[:, 1].transpose(0, 2, 1, 3)
        queries = parts[:, :width].reshape(count, self.heads, -1, 1)
        weights = _softmax((keys @ queries)[..., 0])
        return (weights[:, :, None] @ values).reshape(count, width)

    def _added(self, x: Many, found: Many, norm: RowNorm) -> Many:
        found += x
        return found if self.before else norm(found)


class QuickLayers:
    """The twin of layers one upon the other, for one more place."""

    def __init__(self, layered: Layered) -> None:
        self.context, self.window = layered.context, layered.window
        self.layers = [QuickLayer(layer) for layer in layered.each()]
        self.norm = RowNorm(layered.norm) if isinstance(layered.norm, nn.LayerNorm) else None
        self.positions, self.rotary = layered.positions, layered.rotary
        self.scale = self.positions.scale if isinstance(self.positions, Sinusoid) else 1.0
        self.like = next(layered.parameters()).new_zeros(1, layered.context, layered.width)
        with torch.no_grad():
            self.added = None if self.positions is None else array_of(self.positions(self.like)[0])
            self.turns = None if self.rotary is None else array_of(self.rotary(0, self.context))

    def step(
        self,
        x: Many,
        place: int,
        rows: Float[np.ndarray, "rows parts place width"],
        memory: list[QuickMemory] | None = None,
    ) -> Many:
        """The top layer's output at the last place of `rows`, which are written."""
        h, turns = self._placed(x, place)
        seen = rows[:, :, -self.window :]
        for number, layer in enumerate(self.layers):
            known = seen[:, 2 * number : 2 * number + 2]
            h = layer.step(h, known, turns, None if memory is None else memory[number])
        return h if self.norm is None else self.norm(h)

    def _placed(self, x: Many, place: int) -> tuple[Many, Turns]:
        """What the first layer reads at a place, and how its keys are turned."""
        if self.rotary is not None and self.turns is not None:
            is_near = place < len(self.turns)
            return x, self.turns[place] if is_near else self.rotary(place, 1)[0].numpy()
        if self.positions is None or self.added is None:
            return x, None
        if place < len(self.added):
            return x * self.scale + self.added[place], None
        with torch.no_grad():
            return x * self.scale + self.positions(self.like[:, :1], place)[0].numpy(), None


class QuickStack:
    """The twin of a causal stack, for one sequence; its states are rows of the stack's own."""

    def __init__(self, stack: TransformerStack) -> None:
        self.layers = QuickLayers(stack)
        self.stack = deepcopy(stack).eval()  # what rolls over is read again at once, by torch
        with torch.no_grad():
            self.first = tuple(array_of(part[0]) for part in stack.initial(1))

    @staticmethod
    def can(stack: TransformerStack) -> bool:
        """Whether it never looks ahead."""
        return stack.causal

    def begin(self) -> Rows:
        """The state before the first step."""
        return self.first

    def products(self, x: Row) -> Row:
        """What goes in, unchanged: a place's first products depend on where it stands."""
        return x

    def step(self, x: Row, state: Rows) -> tuple[Row, Rows]:
        """The output at one place more, and the new state."""
        vectors, known = state
        place = len(vectors) + len(known)
        if place == self.stack.context or len(vectors):
            vectors, known = self._read_again(state, place)
            place = len(known)
        store = claimed(known, self.stack.context)
        rows = store.values[None, :, : place + 1]
        rows[0, 0, place] = x
        output = self.layers.step(rows[:, 0, place], place, rows[:, 1:])
        return output[0], (vectors, store.rows(place + 1))

    def end(self, output: Row, state: Rows) -> Row:
        """What reading ended with."""
        return output

    def _read_again(self, state: Rows, place: int) -> Rows:
        """The state with the keys and values of all it holds, from where the block begins."""
        with torch.no_grad():
            batch = tuple(torch.from_numpy(np.asarray(part))[None] for part in state)
            vectors = vectors_of(batch)[:, self.stack.begins(place) :]
            return vectors[0, :0].numpy(), self.stack.known(vectors)[0].numpy()


class QuickDecoder:
    """The twin of a decoder with its ends, for any number of candidates of some sources."""

    def __init__(self, read: Embedding, decoder: TransformerDecoder, output: Symbols) -> None:
        self.layers = QuickLayers(decoder)
        self.vectors = array_of(read.table.weight)
        self.scores = Product(output.scores)

    def step(
        self,
        symbols: Int[np.ndarray, " rows"],
        known: Float[np.ndarray, "rows place parts width"],
        memory: Float[np.ndarray, "source parts heads seen numbers"],
        real: Bool[np.ndarray, "source seen"],
    ) -> tuple[Float[np.ndarray, "rows symbols"], np.ndarray]:
        """Log-probabilities of what follows these symbols, and what is known of them then."""
        with one_thread() if len(symbols) <= FEW else nullcontext():
            return self._step(symbols, known, memory, real)

    def _step(
        self, symbols: np.ndarray, known: np.ndarray, memory: np.ndarray, real: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        place = known.shape[1]
        symbols = np.where(symbols < len(self.vectors), symbols, UNKNOWN)
        store = claimed(known, self.layers.context)
        hidden = None if real.all() else ~real[:, None, None]
        memories = [
            QuickMemory(memory[:, part], memory[:, part + 1], hidden)
            for part in range(0, memory.shape[1], 2)
        ]
        rows = store.values[:, :, : place + 1]
        scores = self.scores(self.layers.step(self.vectors[symbols], place, rows, memories))
        scores -= np.maximum.reduce(scores, axis=-1, keepdims=True)
        scores -= np.log(np.add.reduce(np.exp(scores), axis=-1, keepdims=True))
        return scores, store.rows(place + 1)


def _softmax(scores: np.ndarray) -> np.ndarray:
    scores -= np.maximum.reduce(scores, axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, axis=-1, keepdims=True)
    return scores


def _scale(attention: Heads) -> float:
    """1 / √d, with which queries are multiplied once and for all."""
    return float((attention.join.weight.shape[0] / attention.heads) ** -0.5)
