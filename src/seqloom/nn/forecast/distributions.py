"""What is said of a real number: distributions that are given by a few numbers each.

The first of these numbers is the place of the distribution, any others are its shape. To move a
distribution by c and stretch it by s is to move and stretch its mean and quantiles.
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

SMALLEST = 1e-4  # no deviation, and no step between quantiles, is less
MIDDLE = LEVELS.index(0.5)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_ROUNDS = 12  # more than Newton's method needs from the middle to the outer levels


class Density(ABC):
    """A family of distributions; p are the numbers of one of them."""

    count: ClassVar[int]

    @abstractmethod
    def log_density(
        self, p: Float[Tensor, "*place count"], y: Float[Tensor, "*place"]
    ) -> Float[Tensor, "*place"]:
        """Natural log of the density at y."""

    def loss(
        self, p: Float[Tensor, "*place count"], y: Float[Tensor, "*place"]
    ) -> Float[Tensor, "*place"]:
        """What descent minimises: the surprise at y, unless the family says otherwise."""
        return -self.log_density(p, y)

    @abstractmethod
    def mean(self, p: Float[Tensor, "*place count"]) -> Float[Tensor, "*place"]:
        """What is to be expected."""

    @abstractmethod
    def levels(self, p: Float[Tensor, "*place count"]) -> Float[Tensor, "*place levels"]:
        """The quantiles at LEVELS, rising."""

    @abstractmethod
    def drawn(
        self, p: Float[Tensor, "*place count"], u: Float[Tensor, "*place 2"]
    ) -> Float[Tensor, "*place"]:
        """A number at random, made of two that are even between 0 and 1."""


class Gaussian(Density):
    """Normal: log p(y) = -½ ((y - m) / s)² - log s - ½ log 2π          s = softplus(a)."""

    count = 2

    def log_density(self, p: Tensor, y: Tensor) -> Tensor:
        s = positive(p[..., 1])
        return -0.5 * ((y - p[..., 0]) / s).square() - s.log() - 0.5 * math.log(2 * math.pi)

    def mean(self, p: Tensor) -> Tensor:
        return p[..., 0]

    def levels(self, p: Tensor) -> Tensor:
        normal = torch.special.ndtri(p.new_tensor(LEVELS))
        return p[..., :1] + positive(p[..., 1:]) * normal

    def drawn(self, p: Tensor, u: Tensor) -> Tensor:
        return p[..., 0] + positive(p[..., 1]) * torch.special.ndtri(u[..., 0])


class Squared(Gaussian):
    """Normal, its mean fitted by squared error alone.

    L = (y - m)² + ½ ((y - m̄) / s)² + log s          m̄ is m, which this part does not move

    So no step counts more for being the easier one, and s becomes the deviation that is left.
    """

    def loss(self, p: Tensor, y: Tensor) -> Tensor:
        fixed = torch.stack([p[..., 0].detach(), p[..., 1]], dim=-1)
        return (y - p[..., 0]).square() - self.log_density(fixed, y)


class Student(Density):
    """Student's t, of heavier tails: z = (y - m) / s, and n degrees of freedom, which are learned.

    log p(y) = log Γ((n+1)/2) - log Γ(n/2) - ½ log nπ - log s - ½ (n+1) log(1 + z²/n)

    s = softplus(a), n = 2 + softplus(b): above two there are mean and variance.
    """

    count = 3

    def log_density(self, p: Tensor, y: Tensor) -> Tensor:
        s, n = positive(p[..., 1]), 2 + positive(p[..., 2])
        z = (y - p[..., 0]) / s
        constant = torch.lgamma((n + 1) / 2) - torch.lgamma(n / 2) - 0.5 * (n * math.pi).log()
        return constant - s.log() - (n + 1) / 2 * torch.log1p(z.square() / n)

    def mean(self, p: Tensor) -> Tensor:
        return p[..., 0]

    def levels(self, p: Tensor) -> Tensor:
        s, n = positive(p[..., 1:2]), 2 + positive(p[..., 2:3])
        above = student_quantiles(n, p.new_tensor(LEVELS[MIDDLE + 1 :]))
        both = torch.cat([-above.flip(-1), torch.zeros_like(s), above], dim=-1)
        return p[..., :1] + s * both

    def drawn(self, p: Tensor, u: Tensor) -> Tensor:
        """√(n (u^(-2/n) - 1)) cos 2πv (Bailey, 1994)."""
        s, n = positive(p[..., 1]), 2 + positive(p[..., 2])
        far = (n * torch.expm1(-2 / n * u[..., 0].log())).sqrt()
        return p[..., 0] + s * far * torch.cos(2 * math.pi * u[..., 1])


class Quantiles(Density):
    """Quantiles at LEVELS that cannot cross: the median, and positive steps away from it.

    q_½ = m,  q_k+1 = q_k + softplus(a_k) above it, and the same below
    L   = 2/K Σ_k ρ_k(y - q_k)          ρ_k(e) = max(α_k e, (α_k - 1) e), the pinball loss

    Between two quantiles the density is even, (α_k+1 - α_k) / (q_k+1 - q_k); beyond the outer ones
    it falls as exp(-λ |y - q|), from the height it has next to them. So all of it comes to one.
    """

    count = len(LEVELS)

    def log_density(self, p: Tensor, y: Tensor) -> Tensor:
        q, alpha = self.levels(p), p.new_tensor(LEVELS)
        height = alpha.diff() / q.diff()
        inside = (y[..., None] >= q).sum(-1) - 1
        even = height.gather(-1, inside.clamp(0, len(LEVELS) - 2)[..., None])[..., 0].log()
        low, high = self._tails(q)
        below, above = q[..., 0] - y, y - q[..., -1]
        return even - low * below.clamp(min=0) - high * above.clamp(min=0)

    def loss(self, p: Tensor, y: Tensor) -> Tensor:
        errors, alpha = y[..., None] - self.levels(p), p.new_tensor(LEVELS)
        return 2 * torch.maximum(alpha * errors, (alpha - 1) * errors).mean(-1)

    def mean(self, p: Tensor) -> Tensor:
        q, alpha = self.levels(p), p.new_tensor(LEVELS)
        low, high = self._tails(q)
        inside = ((q[..., 1:] + q[..., :-1]) / 2 * alpha.diff()).sum(-1)
        left, right = LEVELS[0], 1 - LEVELS[-1]
        return inside + left * (q[..., 0] - 1 / low) + right * (q[..., -1] + 1 / high)

    def levels(self, p: Tensor) -> Tensor:
        steps = positive(p[..., 1:])
        below = steps[..., :MIDDLE].cumsum(-1).flip(-1)
        above = steps[..., MIDDLE:].cumsum(-1)
        return p[..., :1] + torch.cat([-below, torch.zeros_like(p[..., :1]), above], dim=-1)

    def drawn(self, p: Tensor, u: Tensor) -> Tensor:
        q, alpha, u = self.levels(p), p.new_tensor(LEVELS), u[..., 0]
        k = (torch.searchsorted(alpha, u.contiguous()) - 1).clamp(0, len(LEVELS) - 2)
        begins, ends = (q.gather(-1, k[..., None] + i)[..., 0] for i in (0, 1))
        share = (u - alpha[k]) / (alpha[k + 1] - alpha[k])
        inside = begins + share.clamp(0, 1) * (ends - begins)
        low, high = self._tails(q)
        left, right = u / LEVELS[0], (1 - u) / (1 - LEVELS[-1])
        return inside + left.clamp(max=1).log() / low - right.clamp(max=1).log() / high

    @staticmethod
    def _tails(q: Tensor) -> tuple[Tensor, Tensor]:
        """λ on either side: a tail of the mass α has the density α λ where it begins."""
        first = (LEVELS[1] - LEVELS[0]) / (q[..., 1] - q[..., 0])
        last = (LEVELS[-1] - LEVELS[-2]) / (q[..., -1] - q[..., -2])
        return first / LEVELS[0], last / (1 - LEVELS[-1])


DENSITIES: dict[OutputName, type[Density]] = {
    "gaussian": Gaussian,
    "student": Student,
    "quantile": Quantiles,
    "squared": Squared,
}


def positive(a: Float[Tensor, "*place"]) -> Float[Tensor, "*place"]:
    """log(1 + exp a), and a little more."""
    return softplus(a) + SMALLEST


def student_quantiles(
    n: Float[Tensor, "*place 1"], levels: Float[Tensor, " levels"]
) -> Float[Tensor, "*place levels"]:
    """Where Student's distribution with n degrees of freedom reaches these levels, all above ½.

    With t = √n tan a, the share between 0 and t is

    G(a) = Γ((n+1)/2) / (Γ(n/2) √π) ∫_0^a cosⁿ⁻¹ x dx

    G is concave, so that Newton's method from 0 comes to a from below, without fail.
    """
    n = n.double()
    height = (torch.lgamma((n + 1) / 2) - torch.lgamma(n / 2)).exp() / math.sqrt(math.pi)
    wanted = (levels.double() - 0.5) / height
    nodes, weights = torch.from_numpy((_NODES + 1) / 2), torch.from_numpy(_WEIGHTS / 2)
    angle = torch.zeros_like(wanted)
    for _ in range(_ROUNDS):
        inside = torch.cos(angle[..., None] * nodes) ** (n - 1)[..., None]
        area = angle * (inside @ weights)
        angle = angle + (wanted - area) / torch.cos(angle) ** (n - 1)
    return (n.sqrt() * torch.tan(angle)).to(levels.dtype)
