"""Problem forms, input and output spaces, and `Signature`: what joins models and tasks."""

from dataclasses import dataclass, field
from enum import Enum


class Form(Enum):
    """Forms of sequence problems: what is predicted from what."""

    NEXT = "the next token, from those before it"
    EACH = "one output for each position"
    WHOLE = "one output for the whole sequence"
    TRANSDUCE = "a target sequence, from a source sequence"
    FORECAST = "future values, from past ones"


@dataclass(frozen=True)
class Tokens:
    """Token ids 0 ... size-1; the first four are PAD, BEGIN, END and UNKNOWN.

    If `unknowns` is not 0, that many ids from `size` on stand for the out-of-vocabulary tokens of
    one source, in order of first appearance (See et al., 2017). Source and target then share the
    space, and a model with a copy mechanism may predict them; all others read them as UNKNOWN.

    As a target, `longest` is the length of the longest one in training, END among its tokens; 0
    where it is not known. It takes no part in comparisons.
    """

    size: int
    unknowns: int = 0
    longest: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Labels:
    """Classes 0 ... size-1, none of them special.

    For sequence labelling, `forbidden` has the pairs (before, after) that never stand side by side;
    the number `size` stands for the border before the first position and after the last. `counts`
    are class frequencies in training, if known. Neither takes part in comparisons.
    """

    size: int
    forbidden: frozenset[tuple[int, int]] = field(default=frozenset(), compare=False)
    counts: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Bits:
    """Binary vectors: rows of `size` numbers, each 1.0 or 0.0, of which any number is 1.

    Multi-label targets; or, as a source, the frames of a piano roll, a bit for each pitch.
    """

    size: int


@dataclass(frozen=True)
class Letters:
    """The characters of a word: `length` ids 0 ... size-1, the first four special, padded.

    `capitals` are the ids of upper-case letters; they do not take part in comparisons.
    """

    size: int
    length: int
    capitals: frozenset[int] = field(default=frozenset(), compare=False)


@dataclass(frozen=True)
class Columns:
    """Several ids at each position: of the word, of its characters, of its features.

    The word comes first, in one column; `Letters` have a column for each character, all others one.
    """

    parts: tuple[Tokens | Labels | Letters, ...]


@dataclass(frozen=True)
class Vectors:
    """Rows of `width` real numbers."""

    width: int


@dataclass(frozen=True)
class Series:
    """Time series: rows of real numbers at equal time steps, NaN where a value is missing.

    A row has `width` observed variables and, in a source, `known` inputs (covariates) after them,
    which are known in advance, also for the future, and never missing. `period` is the seasonal
    period in steps, 1 if there is none; `horizon` is the forecast horizon of the task. Neither of
    these two takes part in comparisons.

    With a `clock`, the first input is the time index in whole steps, never scaled: 0 where the
    series of that name begins in training, and counted on from there in pasts and futures that
    begin later, by their dates if there are any.
    """

    width: int
    known: int = 0
    period: int = field(default=1, compare=False)
    horizon: int = field(default=1, compare=False)
    clock: bool = False


Space = Tokens | Labels | Bits | Columns | Vectors | Series
DISCRETE_SPACES: frozenset[type[Space]] = frozenset({Tokens, Labels})
SOURCE_SPACES: frozenset[type[Space]] = frozenset({Tokens, Labels, Bits, Columns, Vectors, Series})
TARGET_SPACES: frozenset[type[Space]] = frozenset({Tokens, Labels, Bits, Vectors, Series})
PAD, BEGIN, END, UNKNOWN = range(4)


@dataclass(frozen=True)
class Signature:
    """The form, source space and target space of a task: all that a model knows about it."""

    form: Form
    source: Space
    target: Space

    def __post_init__(self) -> None:
        kinds = (type(self.source), type(self.target))
        if self.form is Form.NEXT and {Vectors, Series} & {*kinds}:
            raise ValueError("NEXT predicts tokens, not real numbers; use FORECAST")
        if self.form is Form.NEXT and Bits in kinds and self.source != self.target:
            raise ValueError("NEXT needs the same space of bits as source and target")
        if (self.form is Form.FORECAST) != (kinds[1] is Series) or (
            self.form is Form.FORECAST and kinds[0] is not Series
        ):
            raise ValueError("FORECAST needs time series as source and target")
