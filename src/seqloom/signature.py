"""The few shapes a sequence problem can have: the joint between models and tasks."""

from dataclasses import dataclass, field
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
    """Classes 0 ... size-1, none of them special.

    Where each position has a label, `barred` has the pairs that never stand side by side, the first
    and then the second; the number `size` stands for what is before the first position and after
    the last. `counts` is how often each was seen in training, where somebody counted. Neither is
    asked when two spaces are compared.
    """

    size: int
    barred: frozenset[tuple[int, int]] = field(default=frozenset(), compare=False)
    counts: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Bits:
    """Rows of `size` answers of yes or no, each 1.0 or 0.0, of which any number is yes.

    Labels of which several are right; or, as a source, what sounds at each step, note by note.
    """

    size: int


@dataclass(frozen=True)
class Letters:
    """The letters of one word: `length` symbols 0 ... size-1, the first four special, padded.

    `capitals` are those that are written large; it is not asked when two spaces are compared.
    """

    size: int
    length: int
    capitals: frozenset[int] = field(default=frozenset(), compare=False)


@dataclass(frozen=True)
class Columns:
    """Several whole numbers at each position: of a word, of its letters, of what else is known.

    The word comes first, in one column; `Letters` take as many as they are long, all others one.
    """

    parts: tuple[Tokens | Labels | Letters, ...]


@dataclass(frozen=True)
class Vectors:
    """Rows of `width` real numbers."""

    width: int


@dataclass(frozen=True)
class Series:
    """Rows of real numbers at equal steps of time, NaN where one is missing.

    A row has `width` numbers that are observed, and behind them, in a source, `known` inputs that
    are never missing: they are known beforehand, of the future, too. A season comes again after
    `period` steps, 1 where there is none; `horizon` is how many steps ahead the task looks. Neither
    is asked when two spaces are compared.

    Where there is a `clock`, the first of the inputs is the number of the step, in whole steps,
    never scaled: 0 where the series of that name begins in training, and counted on from there in
    pasts and futures that begin later, by their dates where there are some.
    """

    width: int
    known: int = 0
    period: int = field(default=1, compare=False)
    horizon: int = field(default=1, compare=False)
    clock: bool = False


Space = Tokens | Labels | Bits | Columns | Vectors | Series
SYMBOLS: frozenset[type[Space]] = frozenset({Tokens, Labels})  # spaces whose values can be counted
READ: frozenset[type[Space]] = frozenset({Tokens, Labels, Bits, Columns, Vectors, Series})
WRITTEN: frozenset[type[Space]] = frozenset({Tokens, Labels, Bits, Vectors, Series})
PAD, BEGIN, END, UNKNOWN = range(4)


@dataclass(frozen=True)
class Signature:
    """All a model needs to know about a task."""

    form: Form
    source: Space
    target: Space

    def __post_init__(self) -> None:
        kinds = (type(self.source), type(self.target))
        if self.form is Form.NEXT and {Vectors, Series} & {*kinds}:
            raise ValueError("the next of symbols is a symbol; real numbers are FORECAST")
        if self.form is Form.NEXT and Bits in kinds and self.source != self.target:
            raise ValueError("the next of rows of bits is such a row")
        if (self.form is Form.FORECAST) != (kinds[1] is Series) or (
            self.form is Form.FORECAST and kinds[0] is not Series
        ):
            raise ValueError("series are forecast from series")
