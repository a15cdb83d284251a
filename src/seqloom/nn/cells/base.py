"""The recurrent cell: base class, one time step, and how a whole sequence is unrolled."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from .options import DEFAULT_RNN_OPTIONS, RNNOptions

State = tuple[Tensor, ...]
Step = Float[Tensor, "batch inputs"]
Products = Float[Tensor, "batch products"]  # W x + b of one step: a block for each gate
AllProducts = Float[Tensor, "batch time products"]
Mask = Float[Tensor, "batch hidden"] | None  # recurrent dropout: multiplied with h before U
RecurrentProduct = Callable[..., Tensor]  # U h, or some of its blocks: recur(h, first, last)
Outputs = tuple[Float[Tensor, "batch time hidden"], State]


class RecurrentWeights(nn.Module):
    """The recurrent weights U: U h, with one matrix for each gate, stacked in one parameter."""

    def __init__(self, hidden: int, blocks: int, bias: int = 0) -> None:
        super().__init__()
        self.hidden = hidden
        self.weight = nn.Parameter(torch.empty(blocks * hidden, hidden))
        self.bias = nn.Parameter(torch.empty(bias * hidden)) if bias else None

    def forward(self, h: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """The product with the blocks from `first` up to `last`."""
        end = None if last is None else last * self.hidden
        return linear(h, self.weight[first * self.hidden : end])


class Cell(nn.Module, ABC):
    """A recurrent cell: s_t = cell(x_t, s_{t-1}); the first tensor of a state is the output.

    `step` is the equation, and the reference implementation. `unroll` runs over a whole sequence
    with the same result, by the fastest way there is: torch's fused kernel, a single autograd
    function for all steps (`nn/kernels`) where the cell has one, or `step` in a loop.
    """

    products: ClassVar[int]  # number of blocks of W x + b, one for each gate and candidate
    recurrent: ClassVar[int | None] = None  # number of blocks of U h; None: as many as of W x
    tensors: ClassVar[int] = 1  # number of (batch, hidden) tensors in a state
    output_only: ClassVar[int] = 0  # of these, how many at the front are not read by the next step
    forget_block: ClassVar[int | None] = None  # block of W x that is the forget or update gate
    input_block: ClassVar[int | None] = None  # block of W x that is the input gate
    own_options: ClassVar[frozenset[str]] = frozenset()  # options that only some cells have
    unsupported: ClassVar[dict[str, str]] = {}  # options it cannot have, with the reason

    def __init__(
        self, inputs: int, hidden: int, rnn_options: RNNOptions = DEFAULT_RNN_OPTIONS
    ) -> None:
        super().__init__()
        self.hidden = hidden
        self.read = nn.Linear(inputs, self.products * hidden)
        blocks = self.products if self.recurrent is None else self.recurrent
        self.recur = RecurrentWeights(hidden, blocks) if blocks else None
        self.build(rnn_options)
        self.init_weights(rnn_options)

    def build(self, rnn_options: RNNOptions) -> None:
        """Create what a cell has besides W, b and U."""
        return

    def init_weights(self, rnn_options: RNNOptions) -> None:
        """Initialise all weights; the default is torch's, uniform in ±1/√hidden."""
        kind = rnn_options.start
        bound = self.hidden**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)
        blocks = self.recur.weight.data.split(self.hidden) if self.recur else ()
        if kind == "identity":
            nn.init.normal_(self.read.weight, std=1e-3)
            nn.init.zeros_(self.read.bias)
        for block in blocks:
            if kind == "orthogonal":
                nn.init.orthogonal_(block)
            if kind == "identity":
                nn.init.eye_(block)
        if self.forget_block is not None:
            self._init_forget_bias(self.forget_block, rnn_options)

    def _init_forget_bias(self, forget: int, rnn_options: RNNOptions) -> None:
        """A constant forget-gate bias, or chrono initialisation (Tallec & Ollivier, 2018).

        b_f = log u, u ~ U(1, T - 1), and b_i = -b_f: the units then remember for about u steps.
        """
        biases = self.read.bias.data.split(self.hidden)
        if rnn_options.forget_bias:
            biases[forget].fill_(rnn_options.forget_bias)
        if rnn_options.span:
            chrono = torch.empty(self.hidden).uniform_(1, rnn_options.span - 1).log_()
            biases[forget].copy_(chrono)
            if self.input_block is not None:
                biases[self.input_block].copy_(-chrono)

    def initial(self, batch: int) -> State:
        """The initial state: zeros."""
        return tuple(self.read.weight.new_zeros(batch, self.hidden) for _ in range(self.tensors))

    def forward(self, x: Step, state: State) -> State:
        """The next state, from one input."""
        return self.step(self.read(x), state, self.recur or _no_recurrent_weights)

    def jacobian_bound(self) -> float | None:
        """γ_v γ_g: an upper bound of ‖∂h_t/∂h_{t-1}‖, or None where gates rule out a fixed one.

        ‖∂h_t/∂h_k‖ ≤ (γ_v γ_g)^(t-k), γ_v being the largest singular value of U and γ_g the largest
        slope of the activation (Pascanu et al., 2013).
        """
        return None

    @abstractmethod
    def step(self, a: Products, state: State, recur: RecurrentProduct) -> State:
        """The next state from a = W x + b, where `recur(h)` is U h."""

    def unroll(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """All outputs and the last state, by the fastest implementation."""
        return self.unroll_products(self.input_products(x), state)

    def input_products(
        self, x: Float[Tensor, "batch time inputs"]
    ) -> Float[Tensor, "batch time products"]:
        """W x + b for all steps, laid out time-major: the numbers of one step are contiguous.

        The unrolls and their gradients go step by step, so this order needs no copy on the way
        back, nor here when the input comes from the unroll of the layer below.
        """
        steps = x.transpose(0, 1)
        # Two dimensions: torch then adds the bias within the product (addmm), not in a pass after.
        products: Tensor = self.read(steps.flatten(0, 1))
        return products.unflatten(0, steps.shape[:2]).transpose(0, 1)

    def unroll_products(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """All outputs and the last state from W x + b; `mask` is multiplied with h before U.

        The products are used up: an unroll may store its gates in their memory.
        """
        recur = self.recur or _no_recurrent_weights
        return self.unroll_reference(a, state, recur if mask is None else with_dropout(recur, mask))

    def unroll_reference(
        self,
        a: Float[Tensor, "batch time products"],
        state: State,
        recur: RecurrentProduct | None = None,
    ) -> Outputs:
        """The same by the equation, step by step: the reference implementation."""
        recur = recur or self.recur or _no_recurrent_weights
        outputs = []
        for products in a.unbind(1):
            state = self.step(products, state, recur)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state


def with_dropout(recur: RecurrentProduct, mask: Tensor) -> RecurrentProduct:
    """Recurrent dropout: U (m ⊙ h)."""
    return lambda h, *blocks: recur(h * mask, *blocks)


def _no_recurrent_weights(h: Tensor, *blocks: int) -> Tensor:
    raise TypeError("this cell has no recurrent weights U")
