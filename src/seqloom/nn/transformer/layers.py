"""Transformer layers: self-attention, cross-attention and feed-forward network, and their stack."""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor, nn
from torch.nn.functional import gelu, relu

from ...config import SizeOrZero
from ...errors import ModelError
from ...trace import intervened, record
from ..dropout import Dropout
from .attention import AttentionPattern, CrossAttention, SelfAttention
from .positions import (
    INIT_STD,
    LearnedPositions,
    PositionsName,
    RotaryPositions,
    SinusoidalPositions,
)

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": gelu, "relu": relu}


@dataclass(frozen=True, kw_only=True)
class TransformerOptions:
    """Options of Transformer layers.

    Args:
        num_heads: Number of attention heads.
        feed_forward: Hidden size of the feed-forward network in each layer; 0 is four times
            `hidden_size`.
        norm: Layer normalisation before each sublayer (pre-norm), which is easier to train, or
            after it (post-norm), as in Vaswani et al. (2017).
        positions: Positional encoding: sinusoidal, learned position embeddings, or rotary, which
            rotates queries and keys so that only distances count.
        attention_window: Sliding-window attention: number of positions that are attended to, a
            position itself and those next to it; 0 is all.
        activation: Activation function of the feed-forward networks.
        biases: Biases in all linear layers and layer norms, as in Vaswani et al. (2017); without
            them a model is smaller, and mostly no worse.
    """

    num_heads: int = 4
    feed_forward: SizeOrZero = 0
    norm: Literal["before", "after"] = "before"
    positions: PositionsName = "learned"
    attention_window: int = 0
    activation: Literal["gelu", "relu"] = "gelu"
    biases: bool = False


DEFAULT_TRANSFORMER_OPTIONS = TransformerOptions()


class CrossKeyValues(NamedTuple):
    """Keys and values of the sources for the cross-attention of one layer."""

    keys_values: Float[Tensor, "source 2 heads position head_size"]
    mask: Bool[Tensor, "source 1 1 position"] | None = None  # true at real positions


class TransformerLayer(nn.Module):
    """A Transformer layer: self-attention, then a feed-forward network, with residual connections.

    norm = "before":   x ← x + attention(N(x)),   x ← x + V f(W N(x))     (Radford et al., 2019)
    norm = "after":    x ← N(x + attention(x)),   x ← N(x + V f(W x))     (Vaswani et al., 2017)

    N(x) = s ⊙ (x - mean x) / deviation x. With `biases` N(x) + b and V f(W x + b) + b'. Dropout is
    on what each sublayer adds, not on the attention weights (as in Vaswani et al., 2017). A decoder
    layer has cross-attention over the source between the two, in the same manner.
    """

    def __init__(
        self,
        width: int,
        transformer_options: TransformerOptions,
        dropout: float,
        *,
        has_cross: bool = False,
    ) -> None:
        super().__init__()
        inner, biases = transformer_options.feed_forward or 4 * width, transformer_options.biases
        self.before = transformer_options.norm == "before"
        self.attention_norm = nn.LayerNorm(width, bias=biases)
        self.attention = SelfAttention(width, transformer_options.num_heads, biases)
        self.cross_norm = nn.LayerNorm(width, bias=biases) if has_cross else None
        self.cross_attention = (
            CrossAttention(width, transformer_options.num_heads, biases) if has_cross else None
        )
        self.feed_norm = nn.LayerNorm(width, bias=biases)
        self.widen = nn.Linear(width, inner, bias=biases)
        self.narrow = nn.Linear(inner, width, bias=biases)
        self.activation = ACTIVATIONS[transformer_options.activation]
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch time width"],
        pattern: AttentionPattern,
        source: CrossKeyValues | None = None,
    ) -> tuple[Float[Tensor, "batch time width"], tuple[Tensor, Tensor]]:
        """The layer's outputs, and its keys and values."""
        ready = self._sublayer_input(x, self.attention_norm)
        queries, keys, values = self.attention.products(ready, pattern.rotations)
        attended = self.attention.attend(queries, keys, values, pattern)
        output = record(self, "state.hidden", self._after_attention(x, attended, source))
        return output, (keys, values)

    def step(
        self,
        x: Float[Tensor, "batch 1 width"],
        cache: Float[Tensor, "batch position 2 width"],
        rotations: Complex[Tensor, "1 half"] | None,
        window: int,
        source: CrossKeyValues | None = None,
    ) -> Float[Tensor, "batch 1 width"]:
        """The output at the last position, whose key and value are written into the cache."""
        ready = self._sublayer_input(x, self.attention_norm)
        queries, keys, values = self.attention.products(ready, rotations)
        cache[:, -1, 0], cache[:, -1, 1] = keys[:, 0].flatten(1), values[:, 0].flatten(1)
        visible = cache[:, -window:].unflatten(-1, queries.shape[2:])  # all where the window is 0
        # The last position attends to all before it: causal without a mask.
        pattern = AttentionPattern()
        attended = self.attention.attend(queries, visible[:, :, 0], visible[:, :, 1], pattern)
        return intervened(self, "state.hidden", self._after_attention(x, attended, source))

    def _after_attention(
        self, x: Tensor, attended: Tensor, source: CrossKeyValues | None
    ) -> Tensor:
        """The rest of the layer after its self-attention."""
        x = self._residual(x, attended, self.attention_norm)
        if source is not None and self.cross_attention is not None and self.cross_norm is not None:
            ready = self._sublayer_input(x, self.cross_norm)
            attended = _cross_attend(self.cross_attention, ready, source)
            x = self._residual(x, attended, self.cross_norm)
        wide = self.widen(self._sublayer_input(x, self.feed_norm))
        return self._residual(x, self.narrow(self.activation(wide)), self.feed_norm)

    def _sublayer_input(self, x: Tensor, norm: nn.Module) -> Tensor:
        """The input of a sublayer: normalised with pre-norm."""
        return norm(x) if self.before else x

    def _residual(self, x: Tensor, output: Tensor, norm: nn.Module) -> Tensor:
        """The residual connection around a sublayer: normalised with post-norm."""
        x = x + (self.dropout(output) if self.training else output)
        return x if self.before else norm(x)


