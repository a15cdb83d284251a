"""Tokenizers: characters, bytes and words; subwords (BPE, unigram) are in `subwords`.

Every tokenizer keeps the same promises, so that a task need not know which one it has:

    detokenize(tokenize(text)) == text    but words do not keep how many spaces were between them
    decode(encode(text)) == text          if all tokens are known; words as above
"""

from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Int

from ...config import Registry
from ...errors import DataError
from ...signature import BEGIN, END, PAD, UNKNOWN, Tokens
from .vocabulary import SPECIAL_TOKENS, Unit, Vocabulary, detokenize, tokenize

ENOUGH_TEXTS = 20  # from which on it is worth saying that texts rarely have blanks
PIECE = 1 << 18  # characters that are counted at once
NUM_SPECIAL = len(SPECIAL_TOKENS)  # the ids before that of the first token of texts


@dataclass(frozen=True)
class VocabularyOptions:
    """Options of a vocabulary: minimum frequency and maximum size (0: no limit) of its tokens.

    `subwords` is the algorithm that learns subwords, and `tokenizer` a file with learned ones.
    """

    min_frequency: int = 1
    max_size: int = 0
    subwords: Literal["bpe", "unigram"] = "bpe"
    tokenizer: str = ""

    def __post_init__(self) -> None:
        if self.max_size < 0:
            raise _invalid(f"vocab_size = {self.max_size}: expected 0 or more")


class Tokenizer(ABC):
    """Tokenizer: a codec between texts and token ids; the four special tokens come first."""

    unit: ClassVar[str]  # its tokens, in the plural
    has_line_breaks: ClassVar[bool] = True  # whether a line break is a token
    tokens: list[str]  # the vocabulary, by id
    notes: dict[str, str]  # what was noted when it was fitted: a sentence for each code

    def __init__(self, options: VocabularyOptions) -> None:
        if options.tokenizer and self.unit != "subwords":
            raise _invalid(f"tokenizer: it has subwords, and the tokens are {self.unit}")
        self.options, self.notes = options, {}

    def learn(self, texts: Iterable[str]) -> None:
        """Fit the vocabulary to training texts."""
        texts = texts if isinstance(texts, Sequence) else list(texts)
        self.notes = {}
        self._learn(texts)
        if self.unit == "words" and len(texts) >= ENOUGH_TEXTS and rarely_spaced(texts):
            self.notes["D065"] = unspaced_note()
        different: set[str] = set()
        for text in texts:
            different.update(self._parts(text))
            if len(different) > 1:
                return
        if different:
            self.notes["D060"] = single_token_note(different.pop())

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""

    @abstractmethod
    def detokenize(self, tokens: Sequence[str]) -> str:
        """The text of tokens."""

    @abstractmethod
    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        """The token ids of a text; unknown tokens are UNKNOWN."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids, without PAD, BEGIN and END."""
        return self.detokenize([self.tokens[i] for i in ids if i not in (PAD, BEGIN, END)])

    def length(self, text: str) -> int:
        """The number of tokens of a text."""
        return len(self.encode(text))

    def round_trip(self, text: str) -> str:
        """The text after tokenisation and detokenisation."""
        return text

    def next_boundary(self, text: str, position: int) -> int:
        """The first character, from a position on, before which a text can be split."""
        return position

    def display(self, token: int) -> str:
        """A token as it is shown to people, by its id."""
        return self.tokens[token]

    def display_tokens(self, text: str) -> list[str]:
        """The tokens of a text as they are shown to people, with unknown ones."""
        return self.tokenize(text)

    def count(self, texts: Iterable[str]) -> tuple[Int[np.ndarray, " texts"], Counter[str]]:
        """The number of tokens of each text, and how often each token occurs in all of them."""
        lengths = array("q")

        def measured() -> Iterator[list[str]]:
            for text in texts:
                tokens = self.tokenize(text)
                lengths.append(len(tokens))
                yield tokens

        counts = Counter(chain.from_iterable(measured()))
        return np.array(lengths, dtype=np.int64), counts

    @property
    def space(self) -> Tokens:
        """The space of the token ids: the vocabulary size."""
        return Tokens(len(self.tokens))

    @abstractmethod
    def state(self) -> Any:
        """The vocabulary, as JSON."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Restore what `state` returned."""

    @abstractmethod
    def _learn(self, texts: Sequence[str]) -> None: ...

    def _parts(self, text: str) -> Iterable[str]:
        """Parts of a text that are all equal if all its tokens are; its characters by default."""
        return text


class _VocabularyTokenizer(Tokenizer):
    """A tokenizer whose vocabulary is counted: the most frequent tokens have the lowest ids."""

    unit: ClassVar[Unit]

    def __init__(self, options: VocabularyOptions) -> None:
        super().__init__(options)
        self._vocabulary = Vocabulary()
        self.restore(self._vocabulary.state())

    def tokenize(self, text: str) -> list[str]:
        return tokenize(text, self.unit)

    def detokenize(self, tokens: Sequence[str]) -> str:
        return detokenize(tokens, self.unit)

    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        return self._vocabulary.encode(self.tokenize(text))

    def state(self) -> list[str]:
        return self._vocabulary.state()

    def restore(self, state: list[str]) -> None:
        self._vocabulary.restore(state)
        self.tokens = self._vocabulary.tokens

    def _learn(self, texts: Sequence[str]) -> None:
        counts, options = self.count(texts)[1], self.options
        self._vocabulary.learn_counts(counts, options.min_frequency, options.max_size)
        self.restore(self._vocabulary.state())


