"""What the unrolls share."""

import torch
from torch import Tensor


def masked(h: Tensor, mask: Tensor | None) -> Tensor:
    """m ⊙ h, where numbers of the state are dropped."""
    return h if mask is None else h * mask


def add_product(total: Tensor, inner: Tensor, weight: Tensor, mask: Tensor | None) -> None:
    """Add m ⊙ (δ U), the gradient that comes back through U (m ⊙ h)."""
    if mask is None:
        total.addmm_(inner, weight)
    else:
        total.addcmul_(inner @ weight, mask)


def one_minus_square(y: Tensor, out: Tensor | None = None) -> Tensor:
    """1 - y², the slope of y = tanh(x), in one pass over memory."""
    return torch.addcmul(y.new_ones(()), y, y, value=-1, out=out)


def times_one_minus(y: Tensor, out: Tensor | None = None) -> Tensor:
    """y (1 - y), the slope of y = σ(x), in one pass over memory."""
    return torch.addcmul(y, y, y, value=-1, out=out)


def weight_gradient(inner: Tensor, states: Tensor) -> Tensor:
    """Σ_t δ_t h_tᵀ over all steps and sequences, as one product."""
    return inner.reshape(-1, inner.shape[-1]).t() @ states.reshape(-1, states.shape[-1])
