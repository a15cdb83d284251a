"""Subwords: pieces of words that are learned from text, or taken from a tokenizer.json.

A text is read as the bytes of UTF-8 and cut before each word (Radford et al., 2019), so that every
text can be written and nothing is lost. The pieces within words are found in one of two ways:

bpe      begin with bytes; join the most frequent pair of neighbours into one, again and again
         (Sennrich et al., 2016)
unigram  begin with many pieces; drop again and again those without which the text loses least
         likelihood, each piece having its own probability (Kudo, 2018)
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

# Threads would be of use for long texts only, and the library warns of them whenever a process
# that had some begins another. Who wants them says so in the environment.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
from jaxtyping import Int
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ...errors import DataError, ModelError, Place
from .reading import read_bytes
from .tokenizers import BYTE_NAMES, FIRST, Choice, Symbols, utf8
from .vocabulary import SPECIAL

T = TypeVar("T")
DEFAULT_SIZE = 8_000
BYTES = 256  # the pieces that any text can be written with
LONGEST = 32  # bytes of one piece
LARGEST_FILE = 100_000_000
# What must come back as it was, alone and one after the other.
PROBES = ("Ab, ab  12\n", " aB\t", "\n", "naïve Ελλάδα 漢字 😀", "<s> [UNK] ## ▁ Ġ \\n")


class Subwords(Symbols):
    """Pieces of words, of which `choice.most` are learned."""

    unit = "subwords"

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        if choice.tokenizer and choice.most:
            raise DataError(
                "D064",
                f"the tokenizer {choice.tokenizer} has its own vocabulary",
                help=["leave task.vocabulary out, or leave task.tokenizer out to learn one"],
            )
        if 0 < choice.most <= BYTES:
            raise DataError(
                "D064",
                f"vocabulary = {choice.most}: subwords begin with the {BYTES} bytes",
                help=["--set task.vocabulary=1000", "--set task.symbols=bytes"],
            )
        self._is_ready = False
        self._take(_empty(choice.subwords))

    def cut(self, text: str) -> list[str]:
        names: list[str] = self._ready().encode(_whole(text), add_special_tokens=False).tokens
        return names

    def join(self, symbols: Sequence[str]) -> str:
        found = map(self._ready().token_to_id, symbols)
        return self._text([number for number in found if number is not None])

    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        found = self._ready().encode(_whole(text), add_special_tokens=False).ids
        return np.searchsorted(self._ids, np.array(found, dtype=np.int64)) + FIRST

    def decode(self, numbers: Iterable[int]) -> str:
        return self._text([int(self._ids[n - FIRST]) for n in numbers if n >= FIRST])

    def length(self, text: str) -> int:
        """How many symbols; before any are learned, how many there will be at the least."""
        if self._is_ready or self.choice.tokenizer:
            return super().length(text)
        return max(len(text.split()), -(-len(utf8(text)) // LONGEST))

    def shown(self, number: int) -> str:
        """The piece as text, or as bytes where it is a part of a character only."""
        text, name = self.decode([number]), self.symbols[number]
        if text and "\N{REPLACEMENT CHARACTER}" not in text:
            return text
        return "".join(BYTE_NAMES[_BYTE[c]] if c in _BYTE else c for c in name)

    def labels(self, text: str) -> list[str]:
        return [self.shown(number) for number in self.encode(text).tolist()]

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self._tokenizer.to_str())
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Only read: a tokenizer is a table and some rules, nothing in it is run."""
        try:
            found = _parsed(json.dumps(state))
            wrong = _lost(found)
        except ValueError as error:
            wrong = str(error)
        if wrong is not None:
            raise ModelError(
                "M113",
                "the subwords of this run are damaged",
                notes=[wrong],
                help=["copy the run again, or train it again"],
            )
        self._take(found)
        self._is_ready = True

    def _learn(self, texts: Sequence[str]) -> None:
        if self.choice.tokenizer:
            self._ready()
            return
        wanted = self.choice.most or DEFAULT_SIZE
        self._take(_learned(map(_whole, texts), self.choice, wanted))
        self._is_ready = True
        found = len(self.symbols) - FIRST
        if found < wanted and self.choice.most:
            self.notes["D061"] = fewer(found, wanted)

    def _ready(self) -> Tokenizer:
        """The tokenizer, from its file when it is first needed and no run has brought it."""
        if not self._is_ready and self.choice.tokenizer:
            self._take(read_tokenizer(Path(self.choice.tokenizer)))
            self._is_ready = True
        return self._tokenizer

    def _take(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        names = {number: name for name, number in tokenizer.get_vocab().items()}
        # Numbers in files of other makers may have gaps; a model would have weights for them.
        self._ids = np.array(sorted(names), dtype=np.int64)
        self.symbols = [*SPECIAL, *(names[number] for number in sorted(names))]

    def _text(self, ids: list[int]) -> str:
        text: str = self._ready().decode(ids, skip_special_tokens=False)
        return text


def read_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer.json that gives every text back as it was, or a sentence on why it is none."""
    data = read_bytes(path, LARGEST_FILE)
    if len(data) > LARGEST_FILE:
        raise _no_tokenizer(path, f"it has more than {LARGEST_FILE // 1_000_000} MB")
    try:
        found = _parsed(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _no_tokenizer(path, "it is not even text") from None
    except ValueError as error:
        raise _no_tokenizer(path, str(error)) from None
    _must_keep_texts(found, path)
    return found


def fewer(found: int, wanted: int) -> str:
    """What to say of a text too short for so many subwords."""
    return (
        f"{wanted:,} subwords were asked for; the text has only {found:,} that are seen twice or"
        " are single bytes"
    )


def _empty(way: str) -> Tokenizer:
    """A tokenizer that knows no pieces yet; every byte is written as one character."""
    tokenizer = Tokenizer({"bpe": models.BPE, "unigram": models.Unigram}[way]())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _learned(texts: Iterable[str], choice: Choice, size: int) -> Tokenizer:
    """The same texts give the same tokenizer."""
    tokenizer = _empty(choice.subwords)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer: trainers.Trainer
    if choice.subwords == "bpe":
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=max(2, choice.at_least),  # what is seen once is worth no symbol
            initial_alphabet=alphabet,
            max_token_length=LONGEST,
            show_progress=False,
        )
    else:
        trainer = trainers.UnigramTrainer(
            vocab_size=size,
            initial_alphabet=alphabet,
            max_piece_length=LONGEST,
            show_progress=False,
        )
    tokenizer.train_from_iterator(texts, trainer)
    return _in_order(tokenizer) if choice.subwords == "unigram" else tokenizer


def _in_order(tokenizer: Tokenizer) -> Tokenizer:
    """Unigram pieces without the traces of chance.

    The library gives single bytes that the text hardly has a score a little above the lowest, each
    another, in the order of a hash table; they all get the lowest.
    """
    state = json.loads(tokenizer.to_str())
    scores: dict[str, float] = dict(state["model"]["vocab"])
    lowest = min(scores.values())
    for piece, score in scores.items():
        is_filled_in = len(piece) == 1 and score < lowest + 1e-4 * (BYTES + 1)
        scores[piece] = round(lowest if is_filled_in else score, 6)
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    state["model"]["vocab"] = [[piece, score] for piece, score in ordered]
    return _parsed(json.dumps(state))


def _parsed(text: str) -> Tokenizer:
    """A tokenizer from JSON that cuts a text in one way only, and nothing off; else ValueError."""
    found = _answered(lambda: Tokenizer.from_str(text))
    found.no_truncation()
    found.no_padding()
    if getattr(found.model, "dropout", None):  # chance, which some train with
        found.model.dropout = None
    return found


def _answered(ask: Callable[[], T]) -> T:
    """What the library says; all that it raises, which is beyond Exception, as ValueError."""
    try:
        return ask()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ValueError(str(error)) from None


def _must_keep_texts(tokenizer: Tokenizer, path: Path) -> None:
    """Refuse what loses text: pieces could not be put together, nor bytes be counted."""
    if (lost := _lost(tokenizer)) is not None:
        kind = type(tokenizer.model).__name__
        raise DataError(
            "D063",
            f"the {kind} tokenizer in {path.name} does not give texts back as they were",
            place=Place(str(path)),
            notes=[lost],
            help=[
                "give one that works on bytes",
                "leave task.tokenizer out: subwords are then learned from the text",
            ],
        )


def _lost(tokenizer: Tokenizer) -> str | None:
    """What becomes of the first text that does not come back; None where all do."""

    def back(parts: Sequence[str]) -> str:
        found = [tokenizer.encode(part, add_special_tokens=False).ids for part in parts]
        ids = [number for some in found for number in some]
        text: str = tokenizer.decode(ids, skip_special_tokens=False)
        return text

    for parts in (*((text,) for text in PROBES), PROBES):
        try:
            found = _answered(partial(back, parts))
        except ValueError as error:
            found = str(error)
        if found != "".join(parts):
            return f"{''.join(parts)!r} becomes {found!r}"
    return None


def _no_tokenizer(path: Path, why: str) -> DataError:
    return DataError(
        "D062",
        f'"{path.name}" is not a tokenizer',
        place=Place(str(path)),
        notes=[why],
        help=["give a tokenizer.json as the library tokenizers writes it (tokenizer.save)"],
    )


def _whole(text: str) -> str:
    """The text without what no text can hold, half a surrogate pair."""
    return utf8(text).decode("utf-8")


# The characters that stand for bytes in the names of pieces: those that can be seen for themselves,
# the others for the rest.
_SEEN = [*range(33, 127), *range(161, 173), *range(174, 256)]
_UNSEEN = sorted({*range(BYTES)} - {*_SEEN})
_BYTE = {chr(byte): byte for byte in _SEEN} | {
    chr(BYTES + place): byte for place, byte in enumerate(_UNSEEN)
}
