"""The delayed recall problem."""

import numpy as np

from .copying import LETTERS
from .puzzle import Drawn, SymbolPuzzle

CUE = "?"


class Recall(SymbolPuzzle):
    """Say the first of many symbols when asked for it (after Hochreiter & Schmidhuber, 1997).

    A letter of eight, T further letters of the same eight to distract, and a question mark. The
    answer is the first letter. Who guesses is right in one of eight cases.
    """

    symbols = (*LETTERS, CUE)
    labels = LETTERS

    def draw(self, chance: np.random.Generator, count: int) -> list[Drawn]:
        letters = chance.integers(0, len(LETTERS), (count, self.length + 1))
        questions = np.pad(self.numbers(*LETTERS)[letters], ((0, 0), (0, 1)))
        questions[:, -1:] = self.numbers(CUE)
        return list(zip(questions, letters[:, :1], strict=True))
