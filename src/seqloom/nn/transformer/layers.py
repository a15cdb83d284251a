"""What Transformers are made of: layers of attention and of small networks."""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor, nn
from torch.nn.functional import gelu, relu

from ...errors import ModelError
from ...trace import changed, record
from ..dropout import Dropout
from .attention import CrossAttention, SelfAttention, Sight
from .positions import START, Learned, PositionsName, Rotary, Sinusoid

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": gelu, "relu": relu}


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """How the layers of a Transformer are made.

    Args:
        heads: In how many ways at once each place looks at the others.
        feed_forward: The width of the small network in each layer; 0 is four times `width`.
        norm: Whether the sums are normalised before each part of a layer, which is easier to
            train, or after it, as in the first Transformers.
        positions: How a place knows where it stands: by waves of many lengths, by a vector learned
            for each position, or by turning queries and keys, so that only distances count.
        attention_window: How many places are seen, a place itself and those next to it; 0 is all.
        activation: The bend of the small networks.
        biases: Whether every product and every norm adds learned numbers of its own, as in most
            first Transformers; without them a model is smaller, and mostly no worse.
    """

    heads: int = 4
    feed_forward: int = 0
    norm: Literal["before", "after"] = "before"
    positions: PositionsName = "learned"
    attention_window: int = 0
    activation: Literal["gelu", "relu"] = "gelu"
    biases: bool = False


PLAIN = Assembly()


class Memory(NamedTuple):
    """The keys and values a layer has of the sources."""

    known: Float[Tensor, "source 2 heads place numbers"]
    mask: Bool[Tensor, "source 1 1 place"] | None = None  # true where a place is real


class TransformerLayer(nn.Module):
    """Attention, then a small network at every place, with a way around each.

    norm = "before":   x ← x + attention(N(x)),   x ← x + V f(W N(x))     (Radford et al., 2019)
    norm = "after":    x ← N(x + attention(x)),   x ← N(x + V f(W x))     (Vaswani et al., 2017)

    N(x) = s ⊙ (x - mean x) / deviation x. With biases each product and each norm has one more
    vector added, as in N(x) + b and V f(W x + b) + b'. Dropout is on what is added, not on the
    weights of attention (as in Vaswani et al., 2017). A layer that crosses over looks at a source
    too, between the two parts and in the same manner.
    """

    def __init__(
        self, width: int, assembly: Assembly, dropout: float, *, crosses: bool = False
    ) -> None:
        super().__init__()
        inner, biases = assembly.feed_forward or 4 * width, assembly.biases
        self.before = assembly.norm == "before"
        self.attention_norm = nn.LayerNorm(width, bias=biases)
        self.attention = SelfAttention(width, assembly.heads, biases)
        self.cross_norm = nn.LayerNorm(width, bias=biases) if crosses else None
        self.cross_attention = CrossAttention(width, assembly.heads, biases) if crosses else None
        self.feed_norm = nn.LayerNorm(width, bias=biases)
        self.widen = nn.Linear(width, inner, bias=biases)
        self.narrow = nn.Linear(inner, width, bias=biases)
        self.bend = ACTIVATIONS[assembly.activation]
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch time width"],
        sight: Sight,
        memory: Memory | None = None,
    ) -> tuple[Float[Tensor, "batch time width"], tuple[Tensor, Tensor]]:
        """The layer's outputs, and its keys and values."""
        ready = self._ready(x, self.attention_norm)
        queries, keys, values = self.attention.products(ready, sight.turns)
        found = self.attention.look(queries, keys, values, sight)
        above = record(self, "state.hidden", self._above(x, found, memory))
        return above, (keys, values)

    def step(
        self,
        x: Float[Tensor, "batch 1 width"],
        rows: Float[Tensor, "batch place 2 width"],
        turns: Complex[Tensor, "1 half"] | None,
        window: int,
        memory: Memory | None = None,
    ) -> Float[Tensor, "batch 1 width"]:
        """The output at the last place, whose key and value are written into `rows`."""
        ready = self._ready(x, self.attention_norm)
        queries, keys, values = self.attention.products(ready, turns)
        rows[:, -1, 0], rows[:, -1, 1] = keys[:, 0].flatten(1), values[:, 0].flatten(1)
        seen = rows[:, -window:].unflatten(-1, queries.shape[2:])
        found = self.attention.look(queries, seen[:, :, 0], seen[:, :, 1], Sight())
        return changed(self, "state.hidden", self._above(x, found, memory))

    def _above(self, x: Tensor, found: Tensor, memory: Memory | None) -> Tensor:
        """All of the layer after its look at itself."""
        x = self._added(x, found, self.attention_norm)
        if memory is not None and self.cross_attention is not None and self.cross_norm is not None:
            ready = self._ready(x, self.cross_norm)
            x = self._added(x, _crossed(self.cross_attention, ready, memory), self.cross_norm)
        found = self.narrow(self.bend(self.widen(self._ready(x, self.feed_norm))))
        return self._added(x, found, self.feed_norm)

    def _ready(self, x: Tensor, norm: nn.Module) -> Tensor:
        """What a part of the layer reads."""
        return norm(x) if self.before else x

    def _added(self, x: Tensor, found: Tensor, norm: nn.Module) -> Tensor:
        """What a part has found, on the way around it."""
        x = x + (self.dropout(found) if self.training else found)
        return x if self.before else norm(x)


