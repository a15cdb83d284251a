"""The output layer: base class, from hidden states to logits and a distribution over targets."""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ...batch import Sequences


class OutputLayer(nn.Module, ABC):
    """An output layer: a distribution over targets at each position, from the state there."""

    @abstractmethod
    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability (or log-density) of each target; 0 at padding."""

    @abstractmethod
    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """The training loss in nats per real target, with label smoothing."""

    @abstractmethod
    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Shaped[Tensor, "batch time *features"], Float[np.ndarray, " batch"]]:
        """The most probable targets of each sequence, and their joint log-probability."""

    @abstractmethod
    def probabilities(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time classes"] | None:
        """Marginal probability of each class at each position; None for real values."""

    def class_log_probs(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[Tensor, "batch time classes"]:
        """Log of `probabilities` (for real values the means), with gradients.

        Where positions are independent it is what calling the layer gives.
        """
        log_probs: Tensor = self(states)
        return log_probs

    def n_best(
        self,
        states: Float[Tensor, "batch time width"],
        lengths: Int[np.ndarray, " batch"],
        count: int,
    ) -> list[list[tuple[Int[np.ndarray, " _"], float]]]:
        """The n most probable label sequences with their log-probabilities, the best first."""
        raise TypeError(f"{type(self).__name__} does not rank sequences of labels")

    def log_prob(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, " batch"]:
        """Log-probability of each target sequence."""
        return self.log_probs(states, target).sum(-1)
