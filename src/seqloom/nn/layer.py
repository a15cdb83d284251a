"""One layer of a recurrence in one direction: a cell with what can be added to any cell."""

from itertools import accumulate

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..trace import is_watched, record
from .cells import CELLS, Cell, State
from .cells.cell import AllProducts, Mask, Outputs, Products, Recur, masked
from .wiring import Wiring, refuse_impossible

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
