"""Unrolls of Elman, minGRU, minLSTM and constant-error-carousel cells as autograd functions.

Also what all unrolls in torch operations share: products with a fixed matrix, and derivatives.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid

from .scan import LARGE, scan, scan_back

MIN_PACKED = 1 << 19  # elements of a matrix from which on packing it once saves time
MIN_ROWS = 16  # steps of the unroll, and rows of each product, likewise


class PackedMatrix:
    """A matrix M that all steps of an unroll multiply with: X Mᵀ, added to something.

    A large matrix is packed once into the blocked layout of oneDNN's matrix products, as `nn.LSTM`
    does it; a plain product packs it anew at every step. With one thread that gains nothing.
    """

    def __init__(self, matrix: Tensor, like: Tensor, steps: int) -> None:
        self.transposed, self.packed = matrix.t(), None
        if _pays(matrix, like, steps):
            packed = torch.ops.mkldnn._reorder_linear_weight(matrix.contiguous(), like.shape[0])
            self.packed = packed

    def add_to(self, total: Tensor, x: Tensor) -> Tensor:
        """total += X Mᵀ."""
        if self.packed is None:
            return total.addmm_(x, self.transposed)
        return total.add_(self._product(x))

    def times(self, x: Tensor) -> Tensor:
        """X Mᵀ."""
        return x @ self.transposed if self.packed is None else self._product(x)

    def _product(self, x: Tensor) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(
            x.contiguous(), self.packed, None, "none", [], ""
        )
        return product


def _pays(matrix: Tensor, like: Tensor, steps: int) -> bool:
    # These operators belong to torch's compiler: they exist for float32 with oneDNN only.
    return (
        matrix.numel() >= MIN_PACKED
        and steps >= MIN_ROWS
        and like.shape[0] >= MIN_ROWS
        and matrix.dtype == torch.float32
        and torch.get_num_threads() > 1
        and torch.backends.mkldnn.is_available()
    )


def masked_state(h: Tensor, mask: Tensor | None) -> Tensor:
    """m ⊙ h: the state under recurrent dropout."""
    return h if mask is None else h * mask


def add_product(total: Tensor, inner: Tensor, weight: Tensor, mask: Tensor | None) -> None:
    """Add m ⊙ (δ U), the gradient that comes back through U (m ⊙ h)."""
    if mask is None:
        total.addmm_(inner, weight)
    else:
        total.addcmul_(inner @ weight, mask)


def one_minus_square(y: Tensor, out: Tensor | None = None) -> Tensor:
    """1 - y², the derivative of y = tanh(x), in one pass over memory."""
    return torch.addcmul(y.new_ones(()), y, y, value=-1, out=out)


def times_one_minus(y: Tensor, out: Tensor | None = None) -> Tensor:
    """y (1 - y), the derivative of y = σ(x), in one pass over memory."""
    return torch.addcmul(y, y, y, value=-1, out=out)


def weight_gradient(inner: Tensor, states: Tensor, out: Tensor | None = None) -> Tensor:
    """∂L/∂U = Σ_t δ_t h_tᵀ over all steps and sequences, as one product."""
    rows = inner.reshape(-1, inner.shape[-1])
    return torch.mm(rows.t(), states.reshape(-1, states.shape[-1]), out=out)


IN_PLACE: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh_,
    "sigmoid": torch.sigmoid_,
    "relu": torch.relu_,
}
# φ'(x) as a function of the output φ(x): the input need not be kept for the backward pass.
SLOPES: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": one_minus_square,
    "sigmoid": times_one_minus,
    "relu": lambda h: (h > 0).to(h.dtype),
}


class ElmanUnroll(Function):
    """Elman RNN: h' = φ(a + U (m ⊙ h)) over all steps."""

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, weight: Tensor, first: Tensor, mask: Tensor | None, activation: str
    ) -> Tensor:
        batch, time, hidden = a.shape
        # Time first, so that each step's states are contiguous; one more for the initial state.
        states = a.new_empty(time + 1, batch, hidden)
        states[0] = first
        transposed, activate, h = weight.t(), IN_PLACE[activation], states.unbind(0)
        for t, product in enumerate(a.unbind(1)):
            activate(torch.addmm(product, masked_state(h[t], mask), transposed, out=h[t + 1]))
        ctx.save_for_backward(weight, states, mask)
        ctx.activation = activation
        return states[1:].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, states, mask = ctx.saved_tensors
        # The slopes of all steps at once; the loop turns each into δ_t = φ'(x_t) ⊙ ∂L/∂h_t.
        inner = SLOPES[ctx.activation](states[1:])
        steps, outer = inner.unbind(0), grad.unbind(1)
        dh = torch.zeros_like(states[0])
        for t in reversed(range(len(steps))):
            steps[t].mul_(dh.add_(outer[t]))
            torch.mm(steps[t], weight, out=dh)
            if mask is not None:
                dh.mul_(mask)
        d_weight = weight_gradient(inner, masked_state(states[:-1], mask))
        return inner.transpose(0, 1), d_weight, dh, None, None


