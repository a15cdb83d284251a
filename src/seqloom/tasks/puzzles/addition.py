"""Addition of written numbers."""

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from .puzzle import Puzzle, TextPuzzle
from .shape import Shape

DIGITS = "0123456789"
MOST_DIGITS = 18  # chance draws numbers of 64 bits


class Addition(TextPuzzle):
    """Add two numbers, digit by digit as they are written (after Zaremba & Sutskever, 2014).

    Each number has 1 to D digits, every number of digits equally likely, and no zero in front of
    it. "12+345" and "345+12" are the same question where parts are kept apart. Read in reverse,
    the first digits of a number, with which the answer begins, are read last.
    """

    uses = frozenset({"digits", "reversed", "doubled"})
    characters = DIGITS + "+"
    answers = DIGITS

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        shape.must_lie("digits", 1, MOST_DIGITS, " digits in a number")

    def pair(self, chance: np.random.Generator) -> tuple[str, str]:
        digits = chance.integers(1, self.shape.digits, 2, endpoint=True)
        one, other = (int(chance.integers(10**n)) for n in digits)
        return f"{one}+{other}", str(one + other)

    def key(self, question: np.ndarray) -> Hashable:
        return tuple(sorted(self.shown(question).split("+")))

    def easier(self) -> list[Puzzle]:
        fewer = range(1, self.shape.digits)
        return [Addition(replace(self.shape, digits=digits)) for digits in fewer]
