"""One layer of a recurrence in one direction: a cell with what can be added to any cell.

Run a cell over time: layer upon layer, in one direction or two, over padded sequences.
"""

from itertools import accumulate
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function

from ..errors import ModelError
from ..trace import is_watched, record
from .cells import CELLS, Cell, State
from .cells.base import AllProducts, Mask, Outputs, Products, Recur, masked
from .cells.options import PLAIN, Wiring, refuse_impossible
from .dropout import SequenceDropout

_STATES = ("state.hidden", "state.memory")  # what is shown of a state, and what stays inside


class BlockNorm(nn.Module):
    """Each gate's products normalised (Ba et al., 2016): s ⊙ (v - mean v) / deviation v."""

    def __init__(self, blocks: int, hidden: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(blocks, hidden))

    def forward(self, v: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        scale = self.scale[first:last]
        parts = v.unflatten(-1, scale.shape)
        apart = parts - parts.mean(-1, keepdim=True)
        size = (apart.square().mean(-1, keepdim=True) + 1e-5).rsqrt()
        return (apart * size * scale).flatten(-2)


class Layer(nn.Module):
    """A cell over time, with the options that any cell can have.

    a_t  = N(W x_t) + b + S h_{t-k} + (d if t = 0)      N only with layer_norm, S with skip k, d
                                                        with first_bias
    s'_t = cell(a_t, s_{t-1}), where U h is N(U (m ⊙ h))    m with recurrent dropout
    s_t  = k ⊙ s_{t-1} + (1 - k) ⊙ s'_t                 k with zoneout: 0 or 1 in training, its mean
                                                        in use

    A state is the cell's own tensors, then whether this is the first step (`first_bias`), then the
    last k outputs (`skip`), oldest first.
    """

    def __init__(self, cell: str, inputs: int, hidden: int, wiring: Wiring) -> None:
        super().__init__()
        kind = CELLS[cell]
        refuse_impossible(cell, kind.takes, kind.refuses, wiring)
        self.cell: Cell = kind(inputs, hidden, wiring)
        self.wiring = wiring
        learned = wiring.initial_state == "learned"
        carried = kind.tensors - kind.idle
        self.first_state = nn.Parameter(torch.zeros(carried, hidden)) if learned else None
        width = kind.products * hidden
        self.first_bias = nn.Parameter(torch.zeros(width)) if wiring.first_bias else None
        self.shortcut = nn.Linear(hidden, width, bias=False) if wiring.skip else None
        self.read_norm = BlockNorm(kind.products, hidden) if wiring.layer_norm else None
        recurrent = kind.products if kind.recurrent is None else kind.recurrent
        normalises = wiring.layer_norm and recurrent
        self.recur_norm = BlockNorm(recurrent, hidden) if normalises else None

    def initial(self, batch: int) -> State:
        """The state before the first step."""
        return self.begin(self.cell.initial(batch))

    def begin(self, own: State) -> State:
        """The state before the first step, `own` being added to what the cell starts from."""
        batch = len(own[0])
        if self.first_state is not None:
            idle = self.cell.idle
            learned = zip(own[idle:], self.first_state, strict=True)
            own = own[:idle] + tuple(given + first for given, first in learned)
        fresh = (own[0].new_ones(batch, 1),) if self.first_bias is not None else ()
        past = (
            (own[0].new_zeros(batch, self.wiring.skip, own[0].shape[-1]),) if self.shortcut else ()
        )
        return own + fresh + past

    @property
    def tensors(self) -> int:
        """How many tensors a state has."""
        return self.cell.tensors + (self.first_bias is not None) + (self.shortcut is not None)

    def step(self, x: Float[Tensor, "batch inputs"], state: State) -> State:
        """The state after one step."""
        return self.after(self.products(x), state)

    def after(self, a: Products, state: State, mask: Mask = None) -> State:
        """The same from the products W x + b."""
        return self._after(a, state, self._recur(mask))

    def stretch(self) -> float | None:
        """The most one step can stretch a change of the state; None where no such number is known.

        With zoneout k in use s_t = k s_{t-1} + (1 - k) s'_t, so that γ becomes k + (1 - k) γ.
        """
        own = self.cell.stretch()
        if own is None or self.shortcut is not None or self.recur_norm is not None:
            return None
        return self.wiring.zoneout + (1 - self.wiring.zoneout) * own

    def run(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """All outputs and the last state."""
        found: Outputs = self(x, state)  # as a call, so that a hook can listen
        return found

    def forward(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """The same: quickly, unless somebody watches or an option forbids."""
        mask = self.mask(len(x))
        plain = self.shortcut is None and self.first_bias is None and self.read_norm is None
        if plain and mask is None and not self._goes_by_steps():
            outputs, last = self.cell.quick(x, state)
            return outputs, last
        return self.onward(self.products(x), state, mask)

    def onward(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """All outputs and the last state from the products W x + b, which are used up."""
        if self._goes_by_steps():
            return self._stepped(a, state, mask)
        own, rest = state[: self.cell.tensors], state[self.cell.tensors :]
        if self.first_bias is not None:
            a = torch.cat([a[:, :1] + (rest[0] * self.first_bias)[:, None], a[:, 1:]], dim=1)
            rest = (torch.zeros_like(rest[0]), *rest[1:])
        if self.shortcut is not None:
            return self._leaping(a, own, rest, mask, self.shortcut)
        outputs, last = self.cell.unrolled(a, own, mask)
        return outputs, last + rest

    def _goes_by_steps(self) -> bool:
        """Whether only the equation itself will do."""
        return bool(is_watched() or self.wiring.zoneout or self.recur_norm)

    def _leaping(
        self, a: Tensor, own: State, rest: State, mask: Tensor | None, shortcut: nn.Linear
    ) -> Outputs:
        """Many steps at once, as many as the shortcut reaches: what it brings them is all known."""
        past, outputs = rest[-1], []
        for some in a.split(self.wiring.skip, dim=1):
            steps = some.shape[1]
            found, own = self.cell.unrolled(some + shortcut(past[:, :steps]), own, mask)
            past = torch.cat([past[:, steps:], found], dim=1)
            outputs.append(found)
        return torch.cat(outputs, dim=1), (*own, *rest[:-1], past)

    def _stepped(self, a: AllProducts, state: State, mask: Mask) -> Outputs:
        recur, outputs = self._recur(mask), []
        for products in a.unbind(1):
            state = self._after(products, state, recur)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state

    def _after(self, a: Tensor, state: State, recur: Recur) -> State:
        """The state after the products of one step."""
        own, rest = state[: self.cell.tensors], list(state[self.cell.tensors :])
        if self.first_bias is not None:
            a = a + rest[0] * self.first_bias
            rest[0] = torch.zeros_like(rest[0])
        if self.shortcut is not None:
            a = a + self.shortcut(rest[-1][:, 0])
        new = self.cell.step(a, own, recur)
        if self.wiring.zoneout:
            new = tuple(self._zoned(old, one) for old, one in zip(own, new, strict=True))
        shown = zip(_STATES, new, strict=False)
        new = (*(record(self.cell, kind, value) for kind, value in shown), *new[len(_STATES) :])
        if self.shortcut is not None:
            rest[-1] = torch.cat([rest[-1][:, 1:], new[0][:, None]], dim=1)
        return (*new, *rest)

    def products(self, x: Tensor) -> Tensor:
        """W x + b, normalised before the bias where that is wanted."""
        if self.read_norm is None:
            return self.cell.read(x) if x.dim() == 2 else self.cell.read_all(x)
        return self.read_norm(x @ self.cell.read.weight.t()) + self.cell.read.bias

    def _recur(self, mask: Tensor | None) -> Recur:
        """U h, with its dropout and its normalisation."""
        plain = self.cell.recur
        if plain is None:
            return lambda h, *blocks: h
        dropped = plain if mask is None else masked(plain, mask)
        if (norm := self.recur_norm) is None:
            return dropped
        return lambda h, *blocks: norm(dropped(h, *blocks), *blocks)

    def mask(self, batch: int) -> Mask:
        """What recurrent dropout leaves of a state, one mask for each sequence."""
        share = self.wiring.recurrent_dropout
        if not share or not self.training:
            return None
        kept = torch.rand(batch, self.cell.hidden) >= share
        return kept / (1 - share)

    def _zoned(self, old: Tensor, new: Tensor) -> Tensor:
        share = self.wiring.zoneout
        if not self.training:
            return torch.lerp(new, old, share)
        return torch.where(torch.rand(new.shape) < share, old, new)


def split_state(layers: list[Layer], state: State) -> list[State]:
    """A state of all layers as one for each."""
    ends = list(accumulate(layer.tensors for layer in layers))
    return [state[end - layer.tensors : end] for layer, end in zip(layers, ends, strict=True)]


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