class Layered(nn.Module, ABC):
    """Layers one upon the other, and where their places stand."""

    def __init__(
        self,
        width: int,
        *,
        layers: int,
        context: int,
        dropout: float,
        assembly: Assembly,
        crosses: bool = False,
    ) -> None:
        super().__init__()
        _refuse_impossible(width, layers, context, dropout, assembly)
        self.width, self.context = width, context
        self.window = assembly.attention_window
        rotates = assembly.positions == "rotary"
        added = {"sinusoid": Sinusoid, "learned": Learned}
        self.positions = None if rotates else added[assembly.positions](context, width)
        self.rotary = Rotary(context, width // assembly.heads) if rotates else None
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            TransformerLayer(width, assembly, dropout, crosses=crosses) for _ in range(layers)
        )
        before = assembly.norm == "before"
        self.norm = nn.LayerNorm(width, bias=assembly.biases) if before else nn.Identity()
        self._start(3 if crosses else 2)

    def each(self) -> list[TransformerLayer]:
        """The layers, the lowest first."""
        return [layer for layer in self.layers if isinstance(layer, TransformerLayer)]

    def placed(self, x: Tensor, first: int) -> tuple[Tensor, Tensor | None]:
        """What the first layer reads of places that begin with `first`, and how keys are turned."""
        turns = None if self.rotary is None else self.rotary(first, x.shape[1])
        return self.dropout(x if self.positions is None else self.positions(x, first)), turns

    def mask(
        self, time: int, causal: bool, real: Bool[Tensor, "batch time"] | None
    ) -> Tensor | None:
        """Where a place may look; None where being causal says it all."""
        if not self.window and real is None:
            return None
        apart = torch.arange(time)[:, None] - torch.arange(time)
        near = apart.abs() < (self.window or time)
        if causal:
            near &= apart >= 0
        if real is None:
            return near
        # Padding sees itself, or it would see nothing, and nothing is not a number.
        return ((near & real[:, None]) | (apart == 0))[:, None]

    def _start(self, parts: int) -> None:
        """Small weights; what is added to the sum smaller the more is added (Radford, 2019).

        Biases are 0.
        """
        added = START / (parts * len(self.layers)) ** 0.5
        for name, weight in self.named_parameters():
            if weight.dim() == 2 and "positions" not in name:
                last = name.endswith(("join.weight", "narrow.weight"))
                nn.init.normal_(weight, std=added if last else START)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)


def _crossed(
    attention: CrossAttention, x: Float[Tensor, "rows time width"], memory: Memory
) -> Float[Tensor, "rows time width"]:
    """What is found in the sources; the candidates of a source are further places of one target."""
    queries = attention.queries(x)
    together = queries.unflatten(0, (len(memory.known), -1)).flatten(1, 2)
    keys, values = memory.known.transpose(2, 3).unbind(1)
    return attention.look(together, keys, values, Sight(mask=memory.mask)).view_as(x)


def _refuse_impossible(
    width: int, layers: int, context: int, dropout: float, assembly: Assembly
) -> None:
    """Say which options do not go together, and what would."""
    heads = assembly.heads
    if heads < 1 or width % heads:
        fits = [n for n in range(1, width + 1) if not width % n]
        near = min(fits, key=lambda n: abs(n - heads), default=1)
        raise _impossible(
            f"heads = {heads} do not divide width = {width}: each takes an equal share",
            f"--set model.heads={near}",
        )
    if assembly.positions == "rotary" and (width // heads) % 2:
        raise _impossible(
            f"width = {width} over heads = {heads} is {width // heads} numbers for each head, "
            "and rotary positions turn pairs",
            f"--set model.width={2 * width}",
            "--set model.positions=learned",
        )
    if context < 2 or context % 2:
        raise _impossible(
            f"context = {context}: expected an even number, at least 2; long texts are read in "
            "blocks that overlap by half",
            f"--set model.context={max(2, context + 1)}",
        )
    for name, value, least in (
        ("layers", layers, 1),
        ("feed_forward", assembly.feed_forward, 0),
        ("attention_window", assembly.attention_window, 0),
    ):
        if value < least:
            raise _impossible(f"{name} = {value}: expected at least {least}")
    if not 0 <= dropout < 1:
        raise _impossible(f"dropout = {dropout}: expected at least 0 and below 1")


def _impossible(problem: str, *help: str) -> ModelError:
    return ModelError("M160", problem, help=help)
