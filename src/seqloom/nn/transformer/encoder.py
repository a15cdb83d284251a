"""Layers of self-attention over sequences of any length: the Transformer."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from .attention import Sight
from .kv_cache import empty, grown
from .layers import PLAIN, Assembly, Layered

State = tuple[Tensor, ...]


class TransformerStack(Layered):
    """Layers of self-attention over sequences of any length.

    Causal, with a context of C places and H = C/2: the place p sees the places from
    max(0, ⌊p/H⌋ - 1)·H to p, between H and C of them, and is counted from the first of these. What
    is longer than C is therefore read in blocks of C places that overlap by half; of all but the
    first block only the second half counts. The state is what was read since the block began:

    vectors   (batch, place, width)           read, their keys and values not computed yet
    known     (batch, place, 1 + 2 L, width)  read later: a vector, then key and value of each layer

    Not causal, every place sees all real ones, and there are no blocks.
    """

    in_order = False  # a window begins a block, so learning need not know what came before it

    def __init__(
        self,
        width: int,
        *,
        layers: int,
        context: int,
        causal: bool = True,
        dropout: float = 0.0,
        assembly: Assembly = PLAIN,
    ) -> None:
        super().__init__(width, layers=layers, context=context, dropout=dropout, assembly=assembly)
        self.causal = causal

    def initial(self, batch: int) -> State:
        """Nothing was read."""
        like = next(self.parameters())
        return like.new_zeros(batch, 0, self.width), self._no_rows(like, batch)

    def forward(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time width"]:
        """The top layer's outputs; padding changes none of them at a real place."""
        if self.causal:
            return self._read(x)
        real = torch.arange(x.shape[1]) < lengths[:, None]
        return self._block(x, None if bool(real.all()) else real)

    def carry(
        self, x: Float[Tensor, "batch time width"], state: State
    ) -> tuple[Float[Tensor, "batch time width"], State]:
        """Outputs of a piece, and what was read since the last block of it began."""
        past = vectors_of(state)
        read = torch.cat([past, x], dim=1) if past.shape[1] else x
        outputs = self._read(read)[:, past.shape[1] :]
        return outputs, (read[:, self.begins(read.shape[1]) :], self._no_rows(x, len(x)))

    def step(
        self, x: Float[Tensor, "batch width"], state: State
    ) -> tuple[Float[Tensor, "batch width"], State]:
        """One place more, from the keys and values of those before it; for use, not learning."""
        vectors, known = state
        place = vectors.shape[1] + known.shape[1]
        if place == self.context or vectors.shape[1]:
            vectors = vectors_of(state)[:, self.begins(place) :]
            known, place = self.known(vectors), vectors.shape[1]
            vectors = vectors[:, :0]
        rows = grown(known, self.context)
        rows[:, place, 0] = x
        h, turns = self.placed(x[:, None], place)
        for number, layer in enumerate(self.each()):
            h = layer.step(h, rows[:, :, 1 + 2 * number : 3 + 2 * number], turns, self.window)
        return self.norm(h)[:, 0], (vectors, rows)

    def known(self, vectors: Float[Tensor, "batch place width"]) -> Tensor:
        """What a state holds of places that are read again: their keys and values too."""
        batch, places, _ = vectors.shape
        rows = empty(self._no_rows(vectors, batch), places, self.context)
        rows[:, :, 0] = vectors
        h, turns = self.placed(vectors, 0)
        sight = Sight(self.causal, self.mask(places, self.causal, None), turns)
        for number, layer in enumerate(self.layers):
            h, (keys, values) = layer(h, sight)
            rows[:, :, 1 + 2 * number] = keys.flatten(2)
            rows[:, :, 2 + 2 * number] = values.flatten(2)
        return rows

    def begins(self, time: int) -> int:
        """Where the block begins in which the place `time` lies."""
        half = self.context // 2
        return max(0, time // half - 1) * half

    def _read(self, x: Tensor) -> Tensor:
        """The places of one long sequence from the beginning of a block, each as its block does."""
        batch, time, width = x.shape
        half = self.context // 2
        if time <= self.context:
            return self._block(x)
        blocks = -(-time // half) - 1
        whole = pad(x, (0, 0, 0, (blocks + 1) * half - time))
        pieces = whole.unfold(1, self.context, half).transpose(2, 3)
        outputs = self._block(pieces.flatten(0, 1)).unflatten(0, (batch, blocks))
        later = outputs[:, 1:, half:].flatten(1, 2)
        return torch.cat([outputs[:, 0], later], dim=1)[:, :time]

    def _block(
        self, x: Float[Tensor, "batch time width"], real: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """All layers over places that are counted from the first of them."""
        h, turns = self.placed(x, 0)
        sight = Sight(self.causal, self.mask(x.shape[1], self.causal, real), turns)
        for layer in self.layers:
            h, _ = layer(h, sight)
        return self.norm(h)

    def _no_rows(self, like: Tensor, batch: int) -> Tensor:
        return like.new_empty(batch, 0, 1 + 2 * len(self.layers), self.width)


def vectors_of(state: State) -> Float[Tensor, "batch place width"]:
    """All that was read since the block began."""
    vectors, known = state
    if not known.shape[1]:
        return vectors
    return torch.cat([vectors, known[:, :, 0]], dim=1)
