"""Convolution over time: dilated, residual, and blind to what comes later unless told not to be.

The last few vectors of every place, side by side: what windows and convolutions look at.

What reads a source for a decoder.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.functional import linear, pad

from ..errors import ModelError
from ..trace import changed, record
from .dropout import SequenceDropout


def joined(
    x: Float[Tensor, "batch places width"], taps: int, apart: int = 1
) -> Float[Tensor, "batch time joined"]:
    """Every place with those before it, `apart` steps from one another, the oldest first.

    z_t = [x_t; x_{t+apart}; …; x_{t+(taps-1)·apart}]     for all t where this exists
    """
    if x.shape[1] == 1 + (taps - 1) * apart:  # a single step
        return x[:, ::apart].flatten(1)[:, None]
    found: Tensor = _Joined.apply(x, taps, apart)
    return found


class _Joined(Function):
    """Copied once; torch's own gradient would fill and add one whole sequence for each tap."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, taps: int, apart: int) -> Tensor:
        ctx.places, ctx.taps, ctx.apart = x.shape[1], taps, apart
        time = x.shape[1] - (taps - 1) * apart
        return torch.cat([x[:, k * apart : k * apart + time] for k in range(taps)], dim=-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        batch, time, _ = grad.shape
        parts = grad.unflatten(-1, (ctx.taps, -1)).unbind(2)
        total = grad.new_zeros(batch, ctx.places, parts[0].shape[-1])
        for k, part in enumerate(parts):
            total[:, k * ctx.apart : k * ctx.apart + time] += part
        return total, None, None


State = tuple[Tensor, ...]


class Convolution(nn.Module):
    """One kernel over places that lie `apart` steps from one another, its weights normalised.

    y_t = b + Σ_k W_k x_{t-(K-1-k)·apart}          k = 0 … K-1, the last of them at t itself
    W   = g v / ‖v‖ for every output               (Salimans & Kingma, 2016)
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, apart: int) -> None:
        super().__init__()
        self.kernel, self.apart = kernel, apart
        start = nn.Linear(kernel * inputs, outputs)
        self.direction = start.weight
        self.size = nn.Parameter(start.weight.detach().norm(dim=1, keepdim=True))
        self.bias = start.bias

    @property
    def before(self) -> int:
        """How many places before the first output must be given."""
        return (self.kernel - 1) * self.apart

    def forward(
        self, x: Float[Tensor, "batch places inputs"]
    ) -> Float[Tensor, "batch time outputs"]:
        """An output for all places but the first `before`."""
        weight = self.direction * (self.size / self.direction.norm(dim=1, keepdim=True))
        return linear(joined(x, self.kernel, self.apart), weight, self.bias)


class ResidualBlock(nn.Module):
    """Two convolutions and a way around them (Bai et al., 2018).

    F(x) = drop(relu(conv₂(drop(relu(conv₁(x))))))
    y    = relu(x + F(x))                          V x instead of x where the widths differ
    """

    def __init__(self, inputs: int, hidden: int, kernel: int, apart: int, dropout: float) -> None:
        super().__init__()
        self.first = Convolution(inputs, hidden, kernel, apart)
        self.second = Convolution(hidden, hidden, kernel, apart)
        self.around = nn.Linear(inputs, hidden) if inputs != hidden else None
        self.dropout = SequenceDropout(dropout)

    def around_it(self, x: Tensor, inside: Tensor) -> Tensor:
        """The sum of what went through and what went around."""
        return torch.relu(inside + (x if self.around is None else self.around(x)))


class TemporalConvolution(nn.Module):
    """Residual blocks whose kernels reach ever further: 1, 2, 4, … steps (Bai et al., 2018).

    With L blocks and kernels of K places an output sees 1 + 2 (K-1) (2ᴸ - 1) places: the last so
    many, or with `both` as many on either side. The state is what each convolution still needs of
    its own past inputs, so nothing is ever computed twice.
    """

    in_order = True

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        layers: int,
        kernel: int,
        both: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _refuse_impossible(layers, kernel)
        self.both = both
        sizes = [inputs] + [hidden] * (layers - 1)
        self.blocks = nn.ModuleList(
            ResidualBlock(size, hidden, kernel, 2**number, dropout)
            for number, size in enumerate(sizes)
        )

    def initial(self, batch: int) -> State:
        """Zeros stand before the first place."""
        return tuple(
            one.bias.new_zeros(batch, one.before, one.direction.shape[1] // one.kernel)
            for block in _blocks(self.blocks)
            for one in (block.first, block.second)
        )

    def forward(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The outputs of the last block; padding changes none of them at a real place."""
        real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None] if self.both else None
        for block in _blocks(self.blocks):
            inside = x
            for one in (block.first, block.second):
                seen = inside if real is None else inside * real
                behind = one.before // 2 if self.both else 0
                seen = pad(seen, (0, 0, one.before - behind, behind))
                inside = block.dropout(torch.relu(one(seen)))
            x = record(block, "state.hidden", block.around_it(x, inside))
        return x

    def carry(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]:
        """Outputs of a piece, and what each convolution needs of it for the next."""
        new: list[Tensor] = []
        past = iter(state)
        for block in _blocks(self.blocks):
            inside = x
            for one in (block.first, block.second):
                seen = torch.cat([next(past), inside], dim=1)
                new.append(seen[:, seen.shape[1] - one.before :])
                inside = block.dropout(torch.relu(one(seen)))
            x = changed(block, "state.hidden", block.around_it(x, inside))
        return x, tuple(new)

    def step(
        self, x: Float[Tensor, "batch inputs"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """The same for a single place."""
        outputs, state = self.carry(x[:, None], state)
        return outputs[:, 0], state


def _refuse_impossible(layers: int, kernel: int) -> None:
    if kernel < 2:
        raise ModelError(
            "M162",
            f"kernel = {kernel}: a convolution must see two places or more",
            help=["--set model.kernel=3"],
        )
    if not 1 <= layers <= MOST_LAYERS:
        raise ModelError(
            "M162",
            f"layers = {layers}: expected 1 to {MOST_LAYERS}; each doubles how far back is seen",
            help=["--set model.layers=4"],
        )


MOST_LAYERS = 20  # beyond, a kernel would reach over a million steps


def _blocks(modules: nn.ModuleList) -> list[ResidualBlock]:
    return [block for block in modules if isinstance(block, ResidualBlock)]


class ConvolutionEncoder(TemporalConvolution):
    """Residual convolutions as an encoder: all places of a source are read side by side.

    Its ends are made like those of a recurrence in two directions: half of the numbers from the
    last place, half from the first.
    """

    def read(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch hidden"]]:
        """The outputs of the last block, and the two ends."""
        memory = self(x, lengths)
        half = memory.shape[-1] // 2
        last = memory[torch.arange(len(memory)), lengths - 1]
        return memory, torch.cat([last[:, :half], memory[:, 0, half:]], dim=-1)
