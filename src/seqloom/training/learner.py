"""What a way to learn is: steps that can be stopped after any one of them and taken up again."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Step:
    """One step taken: how well it went, and how many target symbols it learned from."""

    number: int
    epoch: float
    progress: float
    symbols: int
    values: dict[str, float]
    ends_epoch: bool
    warning: dict[str, Any] = field(default_factory=dict)  # what a person should know of it
    level: dict[str, int] = field(default_factory=dict)  # how far a curriculum is, and of how many


@dataclass(frozen=True)
class Snapshot:
    """All that is needed to go on exactly: arrays, and facts that JSON can hold."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class Way(ABC):
    """A way to learn."""

    runs_away: ClassVar[bool] = True  # whether it can go wrong without bound

    @property
    def aims_at_target(self) -> bool:
        """Whether what is learned now is what is judged; an easier level may improve nothing."""
        return True

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """Go on from where the last snapshot was taken, to the end."""

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Where we are; right between two steps."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Go back to where a snapshot was taken."""

    def judged(self) -> AbstractContextManager[Any]:
        """A context in which the model is as it should be judged and kept."""
        return nullcontext()

    def disappointed(self) -> None:
        """Told when an evaluation brought nothing better."""
        return
