"""What the unrolls share."""

import torch
from torch import Tensor

LARGE = 1 << 19  # numbers of a matrix from which on it pays to bring it into order
MANY = 16  # steps, and sequences, likewise


class Matrix:
    """M as all steps of an unroll multiply with it: X Mᵀ, added to something.

    A large matrix is brought into the order of oneDNN's products once, as `nn.LSTM` does it; a
    plain product would do so at every step. With one thread that gains nothing.
    """

    def __init__(self, matrix: Tensor, like: Tensor, steps: int) -> None:
        self.turned, self.ordered = matrix.t(), None
        if _pays(matrix, like, steps):
            ordered = torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous(), like.shape[0])
            self.ordered = ordered

    def add_to(self, total: Tensor, x: Tensor) -> Tensor:
        """total += X Mᵀ."""
        if self.ordered is None:
            return total.addmm_(x, self.turned)
        return total.add_(self._product(x))

    def times(self, x: Tensor) -> Tensor:
        """X Mᵀ."""
        return x @ self.turned if self.ordered is None else self._product(x)

    def _product(self, x: Tensor) -> Tensor:
        found: Tensor = torch.ops.mkldnn._linear_pointwise(
            x.contiguous(), self.ordered, None, "none", [], ""
        )
        return found


def _pays(matrix: Tensor, like: Tensor, steps: int) -> bool:
    return (
        matrix.numel() >= LARGE
        and steps >= MANY
        and like.shape[0] >= MANY
        and matrix.dtype == torch.float32
        and torch.get_num_threads() > 1
        and torch.backends.mkldnn.is_available()
    )


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


def weight_gradient(inner: Tensor, states: Tensor, out: Tensor | None = None) -> Tensor:
    """Σ_t δ_t h_tᵀ over all steps and sequences, as one product."""
    rows = inner.reshape(-1, inner.shape[-1])
    return torch.mm(rows.t(), states.reshape(-1, states.shape[-1]), out=out)
