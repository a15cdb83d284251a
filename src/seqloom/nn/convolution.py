"""Temporal convolutional network (TCN): dilated causal convolutions with residual connections."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.functional import linear, pad

from ..errors import ModelError
from ..trace import intervened, record
from .dropout import SequenceDropout


def unfold_time(
    x: Float[Tensor, "batch positions width"], kernel: int, dilation: int = 1
) -> Float[Tensor, "batch time joined"]:
    """Sliding windows over time (im2col): the inputs of a kernel, concatenated, oldest first.

    z_t = [x_t; x_{t+d}; …; x_{t+(K-1)·d}]     for all t where this exists; d: dilation
    """
    if x.shape[1] == 1 + (kernel - 1) * dilation:  # a single window, as in a single step
        return x[:, ::dilation].flatten(1)[:, None]
    windows: Tensor = _Unfold.apply(x, kernel, dilation)
    return windows


class _Unfold(Function):
    """One concatenation; backward adds each tap's gradient into one array.

    Torch's own gradient of K slices would allocate a whole zero-filled sequence for each of them.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: int, dilation: int) -> Tensor:
        ctx.places, ctx.kernel, ctx.dilation = x.shape[1], kernel, dilation
        time = x.shape[1] - (kernel - 1) * dilation
        return torch.cat([x[:, k * dilation : k * dilation + time] for k in range(kernel)], dim=-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        batch, time, _ = grad.shape
        taps = grad.unflatten(-1, (ctx.kernel, -1)).unbind(2)
        total = grad.new_zeros(batch, ctx.places, taps[0].shape[-1])
        for k, tap in enumerate(taps):
            total[:, k * ctx.dilation : k * ctx.dilation + time] += tap
        return total, None, None


State = tuple[Tensor, ...]


class DilatedConvolution(nn.Module):
    """A dilated 1-d convolution with weight normalisation, without padding.

    y_t = b + Σ_k W_k x_{t-(K-1-k)·d}              k = 0 … K-1, the last of them at t itself
    W   = g v / ‖v‖ for every output               weight norm (Salimans & Kingma, 2016)
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.kernel, self.dilation = kernel, dilation
        start = nn.Linear(kernel * inputs, outputs)
        self.direction = start.weight
        self.size = nn.Parameter(start.weight.detach().norm(dim=1, keepdim=True))
        self.bias = start.bias

    @property
    def padding(self) -> int:
        """Number of positions needed besides those that get an output: (K - 1) d."""
        return (self.kernel - 1) * self.dilation

    def forward(
        self, x: Float[Tensor, "batch positions inputs"]
    ) -> Float[Tensor, "batch time outputs"]:
        """An output for all positions but the first `padding`."""
        weight = self.direction * (self.size / self.direction.norm(dim=1, keepdim=True))
        return linear(unfold_time(x, self.kernel, self.dilation), weight, self.bias)


class ResidualBlock(nn.Module):
    """TCN residual block: two convolutions with a residual connection (Bai et al., 2018).

    F(x) = drop(relu(conv₂(drop(relu(conv₁(x))))))
    y    = relu(x + F(x))                          V x instead of x where the sizes differ
    """

    def __init__(
        self, inputs: int, hidden: int, kernel: int, dilation: int, dropout: float
    ) -> None:
        super().__init__()
        self.first = DilatedConvolution(inputs, hidden, kernel, dilation)
        self.second = DilatedConvolution(hidden, hidden, kernel, dilation)
        self.around = nn.Linear(inputs, hidden) if inputs != hidden else None
        self.dropout = SequenceDropout(dropout)

    def add_residual(self, x: Tensor, inside: Tensor) -> Tensor:
        """relu(x + F(x)), `inside` being F(x)."""
        return torch.relu(inside + (x if self.around is None else self.around(x)))


class TemporalConvolution(nn.Module):
    """Temporal convolutional network (TCN; Bai et al., 2018): dilations 1, 2, 4, … by block.

    With L blocks and kernels of size K the receptive field has 1 + 2 (K-1) (2ᴸ - 1) positions: the
    last ones, or with `bidirectional` as many on either side. The state is the past inputs that
    each convolution still needs, so that nothing is ever computed twice.
    """

    in_order = True

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        num_layers: int,
        kernel: int,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _check_options(num_layers, kernel)
        self.bidirectional = bidirectional
        sizes = [inputs] + [hidden] * (num_layers - 1)
        self.blocks = nn.ModuleList(
            ResidualBlock(size, hidden, kernel, 2**number, dropout)
            for number, size in enumerate(sizes)
        )

    def initial(self, batch: int) -> State:
        """The initial state: zero padding before the first position."""
        return tuple(
            one.bias.new_zeros(batch, one.padding, one.direction.shape[1] // one.kernel)
            for block in _blocks(self.blocks)
            for one in (block.first, block.second)
        )

    def forward(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time hidden"]:
        """The outputs of the last block; padding changes none of them at a real position."""
        # Only where later positions are seen can padding be seen: it is then masked to zero.
        mask = None
        if self.bidirectional:
            mask = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
        for block in _blocks(self.blocks):
            inside = x
            for one in (block.first, block.second):
                masked = inside if mask is None else inside * mask
                after = one.padding // 2 if self.bidirectional else 0
                padded = pad(masked, (0, 0, one.padding - after, after))
                inside = block.dropout(torch.relu(one(padded)))
            x = record(block, "state.hidden", block.add_residual(x, inside))
        return x

    def carry(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> tuple[Float[Tensor, "batch time hidden"], State]:
        """Outputs of a segment, and what each convolution needs of it for the next segment."""
        new: list[Tensor] = []
        past = iter(state)
        for block in _blocks(self.blocks):
            inside = x
            for one in (block.first, block.second):
                inputs = torch.cat([next(past), inside], dim=1)
                new.append(inputs[:, inputs.shape[1] - one.padding :])
                inside = block.dropout(torch.relu(one(inputs)))
            x = intervened(block, "state.hidden", block.add_residual(x, inside))
        return x, tuple(new)

    def step(
        self, x: Float[Tensor, "batch inputs"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]:
        """The same for a single position."""
        outputs, state = self.carry(x[:, None], state)
        return outputs[:, 0], state


MAX_LAYERS = 20  # with more the receptive field would be over a million steps


def _check_options(num_layers: int, kernel: int) -> None:
    if kernel < 2:
        raise ModelError(
            "M162",
            f"kernel = {kernel}: expected 2 positions or more",
            help=["--set model.kernel=3"],
        )
    if not 1 <= num_layers <= MAX_LAYERS:
        raise ModelError(
            "M162",
            f"num_layers = {num_layers}: expected 1 to {MAX_LAYERS}; each doubles the receptive"
            " field",
            help=["--set model.num_layers=4"],
        )


def _blocks(modules: nn.ModuleList) -> list[ResidualBlock]:
    return [block for block in modules if isinstance(block, ResidualBlock)]


class ConvolutionEncoder(TemporalConvolution):
    """A temporal convolutional encoder of an encoder-decoder.

    Its final state is made like that of a bidirectional RNN: half of the components from the last
    position, half from the first.
    """

    def encode(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch hidden"]]:
        """The outputs of the last block, and the final state."""
        outputs = self(x, lengths)
        half = outputs.shape[-1] // 2
        last = outputs[torch.arange(len(outputs)), lengths - 1]
        return outputs, torch.cat([last[:, :half], outputs[:, 0, half:]], dim=-1)
