"""The Transformer encoder, and the decoder-only (causal) Transformer, for any length."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from .attention import AttentionPattern
from .kv_cache import allocate, append_position
from .layers import DEFAULT_TRANSFORMER_OPTIONS, TransformerBlocks, TransformerOptions

State = tuple[Tensor, ...]


class TransformerStack(TransformerBlocks):
    """Stacked self-attention layers: a causal language model body, or a bidirectional encoder.

    Causal, with a context of C positions and H = C/2: position p attends to the positions from
    max(0, ⌊p/H⌋ - 1)·H to p, between H and C of them, and is counted from the first of these. What
    is longer than C is therefore read in blocks of C positions that overlap by half; of all but the
    first block only the second half counts. The state is what was read since the block began:

    inputs   (batch, position, width)           read, their keys and values not computed yet
    cache    (batch, position, 1 + 2 L, width)  read later: input, then key and value of each layer

    Not causal, every position attends to all real ones, and there are no blocks.
    """

    in_order = False  # truncated BPTT: a segment begins a block, so it needs no state before it

    def __init__(
        self,
        width: int,
        *,
        num_layers: int,
        context: int,
        causal: bool = True,
        dropout: float = 0.0,
        transformer_options: TransformerOptions = DEFAULT_TRANSFORMER_OPTIONS,
    ) -> None:
        super().__init__(
            width,
            num_layers=num_layers,
            context=context,
            dropout=dropout,
            transformer_options=transformer_options,
        )
        self.causal = causal

    def initial(self, batch: int) -> State:
        """The initial state: no inputs, and an empty cache."""
        like = next(self.parameters())
        return like.new_zeros(batch, 0, self.width), self._empty_cache(like, batch)

    def forward(
        self, x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time width"]:
        """The top layer's outputs; padding changes none of them at a real position."""
        if self.causal:
            return self._by_blocks(x)
        real = torch.arange(x.shape[1]) < lengths[:, None]
        return self._block(x, None if bool(real.all()) else real)

    def carry(
        self, x: Float[Tensor, "batch time width"], state: State
    ) -> tuple[Float[Tensor, "batch time width"], State]:
        """Outputs of a segment, and the inputs since the last block of it began."""
        past = block_inputs(state)
        inputs = torch.cat([past, x], dim=1) if past.shape[1] else x
        outputs = self._by_blocks(inputs)[:, past.shape[1] :]
        later = inputs[:, self.block_start(inputs.shape[1]) :]
        return outputs, (later, self._empty_cache(x, len(x)))

    def step(
        self, x: Float[Tensor, "batch width"], state: State
    ) -> tuple[Float[Tensor, "batch width"], State]:
        """One more position, by the key-value cache; for generation, not for training."""
        inputs, cache = state
        position = inputs.shape[1] + cache.shape[1]
        if position == self.context or inputs.shape[1]:
            # A new block: its positions are counted anew, so all keys and values change.
            inputs = block_inputs(state)[:, self.block_start(position) :]
            cache, position = self.fill_cache(inputs), inputs.shape[1]
            inputs = inputs[:, :0]
        rows = append_position(cache, self.context)
        rows[:, position, 0] = x
        h, rotations = self.add_positions(x[:, None], position)
        for number, layer in enumerate(self.blocks()):
            own = rows[:, :, 1 + 2 * number : 3 + 2 * number]
            h = layer.step(h, own, rotations, self.window)
        return self.norm(h)[:, 0], (inputs, rows)

    def fill_cache(self, inputs: Float[Tensor, "batch position width"]) -> Tensor:
        """The cache of a block that begins with these inputs: keys and values, all at once."""
        batch, places, _ = inputs.shape
        rows = allocate(self._empty_cache(inputs, batch), places, self.context)
        rows[:, :, 0] = inputs
        h, rotations = self.add_positions(inputs, 0)
        pattern = AttentionPattern(self.causal, self.mask(places, self.causal, None), rotations)
        for number, layer in enumerate(self.layers):
            h, (keys, values) = layer(h, pattern)
            rows[:, :, 1 + 2 * number] = keys.flatten(2)
            rows[:, :, 2 + 2 * number] = values.flatten(2)
        return rows

    def block_start(self, time: int) -> int:
        """Where the block begins in which the position `time` lies."""
        half = self.context // 2
        return max(0, time // half - 1) * half

    def _by_blocks(self, x: Tensor) -> Tensor:
        """A long sequence from the beginning of a block on, all of its blocks as one batch."""
        batch, time, width = x.shape
        half = self.context // 2
        if time <= self.context:
            return self._block(x)
        blocks = -(-time // half) - 1
        whole = pad(x, (0, 0, 0, (blocks + 1) * half - time))
        overlapping = whole.unfold(1, self.context, half).transpose(2, 3)
        outputs = self._block(overlapping.flatten(0, 1)).unflatten(0, (batch, blocks))
        later = outputs[:, 1:, half:].flatten(1, 2)
        return torch.cat([outputs[:, 0], later], dim=1)[:, :time]

    def _block(
        self, x: Float[Tensor, "batch time width"], real: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch time width"]:
        """All layers over positions that are counted from the first of them."""
        h, rotations = self.add_positions(x, 0)
        mask = self.mask(x.shape[1], self.causal, real)
        pattern = AttentionPattern(self.causal, mask, rotations)
        for layer in self.layers:
            h, _ = layer(h, pattern)
        return self.norm(h)

    def _empty_cache(self, like: Tensor, batch: int) -> Tensor:
        return like.new_empty(batch, 0, 1 + 2 * len(self.layers), self.width)


def block_inputs(state: State) -> Float[Tensor, "batch position width"]:
    """All inputs since the block began, whether their keys and values are cached or not."""
    inputs, cache = state
    if not cache.shape[1]:
        return inputs
    return torch.cat([inputs, cache[:, :, 0]], dim=1)
