"""Give a whole text one label: tables with a text and a label column."""

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

from ..batch import Item
from ..data.formats import Row, Sentence
from ..data.vocabulary import LabelSet, Vocabulary, cut, join
from ..forms import Form, Signature
from ..metrics import Ratio
from ..task import Task


class Labelled(NamedTuple):
    """A text as symbols and its label."""

    symbols: list[str]
    label: str
    line: int = 0


class Classify(Task):
    """A text in, one label out.

    Args:
        symbols: What a symbol is.
        lowercase: Read texts without regard to case.
        at_least: How often a symbol must be seen in training not to be read as unknown.
    """

    form = Form.WHOLE
    verb = "classify"
    roles = ("text", "label")
    headline = "accuracy"

    def __init__(
        self,
        *,
        symbols: Literal["characters", "words"] = "words",
        lowercase: bool = True,
        at_least: int = 2,
    ) -> None:
        self.unit, self.lowercase, self.at_least = symbols, lowercase, at_least
        self.vocabulary, self.labels = Vocabulary(), LabelSet()

    def example(self, row: Row | Sentence) -> Labelled:
        text, label = (str(field) for field in row.fields)
        return Labelled(self._cut(text), label.strip(), row.line)

    def question(self, text: str) -> Labelled:
        return Labelled(self._cut(text), "")

    def answered(self, question: Labelled, answer: str) -> Labelled:
        return question._replace(label=answer)

    def key(self, example: Labelled) -> Hashable:
        return tuple(example.symbols)

    def length(self, example: Labelled) -> int:
        return len(example.symbols)

    def stratum(self, example: Labelled) -> str:
        return example.label

    def prepare(self, examples: Sequence[Labelled]) -> None:
        self.vocabulary.learn((example.symbols for example in examples), self.at_least)
        self.labels.learn(example.label for example in examples)

    def signature(self) -> Signature:
        return Signature(self.form, self.vocabulary.space, self.labels.space)

    def read_symbols(self) -> Sequence[str]:
        return self.vocabulary.symbols

    def encode(self, example: Labelled) -> Item:
        labels = [example.label] if example.label else []
        return Item(self.vocabulary.encode(example.symbols, end=True), self.labels.encode(labels))

    def decode(self, row: Sequence[int]) -> str:
        return self.labels.decode(row)[0]

    def judge(self, example: Labelled, answer: str, nats: float) -> dict[str, Ratio]:
        return {"accuracy": Ratio(answer == example.label, 1), "loss": Ratio(nats, 1)}

    def pairs(self, example: Labelled, answer: str) -> list[tuple[str, str]]:
        return [(example.label, answer)]

    def show(self, answer: str) -> str:
        return answer

    def shown_question(self, example: Labelled) -> str:
        return join(example.symbols, self.unit)

    def symbols(self, example: Labelled, answer: str) -> tuple[list[str], list[str]]:
        return [*example.symbols, "</s>"], [answer]

    def unknown_labels(self, examples: Sequence[Labelled]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for example in examples:
            for label in self.labels.unknown([example.label]):
                found.setdefault(label, []).append(example.line)
        return found

    def is_known(self, example: Labelled) -> list[bool]:
        return self.vocabulary.knows(example.symbols)

    def _cut(self, text: str) -> list[str]:
        return cut(text.lower() if self.lowercase else text, self.unit)
