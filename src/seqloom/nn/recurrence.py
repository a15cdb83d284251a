"""Run a cell over time: layer upon layer, in one direction or two, over padded sequences."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function

from ..errors import ModelError
from .cells import State
from .dropout import SequenceDropout
from .layer import Layer, split_state
from .wiring import PLAIN, Wiring


class Recurrence(nn.Module):
    """A stack of cells over a padded sequence; padding never changes an output at a real place.

    In two directions each layer has a cell for each, and their outputs are joined: side by side,
    hₜ = [h⃗ₜ; h⃖ₜ], each half as wide, or as a sum, hₜ = h⃗ₜ + h⃖ₜ. The backward cell reads every
    sequence turned round by its own length, so that padding stays at the end and the quick kernels
    can be kept.
    """

    in_order = True  # over a long text it learns window after window

    def __init__(
        self,
        cell: str,
        inputs: int,
        hidden: int,
        *,
        layers: int = 1,
        both: bool = False,
        dropout: float = 0.0,
        wiring: Wiring = PLAIN,
    ) -> None:
        super().__init__()
        self.wiring = wiring
        self.halves = both and self.wiring.join == "concatenate"
        if self.halves and hidden % 2:
            raise ModelError(
                "M124",
                f"hidden = {hidden}: two directions side by side need an even number",
                help=[f"--set model.hidden={hidden + 1}", "--set model.join=sum"],
            )
        sizes = [inputs] + [hidden] * (layers - 1)
        width = hidden // 2 if self.halves else hidden
        self.layers = self._stack(cell, sizes, width)
        self.backward_layers = self._stack(cell, sizes if both else [], width)
        self.dropout = SequenceDropout(dropout)

    def _stack(self, cell: str, sizes: list[int], width: int) -> nn.ModuleList:
        made: list[Layer] = []
        for number, size in enumerate(sizes):
            same = [
                layer for layer, other in zip(made, sizes[:number], strict=True) if other == size
            ]
            shared = self.wiring.tied and same
            made.append(same[0] if shared else Layer(cell, size, width, self.wiring))
        return nn.ModuleList(made)

    def initial(self, batch: int) -> State:
        """The first state of every layer."""
        return tuple(part for layer in self.stack for part in layer.initial(batch))

    @property
    def stack(self) -> list[Layer]:
        """The layers that read from the left."""
        return _layers(self.layers)

    def split(self, state: State) -> list[State]:
        """A state as one for each layer."""
        return split_state(self.stack, state)

    @property
    def own_tensors(self) -> int:
        """How many tensors of a state are the cells' own: what an encoder can hand over."""
        return sum(layer.cell.tensors for layer in self.stack)

    def begin(self, own: State) -> State:
        """The first state, with `own` added to what the cells start from."""
        state: State = ()
        for layer in self.stack:
            state += layer.begin(own[: layer.cell.tensors])
            own = own[layer.cell.tensors :]
        return state

    def step(
        self, x: Float[Tensor, "batch inputs"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """One step of every layer, from left to right."""
        new: State = ()
        layers = self.stack
        for number, (layer, old) in enumerate(zip(layers, split_state(layers, state), strict=True)):
            after = layer.step(self.dropout(x) if number else x, old)
            x = self.above(x, after[0], number)
            new += after
        return x, new

    def end(self, state: State) -> Float[Tensor, "batch hidden"]:
        """What reading from the left ended with: the top layer's own output."""
        return split_state(self.stack, state)[-1][0]

    def forward(
        self,
        x: Float[Tensor, "batch time inputs"],
        lengths: Int[Tensor, " batch"],
        state: State | None = None,
    ) -> Float[Tensor, "batch time hidden"]:
        """The top layer's outputs at every position."""
        return self.read(x, lengths, state)[0]

    def read(
        self,
        x: Float[Tensor, "batch time inputs"],
        lengths: Int[Tensor, " batch"],
        state: State | None = None,
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch hidden"]]:
        """The top layer's outputs, and its ends joined: h⃗ at the last place, h⃖ at the first."""
        layers, places = self.stack, torch.arange(len(x))
        left = split_state(layers, state or self.initial(len(x)))
        ends = x[:, 0]
        for number, layer in enumerate(layers):
            below = self.dropout(x) if number else x
            outputs, _ = layer.run(below, left[number])
            ends = outputs[places, lengths - 1]
            if len(self.backward_layers):
                back = _layers(self.backward_layers)[number]
                turned, _ = back.run(turn(below, lengths), back.initial(len(x)))
                ends = self._joined(ends, turned[places, lengths - 1])
                outputs = self._joined(outputs, turn(turned, lengths))
            x = self.above(x, outputs, number)
        return x, ends

    def carry(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]:
        """Outputs of a piece without padding, and the state the next piece goes on from."""
        new: State = ()
        layers = self.stack
        for number, (layer, old) in enumerate(zip(layers, split_state(layers, state), strict=True)):
            outputs, last = layer.run(self.dropout(x) if number else x, old)
            x = self.above(x, outputs, number)
            new += last
        return x, new

    def check_length(self, longest: int) -> None:
        """Refuse a shortcut through time that no sequence is long enough for."""
        if longest <= self.wiring.skip:
            raise ModelError(
                "M124",
                f"skip = {self.wiring.skip}: the longest sequence has only {longest} steps",
                help=[f"--set model.skip={max(2, longest // 2)}   or 0 for none"],
            )

    def _joined(self, forward: Tensor, backward: Tensor) -> Tensor:
        return torch.cat([forward, backward], dim=-1) if self.halves else forward + backward

    def above(self, below: Tensor, outputs: Tensor, number: int) -> Tensor:
        """What the next layer reads."""
        return below + outputs if self.wiring.residual and number else outputs


def turn(
    x: Float[Tensor, "batch time width"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch time width"]:
    """Each sequence from its last real place to its first; padding stays at the end."""
    turned: Tensor = _Turn.apply(x, lengths)
    return turned


class _Turn(Function):
    """Turned twice, a sequence is as it was: the gradient is turned like the sequence.

    Whole rows are copied, to where the cells like them best: step by step.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, lengths: Tensor) -> Tensor:
        ctx.save_for_backward(lengths)
        batch, time, _ = x.shape
        places = torch.arange(time)[:, None]
        turned = lengths - 1 - places
        place, row = torch.where(turned >= 0, turned, places), torch.arange(batch)
        steps = x.transpose(0, 1)
        by_steps = steps.is_contiguous()
        index = place * batch + row if by_steps else row * time + place
        rows = (steps if by_steps else x).flatten(0, 1)
        chosen = rows.index_select(0, index.flatten())
        return chosen.unflatten(0, (time, batch)).transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (lengths,) = ctx.saved_tensors
        return _Turn.apply(grad, lengths), None


def _layers(modules: nn.ModuleList) -> list[Layer]:
    return [layer for layer in modules if isinstance(layer, Layer)]
