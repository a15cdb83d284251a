"""What a task learns about its data before any model does."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Codec(Protocol):
    """A fitted, saveable mapping between what users write and what models read."""

    def state(self) -> Any:
        """What was learned, as JSON can hold it."""
        ...

    def restore(self, state: Any) -> None:
        """Take up what `state` gave."""
        ...
