"""The temporal order problem."""

import numpy as np

from .puzzle import Drawn, SymbolPuzzle


class Order(SymbolPuzzle):
    """Say in which order two symbols came (Hochreiter & Schmidhuber, 1997, experiment 6a).

    A sequence of T to 1.1 T places begins with E and ends with B. Between them are a, b, c and d
    by chance, but for an X or a Y at a place from 0.1 T to 0.2 T, and another at one from 0.5 T
    to 0.6 T. The answer is XX, XY, YX or YY. Who guesses is right in one of four cases.
    """

    shortest = 10
    symbols = ("a", "b", "c", "d", "X", "Y", "E", "B")
    labels = ("XX", "XY", "YX", "YY")

    def draw(self, chance: np.random.Generator, count: int) -> list[Drawn]:
        tenth, rows = self.length // 10, np.arange(count)
        lengths = chance.integers(self.length, self.length + tenth, count, endpoint=True)
        noise = chance.integers(0, 4, (count, self.length + tenth))
        questions = self.numbers("a", "b", "c", "d")[noise]
        shown = chance.integers(0, 2, (count, 2))
        for number, first in enumerate((tenth, 5 * tenth)):
            places = chance.integers(first, first + tenth, count, endpoint=True)
            questions[rows, places] = self.numbers("X", "Y")[shown[:, number]]
        questions[:, 0], end = self.numbers("E", "B")
        questions[rows, lengths - 1] = end
        answers = 2 * shown[:, :1] + shown[:, 1:]
        return [(q[:n], a) for q, n, a in zip(questions, lengths, answers, strict=True)]
