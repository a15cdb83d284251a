"""TextCNN: convolutions of several kernel sizes side by side, with strides and pooling."""

from dataclasses import dataclass, fields
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import conv1d, linear, pad

from ..errors import ModelError
from .convolution import unfold_time
from .dropout import SequenceDropout

MAX_RECEPTIVE_FIELD = 1 << 20


@dataclass(frozen=True, kw_only=True)
class TextCNNOptions:
    """Convolutions of several kernel sizes (TextCNN; Kim, 2014) instead of residual blocks.

    Args:
        filters: Kernel sizes of a TextCNN, as [3, 4, 5]: one stack of convolutions for each, side
            by side, which share the channels (Kim, 2014). Empty: one stack of residual blocks.
        padding: Zero padding at both ends, so that there are as many outputs as inputs (same), or
            no padding (valid).
        stride: Stride of the convolutions.
        dilation: Factor by which the dilation grows from layer to layer.
        separable: Depthwise separable convolutions: each channel by itself, then a product that
            mixes the channels.
        pool: Pooling between two layers: none, max or average.
        pool_size: Number of neighbouring positions that are pooled.
    """

    filters: tuple[int, ...] = ()
    padding: Literal["same", "valid"] = "same"
    stride: int = 1
    dilation: int = 1
    separable: bool = False
    pool: Literal["none", "max", "average"] = "none"
    pool_size: int = 2

    def __post_init__(self) -> None:
        for name in ("stride", "dilation", "pool_size"):
            if getattr(self, name) < 1:
                raise ModelError("M320", f"{name} = {getattr(self, name)}: expected 1 or more")
        chosen = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        if chosen and not self.filters:
            raise ModelError(
                "M320",
                f"{chosen[0]} is an option of a TextCNN, and filters is empty",
                help=["--set model.filters=3,4,5", f"leave {chosen[0]} out"],
            )
        self.sizes()

    def sizes(self) -> list[int]:
        """The kernel sizes."""
        if any(size < 1 for size in self.filters):
            raise ModelError(
                "M320",
                f"filters = {list(self.filters)}: expected kernel sizes of 1 or more, as [3, 4, 5]",
            )
        return list(self.filters)

    def keeps_length(self, num_layers: int) -> bool:
        """Whether every position has an output of its own."""
        is_pooled = self.pool != "none" and self.pool_size > 1 and num_layers > 1
        return self.padding == "same" and self.stride == 1 and not is_pooled


DEFAULT_TEXT_CNN_OPTIONS = TextCNNOptions()


