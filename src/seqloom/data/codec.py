"""Codecs: what a task fits to its training data, such as vocabularies and scalers."""

from collections.abc import Mapping
from types import UnionType
from typing import Any, Protocol, get_args, get_origin, get_type_hints, runtime_checkable


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


# What a state of the wrong kind raises in `restore`, apart from what its annotation says.
WRONG_STATE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)


def restore_codecs(codecs: Mapping[str, Codec], states: Mapping[str, Any]) -> None:
    """Restore codecs from a file, which may hold anything; ValueError names what is wrong."""
    for name, codec in codecs.items():
        hint = get_type_hints(codec.restore)["state"]
        try:
            if not _is_of_kind(states[name], hint):
                raise ValueError("it is of another kind")
            codec.restore(states[name])
        except WRONG_STATE as error:
            raise ValueError(f"codec {name!r}: {error}") from error


def _is_of_kind(value: Any, hint: Any) -> bool:
    """Whether a value of JSON has the type that an annotation says."""
    kind, inside = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return True
    if kind is UnionType:
        return any(_is_of_kind(value, one) for one in inside)
    if kind is type(None):
        return value is None
    if kind is dict:
        return isinstance(value, dict) and all(
            _is_of_kind(one, inside[1]) for one in value.values()
        )
    if kind is list:
        return isinstance(value, list) and all(_is_of_kind(one, inside[0]) for one in value)
    return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
