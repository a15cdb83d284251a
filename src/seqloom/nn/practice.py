"""What a decoder reads while it learns: the right symbols, or now and then its own."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from ..errors import ModelError


@dataclass(frozen=True, kw_only=True)
class Practice:
    """What a decoder reads while it learns.

    Args:
        scheduled_sampling: The share of symbols for which it reads its own best guess instead of
            the right one while training (Bengio et al., 2015); training then goes step by step.
        sampling_ramp: Over how many batches that share grows from nothing; 0 begins with all of it.
    """

    scheduled_sampling: float = 0.0
    sampling_ramp: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.scheduled_sampling <= 1 or self.sampling_ramp < 0:
            raise ModelError(
                "M204",
                f"a share of {self.scheduled_sampling:g} of own guesses, grown over"
                f" {self.sampling_ramp} batches, cannot be",
                help=["--set model.scheduled_sampling=0.25 --set model.sampling_ramp=5000"],
            )
        if self.sampling_ramp and not self.scheduled_sampling:
            raise ModelError(
                "M204",
                f"sampling_ramp = {self.sampling_ramp} leads nowhere: scheduled_sampling is 0",
                help=["--set model.scheduled_sampling=0.25", "--set model.sampling_ramp=0"],
            )


class Guessing(nn.Module):
    """Which inputs are a decoder's own guesses (scheduled sampling; Bengio et al., 2015).

    ε_i = ε min(1, i / ramp)          the share in batch i, counted from 0

    The count belongs to the weights, so that training that was stopped goes on as it would have.
    """

    batches: Tensor

    def __init__(self, practice: Practice) -> None:
        super().__init__()
        self.practice = practice
        self.register_buffer("batches", torch.zeros(1, dtype=torch.int64))

    def share(self) -> float:
        """ε of the batch that comes next."""
        whole, ramp = self.practice.scheduled_sampling, self.practice.sampling_ramp
        return whole * min(1.0, self.batches.item() / ramp) if ramp else whole

    def drawn(self, rows: int, time: int) -> Bool[Tensor, "{rows} {time}"]:
        """True where the guess is read; one more batch is counted. The first input is BEGIN."""
        own = torch.rand(rows, time) < self.share()
        own[:, :1] = False
        self.batches += 1
        return own


PLAIN_PRACTICE = Practice()