class ConvolutionLayer(nn.Module):
    """A 1-d convolution with ReLU, stride s and dilation d; positions beyond a sequence are 0.

    y_t = relu(b + Σ_k W_k x_{t·s + k·d - p})          k = 0 … K-1, p: padding at the left
    y_t = relu(b + P (Σ_k w_k ⊙ x_{t·s + k·d - p}))     depthwise separable
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        dilation: int,
        options: TextCNNOptions,
        *,
        bidirectional: bool,
    ) -> None:
        super().__init__()
        self.kernel, self.dilation, self.stride = kernel, dilation, options.stride
        self.span = 1 + (kernel - 1) * dilation
        padding = self.span - 1 if options.padding == "same" else 0
        self.left = padding // 2 if bidirectional else padding
        self.right = padding - self.left
        self.single = (
            nn.Conv1d(inputs, inputs, kernel, groups=inputs, bias=False)
            if options.separable
            else None
        )
        self.mix = nn.Linear(inputs if options.separable else kernel * inputs, outputs)

    def forward(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch fewer outputs"], Int[Tensor, " batch"]]:
        """The outputs, and how many of them are real."""
        # Without padding a sequence may be shorter than the kernel: it still has one output.
        missing = max(0, self.span - x.shape[1] - self.left - self.right)
        padded = pad(_masked(x, lengths), (0, 0, self.left, self.right + missing))
        if self.single is None:
            windows = unfold_time(padded, self.kernel, self.dilation)
            outputs = linear(windows[:, :: self.stride], self.mix.weight, self.mix.bias)
        else:
            weight = self.single.weight
            depthwise = conv1d(
                padded.mT, weight, stride=self.stride, dilation=self.dilation, groups=len(weight)
            )
            outputs = self.mix(depthwise.mT)
        spare = (lengths + self.left + self.right - self.span).clamp(min=0)
        return torch.relu(outputs), spare // self.stride + 1


class ConvolutionStack(nn.Module):
    """Convolutions of one kernel size, stacked, with pooling between the layers."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        options: TextCNNOptions,
        *,
        num_layers: int,
        bidirectional: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        sizes = [inputs] + [outputs] * (num_layers - 1)
        self.filters = nn.ModuleList(
            ConvolutionLayer(
                size,
                outputs,
                kernel,
                options.dilation**number,
                options,
                bidirectional=bidirectional,
            )
            for number, size in enumerate(sizes)
        )
        self.pool, self.pool_size = options.pool, options.pool_size
        self.keeps_rest = options.padding == "same"
        self.dropout = SequenceDropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch fewer outputs"], Int[Tensor, " batch"]]:
        """The outputs of the last layer, and how many of them are real."""
        for number, layer in enumerate(self.filters):
            if number:
                x, lengths = self.pooled(self.dropout(x), lengths)
            x, lengths = layer(x, lengths)
        return x, lengths

    def pooled(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Max or average pooling over time; with padding the last group may be smaller."""
        size = self.pool_size
        if self.pool == "none" or size == 1:
            return x, lengths
        fewer = lengths + size - 1 if self.keeps_rest else lengths.clamp(min=size)
        x = pad(x, (0, 0, 0, -x.shape[1] % size))
        real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
        groups, are_real = x.unflatten(1, (-1, size)), real.unflatten(1, (-1, size))
        if self.pool == "average":
            outputs = (groups * are_real).sum(2) / are_real.sum(2).clamp(min=1)
        else:
            outputs = groups.masked_fill(~are_real, -torch.inf).amax(2)
            outputs = outputs.masked_fill(~are_real.any(2), 0.0)  # a group of padding alone
        return outputs, fewer // size


class TextCNN(nn.Module):
    """TextCNN (Kim, 2014): stacks of convolutions of several kernel sizes, side by side.

    Where all stacks have as many outputs, these are concatenated position by position. Otherwise
    each stack is a branch of its own, and pooled by itself.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        options: TextCNNOptions,
        *,
        num_layers: int,
        bidirectional: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = options.sizes()
        _check_options(hidden, num_layers, options)
        channels = [(hidden + number) // len(sizes) for number in reversed(range(len(sizes)))]
        self.stacks = nn.ModuleList(
            ConvolutionStack(
                inputs,
                count,
                size,
                options,
                num_layers=num_layers,
                bidirectional=bidirectional,
                dropout=dropout,
            )
            for count, size in zip(channels, sizes, strict=True)
        )
        self.is_aligned = options.padding == "same" or len(set(sizes)) == 1

    def forward(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch fewer hidden"]:
        """The outputs of all stacks, concatenated."""
        ((states, _),) = self.branches(x, lengths)
        return states

    def branches(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> list[tuple[Float[Tensor, "batch _ _"], Int[Tensor, " batch"]]]:
        """States and how many of them are real: of all stacks together, or of each by itself."""
        outputs = [stack(x, lengths) for stack in self.stacks]
        if not self.is_aligned:
            return outputs
        return [(torch.cat([states for states, _ in outputs], dim=-1), outputs[0][1])]


def _masked(x: Tensor, lengths: Tensor) -> Tensor:
    """x with 0 at padding; without a copy where there is none."""
    if bool((lengths == x.shape[1]).all()):
        return x
    return x * (torch.arange(x.shape[1]) < lengths[:, None])[..., None]


def _check_options(hidden: int, num_layers: int, options: TextCNNOptions) -> None:
    sizes = options.sizes()
    if num_layers < 1 or hidden < len(sizes):
        raise ModelError(
            "M320",
            f"{len(sizes)} filters, num_layers = {num_layers}, hidden_size = {hidden}: each filter"
            " needs a layer and a channel",
            help=["--set model.num_layers=1", f"--set model.hidden_size={100 * len(sizes)}"],
        )
    field = sum((max(sizes) - 1) * options.dilation**n for n in range(min(num_layers, 64)))
    if field > MAX_RECEPTIVE_FIELD:
        raise ModelError(
            "M320",
            f"the last of {num_layers} layers would have a receptive field of {field:,} positions",
            help=[f"--set model.dilation={max(1, options.dilation // 2)}", "fewer layers"],
        )
