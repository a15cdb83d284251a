"""Language modelling: predict each next token of plain text, by lines or as one stream."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from ..batch import Ids, Item
from ..config import CountOrZero
from ..data.checks.text import Side
from ..data.codec import Lengths
from ..data.formats import ParsedFile, Row, Sentence
from ..data.loading.lazy import lazy_map
from ..data.text.tokenizers import TOKENIZERS, TokenizerName, VocabularyOptions, utf8
from ..metrics import Ratio
from ..signature import END, UNKNOWN, Form, Signature
from ..task import Baseline, Task


class Text(NamedTuple):
    """A line of text, or a part of one."""

    text: str
    line: int = 0
    ends: bool = True  # whether the end of the line belongs to it


class Language(Task):
    """Language modelling: the probability of text, and its continuation, token by token.

    Bits per character and per byte are counted over the text of the file, each line end being one
    character and one byte: they compare across tokenizers. Perplexity is per token. An unknown word
    costs no more than the one token for all of them, which flatters a small vocabulary.

    Args:
        tokens: The tokens of the text. Bytes are those of UTF-8; subwords are parts of words that
            are learned from the training text.
        min_frequency: Minimum frequency of a token in training; rarer ones are unknown. For
            subwords, minimum frequency of a pair to be merged.
        vocab_size: Maximum vocabulary size. Of words and characters the most frequent are kept, and
            0 keeps all; for subwords 0 is 8,000.
        subwords: Subword model: byte-pair encoding (bpe; Sennrich et al., 2016) or a unigram
            language model (unigram; Kudo, 2018).
        tokenizer: A tokenizer.json with subwords, instead of learning them.
        layout: Whether every line is a sequence by itself (lines), or the file is one continuous
            text (stream), in which the state is carried from line to line and line ends are
            predicted too.
    """

    form = Form.NEXT
    verb = "generate"
    roles = ("text",)
    primary_metric = "bits_per_character"

    def __init__(
        self,
        *,
        tokens: TokenizerName = "characters",
        min_frequency: CountOrZero = 1,
        vocab_size: int = 0,
        subwords: Literal["bpe", "unigram"] = "bpe",
        tokenizer: str = "",
        layout: Literal["lines", "stream"] = "lines",
    ) -> None:
        self.vocabulary = TOKENIZERS[tokens](
            VocabularyOptions(min_frequency, vocab_size, subwords, tokenizer)
        )
        self.lengths = Lengths()
        self.input_unit = self.vocabulary.unit
        self.continuous = layout == "stream"
        # Whether a line ends with a symbol of the text; else it ends with END.
        self._breaks = self.continuous and self.vocabulary.has_line_breaks

    def sides(self, source: ParsedFile) -> list[Side]:
        """Lines without their ends, with warnings of the tokenizer."""
        self.prepare(lazy_map(self.example, source.rows))
        symbols = self.vocabulary
        lengths, counts = symbols.count(str(row.fields[0]) for row in source.rows)
        return [Side("text", symbols.unit, lengths, counts, symbols.notes)]

    def example(self, row: Row | Sentence) -> Text:
        return Text(str(row.fields[0]), row.line)

    def question(self, text: str) -> Text:
        return Text(text, ends=not self.continuous)

    def with_target(self, question: Text, answer: object) -> Text:
        return question

    def key(self, example: Text) -> Hashable:
        return self.vocabulary.round_trip(example.text)

    def length(self, example: Text) -> int:
        return self.vocabulary.length(self._whole(example)) + (
            self.continuous and self._has_end(example)
        )

    def num_characters(self, example: Text) -> int:
        return len(example.text) + example.ends

    def split_at(self, example: Text, place: int) -> tuple[Text, Text]:
        place = self.vocabulary.next_boundary(example.text, place)
        before = example._replace(text=example.text[:place], ends=False)
        return before, example._replace(text=example.text[place:])

    def prepare(self, examples: Sequence[Text]) -> None:
        self.vocabulary.learn(lazy_map(self._whole, examples))
        if not self.continuous:  # a continuous text has no end
            ends = int(not self._breaks)
            self.lengths.target = max(map(self.length, examples), default=0) + ends

    def notes(self) -> list[str]:
        return list(self.vocabulary.notes.values())

    def signature(self) -> Signature:
        space = self.vocabulary.space
        return Signature(self.form, space, replace(space, longest=self.lengths.target))

    def input_vocabulary(self) -> Sequence[str]:
        return self.vocabulary.tokens

    def encode(self, example: Text) -> Item:
        ids = self.vocabulary.encode(self._whole(example))
        ids = np.append(ids, END) if self._has_end(example) else ids
        return Item(ids, ids)

    def encode_source(self, example: Text) -> Ids:
        """A prompt has no END."""
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

    def baseline(self) -> Baseline:
        return Baseline("unigram", {"name": "ngram", "order": 1})

    def score(self, example: Text, answer: object, nats: float) -> dict[str, Ratio]:
        bits = nats / math.log(2)
        symbols = self.vocabulary.length(self._whole(example)) + self._has_end(example)
        return {
            "bits_per_character": Ratio(bits, len(example.text) + example.ends),
            "bits_per_byte": Ratio(bits, len(utf8(example.text)) + example.ends),
            "perplexity": Ratio(nats, symbols),
        }

    def show(self, answer: str) -> str:
        return answer

    def show_token(self, number: int) -> str:
        return self.vocabulary.display(number)

    def show_question(self, example: Text) -> str:
        return example.text

    def show_tokens(self, example: Text, answer: object) -> tuple[list[str], list[str]]:
        """A causal model reads each token one step after it is predicted."""
        written = self.vocabulary.display_tokens(self._whole(example))
        written += ["</s>"] * self._has_end(example)
        return ["<s>", *written][: len(written)], written

    def is_known(self, example: Text) -> list[bool]:
        return [number != UNKNOWN for number in self.encode_source(example).tolist()]

    def unknown_fraction(self, examples: Sequence[Text]) -> float:
        found = [self.encode_source(example) for example in examples]
        unknown = sum(int((ids == UNKNOWN).sum()) for ids in found)
        return unknown / max(1, sum(map(len, found)))

    def _whole(self, example: Text) -> str:
        """The text, with the line end where that is a token."""
        return example.text + "\n" * (example.ends and self._breaks)

    def _has_end(self, example: Text) -> bool:
        """Whether END comes after the text."""
        return example.ends and not self._breaks
