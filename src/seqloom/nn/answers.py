"""From what a decoder has written to distributions over symbols."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ..batch import Sequences
from ..errors import ModelError
from ..forms import Signature, Space, Tokens
from .attentions import coverage, shares
from .outputs import output_layer
from .pointer import Pointer
from .writing import Source, Written


class Answers(nn.Module):
    """Symbols that are written, softmax(W a + b), or with a pointer also copied."""

    def __init__(self, target: Space, width: int, pointer: Pointer | None) -> None:
        super().__init__()
        self.output, self.pointer = output_layer(target, width), pointer
        self.size = target.size if isinstance(target, Tokens) else 0

    def forward(self, written: Written, source: Source) -> Float[Tensor, "batch time vocabulary"]:
        """Log-probabilities of all symbols."""
        log_probs: Tensor = self.output(written.states)
        if self.pointer is None or written.weights is None or source.symbols is None:
            return log_probs
        looked = shares(written.weights)
        found: Tensor = self.pointer(written.states, log_probs, looked, source.symbols)
        return found

    def log_probs(
        self, written: Written, source: Source, target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each target symbol; 0 where there is none."""
        found = self.output.log_probs(written.states, target)
        if self.pointer is None or written.weights is None or source.symbols is None:
            return found
        right, looked = torch.from_numpy(target.values), shares(written.weights)
        found = found.masked_fill(right >= self.size, -torch.inf)
        mixed = self.pointer.log_probs(written.states, found, looked, source.symbols, right)
        return mixed.masked_fill(~torch.from_numpy(target.mask), 0.0)

    def loss(
        self,
        written: Written,
        source: Source,
        target: Sequences,
        *,
        smoothing: float,
        again: float = 0.0,
    ) -> Float[Tensor, ""]:
        """Nats per real target symbol; `again` is what looking twice at a place costs.

        Smoothing favours all symbols that can be written, not those that are copied.
        """
        states = written.states
        if self.pointer is None:
            loss = self.output.loss(states, target, smoothing)
        else:
            loss = -self.log_probs(written, source, target).sum() / int(target.lengths.sum())
            if smoothing:
                even = self.output.loss(states, target, 1.0)
                loss = (1 - smoothing) * loss + smoothing * even
        if again and written.weights is not None:
            loss = loss + again * coverage(written.weights, target)
        return loss


def pointer_for(signature: Signature, width: int) -> Pointer:
    """What copies, where the spaces have room for it."""
    source = signature.source
    if not isinstance(source, Tokens) or source != signature.target or not source.unknowns:
        raise ModelError(
            "M202",
            "to copy, source and target need one vocabulary with room for unknown symbols",
            help=["--set task.joint=true --set task.copies=10", "--set model.copy=false"],
        )
    return Pointer(width, source.unknowns)
