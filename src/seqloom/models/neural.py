"""What all neural models share: weights that are tensors, learned by gradients."""

from abc import ABC
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Weights
from ..nn.rnn import Recurrence
from ..signature import READ, Signature


class Neural(nn.Module, Model, ABC):
    """A model whose weights are the parameters of a torch module."""

    reads = READ  # there is an input layer for each

    def __init__(self, signature: Signature) -> None:
        nn.Module.__init__(self)
        self.signature = signature

    @staticmethod
    def seed(number: int) -> None:
        torch.manual_seed(number)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Nats per target symbol."""
        return -self.log_prob(batch).sum() / int(batch.target.lengths.sum())

    def door(self) -> nn.Module | None:
        """The layer that makes one vector of each symbol that is read; None where there is none."""
        known = self._modules
        return known.get("source_input", known.get("input"))

    def log_chances(self, source: Sequences) -> Float[Tensor, "batch place classes"]:
        """Log of the chances of all labels at each place, or the real numbers there."""
        raise TypeError(f"{type(self).__name__} does not give labels")

    def slopes(
        self,
        batch: Batch,
        places: Int[np.ndarray, " batch"] | None = None,
        *,
        share: float | Float[np.ndarray, " batch"] = 1.0,
    ) -> tuple[Float[np.ndarray, " batch"], Float[np.ndarray, "batch time"]]:
        """How the log-probability of each target follows the vectors of what is read."""
        read: list[tuple[Tensor, Tensor]] = []

        def listen(layer: nn.Module, given: Any, vectors: Tensor) -> Tensor:
            factor = torch.as_tensor(share, dtype=vectors.dtype).reshape(-1, 1, 1)
            leaf = (factor * vectors).detach().requires_grad_()
            read.append((vectors.detach(), leaf))
            return leaf

        if (door := self.door()) is None:
            raise TypeError(f"{type(self).__name__} does not make one vector of each symbol")
        heard = door.register_forward_hook(listen)
        try:
            with self.at_rest(), torch.enable_grad():
                if places is None:
                    found = self.log_prob(batch)
                else:
                    found = _at(self.log_chances(batch.source), places, batch.target)
                ((vectors, leaf),) = read
                (slope,) = torch.autograd.grad(found.sum(), leaf)
        finally:
            heard.remove()
        return found.detach().numpy(), (vectors * slope).sum(-1).numpy()

    def check_length(self, longest: int) -> None:
        for module in self.modules():
            if isinstance(module, Recurrence):
                module.check_length(longest)

    def weights(self) -> Weights:
        return {name: tensor.detach().numpy() for name, tensor in self.state_dict().items()}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        expected = {name: tuple(tensor.shape) for name, tensor in self.state_dict().items()}
        found = {name: tuple(array.shape) for name, array in weights.items()}
        if wrong := sorted(
            name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
        ):
            name = wrong[0]
            raise ModelError(
                "M111",
                "the weights do not fit this model",
                notes=[f"{name}: saved {found.get(name)}, needed {expected.get(name)}"],
                help=["a recipe belongs to its weights: restore recipe.toml, or train anew"],
            )
        self.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in weights.items()})
        self.eval()  # what was learned is used, until training goes on and says so

    def size(self) -> int:
        return sum(weight.numel() for weight in self.parameters())  # what is shared counts once

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """No dropout, no gradients."""
        trained = self.training
        if trained:  # to tell every module takes longer than a step of a small model
            self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            if trained:
                self.train()


def _at(
    known: Float[Tensor, "batch place classes"],
    places: Int[np.ndarray, " batch"],
    target: Sequences,
) -> Float[Tensor, " batch"]:
    """What is known of one label at one place of each row; of real numbers, their sum."""
    rows = torch.arange(len(known))
    there = known[rows, torch.from_numpy(places)]
    if target.values.ndim > 2:
        return there.sum(-1)
    return there[rows, torch.from_numpy(target.values[:, 0])]
