"""Predict each next symbol of plain text, line by line or as one long stream."""

import math
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

from ..batch import Ids, Item
from ..data.formats import Row, Sentence
from ..data.vocabulary import Vocabulary, cut, join
from ..forms import END, Form, Signature
from ..metrics import Ratio
from ..task import Task


class Text(NamedTuple):
    """A line of text, or a piece of one, as symbols."""

    symbols: list[str]
    line: int = 0
    ends: bool = True  # whether END comes after it


class Language(Task):
    """Text in; its probability and how it goes on out.

    Args:
        symbols: What a symbol is.
        at_least: How often a symbol must be seen in training not to be read as unknown.
        layout: Whether every line is a sequence by itself, or the file one continuous text, in
            which models remember what came before a line and line ends are predicted too.
    """

    form = Form.NEXT
    verb = "generate"
    roles = ("text",)
    headline = "bits_per_character"

    def __init__(
        self,
        *,
        symbols: Literal["characters", "words"] = "characters",
        at_least: int = 1,
        layout: Literal["lines", "stream"] = "lines",
    ) -> None:
        self.unit, self.at_least = symbols, at_least
        self.continuous = layout == "stream"
        self.vocabulary = Vocabulary()

    def example(self, row: Row | Sentence) -> Text:
        text = str(row.fields[0])
        if self.continuous and self.unit == "characters":
            return Text(cut(f"{text}\n", self.unit), row.line, ends=False)
        return Text(cut(text, self.unit), row.line)

    def question(self, text: str) -> Text:
        return Text(cut(text, self.unit), ends=not self.continuous)

    def answered(self, question: Text, answer: object) -> Text:
        return question

    def key(self, example: Text) -> Hashable:
        return tuple(example.symbols)

    def length(self, example: Text) -> int:
        return len(example.symbols) + (example.ends and self.continuous)

    def divided(self, example: Text, place: int) -> tuple[Text, Text]:
        before = Text(example.symbols[:place], example.line, ends=False)
        return before, example._replace(symbols=example.symbols[place:])

    def prepare(self, examples: Sequence[Text]) -> None:
        self.vocabulary.learn((example.symbols for example in examples), self.at_least)

    def signature(self) -> Signature:
        return Signature(self.form, self.vocabulary.space, self.vocabulary.space)

    def read_symbols(self) -> Sequence[str]:
        return self.vocabulary.symbols

    def encode(self, example: Text) -> Item:
        ids = self.vocabulary.encode(example.symbols, end=example.ends)
        return Item(ids, ids)

    def ask(self, example: Text) -> Ids:
        """What goes on has not ended."""
        return self.vocabulary.encode(example.symbols)

    def decode(self, row: Sequence[int]) -> str:
        """As text; within a stream, END is a line break."""
        if not self.continuous:
            return join(self.vocabulary.decode(row), self.unit)
        lines: list[list[int]] = [[]]
        for number in row:
            if number == END:
                lines.append([])
            else:
                lines[-1].append(number)
        return "\n".join(join(self.vocabulary.decode(line), self.unit) for line in lines)

    def judge(self, example: Text, answer: object, nats: float) -> dict[str, Ratio]:
        length = len(example.symbols) + example.ends
        characters = len(join(example.symbols, self.unit)) + example.ends
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
        """What is read is one symbol late."""
        written = [*example.symbols, *["</s>"] * example.ends]
        return ["<s>", *example.symbols][: len(written)], written

    def is_known(self, example: Text) -> list[bool]:
        return self.vocabulary.knows(example.symbols)
