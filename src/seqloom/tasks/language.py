"""Predict each next symbol of plain text, one sequence a line."""

import math
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

from ..batch import Ids, Item
from ..data.formats import Row, Sentence
from ..data.vocabulary import Vocabulary, cut, join
from ..forms import Form, Signature
from ..metrics import Ratio
from ..task import Task


class Text(NamedTuple):
    """A line of text as symbols."""

    symbols: list[str]
    line: int = 0


class Language(Task):
    """Text in; its probability and how it goes on out.

    Args:
        symbols: What a symbol is.
        at_least: How often a symbol must be seen in training not to be read as unknown.
    """

    form = Form.NEXT
    verb = "generate"
    roles = ("text",)
    headline = "bits_per_character"

    def __init__(
        self, *, symbols: Literal["characters", "words"] = "characters", at_least: int = 1
    ) -> None:
        self.unit, self.at_least = symbols, at_least
        self.vocabulary = Vocabulary()

    def example(self, row: Row | Sentence) -> Text:
        return Text(cut(str(row.fields[0]), self.unit), row.line)

    def question(self, text: str) -> Text:
        return Text(cut(text, self.unit))

    def answered(self, question: Text, answer: object) -> Text:
        return question

    def key(self, example: Text) -> Hashable:
        return tuple(example.symbols)

    def length(self, example: Text) -> int:
        return len(example.symbols)

    def prepare(self, examples: Sequence[Text]) -> None:
        self.vocabulary.learn((example.symbols for example in examples), self.at_least)

    def signature(self) -> Signature:
        return Signature(self.form, self.vocabulary.space, self.vocabulary.space)

    def encode(self, example: Text) -> Item:
        ids = self.vocabulary.encode(example.symbols, end=True)
        return Item(ids, ids)

    def ask(self, example: Text) -> Ids:
        """What goes on has not ended."""
        return self.vocabulary.encode(example.symbols)

    def decode(self, row: Sequence[int]) -> str:
        return join(self.vocabulary.decode(row), self.unit)

    def judge(self, example: Text, answer: object, nats: float) -> dict[str, Ratio]:
        length = len(example.symbols) + 1
        characters = len(join(example.symbols, self.unit)) + 1
        return {
            "bits_per_character": Ratio(nats / math.log(2), characters),
            "perplexity": Ratio(nats, length),
        }

    def show(self, answer: str) -> str:
        return answer

    def shown_symbol(self, number: int) -> str:
        return self.vocabulary.symbols[number]

    def shown_question(self, example: Text) -> str:
        return join(example.symbols, self.unit)

    def symbols(self, example: Text, answer: object) -> tuple[list[str], list[str]]:
        read = ["<s>", *example.symbols]
        return read, [*example.symbols, "</s>"]

    def is_known(self, example: Text) -> list[bool]:
        return self.vocabulary.knows(example.symbols)
