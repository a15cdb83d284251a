"""Memory problems: adding, copy, temporal order, parity, recall and reversal.

They test how far back a model remembers (Hochreiter & Schmidhuber, 1997).
"""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np

from ...errors import DataError
from ...metrics import Ratio
from ...signature import Form, Vectors
from .base import Drawn, Puzzle, SymbolPuzzle, TextPuzzle


class Adding(Puzzle):
    """The adding problem: add two marked numbers among many (Hochreiter & Schmidhuber, 1997).

    Each place has a value, even in [0, 1), and a mark: 1 at one place of the first half and at
    one of the second, else 0. The answer is the sum of the two marked values, as in Le et al.
    (2015). Who always says 1 has a mean squared error of 1/6.
    """

    form = Form.WHOLE
    primary_metric = "squared_error"
    shortest = 2

    def draw(self, rng: np.random.Generator, count: int) -> list[Drawn]:
        half, rows = self.length // 2, np.arange(count)
        questions = np.zeros((count, self.length, 2), dtype=np.float32)
        questions[..., 0] = rng.random((count, self.length), dtype=np.float32)
        questions[rows, rng.integers(0, half, count), 1] = 1
        questions[rows, rng.integers(half, self.length, count), 1] = 1
        sums = questions.astype(np.float64).prod(-1).sum(1, keepdims=True)
        return list(zip(questions, sums[:, None].astype(np.float32), strict=True))

    def spaces(self) -> tuple[Vectors, Vectors]:
        return Vectors(2), Vectors(1)

    def read(self, text: str) -> np.ndarray:
        pairs = [_pair(word) for word in text.split()]
        return np.array(pairs, dtype=np.float32).reshape(-1, 2)

    def target_tokens(self, question: np.ndarray) -> list[str]:
        return [f"{value!s}:{mark:g}" for value, mark in question]

    def decode(self, row: Sequence[Sequence[float]]) -> float:
        return float(row[0][0])

    def encode(self, answer: float | None) -> np.ndarray:
        return np.array([] if answer is None else [answer], dtype=np.float32).reshape(-1, 1)

    def show(self, answer: float) -> str:
        return f"{answer:.4f}"

    def score(self, right: float, answer: Any) -> dict[str, Ratio]:
        return {"squared_error": Ratio((answer - right) ** 2, 1)}


def _pair(word: str) -> tuple[float, float]:
    value, _, mark = word.partition(":")
    try:
        pair = float(value), float(mark)
    except ValueError:
        pair = np.nan, np.nan
    if not np.isfinite(pair).all():
        raise DataError(
            "D025",
            f"{word!r} is not a value and a mark",
            help=['write each place as value:mark, for example "0.3:0 0.7:1 0.2:1"'],
        )
    return pair


REMEMBERED = 10
BLANK, GO = "-", ">"
LETTERS = ("a", "b", "c", "d", "e", "f", "g", "h")


class Copying(SymbolPuzzle):
    """The copy problem: repeat ten tokens after a long pause (Hochreiter & Schmidhuber, 1997).

    As in Arjovsky et al. (2016): ten letters of eight, T - 1 blanks, a go, ten blanks, which are
    T + 20 places. The answer is a blank at each place up to the go, then the ten letters. Who
    remembers nothing has a loss of 10 log 8 / (T + 20).
    """

    form = Form.EACH
    primary_metric = "sequence_error"
    symbols = (*LETTERS, BLANK, GO)
    labels = (*LETTERS, BLANK)

    def draw(self, rng: np.random.Generator, count: int) -> list[Drawn]:
        letters = rng.integers(0, len(LETTERS), (count, REMEMBERED))
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

    def score(self, right: list[str], answer: list[str]) -> dict[str, Ratio]:
        """Scored where the ten tokens are due: blanks are easy, and most of it."""
        pairs = list(zip(right, answer, strict=True))
        wrong = sum(symbol != other for symbol, other in pairs[-REMEMBERED:])
        return {
            "sequence_error": Ratio(right != answer, 1),
            "symbol_error": Ratio(wrong, REMEMBERED),
        }


