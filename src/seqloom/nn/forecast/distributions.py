"""Predictive distributions of real values: Gaussian, Student's t, quantiles.

Each is given by a few parameters p, which a network outputs: first the location, then the shape.
They are location-scale families: shifting and scaling a distribution shifts and scales its mean and
quantiles.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from ...prediction import LEVELS
from .options import OutputName

MIN_SCALE = 1e-4  # smallest standard deviation, and smallest step between quantiles
MEDIAN = LEVELS.index(0.5)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_ROUNDS = 12  # iterations of Newton's method: more than the outermost levels need


class Distribution(ABC):
    """A family of distributions; p are the parameters of one of them."""

    num_parameters: ClassVar[int]

    @abstractmethod
    def log_density(
        self, p: Float[Tensor, "*shape count"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        """Natural log of the density at y."""

    def loss(
        self, p: Float[Tensor, "*shape count"], y: Float[Tensor, "*shape"]
    ) -> Float[Tensor, "*shape"]:
        """The training loss: the negative log-likelihood of y, unless the family has its own."""
        return -self.log_density(p, y)

    @abstractmethod
    def mean(self, p: Float[Tensor, "*shape count"]) -> Float[Tensor, "*shape"]:
        """The mean."""

    @abstractmethod
    def quantiles(self, p: Float[Tensor, "*shape count"]) -> Float[Tensor, "*shape levels"]:
        """The quantiles at LEVELS, increasing."""

    @abstractmethod
    def sample(
        self, p: Float[Tensor, "*shape count"], u: Float[Tensor, "*shape 2"]
    ) -> Float[Tensor, "*shape"]:
        """A sample, made of two uniform random numbers between 0 and 1."""


class Gaussian(Distribution):
    """Gaussian: log p(y) = -½ ((y - m) / s)² - log s - ½ log 2π          s = softplus(a)."""

    num_parameters = 2

    def log_density(self, p: Tensor, y: Tensor) -> Tensor:
        s = positive_scale(p[..., 1])
        return -0.5 * ((y - p[..., 0]) / s).square() - s.log() - 0.5 * math.log(2 * math.pi)

    def mean(self, p: Tensor) -> Tensor:
        return p[..., 0]

    def quantiles(self, p: Tensor) -> Tensor:
        normal = torch.special.ndtri(p.new_tensor(LEVELS))
        return p[..., :1] + positive_scale(p[..., 1:]) * normal

    def sample(self, p: Tensor, u: Tensor) -> Tensor:
        return p[..., 0] + positive_scale(p[..., 1]) * torch.special.ndtri(u[..., 0])


class SquaredErrorGaussian(Gaussian):
    """Gaussian whose mean is fitted by squared error, its standard deviation by likelihood.

    L = (y - m)² + ½ ((y - m̄) / s)² + log s          m̄ is m, without a gradient

    The likelihood alone would weight each step by 1 / s², the easy ones most.
    """

    def loss(self, p: Tensor, y: Tensor) -> Tensor:
        fixed = torch.stack([p[..., 0].detach(), p[..., 1]], dim=-1)
        return (y - p[..., 0]).square() - self.log_density(fixed, y)


class StudentT(Distribution):
    """Student's t distribution: z = (y - m) / s, with n learned degrees of freedom (heavy tails).

    log p(y) = log Γ((n+1)/2) - log Γ(n/2) - ½ log nπ - log s - ½ (n+1) log(1 + z²/n)

    s = softplus(a), n = 2 + softplus(b): above 2 mean and variance exist.
    """

    num_parameters = 3

    def log_density(self, p: Tensor, y: Tensor) -> Tensor:
        s, n = positive_scale(p[..., 1]), 2 + positive_scale(p[..., 2])
        z = (y - p[..., 0]) / s
        constant = torch.lgamma((n + 1) / 2) - torch.lgamma(n / 2) - 0.5 * (n * math.pi).log()
        return constant - s.log() - (n + 1) / 2 * torch.log1p(z.square() / n)

    def mean(self, p: Tensor) -> Tensor:
        return p[..., 0]

    def quantiles(self, p: Tensor) -> Tensor:
        s, n = positive_scale(p[..., 1:2]), 2 + positive_scale(p[..., 2:3])
        above = student_quantiles(n, p.new_tensor(LEVELS[MEDIAN + 1 :]))
        both = torch.cat([-above.flip(-1), torch.zeros_like(s), above], dim=-1)
        return p[..., :1] + s * both

    def sample(self, p: Tensor, u: Tensor) -> Tensor:
        """√(n (u^(-2/n) - 1)) cos 2πv: the Box-Muller method for Student's t (Bailey, 1994)."""
        s, n = positive_scale(p[..., 1]), 2 + positive_scale(p[..., 2])
        far = (n * torch.expm1(-2 / n * u[..., 0].log())).sqrt()
        return p[..., 0] + s * far * torch.cos(2 * math.pi * u[..., 1])


