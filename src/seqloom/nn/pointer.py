"""Copying: an answer may point at a symbol of the source."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, pad

from .attentions import Scores


class Pointer(nn.Module):
    """A mixture of writing and copying (the pointer-generator of See et al., 2017).

    g_t    = σ(u · a_t + d)                                     how likely it writes, not copies
    p(y_t) = g_t softmax(W a_t + b)_y + (1 - g_t) Σ_{s: x_s = y} α_ts

    The symbols are those of the vocabulary and after them the source's unknown ones, which can only
    be copied.
    """

    def __init__(self, width: int, unknowns: int) -> None:
        super().__init__()
        self.unknowns = unknowns
        self.gate = nn.Linear(width, 1)

    def forward(
        self,
        states: Float[Tensor, "batch time width"],
        written: Float[Tensor, "batch time size"],
        weights: Scores,
        symbols: Int[Tensor, "batch place"],
    ) -> Float[Tensor, "batch time more"]:
        """Log-probabilities of all symbols, `written` being those of writing them."""
        writes = self.gate(states).sigmoid()
        chances = pad(written.exp() * writes, (0, self.unknowns))
        which = symbols[:, None].expand(weights.shape)
        return chances.scatter_add(-1, which, (1 - writes) * weights).log()

    def log_probs(
        self,
        states: Float[Tensor, "batch time width"],
        written: Float[Tensor, "batch time"],
        weights: Scores,
        symbols: Int[Tensor, "batch place"],
        right: Int[Tensor, "batch time"],
    ) -> Float[Tensor, "batch time"]:
        """The same for the right symbols alone, `written` being minus infinity of the unknown."""
        gate = self.gate(states).squeeze(-1)
        copied = (weights * (symbols[:, None] == right[..., None])).sum(-1)
        known = copied > 0
        log_copied = torch.where(known, copied, 1).log().masked_fill(~known, -torch.inf)
        return torch.logaddexp(logsigmoid(gate) + written, logsigmoid(-gate) + log_copied)
