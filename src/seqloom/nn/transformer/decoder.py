"""The Transformer decoder: masked self-attention, cross-attention, feed-forward network."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from .attention import AttentionPattern
from .kv_cache import append_position
from .layers import CrossKeyValues, TransformerBlocks, TransformerOptions


class TransformerDecoder(TransformerBlocks):
    """A Transformer decoder: causal self-attention, then cross-attention over a source, by layer.

    What is constant over all steps is computed once for each source: `keys_values`, the keys and
    values for the cross-attention of all layers. What grows with each position is `cache`, the keys
    and values of the target itself. A source may have several candidates (beam search): they are
    adjacent rows, and attend to it together, like positions of one target.

    keys_values   (source, 2 L, heads, position, head size)
    cache         (row, position, 2 L, width)               a row for each candidate
    """

    def __init__(
        self,
        width: int,
        *,
        num_layers: int,
        context: int,
        dropout: float,
        transformer_options: TransformerOptions,
    ) -> None:
        super().__init__(
            width,
            num_layers=num_layers,
            context=context,
            dropout=dropout,
            transformer_options=transformer_options,
            has_cross=True,
        )

    def initial(self, batch: int) -> Float[Tensor, "batch 0 parts width"]:
        """An empty cache."""
        return next(self.parameters()).new_empty(batch, 0, 2 * len(self.layers), self.width)

    def cross_keys_values(
        self, encoded: Float[Tensor, "source position width"]
    ) -> Float[Tensor, "source parts heads position head_size"]:
        """The keys and values of the sources, for the cross-attention of every layer."""
        crosses = [layer.cross_attention for layer in self.blocks()]
        return torch.cat(
            [cross.keys_values(encoded) for cross in crosses if cross is not None], dim=1
        )

    def forward(
        self,
        x: Float[Tensor, "batch time width"],
        keys_values: Float[Tensor, "batch parts heads position head_size"],
        real: Bool[Tensor, "batch position"],
    ) -> Float[Tensor, "batch time width"]:
        """The top layer's outputs at all positions of known targets (teacher forcing)."""
        h, rotations = self.add_positions(x, 0)
        pattern = AttentionPattern(True, self.mask(x.shape[1], True, None), rotations)
        for layer, source in zip(self.blocks(), _by_layer(keys_values, real), strict=True):
            h, _ = layer(h, pattern, source)
        return self.norm(h)

    def step(
        self,
        x: Float[Tensor, "rows width"],
        cache: Float[Tensor, "rows position parts width"],
        keys_values: Float[Tensor, "source parts heads source_position head_size"],
        real: Bool[Tensor, "source source_position"],
    ) -> tuple[Float[Tensor, "rows width"], Float[Tensor, "rows longer parts width"]]:
        """The output at one more position, and the new cache; for decoding, not for training."""
        position = cache.shape[1]
        rows = append_position(cache, self.context)
        h, rotations = self.add_positions(x[:, None], position)
        for number, source in enumerate(_by_layer(keys_values, real)):
            own = rows[:, :, 2 * number : 2 * number + 2]
            h = self.blocks()[number].step(h, own, rotations, self.window, source)
        return self.norm(h)[:, 0], rows


def _by_layer(keys_values: Tensor, real: Tensor) -> Iterator[CrossKeyValues]:
    """The keys and values of the sources, for each layer."""
    # Without a mask torch may choose a faster kernel.
    mask = None if bool(real.all()) else real[:, None, None]
    for part in keys_values.split(2, dim=1):
        yield CrossKeyValues(part, mask)
