"""Turn one sequence into another: pairs, several right answers allowed."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from ..batch import Item
from ..data.formats import Row, Sentence, Source, read_rows
from ..data.settings import Data
from ..data.vocabulary import Vocabulary, cut, join
from ..errors import DataError
from ..forms import Form, Signature
from ..metrics import Ratio
from ..metrics.edits import symbol_error
from ..task import Task

Symbols = list[str]


class Pair(NamedTuple):
    """A source, a target, and every target that the file gives for this source."""

    source: Symbols
    target: Symbols
    references: tuple[Symbols, ...] = ()
    line: int = 0


class Translate(Task):
    """A sequence in, another out: a translation, a pronunciation, a transcription.

    Args:
        source_symbols: What a symbol of the source is.
        target_symbols: What a symbol of the target is.
        lowercase: Read sources without regard to case.
        alternatives: A row may hold further right answers after the first, tab-separated.
        at_least: How often a symbol must be seen in training not to be read as unknown.
    """

    form = Form.TRANSDUCE
    verb = "translate"
    roles = ("source", "target")
    headline = "sequence_error"

    def __init__(
        self,
        *,
        source_symbols: Literal["characters", "words"] = "words",
        target_symbols: Literal["characters", "words"] = "words",
        lowercase: bool = False,
        alternatives: bool = False,
        at_least: int = 1,
    ) -> None:
        self.source_unit, self.target_unit = source_symbols, target_symbols
        self.lowercase, self.alternatives, self.at_least = lowercase, alternatives, at_least
        self.source, self.target = Vocabulary(), Vocabulary()

    def open(self, path: Path, data: Data) -> Source:
        try:
            return read_rows(path, self.roles, data, more=self.alternatives)
        except DataError as error:
            if error.code != "D011" or self.alternatives:
                raise
            more = "--set task.alternatives=true   further fields are further right answers"
            raise error.with_help(more) from None

    def example(self, row: Row | Sentence) -> Pair:
        source, *targets = (str(field) for field in row.fields)
        references = tuple(cut(target, self.target_unit) for target in targets)
        return Pair(self._cut(source), references[0], references, row.line)

    def related(self, examples: list[Pair]) -> list[Pair]:
        """One pair for each right answer, each told all right answers of its source."""
        right: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
        for example in examples:
            known = right.setdefault(tuple(example.source), {})
            for target in example.references:
                known.setdefault(tuple(target), example.line)
        return [
            Pair(list(source), list(target), tuple(list(other) for other in targets), line)
            for source, targets in right.items()
            for target, line in targets.items()
        ]

    def distinct(self, examples: Sequence[Pair]) -> list[Pair]:
        """A source with several right answers is asked once."""
        first: dict[Hashable, Pair] = {}
        for example in examples:
            first.setdefault(self.key(example), example)
        return list(first.values())

    def question(self, text: str) -> Pair:
        return Pair(self._cut(text), [])

    def answered(self, question: Pair, answer: str) -> Pair:
        return question._replace(target=cut(answer, self.target_unit))

    def key(self, example: Pair) -> Hashable:
        return tuple(example.source)

    def length(self, example: Pair) -> int:
        return max(map(len, (example.source, example.target, *example.references)))

    def prepare(self, examples: Sequence[Pair]) -> None:
        self.source.learn((pair.source for pair in examples), self.at_least)
        self.target.learn((pair.target for pair in examples), self.at_least)

    def signature(self) -> Signature:
        return Signature(self.form, self.source.space, self.target.space)

    def read_symbols(self) -> Sequence[str]:
        return self.source.symbols

    def encode(self, example: Pair) -> Item:
        """The source with END after it, the target with END after it."""
        return Item(
            self.source.encode(example.source, end=True),
            self.target.encode(example.target, end=True),
        )

    def decode(self, row: Sequence[int]) -> str:
        return join(self.target.decode(row), self.target_unit)

    def judge(self, example: Pair, answer: str, nats: float) -> dict[str, Ratio]:
        guess = cut(answer, self.target_unit)
        references = example.references or (example.target,)
        return {
            "sequence_error": Ratio(guess not in references, 1),
            "symbol_error": symbol_error(guess, references),
            "loss": Ratio(nats, len(example.target) + 1),
        }

    def show(self, answer: str) -> str:
        return answer

    def shown_question(self, example: Pair) -> str:
        return join(example.source, self.source_unit)

    def symbols(self, example: Pair, answer: str) -> tuple[Symbols, Symbols]:
        return [*example.source, "</s>"], [*cut(answer, self.target_unit), "</s>"]

    def is_known(self, example: Pair) -> list[bool]:
        return self.source.knows(example.source)

    def _cut(self, text: str) -> Symbols:
        return cut(text.lower() if self.lowercase else text, self.source_unit)