class Order(SymbolPuzzle):
    """Temporal order of two tokens (Hochreiter & Schmidhuber, 1997, experiment 6a).

    A sequence of T to 1.1 T places begins with E and ends with B. Between them are a, b, c and d
    at random, but for an X or a Y at a place from 0.1 T to 0.2 T, and another at one from 0.5 T
    to 0.6 T. The answer is XX, XY, YX or YY. Who guesses is right in one of four cases.
    """

    shortest = 10
    symbols = ("a", "b", "c", "d", "X", "Y", "E", "B")
    labels = ("XX", "XY", "YX", "YY")

    def draw(self, rng: np.random.Generator, count: int) -> list[Drawn]:
        tenth, rows = self.length // 10, np.arange(count)
        lengths = rng.integers(self.length, self.length + tenth, count, endpoint=True)
        noise = rng.integers(0, 4, (count, self.length + tenth))
        questions = self.numbers("a", "b", "c", "d")[noise]
        shown = rng.integers(0, 2, (count, 2))
        for number, first in enumerate((tenth, 5 * tenth)):
            places = rng.integers(first, first + tenth, count, endpoint=True)
            questions[rows, places] = self.numbers("X", "Y")[shown[:, number]]
        questions[:, 0], end = self.numbers("E", "B")
        questions[rows, lengths - 1] = end
        answers = 2 * shown[:, :1] + shown[:, 1:]
        return [(q[:n], a) for q, n, a in zip(questions, lengths, answers, strict=True)]


class Parity(SymbolPuzzle):
    """Parity: say whether the number of ones is odd (Minsky & Papert, 1969).

    A question has 1 to T bits, each number of them equally likely, then a full stop. One bit more
    or less turns the answer round, so nothing but all of them helps: who guesses is right in half
    of all cases, and so is who has missed a single bit.
    """

    symbols = ("0", "1", ".")
    labels = ("even", "odd")

    def draw(self, rng: np.random.Generator, count: int) -> list[Drawn]:
        lengths = rng.integers(1, self.length, count, endpoint=True)
        bits = rng.integers(0, 2, (count, self.length))
        bits *= np.arange(self.length) < lengths[:, None]
        questions = np.pad(self.numbers("0", "1")[bits], ((0, 0), (0, 1)))
        questions[np.arange(count), lengths] = self.numbers(".")
        answers = bits.sum(1, keepdims=True) % 2
        return [(q[: n + 1], a) for q, n, a in zip(questions, lengths, answers, strict=True)]


CUE = "?"


class Recall(SymbolPuzzle):
    """Recall: say the first of many tokens (after Hochreiter & Schmidhuber, 1997).

    A letter of eight, T further letters of the same eight to distract, and a question mark. The
    answer is the first letter. Who guesses is right in one of eight cases.
    """

    symbols = (*LETTERS, CUE)
    labels = LETTERS

    def draw(self, rng: np.random.Generator, count: int) -> list[Drawn]:
        letters = rng.integers(0, len(LETTERS), (count, self.length + 1))
        questions = np.pad(self.numbers(*LETTERS)[letters], ((0, 0), (0, 1)))
        questions[:, -1:] = self.numbers(CUE)
        return list(zip(questions, letters[:, :1], strict=True))


class Reversal(TextPuzzle):
    """Reversal: write a text from its end to its beginning.

    A question has 1 to T small letters, every number of them equally likely. The answer is the same
    letters in reverse. Whoever keeps all of it in one state needs room for T letters; whoever can
    look back needs only to count. Read in reverse, it is a test of copying.
    """

    uses = frozenset({"length", "reversed", "doubled"})
    characters = answers = ascii_lowercase

    def pair(self, rng: np.random.Generator) -> tuple[str, str]:
        length = rng.integers(1, self.length, endpoint=True)
        numbers = rng.integers(len(ascii_lowercase), size=length)
        text = "".join(ascii_lowercase[number] for number in numbers)
        return text, text[::-1]
