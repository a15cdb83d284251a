"""The few shapes a sequence problem can have: the joint between models and tasks."""

from dataclasses import dataclass
from enum import Enum


class Form(Enum):
    """What is predicted from what."""

    NEXT = "the next symbol, from those before it"
    EACH = "one label for each position"
    WHOLE = "one label for the whole sequence"
    TRANSDUCE = "a new sequence, from another"
    FORECAST = "future values, from past ones"


@dataclass(frozen=True)
class Tokens:
    """Symbols 0 ... size-1; the first four are PAD, BEGIN, END and UNKNOWN."""

    size: int


@dataclass(frozen=True)
class Labels:
    """Classes 0 ... size-1, none of them special."""

    size: int


Space = Tokens | Labels
PAD, BEGIN, END, UNKNOWN = range(4)


@dataclass(frozen=True)
class Signature:
    """All a model needs to know about a task."""

    form: Form
    source: Space
    target: Space
