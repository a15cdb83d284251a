"""What a recurrent cell is: one step in time."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from .options import PLAIN, Wiring

State = tuple[Tensor, ...]
Step = Float[Tensor, "batch inputs"]
Products = Float[Tensor, "batch products"]
AllProducts = Float[Tensor, "batch time products"]
Mask = Float[Tensor, "batch hidden"] | None  # what is left of h before U
Recur = Callable[..., Tensor]  # U h, or some blocks of it: recur(h), recur(h, first, last)
Outputs = tuple[Float[Tensor, "batch time hidden"], State]


class Product(nn.Module):
    """U h: a matrix for each gate, one below the other."""

    def __init__(self, hidden: int, blocks: int, bias: int = 0) -> None:
        super().__init__()
        self.hidden = hidden
        self.weight = nn.Parameter(torch.empty(blocks * hidden, hidden))
        self.bias = nn.Parameter(torch.empty(bias * hidden)) if bias else None

    def forward(self, h: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """The blocks from `first` up to `last`."""
        end = None if last is None else last * self.hidden
        return linear(h, self.weight[first * self.hidden : end])


class Cell(nn.Module, ABC):
    """A step of recurrence; the first tensor of a state is the output.

    `step` is the equation and the truth. `quick` goes over a whole sequence to the same result: by
    torch's kernel where that is quickest, by one autograd function for the whole unroll (see
    `nn/unroll`) where somebody wrote one, step by step otherwise.
    """

    products: ClassVar[int]  # how many products W x a step needs
    recurrent: ClassVar[int | None] = None  # how many products U h; None is as many as of W x
    tensors: ClassVar[int] = 1  # how many (batch, hidden) tensors a state has
    idle: ClassVar[int] = 0  # how many of them, at the front, are shown but not carried on
    keeps: ClassVar[int | None] = None  # which block of W x is the gate that keeps the state
    lets_in: ClassVar[int | None] = None  # and which the gate beside it that lets the new in
    takes: ClassVar[frozenset[str]] = frozenset()  # options that only some cells have
    refuses: ClassVar[dict[str, str]] = {}  # options it cannot have, with the reason

    def __init__(self, inputs: int, hidden: int, wiring: Wiring = PLAIN) -> None:
        super().__init__()
        self.hidden = hidden
        self.read = nn.Linear(inputs, self.products * hidden)
        blocks = self.products if self.recurrent is None else self.recurrent
        self.recur = Product(hidden, blocks) if blocks else None
        self.build(wiring)
        self.start(wiring)

    def build(self, wiring: Wiring) -> None:
        """Make what a cell has beside W, b and U."""
        return

    def start(self, wiring: Wiring) -> None:
        """Where the weights start."""
        kind = wiring.start
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
        if self.keeps is not None:
            self._remember(self.keeps, wiring)

    def _remember(self, keeps: int, wiring: Wiring) -> None:
        """The biases of the gate that keeps start high, or spread over a span."""
        biases = self.read.bias.data.split(self.hidden)
        if wiring.forget_bias:
            biases[keeps].fill_(wiring.forget_bias)
        if wiring.span:
            kept = torch.empty(self.hidden).uniform_(1, wiring.span - 1).log_()
            biases[keeps].copy_(kept)
            if self.lets_in is not None:
                biases[self.lets_in].copy_(-kept)

    def initial(self, batch: int) -> State:
        """A state of zeros."""
        return tuple(self.read.weight.new_zeros(batch, self.hidden) for _ in range(self.tensors))

    def forward(self, x: Step, state: State) -> State:
        """The state after reading x."""
        return self.step(self.read(x), state, self.recur or _nothing)

    def stretch(self) -> float | None:
        """γ_v γ_g: the most a step can stretch a change of what is carried on.

        ‖∂h_t/∂h_k‖ ≤ (γ_v γ_g)^(t-k), γ_v being the largest singular value of U and γ_g the largest
        slope of the activation (Pascanu et al., 2013). None where gates take part: then no fixed
        number bounds a step.
        """
        return None

    @abstractmethod
    def step(self, a: Products, state: State, recur: Recur) -> State:
        """The state after a = W x + b, where `recur(h)` is U h."""

    def quick(self, x: Float[Tensor, "batch time inputs"], state: State) -> Outputs:
        """All outputs and the last state, by the quickest way."""
        return self.unrolled(self.read_all(x), state)

    def read_all(
        self, x: Float[Tensor, "batch time inputs"]
    ) -> Float[Tensor, "batch time products"]:
        """W x + b of a whole sequence, each step's numbers in one piece of memory.

        The unrolls go step by step, and so do their gradients: no copy is needed on the way back,
        nor on the way here from another unroll below.
        """
        steps = x.transpose(0, 1)
        products: Tensor = self.read(steps.flatten(0, 1))  # flat: the bias is added on the way
        return products.unflatten(0, steps.shape[:2]).transpose(0, 1)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """The same from the products W x + b, `mask` being multiplied with h before U.

        The products are used up: an unroll may write its gates in their place.
        """
        recur = self.recur or _nothing
        return self.stepped(a, state, recur if mask is None else masked(recur, mask))

    def stepped(
        self, a: Float[Tensor, "batch time products"], state: State, recur: Recur | None = None
    ) -> Outputs:
        """The same by the equation, step by step."""
        recur = recur or self.recur or _nothing
        outputs = []
        for products in a.unbind(1):
            state = self.step(products, state, recur)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state


def masked(recur: Recur, mask: Tensor) -> Recur:
    """U (m ⊙ h)."""
    return lambda h, *blocks: recur(h * mask, *blocks)


def _nothing(h: Tensor, *blocks: int) -> Tensor:
    raise TypeError("this cell has no recurrent products")
