"""The parity problem."""

import numpy as np

from .puzzle import Drawn, SymbolPuzzle


class Parity(SymbolPuzzle):
    """Say whether the number of ones is odd (Minsky & Papert, 1969).

    A question has 1 to T bits, each number of them equally likely, then a full stop. One bit more
    or less turns the answer round, so nothing but all of them helps: who guesses is right in half
    of all cases, and so is who has missed a single bit.
    """

    symbols = ("0", "1", ".")
    labels = ("even", "odd")

    def draw(self, chance: np.random.Generator, count: int) -> list[Drawn]:
        lengths = chance.integers(1, self.length, count, endpoint=True)
        bits = chance.integers(0, 2, (count, self.length))
        bits *= np.arange(self.length) < lengths[:, None]
        questions = np.pad(self.numbers("0", "1")[bits], ((0, 0), (0, 1)))
        questions[np.arange(count), lengths] = self.numbers(".")
        answers = bits.sum(1, keepdims=True) % 2
        return [(q[: n + 1], a) for q, n, a in zip(questions, lengths, answers, strict=True)]
