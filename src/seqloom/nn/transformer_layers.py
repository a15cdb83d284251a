"""Layers of attention and of small networks, one upon the other: the Transformer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Complex, Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu, pad, relu

from ..errors import ModelError
from .attention import SelfAttention, Sight
from .growing import empty, grown
from .positions import START, Learned, PositionsName, Rotary, Sinusoid

State = tuple[Tensor, ...]
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
    """

    heads: int = 4
    feed_forward: int = 0
    norm: Literal["before", "after"] = "before"
    positions: PositionsName = "learned"
    attention_window: int = 0
    activation: Literal["gelu", "relu"] = "gelu"


PLAIN = Assembly()


class TransformerLayer(nn.Module):
    """Attention, then a small network at every place, with a way around each.

    norm = "before":   x ← x + attention(N(x)),   x ← x + V f(W N(x))     (Radford et al., 2019)
    norm = "after":    x ← N(x + attention(x)),   x ← N(x + V f(W x))     (Vaswani et al., 2017)

    N(x) = s ⊙ (x - mean x) / deviation x; no part has a bias. Dropout is on what is added, not on
    the weights of attention (as in Vaswani et al., 2017).
    """

    def __init__(self, width: int, assembly: Assembly, dropout: float) -> None:
        super().__init__()
        inner = assembly.feed_forward or 4 * width
        self.before = assembly.norm == "before"
        self.attention_norm = nn.LayerNorm(width, bias=False)
        self.attention = SelfAttention(width, assembly.heads)
        self.feed_norm = nn.LayerNorm(width, bias=False)
        self.widen = nn.Linear(width, inner, bias=False)
        self.narrow = nn.Linear(inner, width, bias=False)
        self.bend = ACTIVATIONS[assembly.activation]
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch time width"], sight: Sight
    ) -> tuple[Float[Tensor, "batch time width"], tuple[Tensor, Tensor]]:
        """The layer's outputs, and its keys and values."""
        queries, keys, values = self.attention.products(self._first(x), sight.turns)
        return self._above(x, self.attention.look(queries, keys, values, sight)), (keys, values)

    def step(
        self,
        x: Float[Tensor, "batch 1 width"],
        rows: Float[Tensor, "batch place 2 width"],
        turns: Complex[Tensor, "1 half"] | None,
        window: int,
    ) -> Float[Tensor, "batch 1 width"]:
        """The output at the last place, whose key and value are written into `rows`."""
        queries, keys, values = self.attention.products(self._first(x), turns)
        rows[:, -1, 0], rows[:, -1, 1] = keys[:, 0].flatten(1), values[:, 0].flatten(1)
        seen = rows[:, -window:].unflatten(-1, queries.shape[2:])
        found = self.attention.look(queries, seen[:, :, 0], seen[:, :, 1], Sight())
        return self._above(x, found)

    def _first(self, x: Tensor) -> Tensor:
        return self.attention_norm(x) if self.before else x

    def _above(self, x: Tensor, found: Tensor) -> Tensor:
        """All of the layer after its attention."""
        x = x + (self.dropout(found) if self.training else found)
        if self.before:
            return x + self._feed(self.feed_norm(x))
        x = self.attention_norm(x)
        return self.feed_norm(x + self._feed(x))

    def _feed(self, x: Tensor) -> Tensor:
        found = self.narrow(self.bend(self.widen(x)))
        return self.dropout(found) if self.training else found


