"""A course that goes from easy examples to hard ones.

The batches of an epoch depend on the seed, the number of the epoch and the level alone, so a run
that was stopped takes up its place again from these numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

from ...batch import Item
from .batching import Batches

Curriculum = Literal["none", "naive", "mixed", "combined"]
Places = Int[np.ndarray, " _"]
MIXED_SHARE = 0.2  # of the examples of "combined": one in five, as in the authors' program


@dataclass(frozen=True)
class Plan:
    """How the levels follow one another: which curriculum, and over which share of training."""

    curriculum: Curriculum
    share: float


class Lessons(Batches):
    """Batches by level, as in "Learning to Execute" (Zaremba & Sutskever, 2014).

    A level is a set of examples; the last one is what is to be learned in the end.

    naive     the examples of one level, then those of the next; each for an equal time
    mixed     every example of a level that is drawn by chance, from the first day to the last
    combined  every fifth example, by chance, as in mixed, the others as in naive

    An epoch has as many examples as the last level has. Of one level none comes again before all
    have come once.
    """

    def __init__(  # noqa: PLR0913 - the first four are those of all batches
        self,
        items: Sequence[Item],
        size: int,
        tokens: int,
        seed: int,
        levels: Sequence[Places],
        plan: Plan,
    ) -> None:
        super().__init__(items, size, tokens, seed)
        self.levels, self.plan = list(levels), plan
        self.level = self.last if plan.curriculum == "mixed" else 0

    @property
    def last(self) -> int:
        """The level that is to be learned in the end."""
        return len(self.levels) - 1

    def rise(self, progress: float) -> bool:
        """Go up to the level that is due after this much of training; whether it is another."""
        due = min(self.last, int(len(self.levels) * progress / self.plan.share))
        before, self.level = self.level, max(self.level, due)
        if self.level != before:
            self._made = (-1, [])
        return self.level != before

    def restore(self, level: int) -> None:
        """Take up a level that was reached before."""
        self.level, self._made = max(self.level, min(level, self.last)), (-1, [])

    def _make(self, number: int) -> list[Places]:
        chance = np.random.default_rng([self.seed, number, self.level + 1])
        count = len(self.levels[-1])
        chosen = [self._some(level, n, chance) for level, n in self._shares(count, chance)]
        return self._arranged(np.concatenate(chosen), chance)

    def _shares(self, count: int, chance: np.random.Generator) -> list[tuple[int, int]]:
        """Which levels an epoch has examples of, and how many."""
        among = {"mixed": count, "combined": int(chance.binomial(count, MIXED_SHARE))}
        drawn = chance.integers(len(self.levels), size=among.get(self.plan.curriculum, 0))
        counts = np.bincount(drawn, minlength=len(self.levels))
        counts[self.level] += count - len(drawn)
        return [(level, int(n)) for level, n in enumerate(counts) if n]

    def _some(self, level: int, count: int, chance: np.random.Generator) -> Places:
        """So many examples of a level, none again before all have come once."""
        places = self.levels[level]
        rounds = [chance.permutation(places) for _ in range(-(-count // len(places)))]
        return np.concatenate(rounds)[:count]
