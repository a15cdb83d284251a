"""Learner: one training algorithm, as steps that can be stopped and resumed after any of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Step:
    """One training step: its metrics, and the number of target tokens it trained on."""

    number: int
    epoch: float
    progress: float
    tokens: int
    values: dict[str, float]
    ends_epoch: bool
    warning: dict[str, Any] = field(default_factory=dict)  # what the user should know of it
    level: dict[str, int] = field(
        default_factory=dict
    )  # of a curriculum: the level, and how many there are


@dataclass(frozen=True)
class Snapshot:
    """All that is needed to go on exactly: arrays, and facts that JSON can hold."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class Learner(ABC):
    """A training algorithm: gradient descent, EM, or closed form (sufficient statistics)."""

    can_diverge: ClassVar[bool] = True  # whether the loss can grow without bound
    has_short_steps: ClassVar[bool] = True  # so that who wants to stop can wait for the end of one

    @property
    def at_target_level(self) -> bool:
        """Whether a curriculum is at its last level; on easier ones metrics need not improve."""
        return True

    @property
    def evaluation_interval(self) -> int:
        """The least number of steps between two evaluations that come after an epoch."""
        return 1

    def is_resumable(self, step: Step) -> bool:
        """Whether a snapshot after this step keeps it, so that training is resumed after it."""
        return True

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """Train from the last snapshot to the end."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The state of training between two steps."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> list[str]:
        """Go back to where a snapshot was taken; notes on what does not fit and begins anew."""

    def evaluation_weights(self) -> AbstractContextManager[Any]:
        """A context in which the model has the weights to evaluate and save."""
        return nullcontext()

    def on_no_improvement(self) -> None:
        """Called when an evaluation did not improve."""
        return