class MinimalUnroll(Function):
    """minGRU and minLSTM: h' = (1 - z) ⊙ h + z ⊙ n over all steps, by a linear scan.

    Blocks z, n; or f, i, n with z = i / (f + i).
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, first: Tensor) -> Tensor:
        parts = a.transpose(0, 1).unflatten(-1, (-1, first.shape[-1]))
        gates, n = parts[:, :, :-1].sigmoid(), parts[:, :, -1]
        z = gates[:, :, 0]
        if gates.shape[2] == 2:  # i / (f + i), also where both underflow to 0
            log_f, log_i = logsigmoid(parts[:, :, :-1]).unbind(2)
            z = (log_i - log_f).sigmoid_()
        keep = 1 - z
        outputs = scan(keep, z * n, first)
        ctx.save_for_backward(a, first, gates, keep, outputs)
        return outputs.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        a, first, gates, keep, outputs = ctx.saved_tensors
        parts = a.transpose(0, 1).unflatten(-1, (-1, first.shape[-1]))
        g = scan_back(keep, grad.transpose(0, 1))  # ∂L/∂h_t of all steps
        d_parts = torch.empty_like(parts)
        torch.addcmul(g, g, keep, value=-1, out=d_parts[:, :, -1])  # ∂L/∂n = g ⊙ z
        # ∂L/∂z = g ⊙ (n - h), h being the state before; σ' gives z (1 - z).
        torch.sub(parts[1:, :, -1], outputs[:-1], out=d_parts[1:, :, 0])
        torch.sub(parts[0, :, -1], first, out=d_parts[0, :, 0])
        d_parts[:, :, 0].mul_(g).mul_(times_one_minus(keep))
        # ∂z/∂f̂ = -z (1 - z) (1 - f) and ∂z/∂î = z (1 - z) (1 - i) for the logits f̂ and î.
        if gates.shape[2] == 2:
            torch.addcmul(
                d_parts[:, :, 0], d_parts[:, :, 0], gates[:, :, 1], value=-1, out=d_parts[:, :, 1]
            )
            d_parts[:, :, 0].mul_(gates[:, :, 0] - 1)
        return d_parts.flatten(2).transpose(0, 1), g[0] * keep[0]


class SumUnroll(Function):
    """Constant error carousel: h' = h + a over all steps."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, first: Tensor) -> Tensor:
        if first.numel() < LARGE:
            return a.cumsum(1).add_(first[:, None])
        outputs = a.new_empty(a.shape[1], *first.shape)
        state = first
        for added, output in zip(a.unbind(1), outputs.unbind(0), strict=True):
            state = torch.add(state, added, out=output)
        return outputs.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        if grad[:, 0].numel() < LARGE:
            d_a = grad.flip(1).cumsum(1).flip(1)
            return d_a, d_a[:, 0].clone()
        d_a = grad.new_empty(grad.shape[1], grad.shape[0], grad.shape[2])
        g, outer = d_a.unbind(0), grad.unbind(1)
        g[-1].copy_(outer[-1])
        for t in reversed(range(len(g) - 1)):
            torch.add(g[t + 1], outer[t], out=g[t])
        return d_a.transpose(0, 1), g[0].clone()
