"""What the unrolls share."""

from torch import Tensor


def masked(h: Tensor, mask: Tensor | None) -> Tensor:
    """m ⊙ h, where numbers of the state are dropped."""
    return h if mask is None else h * mask


def weight_gradient(inner: Tensor, states: Tensor) -> Tensor:
    """Σ_t δ_t h_tᵀ over all steps and sequences, as one product."""
    return inner.reshape(-1, inner.shape[-1]).t() @ states.reshape(-1, states.shape[-1])