class TransformerStack(nn.Module):
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
        super().__init__()
        _refuse_impossible(width, layers, context, dropout, assembly)
        self.width, self.context, self.causal = width, context, causal
        self.window = assembly.attention_window
        rotates = assembly.positions == "rotary"
        added = {"sinusoid": Sinusoid, "learned": Learned}
        self.positions = None if rotates else added[assembly.positions](context, width)
        self.rotary = Rotary(context, width // assembly.heads) if rotates else None
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            TransformerLayer(width, assembly, dropout) for _ in range(layers)
        )
        before = assembly.norm == "before"
        self.norm = nn.LayerNorm(width, bias=False) if before else nn.Identity()
        self._start()

    def _start(self) -> None:
        """Small weights; what is added to the sum smaller the more is added (Radford, 2019)."""
        added = START / (2 * len(self.layers)) ** 0.5
        for name, weight in self.named_parameters():
            if weight.dim() == 2 and "positions" not in name:
                last = name.endswith(("join.weight", "narrow.weight"))
                nn.init.normal_(weight, std=added if last else START)

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
        past = self._vectors(state)
        read = torch.cat([past, x], dim=1) if past.shape[1] else x
        outputs = self._read(read)[:, past.shape[1] :]
        return outputs, (read[:, self._begins(read.shape[1]) :], self._no_rows(x, len(x)))

    def step(
        self, x: Float[Tensor, "batch width"], state: State
    ) -> tuple[Float[Tensor, "batch width"], State]:
        """One place more, from the keys and values of those before it; for use, not learning."""
        vectors, known = state
        place = vectors.shape[1] + known.shape[1]
        if place == self.context or vectors.shape[1]:
            vectors = self._vectors(state)[:, self._begins(place) :]
            known, place = self._known(vectors), vectors.shape[1]
            vectors = vectors[:, :0]
        rows = grown(known, self.context)
        rows[:, place, 0] = x
        h, turns = self._placed(x[:, None], place)
        for number, layer in enumerate(_layers(self.layers)):
            h = layer.step(h, rows[:, :, 1 + 2 * number : 3 + 2 * number], turns, self.window)
        return self.norm(h)[:, 0], (vectors, rows)

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
        h, turns = self._placed(x, 0)
        sight = Sight(self.causal, self._mask(x.shape[1], real), turns)
        for layer in self.layers:
            h, _ = layer(h, sight)
        return self.norm(h)

    def _known(self, vectors: Float[Tensor, "batch place width"]) -> Tensor:
        """What a state holds of places that are read again: their keys and values too."""
        batch, places, _ = vectors.shape
        rows = empty(self._no_rows(vectors, batch), places, self.context)
        rows[:, :, 0] = vectors
        h, turns = self._placed(vectors, 0)
        sight = Sight(self.causal, self._mask(places, None), turns)
        for number, layer in enumerate(self.layers):
            h, (keys, values) = layer(h, sight)
            rows[:, :, 1 + 2 * number] = keys.flatten(2)
            rows[:, :, 2 + 2 * number] = values.flatten(2)
        return rows

    def _placed(self, x: Tensor, first: int) -> tuple[Tensor, Tensor | None]:
        """What the first layer reads of places that begin with `first`, and how keys are turned."""
        turns = None if self.rotary is None else self.rotary(first, x.shape[1])
        return self.dropout(x if self.positions is None else self.positions(x, first)), turns

    def _mask(self, time: int, real: Bool[Tensor, "batch time"] | None) -> Tensor | None:
        """Where a place may look; None where being causal says it all."""
        if not self.window and real is None:
            return None
        apart = torch.arange(time)[:, None] - torch.arange(time)
        near = apart.abs() < (self.window or time)
        if self.causal:
            near &= apart >= 0
        if real is None:
            return near
        # Padding sees itself, or it would see nothing, and nothing is not a number.
        return ((near & real[:, None]) | (apart == 0))[:, None]

    def _vectors(self, state: State) -> Float[Tensor, "batch place width"]:
        """All that was read since the block began."""
        vectors, known = state
        if not known.shape[1]:
            return vectors
        return torch.cat([vectors, known[:, :, 0]], dim=1)

    def _begins(self, time: int) -> int:
        """Where the block begins in which the place `time` lies."""
        half = self.context // 2
        return max(0, time // half - 1) * half

    def _no_rows(self, like: Tensor, batch: int) -> Tensor:
        return like.new_empty(batch, 0, 1 + 2 * len(self.layers), self.width)


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


def _layers(modules: nn.ModuleList) -> list[TransformerLayer]:
    return [layer for layer in modules if isinstance(layer, TransformerLayer)]
