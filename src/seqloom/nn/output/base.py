"""What every output layer can do: from vectors to a distribution over targets."""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ...batch import Sequences


class Output(nn.Module, ABC):
    """A distribution over targets at each position, made from a vector there."""

    @abstractmethod
    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability, or log of the density, of each single target; 0 where there is none."""

    @abstractmethod
    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per real target."""

    @abstractmethod
    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Shaped[Tensor, "batch time *numbers"], Float[np.ndarray, " batch"]]:
        """The likeliest targets of each sequence, and their log-probability together."""

    @abstractmethod
    def chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time classes"] | None:
        """How likely each target is at each position, given the source; None of real numbers."""

    def log_chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[Tensor, "batch time classes"]:
        """Log of `chances`, or the likeliest real numbers, in a form that gradients pass through.

        It is what calling the layer gives, where places do not depend on each other.
        """
        found: Tensor = self(states)
        return found

    def ranked(
        self,
        states: Float[Tensor, "batch time width"],
        lengths: Int[np.ndarray, " batch"],
        count: int,
    ) -> list[list[tuple[Int[np.ndarray, " _"], float]]]:
        """The likeliest few sequences of labels with their log-probabilities, the best first."""
        raise TypeError(f"{type(self).__name__} does not rank sequences of labels")

    def log_prob(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, " batch"]:
        """Log-probability of each sequence of targets."""
        return self.log_probs(states, target).sum(-1)
