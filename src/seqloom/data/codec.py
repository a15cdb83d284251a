"""Codecs: what a task fits to its training data, such as vocabularies and scalers."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Codec(Protocol):
    """A fitted mapping between the user's data and numbers, which is saved with the run."""

    def state(self) -> Any:
        """The fitted state, as JSON."""
        ...

    def restore(self, state: Any) -> None:
        """Restore what `state` returned."""
        ...


class Lengths:
    """The most tokens of a source and of a target in training, END among those of a target.

    A codec, so that a run remembers them; runs of earlier versions know the first, or neither.
    """

    def __init__(self) -> None:
        self.source = self.target = 0  # 0 where nobody counted

    def state(self) -> list[int]:
        return [self.source, self.target]

    def restore(self, state: int | list[int]) -> None:
        self.source, self.target = (state, 0) if isinstance(state, int) else state
