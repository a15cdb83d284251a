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
