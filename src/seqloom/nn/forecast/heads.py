"""From states to the numbers that give the distributions of what comes next."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...signature import Series


class NextStep(nn.Module):
    """The next row, from the state after each: W h + b."""

    def __init__(self, hidden: int, width: int, count: int) -> None:
        super().__init__()
        self.shape = width, count
        self.told = nn.Linear(hidden, width * count)

    def forward(
        self, states: Float[Tensor, "*place hidden"]
    ) -> Float[Tensor, "*place width count"]:
        return self.told(states).unflatten(-1, self.shape)


class AllSteps(nn.Module):
    """All rows of a horizon, from the last state h and the inputs u_k of each step.

    p_k = W_k h + b_k + V tanh(A h + B u_k + c)          without the second part if none is known
    """

    def __init__(self, hidden: int, space: Series, horizon: int, count: int) -> None:
        super().__init__()
        self.shape = horizon, space.width, count
        self.told = nn.Linear(hidden, horizon * space.width * count)
        self.hide: nn.Linear | None = None
        self.raised: nn.Linear | None = None
        if space.known:
            self.hide = nn.Linear(hidden + space.known, hidden)
            self.raised = nn.Linear(hidden, space.width * count, bias=False)

    def forward(
        self,
        state: Float[Tensor, "batch hidden"],
        known: Float[Tensor, "batch ahead inputs"],
    ) -> Float[Tensor, "batch ahead width count"]:
        """As many steps as there are inputs of."""
        ahead = known.shape[1]
        told: Tensor = self.told(state).unflatten(-1, self.shape)[:, :ahead]
        if self.hide is None or self.raised is None:
            return told
        both = torch.cat([state[:, None].expand(-1, ahead, -1), known], dim=-1)
        return told + self.raised(self.hide(both).tanh()).unflatten(-1, self.shape[1:])
