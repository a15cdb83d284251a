"""What every puzzle can do: be drawn by chance, read from text, written as text, and judged."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...data.vocabulary import SPECIAL, LabelSet, Vocabulary
from ...errors import UsageError
from ...forms import UNKNOWN, Form, Labels, Space, Tokens
from ...metrics import Ratio

Drawn = tuple[np.ndarray, np.ndarray]  # a question and its answer, as a model sees them


class Puzzle(ABC):
    """Questions that follow from chance and a length alone, each with its only right answer."""

    form: ClassVar[Form]
    headline: ClassVar[str]
    shortest: ClassVar[int] = 1  # the least length that makes a question

    def __init__(self, length: int) -> None:
        if length < self.shortest:
            raise UsageError(
                "U010",
                f"[task] length = {length}: this problem needs at least {self.shortest}",
                help=[f"--set task.length={self.shortest} or more"],
            )
        self.length = length

    @abstractmethod
    def draw(self, chance: np.random.Generator, count: int) -> list[Drawn]:
        """So many questions and answers."""

    @abstractmethod
    def spaces(self) -> tuple[Space, Space]:
        """Where questions and answers lie."""

    @abstractmethod
    def read(self, text: str) -> np.ndarray:
        """A question as a user types it."""

    @abstractmethod
    def written(self, question: np.ndarray) -> list[str]:
        """The places of a question, as a user would type them."""

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
    def judge(self, right: Any, answer: Any) -> dict[str, Ratio]:
        """How good an answer is; the headline first."""

    def knows(self, question: np.ndarray) -> list[bool]:
        """For each place of a question, whether it is one that the puzzle has."""
        return [True] * len(question)


class SymbolPuzzle(Puzzle, ABC):
    """A puzzle whose questions are symbols, parted by spaces, and whose answer is a label."""

    symbols: ClassVar[tuple[str, ...]]
    labels: ClassVar[tuple[str, ...]]
    form = Form.WHOLE
    headline = "accuracy"

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self._symbols, self._labels = Vocabulary(), LabelSet()
        self._symbols.restore([*SPECIAL, *self.symbols])
        self._labels.restore([*self.labels])

    def spaces(self) -> tuple[Tokens, Labels]:
        return self._symbols.space, self._labels.space

    def read(self, text: str) -> np.ndarray:
        return self._symbols.encode(text.split())

    def written(self, question: np.ndarray) -> list[str]:
        return [self._symbols.symbols[number] for number in question]

    def decode(self, row: Sequence[int]) -> Any:
        return self._labels.decode(row)[0]

    def encode(self, answer: Any) -> np.ndarray:
        return self._labels.encode([] if answer is None else [answer])

    def show(self, answer: Any) -> str:
        return str(answer)

    def judge(self, right: Any, answer: Any) -> dict[str, Ratio]:
        return {"accuracy": Ratio(answer == right, 1)}

    def knows(self, question: np.ndarray) -> list[bool]:
        return [number != UNKNOWN for number in question.tolist()]

    def numbers(self, *symbols: str) -> np.ndarray:
        """Symbols as a model sees them, to choose from."""
        return self._symbols.encode(symbols)
