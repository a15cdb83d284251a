"""What a recurrent cell is: one step in time."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...trace import is_watched

State = tuple[Tensor, ...]
Step = Float[Tensor, "batch inputs"]


class Cell(nn.Module, ABC):
    """A step of recurrence; the first tensor of a state is the output.

    `forward` is the equation, one step at a time, and the truth. `run` goes over a whole sequence
    and gives the same outputs; a cell with a fused kernel overrides `fused`.
    """

    tensors: ClassVar[int] = 1  # how many (batch, hidden) tensors a state has
    products: ClassVar[int]  # how many products W x, and U h, a step needs

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.read = nn.Linear(inputs, self.products * hidden)
        self.recur = nn.Linear(hidden, self.products * hidden, bias=False)
        bound = hidden**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def initial(self, batch: int) -> State:
        """A state of zeros."""
        return tuple(self.read.weight.new_zeros(batch, self.hidden) for _ in range(self.tensors))

    @abstractmethod
    def forward(self, x: Step, state: State) -> State:
        """The state after reading x."""

    def run(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> Float[Tensor, "batch time hidden"]:
        """The outputs at every position: by the fused kernel unless somebody watches."""
        return self.stepped(x, state) if is_watched() else self.fused(x, state)

    def stepped(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> Float[Tensor, "batch time hidden"]:
        """The outputs at every position, step by step."""
        outputs = []
        for t in range(x.shape[1]):
            state = self(x[:, t], state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1)

    def fused(
        self, x: Float[Tensor, "batch time inputs"], state: State
    ) -> Float[Tensor, "batch time hidden"]:
        """The quick twin of `stepped`."""
        return self.stepped(x, state)

    def kernel_weights(self) -> list[Tensor]:
        """The weights in the order of torch's kernels, whose second bias we do not have."""
        bias = self.read.bias
        return [self.read.weight, self.recur.weight, bias, torch.zeros_like(bias)]
