"""Layers that write a target: each place sees what was written before it, and all of a source."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from .attention import Sight
from .kv_cache import grown
from .layers import Assembly, Layered, Memory


class TransformerDecoder(Layered):
    """Masked self-attention, then attention to a source, then a small network, in each layer.

    What no place changes is computed once for each source: `memory`, the keys and values that all
    layers have of it. What grows with each place is `known`, the keys and values of the places
    themselves. A source may have several candidates, which lie next to each other and look at it
    together, as if they were places of one target.

    memory   (source, 2 L, heads, place, numbers)
    known    (row, place, 2 L, width)               a row for each candidate
    """

    def __init__(
        self, width: int, *, layers: int, context: int, dropout: float, assembly: Assembly
    ) -> None:
        super().__init__(
            width, layers=layers, context=context, dropout=dropout, assembly=assembly, crosses=True
        )

    def initial(self, batch: int) -> Float[Tensor, "batch 0 parts width"]:
        """Nothing was written."""
        return next(self.parameters()).new_empty(batch, 0, 2 * len(self.layers), self.width)

    def memory(
        self, encoded: Float[Tensor, "source place width"]
    ) -> Float[Tensor, "source parts heads place numbers"]:
        """The keys and values of the sources, for every layer."""
        crosses = [layer.cross_attention for layer in self.each()]
        return torch.cat([cross.known(encoded) for cross in crosses if cross is not None], dim=1)

    def forward(
        self,
        x: Float[Tensor, "batch time width"],
        memory: Float[Tensor, "batch parts heads place numbers"],
        real: Bool[Tensor, "batch place"],
    ) -> Float[Tensor, "batch time width"]:
        """The top layer's outputs at all places of known targets."""
        h, turns = self.placed(x, 0)
        sight = Sight(True, self.mask(x.shape[1], True, None), turns)
        for layer, part in zip(self.each(), _memories(memory, real), strict=True):
            h, _ = layer(h, sight, part)
        return self.norm(h)

    def step(
        self,
        x: Float[Tensor, "rows width"],
        known: Float[Tensor, "rows place parts width"],
        memory: Float[Tensor, "source parts heads seen numbers"],
        real: Bool[Tensor, "source seen"],
    ) -> tuple[Float[Tensor, "rows width"], Float[Tensor, "rows longer parts width"]]:
        """The output at one place more, and what is known then; for use, not learning."""
        place = known.shape[1]
        rows = grown(known, self.context)
        h, turns = self.placed(x[:, None], place)
        for number, part in enumerate(_memories(memory, real)):
            own = rows[:, :, 2 * number : 2 * number + 2]
            h = self.each()[number].step(h, own, turns, self.window, part)
        return self.norm(h)[:, 0], rows


def _memories(memory: Tensor, real: Tensor) -> Iterator[Memory]:
    """What each layer has of the sources."""
    mask = None if bool(real.all()) else real[:, None, None]
    for part in memory.split(2, dim=1):
        yield Memory(part, mask)
