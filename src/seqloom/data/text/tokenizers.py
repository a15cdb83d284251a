"""What a symbol of a text is: a text cut into symbols, numbered, and put together again.

Every kind keeps the same promises, so that a task need not know which it has:

    join(cut(text)) == text         but for words, which forget how many spaces were between them
    decode(encode(text)) == text    where training showed all symbols; words as above
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Int

from ...config import Registry
from ...errors import DataError
from ...signature import BEGIN, END, PAD, UNKNOWN, Tokens
from .vocabulary import SPECIAL, Unit, Vocabulary, cut, join

FIRST = len(SPECIAL)  # the number of the first symbol that stands in texts


@dataclass(frozen=True)
class Choice:
    """Which symbols there shall be.

    `at_least`: how often one must be seen; `most`: how many there may be, 0 for no limit;
    `subwords`: how these are learned, or `tokenizer`: the file that has them.
    """

    at_least: int = 1
    most: int = 0
    subwords: Literal["bpe", "unigram"] = "bpe"
    tokenizer: str = ""

    def __post_init__(self) -> None:
        if self.most < 0:
            raise _unfit(f"vocabulary = {self.most}: there cannot be fewer than no symbols")


class Symbols(ABC):
    """One kind of symbols: a codec between texts and numbers, the four special ones first."""

    unit: ClassVar[str]  # several of them, in words
    ends_lines: ClassVar[bool] = True  # whether a line break can be one of them
    symbols: list[str]  # the names, by number
    notes: dict[str, str]  # what is odd of what was learned: a sentence for each code

    def __init__(self, choice: Choice) -> None:
        if choice.tokenizer and self.unit != "subwords":
            raise _unfit(f"a tokenizer cuts texts into subwords, not into {self.unit}")
        self.choice, self.notes = choice, {}

    def learn(self, texts: Iterable[str]) -> None:
        """Find the symbols of the texts to learn from."""
        found = texts if isinstance(texts, Sequence) else list(texts)
        self.notes = {}
        self._learn(found)
        kinds: set[str] = set()
        for text in found:
            kinds.update(self._pieces(text))
            if len(kinds) > 1:
                return
        if kinds:
            self.notes["D060"] = one_kind(kinds.pop())

    @abstractmethod
    def cut(self, text: str) -> list[str]:
        """A text as the names of its symbols."""

    @abstractmethod
    def join(self, symbols: Sequence[str]) -> str:
        """The text of some symbols."""

    @abstractmethod
    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        """The numbers of a text's symbols; what training did not show is UNKNOWN."""

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of some numbers, without those that only mark places."""
        return self.join([self.symbols[n] for n in numbers if n not in (PAD, BEGIN, END)])

    def length(self, text: str) -> int:
        """How many symbols a text has."""
        return len(self.encode(text))

    def written(self, text: str) -> str:
        """The text as far as its symbols tell it."""
        return text

    def seam(self, text: str, place: int) -> int:
        """The first place, from the given one on, where a text can be cut in two."""
        return place

    def shown(self, number: int) -> str:
        """One symbol as people read it."""
        return self.symbols[number]

    def labels(self, text: str) -> list[str]:
        """The symbols of a text as people read them, unknown ones too."""
        return self.cut(text)

    @property
    def space(self) -> Tokens:
        """What a model needs to know of it."""
        return Tokens(len(self.symbols))

    @abstractmethod
    def state(self) -> Any:
        """What was learned, as JSON can hold it."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Take up what `state` gave."""

    @abstractmethod
    def _learn(self, texts: Sequence[str]) -> None: ...

    def _pieces(self, text: str) -> Iterable[str]:
        """Parts of a text that are all alike where its symbols are."""
        return text