class TransformerBlocks(nn.Module, ABC):
    """Stacked Transformer layers with positional encoding: what encoder and decoder share."""

    def __init__(
        self,
        width: int,
        *,
        num_layers: int,
        context: int,
        dropout: float,
        transformer_options: TransformerOptions,
        has_cross: bool = False,
    ) -> None:
        super().__init__()
        _check_options(width, num_layers, context, dropout, transformer_options)
        self.width, self.context = width, context
        self.window = transformer_options.attention_window
        rotates = transformer_options.positions == "rotary"
        added = {"sinusoid": SinusoidalPositions, "learned": LearnedPositions}
        self.positions = None if rotates else added[transformer_options.positions](context, width)
        head_size = width // transformer_options.num_heads
        self.rotary = RotaryPositions(context, head_size) if rotates else None
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            TransformerLayer(width, transformer_options, dropout, has_cross=has_cross)
            for _ in range(num_layers)
        )
        # With pre-norm the sum of all sublayers is never normalised before the end.
        before = transformer_options.norm == "before"
        self.norm = (
            nn.LayerNorm(width, bias=transformer_options.biases) if before else nn.Identity()
        )
        self._init_weights(3 if has_cross else 2)

    def blocks(self) -> list[TransformerLayer]:
        """The layers, the lowest first."""
        return [layer for layer in self.layers if isinstance(layer, TransformerLayer)]

    def add_positions(self, x: Tensor, first: int) -> tuple[Tensor, Tensor | None]:
        """The first layer's input at the positions from `first` on, and their rotary positions."""
        rotations = None if self.rotary is None else self.rotary(first, x.shape[1])
        return self.dropout(x if self.positions is None else self.positions(x, first)), rotations

    def mask(
        self, time: int, causal: bool, real: Bool[Tensor, "batch time"] | None
    ) -> Tensor | None:
        """The attention mask; None where being causal says it all."""
        if not self.window and real is None:
            return None
        distance = torch.arange(time)[:, None] - torch.arange(time)
        near = distance.abs() < (self.window or time)
        if causal:
            near &= distance >= 0
        if real is None:
            return near
        # Padding attends to itself: a softmax over nothing would be NaN.
        return ((near & real[:, None]) | (distance == 0))[:, None]

    def _init_weights(self, sublayers: int) -> None:
        """Normal initialisation as in GPT-2 (Radford et al., 2019); biases are 0.

        The projections that are added to the residual stream are smaller by √(number of sublayers),
        so that its variance does not grow with depth.
        """
        added = INIT_STD / (sublayers * len(self.layers)) ** 0.5
        for name, weight in self.named_parameters():
            if weight.dim() == 2 and "positions" not in name:
                is_added = name.endswith(("join.weight", "narrow.weight"))
                nn.init.normal_(weight, std=added if is_added else INIT_STD)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)


def _cross_attend(
    attention: CrossAttention, x: Float[Tensor, "rows time width"], source: CrossKeyValues
) -> Float[Tensor, "rows time width"]:
    """Cross-attention; the candidates of a source become further positions of one target.

    So each source's keys and values are read once, and not once for each candidate.
    """
    queries = attention.queries(x)
    together = queries.unflatten(0, (len(source.keys_values), -1)).flatten(1, 2)
    keys, values = source.keys_values.transpose(2, 3).unbind(1)
    pattern = AttentionPattern(mask=source.mask)
    return attention.attend(together, keys, values, pattern).view_as(x)


def _check_options(
    width: int,
    num_layers: int,
    context: int,
    dropout: float,
    transformer_options: TransformerOptions,
) -> None:
    """Raise an error for options that do not go together, with ones that do."""
    heads = transformer_options.num_heads
    if heads < 1 or width % heads:
        fits = [n for n in range(1, width + 1) if not width % n]
        near = min(fits, key=lambda n: abs(n - heads), default=1)
        raise _invalid(
            f"num_heads = {heads} does not divide hidden_size = {width}",
            f"--set model.num_heads={near}",
        )
    if transformer_options.positions == "rotary" and (width // heads) % 2:
        raise _invalid(
            f"hidden_size = {width} over num_heads = {heads} is a head size of {width // heads}:"
            " rotary positions need an even one",
            f"--set model.hidden_size={2 * width}",
            "--set model.positions=learned",
        )
    if context < 2 or context % 2:
        raise _invalid(
            f"context = {context}: expected an even number, at least 2; long texts are read in "
            "blocks that overlap by half",
            f"--set model.context={max(2, context + 1)}",
        )
    for name, value, least in (
        ("num_layers", num_layers, 1),
        ("feed_forward", transformer_options.feed_forward, 0),
        ("attention_window", transformer_options.attention_window, 0),
    ):
        if value < least:
            raise _invalid(f"{name} = {value}: expected at least {least}")
    if not 0 <= dropout < 1:
        raise _invalid(f"dropout must be in [0, 1) (got {dropout:g})")


def _invalid(problem: str, *help: str) -> ModelError:
    return ModelError("M160", problem, help=help)
