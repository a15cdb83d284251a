"""Output layers of forecasters: recursive (next step) and direct (all steps of the horizon)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...signature import Series


class NextStepOutput(nn.Module):
    """Output layer of recursive forecasts: the parameters of the next row, W h + b."""

    def __init__(self, hidden: int, width: int, count: int) -> None:
        super().__init__()
        self.shape = width, count
        self.told = nn.Linear(hidden, width * count)

    def forward(
        self, states: Float[Tensor, "*shape hidden"]
    ) -> Float[Tensor, "*shape width count"]:
        return self.told(states).unflatten(-1, self.shape)


class DirectOutput(nn.Module):
    """Output layer of direct forecasts: the parameters of all rows of the horizon at once.

    p_k = W_k h + b_k + V tanh(A h + B u_k + c)     h: last state, u_k: covariates of step k, if any
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
        covariates: Float[Tensor, "batch ahead inputs"],
    ) -> Float[Tensor, "batch ahead width count"]:
        """As many steps as there are covariates of."""
        ahead = covariates.shape[1]
        parameters: Tensor = self.told(state).unflatten(-1, self.shape)[:, :ahead]
        if self.hide is None or self.raised is None:
            return parameters
        inputs = torch.cat([state[:, None].expand(-1, ahead, -1), covariates], dim=-1)
        return parameters + self.raised(self.hide(inputs).tanh()).unflatten(-1, self.shape[1:])
