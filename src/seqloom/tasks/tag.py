"""Give each word a tag: CoNLL columns, a blank line between sentences."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..batch import Item
from ..data.formats import Row, Sentence, Source, read_sentences
from ..data.settings import Data
from ..data.spelling import Spelling
from ..data.vocabulary import LabelSet, Vocabulary
from ..forms import Columns, Form, Signature
from ..metrics import Ratio
from ..task import Task


class Tagged(NamedTuple):
    """A sentence and its tags."""

    words: list[str]
    tags: list[str]
    line: int = 0


class Tag(Task):
    """Words in, one tag for each out.

    Args:
        lowercase: Read words without regard to case.
        at_least: How often a word must be seen in training not to be read as unknown.
    """

    form = Form.EACH
    verb = "tag"
    roles = ("word", "tag")
    headline = "accuracy"

    def __init__(self, *, lowercase: bool = False, at_least: int = 2) -> None:
        self.lowercase, self.at_least = lowercase, at_least
        self.words, self.spelling, self.tags = Vocabulary(), Spelling(), LabelSet()

    def open(self, path: Path, data: Data) -> Source:
        return read_sentences(path, self.roles, data)

    def example(self, row: Row | Sentence) -> Tagged:
        words, tags = (list(field) for field in row.fields)
        return Tagged(words, tags, row.line)

    def question(self, text: str) -> Tagged:
        return Tagged(text.split(), [])

    def answered(self, question: Tagged, answer: list[str]) -> Tagged:
        return question._replace(tags=answer)

    def key(self, example: Tagged) -> Hashable:
        return tuple(example.words)

    def length(self, example: Tagged) -> int:
        return len(example.words)

    def prepare(self, examples: Sequence[Tagged]) -> None:
        self.words.learn((self._read(example) for example in examples), self.at_least)
        self.spelling.learn(word for example in examples for word in example.words)
        self.tags.learn(tag for example in examples for tag in example.tags)

    def signature(self) -> Signature:
        columns = Columns((self.words.space, self.spelling.space))
        return Signature(self.form, columns, self.tags.space)

    def read_symbols(self) -> Sequence[str]:
        return self.words.symbols

    def encode(self, example: Tagged) -> Item:
        words = self.words.encode(self._read(example))
        columns = np.column_stack([words, self.spelling.encode(example.words)])
        return Item(columns, self.tags.encode(example.tags))

    def decode(self, row: Sequence[int]) -> list[str]:
        return self.tags.decode(row)

    def judge(self, example: Tagged, answer: list[str], nats: float) -> dict[str, Ratio]:
        hits = sum(guess == tag for guess, tag in zip(answer, example.tags, strict=True))
        return {
            "accuracy": Ratio(hits, len(example.tags)),
            "sentence_accuracy": Ratio(hits == len(example.tags), 1),
            "loss": Ratio(nats, len(example.tags)),
        }

    def pairs(self, example: Tagged, answer: list[str]) -> list[tuple[str, str]]:
        return list(zip(example.tags, answer, strict=True))

    def show(self, answer: list[str]) -> str:
        return " ".join(answer)

    def shown_question(self, example: Tagged) -> str:
        return " ".join(example.words)

    def symbols(self, example: Tagged, answer: list[str]) -> tuple[list[str], list[str]]:
        return example.words, answer

    def unknown_labels(self, examples: Sequence[Tagged]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for example in examples:
            for tag in self.tags.unknown(dict.fromkeys(example.tags)):
                found.setdefault(tag, []).append(example.line)
        return found

    def is_known(self, example: Tagged) -> list[bool]:
        return self.words.knows(self._read(example))

    def _read(self, example: Tagged) -> list[str]:
        return [word.lower() for word in example.words] if self.lowercase else example.words
