"""Positional encodings: sinusoidal, learned and rotary (RoPE)."""

from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor, nn

from ...errors import ModelError

PositionsName = Literal["sinusoid", "learned", "rotary"]
INIT_STD = 0.02  # standard deviation of initial weights (Radford et al., 2019)


class SinusoidalPositions(nn.Module):
    """Sinusoidal positional encoding, added to the embeddings (Vaswani et al., 2017).

    PE(t, 2i) = sin(t / 10000^{2i/d}),  PE(t, 2i+1) = cos(the same)
    x'_t      = √d x_t + PE(t)
    """

    waves: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.scale = width**0.5
        # Not persistent: it is computed, so it is not saved with the weights.
        self.register_buffer("waves", sinusoid(length, width), persistent=False)

    def forward(
        self, x: Float[Tensor, "batch time width"], first: int = 0
    ) -> Float[Tensor, "batch time width"]:
        """The vectors at the positions from `first` on, with their encoding."""
        last = first + x.shape[1]
        waves = self.waves if last <= len(self.waves) else sinusoid(last, x.shape[2]).to(x)
        return torch.add(waves[first:last], x, alpha=self.scale)


class LearnedPositions(nn.Module):
    """Learned position embeddings, of which there are so many: x'_t = x_t + P_t."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(length, width) * INIT_STD)

    def forward(
        self, x: Float[Tensor, "batch time width"], first: int = 0
    ) -> Float[Tensor, "batch time width"]:
        """The vectors at the positions from `first` on, with their embedding."""
        last = first + x.shape[1]
        if last > len(self.table):
            raise ModelError(
                "M163",
                f"a sequence has {last} tokens, and there are {len(self.table)} learned positions",
                help=[
                    f"--set model.context={last + last % 2}   learns so many",
                    "--set model.positions=rotary   has no limit",
                ],
            )
        return x + self.table[first:last]


class RotaryPositions(nn.Module):
    """Rotary position embedding, RoPE (Su et al., 2021): queries and keys are rotated.

    R_t rotates the i-th pair of components of a head by the angle t / 10000^{2i/d}:
    (R_t q) · (R_s k) depends on t - s alone
    """

    circle: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("circle", _circle(length, width), persistent=False)

    def forward(self, first: int, time: int) -> Complex[Tensor, "{time} half"]:
        """R_t of the positions from `first` on: complex numbers of absolute value one."""
        last = first + time
        circle = self.circle
        if last > len(circle):
            circle = _circle(last, self.width).to(circle)
        return torch.view_as_complex(circle[first:last])


def rotate(
    x: Float[Tensor, "batch time *heads width"], rotations: Complex[Tensor, "time half"]
) -> Float[Tensor, "batch time *heads width"]:
    """R_t x: adjacent pairs of components, as complex numbers, times the rotations."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    shaped = rotations.view(len(rotations), *(1 for _ in x.shape[2:-1]), rotations.shape[-1])
    return torch.view_as_real(pairs * shaped).flatten(-2)


def sinusoid(length: int, width: int) -> Float[Tensor, "{length} {width}"]:
    """Sine and cosine in alternation, of ever longer wavelengths."""
    angles = _angles(length, width)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width].float()


def _circle(length: int, width: int) -> Float[Tensor, "{length} half 2"]:
    # Stored as pairs of real numbers: a module's .to(dtype) would discard imaginary parts.
    angles = _angles(length, width)
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float()


def _angles(length: int, width: int) -> Float[Tensor, "{length} half"]:
    """t / 10000^{2i/d}, in double precision: at far positions float32 loses the fraction."""
    positions = torch.arange(length, dtype=torch.double)[:, None]
    return positions / 10000 ** (torch.arange(0, width, 2, dtype=torch.double) / width)
