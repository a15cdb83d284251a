"""Where a place stands in a sequence: attention alone could not tell."""

from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from ...errors import ModelError

PositionsName = Literal["sinusoid", "learned", "rotary"]
START = 0.02  # the standard deviation that learned positions start with (Radford et al., 2019)


class Sinusoid(nn.Module):
    """Waves of many lengths are added to the vectors (Vaswani et al., 2017).

    PE(t, 2i) = sin(t / 10000^{2i/d}),  PE(t, 2i+1) = cos(the same)
    x'_t      = √d x_t + PE(t)
    """

    waves: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.scale = width**0.5
        self.register_buffer("waves", sinusoid(length, width), persistent=False)

    def forward(
        self, x: Float[Tensor, "batch time width"], first: int = 0
    ) -> Float[Tensor, "batch time width"]:
        """Vectors at the places `first` and after, with their positions."""
        last = first + x.shape[1]
        waves = self.waves if last <= len(self.waves) else sinusoid(last, x.shape[2]).to(x)
        return torch.add(waves[first:last], x, alpha=self.scale)


class Learned(nn.Module):
    """A vector for every position, learned: x'_t = x_t + P_t. There are only so many of them."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(length, width) * START)

    def forward(
        self, x: Float[Tensor, "batch time width"], first: int = 0
    ) -> Float[Tensor, "batch time width"]:
        """Vectors at the places `first` and after, with their positions."""
        last = first + x.shape[1]
        if last > len(self.table):
            raise ModelError(
                "M163",
                f"a sequence has {last} symbols, and there are {len(self.table)} positions",
                help=[
                    f"--set model.context={last + last % 2}   learns so many",
                    "--set model.positions=rotary   has no end",
                ],
            )
        return x + self.table[first:last]


class Rotary(nn.Module):
    """Queries and keys are turned by their place, so that only distance counts (Su et al., 2021).

    R_t turns the i-th pair of numbers of a head by the angle t / 10000^{2i/d}:
    (R_t q) · (R_s k) depends on t - s alone
    """

    circle: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("circle", _circle(length, width), persistent=False)

    def forward(self, first: int, time: int) -> Complex[Tensor, "{time} half"]:
        """R_t of the places `first` and after: complex numbers of length one."""
        last = first + time
        circle = self.circle
        if last > len(circle):
            circle = _circle(last, self.width).to(circle)
        return torch.view_as_complex(circle[first:last])


def turned(
    x: Float[Tensor, "batch time *heads width"], turns: Complex[Tensor, "time half"]
) -> Float[Tensor, "batch time *heads width"]:
    """Neighbouring pairs of numbers, taken as complex ones, times R_t."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    shaped = turns.view(len(turns), *(1 for _ in x.shape[2:-1]), turns.shape[-1])
    return torch.view_as_real(pairs * shaped).flatten(-2)


def sinusoid(length: int, width: int) -> Float[Tensor, "{length} {width}"]:
    """Sine and cosine in turn, of ever longer waves."""
    angles = _angles(length, width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width].float()


def _circle(length: int, width: int) -> Float[Tensor, "{length} half 2"]:
    angles = _angles(length, width)
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float()


def _angles(length: int, width: int) -> Float[Tensor, "{length} half"]:
    """t / 10000^{2i/d}, in double precision: far places are large numbers."""
    places = torch.arange(length, dtype=torch.double)[:, None]
    return places / 10000 ** (torch.arange(0, width, 2, dtype=torch.double) / width)
