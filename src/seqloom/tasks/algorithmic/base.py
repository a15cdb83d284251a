"""Base of algorithmic problems: sampled, read from text, written as text, and scored."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...data.text.vocabulary import SPECIAL_TOKENS, LabelSet, Vocabulary
from ...metrics import Ratio
from ...metrics.edit_distance import token_error_rate
from ...signature import END, UNKNOWN, Form, Labels, Space, Tokens
from .options import ProblemOptions

Drawn = tuple[np.ndarray, np.ndarray]  # a question and its answer, as a model sees them


class Puzzle(ABC):
    """An algorithmic problem: random questions, each with one right answer."""

    form: ClassVar[Form]
    primary_metric: ClassVar[str]
    uses: ClassVar[frozenset[str]] = frozenset({"length"})  # the settings that mean something here
    shortest: ClassVar[int] = 1  # the least length that makes a question

    def __init__(self, shape: ProblemOptions) -> None:
        shape.must_be_of(self.uses)
        if "length" in self.uses:
            shape.must_lie("length", self.shortest)
        self.shape, self.length = shape, shape.length

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int) -> list[Drawn]:
        """That many random questions and answers."""

    @abstractmethod
    def spaces(self) -> tuple[Space, Space]:
        """The spaces of questions and answers."""

    @abstractmethod
    def read(self, text: str) -> np.ndarray:
        """A question as a user types it."""

    @abstractmethod
    def target_tokens(self, question: np.ndarray) -> list[str]:
        """The tokens of a question, as a user would type them."""

    @abstractmethod
    def decode(self, row: Sequence[Any]) -> Any:
        """An answer as a user understands it."""

    @abstractmethod
    def encode(self, answer: Any) -> np.ndarray:
        """An answer as a model sees it; None is the answer to a question that was typed."""

    @abstractmethod
    def show(self, answer: Any) -> str:
        """An answer in one line."""

    @abstractmethod
    def score(self, right: Any, answer: Any) -> dict[str, Ratio]:
        """The metrics of an answer, the primary one first."""

    def confusion_pairs(self, right: Any, answer: Any) -> list[tuple[str, str]]:
        """True and predicted labels, position by position; none where answers are no labels."""
        return []

    def shown(self, question: np.ndarray) -> str:
        """A question in one line, as a user would type it."""
        return " ".join(self.target_tokens(question))

    def places(self, answer: Any) -> list[str]:
        """The tokens of an answer, for a picture."""
        return [self.show(answer)]

    def key(self, question: np.ndarray) -> Hashable:
        """What makes two questions the same."""
        return question.tobytes()

    def knows(self, question: np.ndarray) -> list[bool]:
        """For each token of a question, whether it is in the vocabulary."""
        return [True] * len(question)

    def easier(self) -> list["Puzzle"]:
        """The levels below this one, from the easiest up; none where length alone tells them."""
        return []


class SymbolPuzzle(Puzzle, ABC):
    """A problem whose questions are tokens, separated by spaces, and whose answer is a label."""

    symbols: ClassVar[tuple[str, ...]]
    labels: ClassVar[tuple[str, ...]]
    form = Form.WHOLE
    primary_metric = "accuracy"

    def __init__(self, shape: ProblemOptions) -> None:
        super().__init__(shape)
        self._symbols, self._labels = Vocabulary(), LabelSet()
        self._symbols.restore([*SPECIAL_TOKENS, *self.symbols])
        self._labels.restore(dict.fromkeys(self.labels, 0))

    def spaces(self) -> tuple[Tokens, Labels]:
        return self._symbols.space, self._labels.space

    def read(self, text: str) -> np.ndarray:
        return self._symbols.encode(text.split())

    def target_tokens(self, question: np.ndarray) -> list[str]:
        return [self._symbols.tokens[number] for number in question]

    def decode(self, row: Sequence[int]) -> Any:
        return self._labels.decode(row)[0]

    def encode(self, answer: Any) -> np.ndarray:
        return self._labels.encode([] if answer is None else [answer])

    def show(self, answer: Any) -> str:
        return str(answer)

    def score(self, right: Any, answer: Any) -> dict[str, Ratio]:
        return {"accuracy": Ratio(answer == right, 1)}

    def confusion_pairs(self, right: Any, answer: Any) -> list[tuple[str, str]]:
        return list(zip(self.places(right), self.places(answer), strict=True))

    def knows(self, question: np.ndarray) -> list[bool]:
        return [number != UNKNOWN for number in question.tolist()]

    def numbers(self, *symbols: str) -> np.ndarray:
        """Token ids of the given tokens."""
        return self._symbols.encode(symbols)


TWICE = ";"  # between a question and itself


class TextPuzzle(Puzzle, ABC):
    """A problem whose questions and answers are texts, character by character, END after each."""

    characters: ClassVar[str]  # of questions
    answers: ClassVar[str]  # the characters of answers
    form = Form.TRANSDUCE
    primary_metric = "sequence_error"

    def __init__(self, shape: ProblemOptions) -> None:
        super().__init__(shape)
        self._symbols, self._answers = Vocabulary(), Vocabulary()
        self._symbols.restore([*SPECIAL_TOKENS, *self.characters, TWICE])
        self._answers.restore([*SPECIAL_TOKENS, *self.answers])

    @abstractmethod
    def pair(self, rng: np.random.Generator) -> tuple[str, str]:
        """A question and its answer."""

    def draw(self, rng: np.random.Generator, count: int) -> list[Drawn]:
        pairs = (self.pair(rng) for _ in range(count))
        return [(self.read(question), self.encode(answer)) for question, answer in pairs]

    def spaces(self) -> tuple[Tokens, Tokens]:
        return self._symbols.space, self._answers.space

    def read(self, text: str) -> np.ndarray:
        """The text in the order in which it is read: plain, reversed, doubled or both."""
        first = text[::-1] if self.shape.reversed else text
        return self._symbols.encode(first + TWICE + text if self.shape.doubled else first, end=True)

    def target_tokens(self, question: np.ndarray) -> list[str]:
        return [self._symbols.tokens[number] for number in question]

    def shown(self, question: np.ndarray) -> str:
        """The text as it was before it was reversed or doubled."""
        written = self.target_tokens(question[:-1])
        if self.shape.doubled:
            return "".join(written[len(written) // 2 + 1 :])
        return "".join(written[::-1] if self.shape.reversed else written)

    def decode(self, row: Sequence[int]) -> str:
        return "".join(self._answers.decode(row))

    def encode(self, answer: str | None) -> np.ndarray:
        return self._answers.encode(answer or "", end=True)

    def show(self, answer: str) -> str:
        return answer

    def places(self, answer: str) -> list[str]:
        return [*answer, SPECIAL_TOKENS[END]]

    def score(self, right: str, answer: str) -> dict[str, Ratio]:
        return {
            "sequence_error": Ratio(answer != right, 1),
            "symbol_error": token_error_rate(answer, [right]),
            "exact_match": Ratio(answer == right, 1),
        }

    def knows(self, question: np.ndarray) -> list[bool]:
        return [number != UNKNOWN for number in question.tolist()]