class WhitespaceTokenizer(_VocabularyTokenizer):
    """Word tokenizer: tokens are separated by whitespace."""

    unit: ClassVar[Unit] = "words"
    has_line_breaks = False

    def length(self, text: str) -> int:
        return len(text.split())

    def round_trip(self, text: str) -> str:
        return self.detokenize(self.tokenize(text))

    def next_boundary(self, text: str, position: int) -> int:
        """Words are not split."""
        while 0 < position < len(text):
            if any(c.isspace() for c in text[position - 1 : position + 1]):
                break
            position += 1
        return position

    def _parts(self, text: str) -> Iterable[str]:
        return self.tokenize(text)


class CharacterTokenizer(_VocabularyTokenizer):
    """Character tokenizer: tokens are Unicode characters."""

    unit: ClassVar[Unit] = "characters"

    def restore(self, state: list[str]) -> None:
        super().restore(state)
        known = {ord(c): i for i, c in enumerate(self.tokens) if i >= NUM_SPECIAL and len(c) == 1}
        # A table from code points to ids, so that a text is encoded by one gather. Its last entry,
        # after the highest known code point, is for all code points beyond.
        self._ids = np.full(max(known, default=0) + 2, UNKNOWN, dtype=np.int64)
        self._ids[list(known)] = list(known.values())

    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        return self._ids[np.minimum(points, len(self._ids) - 1)]

    def length(self, text: str) -> int:
        return len(text)

    def count(self, texts: Iterable[str]) -> tuple[Int[np.ndarray, " texts"], Counter[str]]:
        lengths, counts = array("q"), Counter[str]()
        for piece in _pieces(texts, lengths.append):
            # Code points are counted by NumPy: a string for each character would take far longer.
            points = piece.encode("utf-32-le", "surrogatepass")
            found = np.bincount(np.frombuffer(points, dtype=np.uint32))
            seen = np.flatnonzero(found)
            counts.update(dict(zip(map(chr, seen.tolist()), found[seen].tolist(), strict=True)))
        return np.array(lengths, dtype=np.int64), counts


def _pieces(texts: Iterable[str], note_length: Callable[[int], None]) -> Iterator[str]:
    """All texts one after another, in pieces of a bounded length; their lengths are noted."""
    held, size = list[str](), 0
    for text in texts:
        note_length(len(text))
        held.append(text)
        size += len(text)
        if size >= PIECE:
            whole = "".join(held)
            yield from (whole[start : start + PIECE] for start in range(0, size, PIECE))
            held, size = [], 0
    yield "".join(held)


class ByteTokenizer(Tokenizer):
    """Byte tokenizer: tokens are the 256 bytes of UTF-8, so that no token is unknown.

    A model may generate invalid UTF-8, which is decoded to replacement characters.
    """

    unit = "bytes"

    def __init__(self, options: VocabularyOptions) -> None:
        super().__init__(options)
        if options.max_size:
            raise _invalid("vocab_size: a vocabulary of bytes always has 256")
        self.tokens = [*SPECIAL_TOKENS, *BYTE_NAMES]

    def tokenize(self, text: str) -> list[str]:
        return [BYTE_NAMES[byte] for byte in utf8(text)]

    def detokenize(self, tokens: Sequence[str]) -> str:
        return b"".join(_BYTES.get(name, _REPLACEMENT) for name in tokens).decode(
            "utf-8", "replace"
        )

    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        return np.frombuffer(utf8(text), dtype=np.uint8).astype(np.int64) + NUM_SPECIAL

    def length(self, text: str) -> int:
        return len(utf8(text))

    def state(self) -> None:
        """Nothing is learned."""

    def restore(self, state: None) -> None:
        """Nothing was learned."""

    def _learn(self, texts: Sequence[str]) -> None:
        """Nothing is learned."""


TOKENIZERS: Registry[Tokenizer] = Registry(
    "kind of token",
    __package__,
    {
        "characters": ".tokenizers:CharacterTokenizer",
        "bytes": ".tokenizers:ByteTokenizer",
        "words": ".tokenizers:WhitespaceTokenizer",
        "subwords": ".subwords:SubwordTokenizer",
    },
)
TokenizerName = Literal["characters", "bytes", "words", "subwords"]  # the keys of TOKENIZERS


def utf8(text: str) -> bytes:
    """The UTF-8 bytes of a text; lone surrogates become question marks."""
    return text.encode("utf-8", "replace")


def rarely_spaced(texts: Sequence[str]) -> bool:
    """Whether at most a tenth of these texts have a blank: words, or a script without blanks."""
    return 10 * sum(" " in text.strip() for text in texts) <= len(texts)


def unspaced_note() -> str:
    """The note about texts that are read as words and are one word each."""
    return (
        "texts rarely have blanks, so each is one word, and new ones are unknown: characters may be"
        " meant (task.tokens, task.source_tokens, task.target_tokens)"
    )


def single_token_note(token: str) -> str:
    """The note about texts in which all tokens are equal."""
    return f"all tokens of the text are {token!r}: there is nothing to learn"


def _invalid(problem: str) -> DataError:
    return DataError(
        "D064", problem, help=["seqloom explain language   tells which options go together"]
    )


def _name(byte: int) -> str:
    """Printable ASCII characters and whitespace as they are, other bytes as <XX>."""
    return chr(byte) if 32 <= byte < 127 or byte in b"\t\n\r" else f"<{byte:02X}>"


BYTE_NAMES = [_name(byte) for byte in range(256)]
_BYTES = {name: bytes([byte]) for byte, name in enumerate(BYTE_NAMES)}
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
