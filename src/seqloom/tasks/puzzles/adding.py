"""The adding problem."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import DataError
from ...forms import Form, Vectors
from ...metrics import Ratio
from .puzzle import Drawn, Puzzle


class Adding(Puzzle):
    """Add two numbers that are marked among many (Hochreiter & Schmidhuber, 1997).

    Each place has a value, even in [0, 1), and a mark: 1 at one place of the first half and at
    one of the second, else 0. The answer is the sum of the two marked values, as in Le et al.
    (2015). Who always says 1 has a mean squared error of 1/6.
    """

    form = Form.WHOLE
    headline = "squared_error"
    shortest = 2

    def draw(self, chance: np.random.Generator, count: int) -> list[Drawn]:
        half, rows = self.length // 2, np.arange(count)
        questions = np.zeros((count, self.length, 2), dtype=np.float32)
        questions[..., 0] = chance.random((count, self.length), dtype=np.float32)
        questions[rows, chance.integers(0, half, count), 1] = 1
        questions[rows, chance.integers(half, self.length, count), 1] = 1
        sums = questions.astype(np.float64).prod(-1).sum(1, keepdims=True)
        return list(zip(questions, sums[:, None].astype(np.float32), strict=True))

    def spaces(self) -> tuple[Vectors, Vectors]:
        return Vectors(2), Vectors(1)

    def read(self, text: str) -> np.ndarray:
        pairs = [_pair(word) for word in text.split()]
        return np.array(pairs, dtype=np.float32).reshape(-1, 2)

    def written(self, question: np.ndarray) -> list[str]:
        return [f"{value!s}:{mark:g}" for value, mark in question]

    def decode(self, row: Sequence[Sequence[float]]) -> float:
        return float(row[0][0])

    def encode(self, answer: float | None) -> np.ndarray:
        return np.array([] if answer is None else [answer], dtype=np.float32).reshape(-1, 1)

    def show(self, answer: float) -> str:
        return f"{answer:.4f}"

    def judge(self, right: float, answer: Any) -> dict[str, Ratio]:
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
