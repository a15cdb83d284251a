"""The few shapes a sequence problem can have: the joint between models and tasks."""

from dataclasses import dataclass
from enum import Enum


class Form(Enum):
    """What is predicted from what."""

    NEXT = "the next symbol, from those before it"
    EACH = "one answer for each position"
    WHOLE = "one answer for the whole sequence"
    TRANSDUCE = "a new sequence, from another"
    FORECAST = "future values, from past ones"


@dataclass(frozen=True)
class Tokens:
    """Symbols 0 ... size-1; the first four are PAD, BEGIN, END and UNKNOWN.

    Where `unknowns` is not 0, the numbers from `size` on, so many of them, stand for the symbols
    of one source that are not known, in the order of their first appearance. Source and target then
    lie in the same space, and a model that can copy may answer with them; all others read them as
    UNKNOWN.
    """

    size: int
    unknowns: int = 0


@dataclass(frozen=True)
class Labels:
    """Classes 0 ... size-1, none of them special."""

    size: int


@dataclass(frozen=True)
class Vectors:
    """Rows of `width` real numbers."""

    width: int


Space = Tokens | Labels | Vectors
SYMBOLS: frozenset[type[Space]] = frozenset({Tokens, Labels})  # spaces whose values can be counted
SPACES: frozenset[type[Space]] = frozenset({Tokens, Labels, Vectors})
PAD, BEGIN, END, UNKNOWN = range(4)


@dataclass(frozen=True)
class Signature:
    """All a model needs to know about a task."""

    form: Form
    source: Space
    target: Space

    def __post_init__(self) -> None:
        if self.form is Form.NEXT and Vectors in (type(self.source), type(self.target)):
            raise ValueError("the next of symbols is a symbol; real numbers are FORECAST")
