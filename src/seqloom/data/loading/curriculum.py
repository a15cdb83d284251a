"""Curriculum learning (Bengio et al., 2009): from easy examples to hard ones.

The batches of an epoch depend on the seed, the epoch number and the level alone, so that a run that
was stopped resumes from these three numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

from ...batch import Item
from .batching import BucketLoader, digest_of

CurriculumName = Literal["none", "naive", "mixed", "combined"]
Indices = Int[np.ndarray, " _"]
MIXED_FRACTION = 0.2  # of the examples of "combined", as in the authors' program


@dataclass(frozen=True)
class CurriculumSchedule:
    """Schedule of a curriculum: its strategy, and the fraction of training until the last level."""

    curriculum: CurriculumName
    fraction: float


class CurriculumLoader(BucketLoader):
    """Data loader for curriculum learning by levels (Zaremba & Sutskever, 2014).

    A level is a set of examples of one difficulty; the last level is the real training set.

    naive     one level after the other, each for an equal fraction of training
    mixed     each example from a level sampled at random, from the beginning to the end
    combined  one example in five as in mixed, the others as in naive

    An epoch has as many examples as the last level. Within a level, no example is repeated before
    all have been used once.
    """

    def __init__(  # noqa: PLR0913 - the first four are those of BucketLoader
        self,
        items: Sequence[Item],
        batch_size: int,
        max_tokens: int,
        seed: int,
        levels: Sequence[Indices],
        schedule: CurriculumSchedule,
    ) -> None:
        super().__init__(items, batch_size, max_tokens, seed)
        self.levels, self.schedule = list(levels), schedule
        self.level = self.last_level if schedule.curriculum == "mixed" else 0

    @property
    def last_level(self) -> int:
        """The index of the last level, which is the real training set."""
        return len(self.levels) - 1

    def advance(self, progress: float) -> bool:
        """Move to the level that is due at this fraction of training; whether the level changed."""
        due = min(self.last_level, int(len(self.levels) * progress / self.schedule.fraction))
        before, self.level = self.level, max(self.level, due)
        if self.level != before:
            self._cached = (-1, [])
        return self.level != before

    def digest(self) -> str:
        """A digest of the lengths, levels and options that determine the batches."""
        name = np.frombuffer(self.schedule.curriculum.encode(), np.uint8)
        base = np.frombuffer(super().digest().encode(), np.uint8)
        return digest_of(base, name, *self.levels)

    def restore(self, level: int) -> None:
        """Resume at a level."""
        self.level, self._cached = max(self.level, min(level, self.last_level)), (-1, [])

    def _shuffled(self, number: int) -> list[Indices]:
        # NumPy pads seeds with zeros: without + 1, level 0 would have the stream of [seed, number].
        rng = np.random.default_rng([self.seed, number, self.level + 1])
        count = len(self.levels[-1])
        chosen = [self._sample(level, n, rng) for level, n in self._counts(count, rng)]
        return self._bucketed(np.concatenate(chosen), rng)

    def _counts(self, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """The number of examples that an epoch has of each level; levels without any left out."""
        mixed = {"mixed": count, "combined": int(rng.binomial(count, MIXED_FRACTION))}
        sampled = rng.integers(len(self.levels), size=mixed.get(self.schedule.curriculum, 0))
        counts = np.bincount(sampled, minlength=len(self.levels))
        counts[self.level] += count - len(sampled)
        return [(level, int(n)) for level, n in enumerate(counts) if n]

    def _sample(self, level: int, count: int, rng: np.random.Generator) -> Indices:
        """Random examples of a level, none twice before all were sampled once."""
        indices = self.levels[level]
        rounds = [rng.permutation(indices) for _ in range(-(-count // len(indices)))]
        return np.concatenate(rounds)[:count]
