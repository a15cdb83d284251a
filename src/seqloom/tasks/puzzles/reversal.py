"""Reversal of a text."""

from string import ascii_lowercase

import numpy as np

from .puzzle import TextPuzzle


class Reversal(TextPuzzle):
    """Say a text from its end to its beginning.

    A question has 1 to T small letters, every number of them equally likely. The answer is the same
    letters in reverse. Whoever keeps all of it in one state needs room for T letters; whoever can
    look back needs only to count. Read in reverse, it is a test of copying.
    """

    uses = frozenset({"length", "reversed", "doubled"})
    characters = answers = ascii_lowercase

    def pair(self, chance: np.random.Generator) -> tuple[str, str]:
        length = chance.integers(1, self.length, endpoint=True)
        numbers = chance.integers(len(ascii_lowercase), size=length)
        text = "".join(ascii_lowercase[number] for number in numbers)
        return text, text[::-1]
