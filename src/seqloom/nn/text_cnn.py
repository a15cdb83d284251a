"""Filters over time, side by side and stacked: convolutions that may shorten what they read."""

from dataclasses import dataclass, fields
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import conv1d, linear, pad

from ..errors import ModelError
from .convolution import joined
from .dropout import SequenceDropout

MOST = 1 << 20  # places that a filter may reach over


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Convolutions side by side and stacked, instead of residual blocks.

    Args:
        filters: How many places the filters see, as 3,4,5: as many stacks of convolutions side by
            side, which share the channels (Kim, 2014). Empty is one stack of residual blocks.
        padding: What filters see of the places beyond both ends: zeros, so that as many come out as
            go in (same), or nothing, so that they begin and end within a sequence (valid).
        stride: Every so many places a filter gives an answer.
        dilation: How many times as far apart as in the layer below the places of a filter lie.
        separable: Whether a filter sees each channel by itself, and channels are mixed after it.
        pool: What is kept of neighbours between two layers: all, the largest of each number, or the
            mean.
        pool_size: Of how many neighbours.
    """

    filters: str = ""
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
                f"{chosen[0]} is for filters, and there are none, but residual blocks",
                help=["--set model.filters=3,4,5", f"leave {chosen[0]} out"],
            )
        self.sizes()

    def sizes(self) -> list[int]:
        """How many places each filter sees."""
        try:
            found = [int(part) for part in self.filters.split(",")] if self.filters else []
        except ValueError:
            found = [0]
        if any(size < 1 for size in found):
            raise ModelError(
                "M320",
                f"filters = {self.filters!r}: expected how many places each sees, as 3,4,5",
            )
        return found

    def keeps_length(self, layers: int) -> bool:
        """Whether every place has an output of its own."""
        is_pooled = self.pool != "none" and self.pool_size > 1 and layers > 1
        return self.padding == "same" and self.stride == 1 and not is_pooled


PLAIN_FILTERS = Filters()


class Filter(nn.Module):
    """One convolution, at every `stride`-th place, which treats places beyond a sequence as 0.

    y_t = relu(b + Σ_k W_k x_{t·stride + k·apart - before})      k = 0 … K-1
    y_t = relu(b + P (Σ_k w_k ⊙ x_{t·stride + k·apart - before}))     separable
    """

    def __init__(
        self, inputs: int, outputs: int, kernel: int, apart: int, made: Filters, *, both: bool
    ) -> None:
        super().__init__()
        self.kernel, self.apart, self.stride = kernel, apart, made.stride
        self.reach = 1 + (kernel - 1) * apart
        around = self.reach - 1 if made.padding == "same" else 0
        self.before = around // 2 if both else around
        self.behind = around - self.before
        self.single = (
            nn.Conv1d(inputs, inputs, kernel, groups=inputs, bias=False) if made.separable else None
        )
        self.mix = nn.Linear(inputs if made.separable else kernel * inputs, outputs)

    def forward(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch fewer outputs"], Int[Tensor, " batch"]]:
        """What the filter says at each place, and how many of these are real."""
        missing = max(0, self.reach - x.shape[1] - self.before - self.behind)
        seen = pad(_only_real(x, lengths), (0, 0, self.before, self.behind + missing))
        if self.single is None:
            taps = joined(seen, self.kernel, self.apart)
            found = linear(taps[:, :: self.stride], self.mix.weight, self.mix.bias)
        else:
            weight = self.single.weight
            alone = conv1d(
                seen.mT, weight, stride=self.stride, dilation=self.apart, groups=len(weight)
            )
            found = self.mix(alone.mT)
        room = (lengths + self.before + self.behind - self.reach).clamp(min=0)
        return torch.relu(found), room // self.stride + 1


class Stack(nn.Module):
    """Filters of one size above one another, with what is kept of neighbours between them."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        made: Filters,
        *,
        layers: int,
        both: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        sizes = [inputs] + [outputs] * (layers - 1)
        self.filters = nn.ModuleList(
            Filter(size, outputs, kernel, made.dilation**number, made, both=both)
            for number, size in enumerate(sizes)
        )
        self.pool, self.pool_size, self.is_whole = made.pool, made.pool_size, made.padding == "same"
        self.dropout = SequenceDropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch fewer outputs"], Int[Tensor, " batch"]]:
        """The outputs of the last filter, and how many of them are real."""
        for number, one in enumerate(self.filters):
            if number:
                x, lengths = self._kept(self.dropout(x), lengths)
            x, lengths = one(x, lengths)
        return x, lengths

    def _kept(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The largest or the mean of so many neighbours; fewer at the end where all are kept."""
        size = self.pool_size
        if self.pool == "none" or size == 1:
            return x, lengths
        fewer = lengths + size - 1 if self.is_whole else lengths.clamp(min=size)
        x = pad(x, (0, 0, 0, -x.shape[1] % size))
        real = (torch.arange(x.shape[1]) < lengths[:, None])[..., None]
        parts, are_real = x.unflatten(1, (-1, size)), real.unflatten(1, (-1, size))
        if self.pool == "average":
            found = (parts * are_real).sum(2) / are_real.sum(2).clamp(min=1)
        else:
            found = parts.masked_fill(~are_real, -torch.inf).amax(2)
            found = found.masked_fill(~are_real.any(2), 0.0)
        return found, fewer // size


class FilterBank(nn.Module):
    """Stacks of filters of several sizes side by side.

    Where all keep every place, or there is one, their outputs are joined place by place. Otherwise
    each has as many places as its filters leave, and what pools them does so for each by itself.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        made: Filters,
        *,
        layers: int,
        both: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = made.sizes()
        _refuse_impossible(hidden, layers, made)
        shares = [(hidden + number) // len(sizes) for number in reversed(range(len(sizes)))]
        self.stacks = nn.ModuleList(
            Stack(inputs, share, size, made, layers=layers, both=both, dropout=dropout)
            for share, size in zip(shares, sizes, strict=True)
        )
        self.is_even = made.padding == "same" or len(set(sizes)) == 1

    def forward(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch fewer hidden"]:
        """The outputs of all stacks joined."""
        ((states, _),) = self.parts(x, lengths)
        return states

    def parts(
        self, x: Float[Tensor, "batch time inputs"], lengths: Int[Tensor, " batch"]
    ) -> list[tuple[Float[Tensor, "batch _ _"], Int[Tensor, " batch"]]]:
        """States and how many of them are real: of all stacks together, or of each by itself."""
        found = [stack(x, lengths) for stack in self.stacks]
        if not self.is_even:
            return found
        return [(torch.cat([states for states, _ in found], dim=-1), found[0][1])]


def _only_real(x: Tensor, lengths: Tensor) -> Tensor:
    """The same with 0 beyond each sequence."""
    if bool((lengths == x.shape[1]).all()):
        return x
    return x * (torch.arange(x.shape[1]) < lengths[:, None])[..., None]


def _refuse_impossible(hidden: int, layers: int, made: Filters) -> None:
    sizes = made.sizes()
    if layers < 1 or hidden < len(sizes):
        raise ModelError(
            "M320",
            f"{len(sizes)} filters, layers = {layers}, hidden = {hidden}: each filter needs a layer"
            " and a channel",
            help=["--set model.layers=1", f"--set model.hidden={100 * len(sizes)}"],
        )
    reach = sum((max(sizes) - 1) * made.dilation**number for number in range(min(layers, 64)))
    if reach > MOST:
        raise ModelError(
            "M320",
            f"the last of {layers} layers would see {reach:,} places",
            help=[f"--set model.dilation={max(1, made.dilation // 2)}", "fewer layers"],
        )