class _Counted(Symbols):
    """Symbols that are found by counting: the most frequent have the lowest numbers."""

    unit: ClassVar[Unit]

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        self._table = Vocabulary()
        self.restore(self._table.state())

    def cut(self, text: str) -> list[str]:
        return cut(text, self.unit)

    def join(self, symbols: Sequence[str]) -> str:
        return join(symbols, self.unit)

    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        return self._table.encode(self.cut(text))

    def state(self) -> list[str]:
        return self._table.state()

    def restore(self, state: list[str]) -> None:
        self._table.restore(state)
        self.symbols = self._table.symbols

    def _learn(self, texts: Sequence[str]) -> None:
        pieces = (self._pieces(text) for text in texts)
        self._table.learn(pieces, self.choice.at_least, self.choice.most)
        self.restore(self._table.state())


class Words(_Counted):
    """What stands between spaces."""

    unit: ClassVar[Unit] = "words"
    ends_lines = False

    def length(self, text: str) -> int:
        return len(text.split())

    def written(self, text: str) -> str:
        return self.join(self.cut(text))

    def seam(self, text: str, place: int) -> int:
        """A word is not cut."""
        while 0 < place < len(text) and not any(c.isspace() for c in text[place - 1 : place + 1]):
            place += 1
        return place

    def _pieces(self, text: str) -> Iterable[str]:
        return self.cut(text)


class Characters(_Counted):
    """Unicode's characters, numbered by looking up the code point of each in an array."""

    unit: ClassVar[Unit] = "characters"

    def restore(self, state: list[str]) -> None:
        super().restore(state)
        known = {ord(s): n for n, s in enumerate(self.symbols) if n >= FIRST and len(s) == 1}
        # One place more than the highest: all that lie beyond are looked up there.
        self._numbers = np.full(max(known, default=0) + 2, UNKNOWN, dtype=np.int64)
        self._numbers[list(known)] = list(known.values())

    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return self._numbers[np.minimum(points, len(self._numbers) - 1)]

    def length(self, text: str) -> int:
        return len(text)


class Bytes(Symbols):
    """The bytes of UTF-8: 256 symbols for every language, none of them unknown.

    A model may write bytes that are no characters; they are read as the replacement character.
    """

    unit = "bytes"

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        if choice.most:
            raise _unfit("there are 256 bytes: a vocabulary cannot have fewer or more of them")
        self.symbols = [*SPECIAL, *BYTE_NAMES]

    def cut(self, text: str) -> list[str]:
        return [BYTE_NAMES[byte] for byte in utf8(text)]

    def join(self, symbols: Sequence[str]) -> str:
        return b"".join(_BYTE.get(name, _LOST) for name in symbols).decode("utf-8", "replace")

    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        return np.frombuffer(utf8(text), dtype=np.uint8).astype(np.int64) + FIRST

    def length(self, text: str) -> int:
        return len(utf8(text))

    def state(self) -> None:
        """Nothing is learned."""

    def restore(self, state: None) -> None:
        """Nothing was learned."""

    def _learn(self, texts: Sequence[str]) -> None:
        """There is nothing to find."""


KINDS: Registry[Symbols] = Registry(
    "kind of symbol",
    __package__,
    {
        "characters": ".tokenizers:Characters",
        "bytes": ".tokenizers:Bytes",
        "words": ".tokenizers:Words",
        "subwords": ".subwords:Subwords",
    },
)
Kind = Literal["characters", "bytes", "words", "subwords"]  # the same names, for options of tasks


def utf8(text: str) -> bytes:
    """The bytes of a text; what no text can hold, half a surrogate pair, is a question mark."""
    return text.encode("utf-8", "replace")


def one_kind(symbol: str) -> str:
    """What to say of a text that has no two different symbols."""
    return f"the text is nothing but {symbol!r}, again and again: there is nothing to learn"


def _unfit(problem: str) -> DataError:
    return DataError(
        "D064", problem, help=["seqloom explain language   tells which options go together"]
    )


def _name(byte: int) -> str:
    """Letters, digits, signs and the blanks of ASCII as they are, all others by their number."""
    return chr(byte) if 32 <= byte < 127 or byte in b"\t\n\r" else f"<{byte:02X}>"


BYTE_NAMES = [_name(byte) for byte in range(256)]
_BYTE = {name: bytes([byte]) for byte, name in enumerate(BYTE_NAMES)}
_LOST = "\N{REPLACEMENT CHARACTER}".encode()
