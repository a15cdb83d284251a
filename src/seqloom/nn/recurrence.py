"""Run a cell over time: layer upon layer, in one direction or two, over padded sequences."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .cells import CELLS, Cell, State
from .dropout import SequenceDropout


class Recurrence(nn.Module):
    """A stack of cells over a padded sequence; padding never changes an output at a real place.

    In two directions each layer has a cell for each, half as wide, and their outputs are joined:
    hₜ = [h⃗ₜ; h⃖ₜ]. The backward cell reads every sequence turned round by its own length, so that
    padding stays at the end and the fused kernel can be kept.
    """

    def __init__(
        self,
        cell: str,
        inputs: int,
        hidden: int,
        *,
        layers: int = 1,
        both: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if both and hidden % 2:
            raise ValueError(f"hidden must be even for two directions, not {hidden}")
        sizes = [inputs] + [hidden] * (layers - 1)
        width = hidden // 2 if both else hidden
        self.cells = nn.ModuleList(CELLS[cell](size, width) for size in sizes)
        self.backward_cells = nn.ModuleList(
            CELLS[cell](size, width) for size in (sizes if both else [])
        )
        self.dropout = SequenceDropout(dropout)

    def initial(self, batch: int) -> State:
        """A state of zeros for every layer."""
        return tuple(part for cell in _cells(self.cells) for part in cell.initial(batch))

    def step(
        self, x: Float[Tensor, "batch inputs"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """One step of every layer, from left to right."""
        new: list[Tensor] = []
        for number, cell in enumerate(_cells(self.cells)):
            old, state = state[: cell.tensors], state[cell.tensors :]
            after = cell(self.dropout(x) if number else x, old)
            x = after[0]
            new.extend(after)
        return x, tuple(new)

    def forward(
        self,
        x: Float[Tensor, "batch time inputs"],
        lengths: Int[Tensor, " batch"],
        state: State | None = None,
    ) -> Float[Tensor, "batch time hidden"]:
        """The top layer's outputs at every position."""
        left = state or self.initial(len(x))
        for number, cell in enumerate(_cells(self.cells)):
            x = self.dropout(x) if number else x
            old, left = left[: cell.tensors], left[cell.tensors :]
            outputs = cell.run(x, old)
            if len(self.backward_cells):
                back = _cells(self.backward_cells)[number]
                turned = back.run(turn(x, lengths), back.initial(len(x)))
                outputs = torch.cat([outputs, turn(turned, lengths)], dim=-1)
            x = outputs
        return x

    def ends(
        self, outputs: Float[Tensor, "batch time hidden"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch hidden"]:
        """The last state of each direction: h⃗ at the last real place, h⃖ at the first."""
        last = outputs[torch.arange(len(outputs)), lengths - 1]
        if not len(self.backward_cells):
            return last
        forward, _ = last.chunk(2, dim=-1)
        _, backward = outputs[:, 0].chunk(2, dim=-1)
        return torch.cat([forward, backward], dim=-1)


def turn(
    x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch time width"]:
    """Each sequence from its last real place to its first; padding stays at the end."""
    places = torch.arange(x.shape[1])
    turned = lengths[:, None] - 1 - places
    order = torch.where(turned >= 0, turned, places)
    return x.gather(1, order[..., None].expand_as(x))


def _cells(modules: nn.ModuleList) -> list[Cell]:
    return [cell for cell in modules if isinstance(cell, Cell)]
