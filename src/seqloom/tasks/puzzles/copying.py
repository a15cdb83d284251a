"""The copy memory problem."""

from collections.abc import Sequence

import numpy as np

from ...forms import Form
from ...metrics import Ratio
from .puzzle import Drawn, SymbolPuzzle

REMEMBERED = 10
BLANK, GO = "-", ">"
LETTERS = ("a", "b", "c", "d", "e", "f", "g", "h")


class Copying(SymbolPuzzle):
    """Say ten symbols again after a long pause (Hochreiter & Schmidhuber, 1997).

    As in Arjovsky et al. (2016): ten letters of eight, T - 1 blanks, a go, ten blanks, which are
    T + 20 places. The answer is a blank at each place up to the go, then the ten letters. Who
    remembers nothing has a loss of 10 log 8 / (T + 20).
    """

    form = Form.EACH
    headline = "sequence_error"
    symbols = (*LETTERS, BLANK, GO)
    labels = (*LETTERS, BLANK)

    def draw(self, chance: np.random.Generator, count: int) -> list[Drawn]:
        letters = chance.integers(0, len(LETTERS), (count, REMEMBERED))
        blank, go = self.numbers(BLANK, GO)
        questions = np.full((count, self.length + 2 * REMEMBERED), blank)
        questions[:, :REMEMBERED] = self.numbers(*LETTERS)[letters]
        questions[:, -REMEMBERED - 1] = go
        answers = np.full_like(questions, len(LETTERS))
        answers[:, -REMEMBERED:] = letters
        return list(zip(questions, answers, strict=True))

    def decode(self, row: Sequence[int]) -> list[str]:
        return self._labels.decode(row)

    def encode(self, answer: list[str] | None) -> np.ndarray:
        return self._labels.encode(answer or [])

    def show(self, answer: list[str]) -> str:
        return " ".join(answer)

    def places(self, answer: list[str]) -> list[str]:
        return answer

    def judge(self, right: list[str], answer: list[str]) -> dict[str, Ratio]:
        """Symbols are judged where ten are asked for: blanks are easy, and most of it."""
        pairs = list(zip(right, answer, strict=True))
        wrong = sum(symbol != other for symbol, other in pairs[-REMEMBERED:])
        return {
            "sequence_error": Ratio(right != answer, 1),
            "symbol_error": Ratio(wrong, REMEMBERED),
        }
