"""Subword tokenizers: byte-pair encoding (BPE) and unigram language models, or tokenizer.json.

Both work on the bytes of UTF-8 and split texts before each word (byte-level; Radford et al., 2019),
so that no token is unknown and no text changes. Subwords within words are learned in two ways:

bpe      byte-pair encoding: start with bytes; merge the most frequent pair of neighbours, again
         and again (Sennrich et al., 2016)
unigram  unigram language model: start with many subwords, each with its probability; prune those
         whose loss reduces the likelihood of the text least, again and again (Kudo, 2018)
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

# Threads would only help with long texts, and the library warns about them whenever a process that
# has used some forks. They can be switched on in the environment.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
from jaxtyping import Int
from tokenizers import Tokenizer as HFTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers

from ...errors import DataError, ModelError, Place
from .files import read_bytes
from .tokenizers import BYTE_NAMES, NUM_SPECIAL, Tokenizer, VocabularyOptions, utf8
from .vocabulary import SPECIAL_TOKENS

T = TypeVar("T")
DEFAULT_SIZE = 8_000
NUM_BYTES = 256  # the subwords with which every text can be written
MAX_PIECE_BYTES = 32  # of one subword
LARGEST_FILE = 100_000_000
# Texts that a tokenizer must give back unchanged, one by one and concatenated.
ROUND_TRIP_TEXTS = ("Ab, ab  12\n", " aB\t", "\n", "naïve Ελλάδα 漢字 😀", "<s> [UNK] ## ▁ Ġ \\n")


class SubwordTokenizer(Tokenizer):
    """Subword tokenizer: BPE or a unigram language model, with `options.max_size` subwords."""

    unit = "subwords"

    def __init__(self, options: VocabularyOptions) -> None:
        super().__init__(options)
        if options.tokenizer and options.max_size:
            raise DataError(
                "D064",
                f"the tokenizer {options.tokenizer} has its own vocabulary",
                help=["leave task.vocab_size out, or leave task.tokenizer out to learn one"],
            )
        if 0 < options.max_size <= NUM_BYTES:
            raise DataError(
                "D064",
                f"vocab_size = {options.max_size}: subwords start with the {NUM_BYTES} bytes",
                help=["--set task.vocab_size=1000", "--set task.tokens=bytes"],
            )
        self._is_ready = False
        self._set(_untrained(options.subwords))

    def tokenize(self, text: str) -> list[str]:
        tokens: list[str] = self._ready().encode(_valid(text), add_special_tokens=False).tokens
        return tokens

    def detokenize(self, tokens: Sequence[str]) -> str:
        ids = map(self._ready().token_to_id, tokens)
        return self._text([i for i in ids if i is not None])

    def encode(self, text: str) -> Int[np.ndarray, " _"]:
        ids = self._ready().encode(_valid(text), add_special_tokens=False).ids
        return np.searchsorted(self._ids, np.array(ids, dtype=np.int64)) + NUM_SPECIAL

    def decode(self, ids: Iterable[int]) -> str:
        return self._text([int(self._ids[i - NUM_SPECIAL]) for i in ids if i >= NUM_SPECIAL])

    def length(self, text: str) -> int:
        """The number of tokens; before training, a lower bound of it."""
        if self._is_ready or self.options.tokenizer:
            return super().length(text)
        return max(len(text.split()), -(-len(utf8(text)) // MAX_PIECE_BYTES))

    def display(self, token: int) -> str:
        """A subword as text, or as bytes if it is only a part of a character."""
        text, name = self.decode([token]), self.tokens[token]
        if text and "\N{REPLACEMENT CHARACTER}" not in text:
            return text
        return "".join(BYTE_NAMES[_BYTE_OF[c]] if c in _BYTE_OF else c for c in name)

    def display_tokens(self, text: str) -> list[str]:
        return [self.display(token) for token in self.encode(text).tolist()]

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self._tokenizer.to_str())
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Restore from JSON: a tokenizer is a table and some rules, and contains no code."""
        try:
            found = _parsed(json.dumps(state))
            problem = _first_change(found)
        except ValueError as error:
            problem = str(error)
        if problem is not None:
            raise ModelError(
                "M113",
                "the subwords of this run are damaged",
                notes=[problem],
                help=["copy the run again, or train it again"],
            )
        self._set(found)
        self._is_ready = True

    def _learn(self, texts: Sequence[str]) -> None:
        if self.options.tokenizer:
            self._ready()
            return
        size = self.options.max_size or DEFAULT_SIZE
        self._set(_trained(map(_valid, texts), self.options, size))
        self._is_ready = True
        found = len(self.tokens) - NUM_SPECIAL
        if found < size and self.options.max_size:
            self.notes["D061"] = too_few_subwords(found, size)

    def _ready(self) -> HFTokenizer:
        """The tokenizer; on first use read from `options.tokenizer`, unless it was restored."""
        if not self._is_ready and self.options.tokenizer:
            self._set(read_tokenizer(Path(self.options.tokenizer)))
            self._is_ready = True
        return self._tokenizer

    def _set(self, tokenizer: HFTokenizer) -> None:
        self._tokenizer = tokenizer
        names = {i: name for name, i in tokenizer.get_vocab().items()}
        # The ids of other tokenizers may have gaps, for which a model would have embeddings. Ours
        # are their ranks.
        self._ids = np.array(sorted(names), dtype=np.int64)
        self.tokens = [*SPECIAL_TOKENS, *(names[i] for i in sorted(names))]

    def _text(self, ids: list[int]) -> str:
        text: str = self._ready().decode(ids, skip_special_tokens=False)
        return text