class QuantileDistribution(Distribution):
    """Quantile regression at LEVELS; quantiles cannot cross: median, and positive steps from it.

    q_½ = m,  q_k+1 = q_k + softplus(a_k) above it, and the same below
    L   = 2/K Σ_k ρ_k(y - q_k)          ρ_k(e) = max(α_k e, (α_k - 1) e), the pinball loss

    Between two quantiles the density is uniform, (α_k+1 - α_k) / (q_k+1 - q_k); beyond the outer
    ones it falls exponentially, as exp(-λ |y - q|), from the height it has next to them: it
    integrates to one.
    """

    num_parameters = len(LEVELS)

    def log_density(self, p: Tensor, y: Tensor) -> Tensor:
        q, alpha = self.quantiles(p), p.new_tensor(LEVELS)
        height = alpha.diff() / q.diff()
        inside = (y[..., None] >= q).sum(-1) - 1
        uniform = height.gather(-1, inside.clamp(0, len(LEVELS) - 2)[..., None])[..., 0].log()
        low, high = self._tails(q)
        below, above = q[..., 0] - y, y - q[..., -1]
        return uniform - low * below.clamp(min=0) - high * above.clamp(min=0)

    def loss(self, p: Tensor, y: Tensor) -> Tensor:
        errors, alpha = y[..., None] - self.quantiles(p), p.new_tensor(LEVELS)
        return 2 * torch.maximum(alpha * errors, (alpha - 1) * errors).mean(-1)

    def mean(self, p: Tensor) -> Tensor:
        q, alpha = self.quantiles(p), p.new_tensor(LEVELS)
        low, high = self._tails(q)
        inside = ((q[..., 1:] + q[..., :-1]) / 2 * alpha.diff()).sum(-1)
        left, right = LEVELS[0], 1 - LEVELS[-1]
        return inside + left * (q[..., 0] - 1 / low) + right * (q[..., -1] + 1 / high)

    def quantiles(self, p: Tensor) -> Tensor:
        steps = positive_scale(p[..., 1:])
        below = steps[..., :MEDIAN].cumsum(-1).flip(-1)
        above = steps[..., MEDIAN:].cumsum(-1)
        return p[..., :1] + torch.cat([-below, torch.zeros_like(p[..., :1]), above], dim=-1)

    def sample(self, p: Tensor, u: Tensor) -> Tensor:
        """By the inverse of the distribution function: linear between quantiles, log in tails."""
        q, alpha, u = self.quantiles(p), p.new_tensor(LEVELS), u[..., 0]
        k = (torch.searchsorted(alpha, u.contiguous()) - 1).clamp(0, len(LEVELS) - 2)
        begins, ends = (q.gather(-1, k[..., None] + i)[..., 0] for i in (0, 1))
        fraction = (u - alpha[k]) / (alpha[k + 1] - alpha[k])
        inside = begins + fraction.clamp(0, 1) * (ends - begins)
        low, high = self._tails(q)
        left, right = u / LEVELS[0], (1 - u) / (1 - LEVELS[-1])
        return inside + left.clamp(max=1).log() / low - right.clamp(max=1).log() / high

    @staticmethod
    def _tails(q: Tensor) -> tuple[Tensor, Tensor]:
        """λ of both tails: an exponential tail of mass α has the density α λ where it begins."""
        first = (LEVELS[1] - LEVELS[0]) / (q[..., 1] - q[..., 0])
        last = (LEVELS[-1] - LEVELS[-2]) / (q[..., -1] - q[..., -2])
        return first / LEVELS[0], last / (1 - LEVELS[-1])


DISTRIBUTIONS: dict[OutputName, type[Distribution]] = {
    "gaussian": Gaussian,
    "student": StudentT,
    "quantile": QuantileDistribution,
    "squared": SquaredErrorGaussian,
}


def positive_scale(a: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """softplus(a) = log(1 + exp a), plus MIN_SCALE."""
    return softplus(a) + MIN_SCALE


def student_quantiles(
    n: Float[Tensor, "*shape 1"], levels: Float[Tensor, " levels"]
) -> Float[Tensor, "*shape levels"]:
    """Quantiles of Student's t with n degrees of freedom, at levels above ½.

    With t = √n tan a, the probability between 0 and t is

    G(a) = Γ((n+1)/2) / (Γ(n/2) √π) ∫_0^a cosⁿ⁻¹ x dx

    G is concave, so Newton's method from 0 converges to a from below, for every n. The integral is
    by Gauss-Legendre quadrature.
    """
    n = n.double()
    height = (torch.lgamma((n + 1) / 2) - torch.lgamma(n / 2)).exp() / math.sqrt(math.pi)
    target = (levels.double() - 0.5) / height
    nodes, weights = torch.from_numpy((_NODES + 1) / 2), torch.from_numpy(_WEIGHTS / 2)
    angle = torch.zeros_like(target)
    for _ in range(_ROUNDS):
        inside = torch.cos(angle[..., None] * nodes) ** (n - 1)[..., None]
        area = angle * (inside @ weights)
        angle = angle + (target - area) / torch.cos(angle) ** (n - 1)
    return (n.sqrt() * torch.tan(angle)).to(levels.dtype)
