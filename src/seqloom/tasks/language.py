"""Predict each next symbol of plain text, line by line or as one long stream."""

import math
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..batch import Ids, Item
from ..data.checks.text import Side
from ..data.formats import Row, Sentence, Source
from ..data.loading.lazy import each
from ..data.text.tokenizers import KINDS, Choice, Kind, utf8
from ..metrics import Ratio
from ..signature import END, UNKNOWN, Form, Signature
from ..task import Task


class Text(NamedTuple):
    """A line of text, or a piece of one."""

    text: str
    line: int = 0
    ends: bool = True  # whether the end of the line belongs to it


class Language(Task):
    """Text in; its probability and how it goes on out.

    Bits per character and per byte are counted over the text of the file, each line end being one
    character and one byte: they compare across all symbols. Perplexity is per symbol. An unknown
    word costs no more than the one symbol for all of them, which flatters a small vocabulary.

    Args:
        symbols: What a symbol is. Bytes are those of UTF-8; subwords are pieces of words that are
            learned from the training text.
        at_least: How often a symbol must be seen in training not to be read as unknown; of
            subwords, how often a pair must be seen to be joined.
        vocabulary: How many symbols there are at most. Of words and characters the most frequent
            are kept and 0 keeps all; 0 subwords are 8,000.
        subwords: How subwords are learned: bpe joins frequent pairs (Sennrich et al., 2016),
            unigram keeps likely pieces (Kudo, 2018).
        tokenizer: A tokenizer.json to take subwords from, instead of learning them.
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
        symbols: Kind = "characters",
        at_least: int = 1,
        vocabulary: int = 0,
        subwords: Literal["bpe", "unigram"] = "bpe",
        tokenizer: str = "",
        layout: Literal["lines", "stream"] = "lines",
    ) -> None:
        self.vocabulary = KINDS[symbols](Choice(at_least, vocabulary, subwords, tokenizer))
        self.read_unit = self.vocabulary.unit
        self.continuous = layout == "stream"
        # Whether a line ends with a symbol of the text; else it ends with END.
        self._breaks = self.continuous and self.vocabulary.ends_lines

    def sides(self, source: Source) -> list[Side]:
        """Lines without their ends, with what is odd in learning them."""
        texts = [str(row.fields[0]) for row in source.rows]
        self.prepare([Text(text) for text in texts])
        symbols = self.vocabulary
        return [Side("text", symbols.unit, [symbols.cut(text) for text in texts], symbols.notes)]

    def example(self, row: Row | Sentence) -> Text:
        return Text(str(row.fields[0]), row.line)

    def question(self, text: str) -> Text:
        return Text(text, ends=not self.continuous)

    def answered(self, question: Text, answer: object) -> Text:
        return question

    def key(self, example: Text) -> Hashable:
        return self.vocabulary.written(example.text)

    def length(self, example: Text) -> int:
        return self.vocabulary.length(self._whole(example)) + (
            self.continuous and self._has_end(example)
        )

    def extent(self, example: Text) -> int:
        return len(example.text) + example.ends

    def divided(self, example: Text, place: int) -> tuple[Text, Text]:
        place = self.vocabulary.seam(example.text, place)
        before = example._replace(text=example.text[:place], ends=False)
        return before, example._replace(text=example.text[place:])

    def prepare(self, examples: Sequence[Text]) -> None:
        self.vocabulary.learn(each(self._whole, examples))

    def notes(self) -> list[str]:
        return list(self.vocabulary.notes.values())

    def signature(self) -> Signature:
        return Signature(self.form, self.vocabulary.space, self.vocabulary.space)

    def read_symbols(self) -> Sequence[str]:
        return self.vocabulary.symbols

    def encode(self, example: Text) -> Item:
        ids = self.vocabulary.encode(self._whole(example))
        ids = np.append(ids, END) if self._has_end(example) else ids
        return Item(ids, ids)

    def ask(self, example: Text) -> Ids:
        """What goes on has not ended."""
        return self.vocabulary.encode(example.text)

    def decode(self, row: Sequence[int]) -> str:
        """As text; in a stream of words, END is a line break."""
        if not self.continuous or self._breaks:
            return self.vocabulary.decode(row)
        lines: list[list[int]] = [[]]
        for number in row:
            if number == END:
                lines.append([])
            else:
                lines[-1].append(number)
        return "\n".join(map(self.vocabulary.decode, lines))

    def judge(self, example: Text, answer: object, nats: float) -> dict[str, Ratio]:
        bits = nats / math.log(2)
        symbols = self.vocabulary.length(self._whole(example)) + self._has_end(example)
        return {
            "bits_per_character": Ratio(bits, len(example.text) + example.ends),
            "bits_per_byte": Ratio(bits, len(utf8(example.text)) + example.ends),
            "perplexity": Ratio(nats, symbols),
        }

    def show(self, answer: str) -> str:
        return answer

    def shown_symbol(self, number: int) -> str:
        return self.vocabulary.shown(number)

    def shown_question(self, example: Text) -> str:
        return example.text

    def symbols(self, example: Text, answer: object) -> tuple[list[str], list[str]]:
        """What is read is one symbol late."""
        written = self.vocabulary.labels(self._whole(example))
        written += ["</s>"] * self._has_end(example)
        return ["<s>", *written][: len(written)], written

    def is_known(self, example: Text) -> list[bool]:
        return [number != UNKNOWN for number in self.ask(example).tolist()]

    def unknown_share(self, examples: Sequence[Text]) -> float:
        found = [self.ask(example) for example in examples]
        unknown = sum(int((ids == UNKNOWN).sum()) for ids in found)
        return unknown / max(1, sum(map(len, found)))

    def _whole(self, example: Text) -> str:
        """The text, with the line end where that is one of its symbols."""
        return example.text + "\n" * (example.ends and self._breaks)

    def _has_end(self, example: Text) -> bool:
        """Whether END comes after the text."""
        return example.ends and not self._breaks