def read_tokenizer(path: Path) -> HFTokenizer:
    """Read a tokenizer.json; it must decode every text to what was encoded."""
    data = read_bytes(path, LARGEST_FILE)
    if len(data) > LARGEST_FILE:
        raise _no_tokenizer(path, f"it has more than {LARGEST_FILE // 1_000_000} MB")
    try:
        found = _parsed(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _no_tokenizer(path, "it is not even text") from None
    except ValueError as error:
        raise _no_tokenizer(path, str(error)) from None
    _check_round_trip(found, path)
    return found


def too_few_subwords(found: int, size: int) -> str:
    """The note about texts that are too short for so many subwords."""
    return (
        f"vocab_size is {size:,}; the text has only {found:,} subwords that occur twice or are"
        " single bytes"
    )


def _untrained(algorithm: str) -> HFTokenizer:
    """A byte-level tokenizer without subwords."""
    tokenizer = HFTokenizer({"bpe": models.BPE, "unigram": models.Unigram}[algorithm]())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _trained(texts: Iterable[str], options: VocabularyOptions, size: int) -> HFTokenizer:
    """Train BPE or a unigram language model; the same texts give the same tokenizer."""
    tokenizer = _untrained(options.subwords)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer: trainers.Trainer
    if options.subwords == "bpe":
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            min_frequency=max(2, options.min_frequency),  # single pairs are not merged
            initial_alphabet=alphabet,
            max_token_length=MAX_PIECE_BYTES,
            show_progress=False,
        )
    else:
        trainer = trainers.UnigramTrainer(
            vocab_size=size,
            initial_alphabet=alphabet,
            max_piece_length=MAX_PIECE_BYTES,
            show_progress=False,
        )
    tokenizer.train_from_iterator(texts, trainer)
    return _deterministic(tokenizer) if options.subwords == "unigram" else tokenizer


def _deterministic(tokenizer: HFTokenizer) -> HFTokenizer:
    """A unigram model whose scores do not depend on the order of a hash table.

    The library gives single bytes that the text hardly has scores a little above the lowest one,
    in the order of a hash table. Here they all get the lowest score.
    """
    state = json.loads(tokenizer.to_str())
    scores: dict[str, float] = dict(state["model"]["vocab"])
    lowest = min(scores.values())
    for subword, score in scores.items():
        is_added = len(subword) == 1 and score < lowest + 1e-4 * (NUM_BYTES + 1)
        scores[subword] = round(lowest if is_added else score, 6)
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    state["model"]["vocab"] = [[subword, score] for subword, score in ordered]
    return _parsed(json.dumps(state))


def _parsed(text: str) -> HFTokenizer:
    """A tokenizer from JSON, without truncation, padding or BPE dropout; else ValueError."""
    found = _call(lambda: HFTokenizer.from_str(text))
    found.no_truncation()
    found.no_padding()
    if getattr(found.model, "dropout", None):  # BPE dropout (Provilkov et al., 2020) is random
        found.model.dropout = None
    return found


def _call(function: Callable[[], T]) -> T:
    """Call the library; its panics, which are not subclasses of Exception, become ValueError."""
    try:
        return function()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ValueError(str(error)) from None


def _check_round_trip(tokenizer: HFTokenizer, path: Path) -> None:
    """Refuse tokenizers that change texts: outputs and bits per byte would be wrong."""
    if (change := _first_change(tokenizer)) is not None:
        kind = type(tokenizer.model).__name__
        raise DataError(
            "D063",
            f"the {kind} tokenizer in {path.name} changes texts when it decodes them",
            place=Place(str(path)),
            notes=[change],
            help=[
                "give a byte-level tokenizer",
                "leave task.tokenizer out: subwords are then learned from the text",
            ],
        )


def _first_change(tokenizer: HFTokenizer) -> str | None:
    """The first text that is changed by encoding and decoding; None if none is."""

    def round_trip(parts: Sequence[str]) -> str:
        encoded = [tokenizer.encode(part, add_special_tokens=False).ids for part in parts]
        ids = [i for some in encoded for i in some]
        text: str = tokenizer.decode(ids, skip_special_tokens=False)
        return text

    for parts in (*((text,) for text in ROUND_TRIP_TEXTS), ROUND_TRIP_TEXTS):
        try:
            found = _call(partial(round_trip, parts))
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


def _valid(text: str) -> str:
    """The text with question marks for lone surrogates, which the library refuses."""
    return utf8(text).decode("utf-8")


# The characters for bytes in the names of byte-level subwords (Radford et al., 2019): printable
# bytes are themselves, the others are shifted to characters from 256 on.
_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = sorted({*range(NUM_BYTES)} - {*_PRINTABLE})
_BYTE_OF = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(NUM_BYTES + index): byte for index, byte in enumerate(_OTHERS)
}
