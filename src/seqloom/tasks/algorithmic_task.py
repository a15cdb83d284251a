"""Synthetic algorithmic problems: random examples that need no file."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..batch import Item
from ..config import Seed
from ..data.codec import Lengths
from ..data.formats import Row, Sentence
from ..errors import UsageError
from ..metrics import Ratio
from ..signature import Signature, Tokens, Vectors
from ..task import Baseline, BaselineRule, Generated, Task
from .algorithmic import DEFAULT_PROBLEM_OPTIONS, PUZZLES, ProblemOptions, Puzzle, PuzzleName

PARTS = ("train", "valid", "test")


class Solved(NamedTuple):
    """A question and its answer, as a model sees them, and the number of it in its part."""

    question: np.ndarray
    answer: np.ndarray
    line: int = 0


class Algorithms(Task):
    """Algorithmic problems: synthetic examples that test memory and computation.

    adding    the sum of two marked numbers among many       "0.3:0 0.7:1 0.2:1 0.5:0"
    addition  the sum of two numbers, as it is written       "12+345"
    copy      ten tokens again after T blanks                "a b c - - - > - - -"
    dates     a date as ISO 8601 has it                      "Sat, May 3rd, 1997"
    order     which two of X and Y came, and in which order  "E a X d b Y c B"
    parity    whether the number of ones is odd              "1 0 1 1 ."
    programs  what a program prints                          "j=85\\nprint((j+920))"
    recall    the first token, after T others                "c a h b ?"
    reversal  a text from its end to its beginning           "loom"

    The text on the right is how a question is typed. The same settings give the same examples on
    every machine. Addition and programs have levels, by digits and nesting, for a curriculum.

    Args:
        problem: The problem.
        shape: How its questions are made.
        examples: Number of training examples.
        valid_examples: Number of validation examples.
        test_examples: Number of test examples.
        seed: Random seed of the examples.
    """

    verb = "predict"
    roles = ()

    def __init__(
        self,
        *,
        problem: PuzzleName = "adding",
        shape: ProblemOptions = DEFAULT_PROBLEM_OPTIONS,
        examples: int = 20000,
        valid_examples: int = 1000,
        test_examples: int = 1000,
        seed: Seed = 1,
    ) -> None:
        self.puzzle = PUZZLES[problem](shape)
        self.form, self.primary_metric, self.variety = (
            self.puzzle.form,
            self.puzzle.primary_metric,
            problem,
        )
        self.sizes = dict(zip(PARTS, (examples, valid_examples, test_examples), strict=True))
        self.seed, self.lengths = seed, Lengths()
        if examples < 1 or min(self.sizes.values()) < 0 or seed < 0:
            raise UsageError("U010", "[task] examples must be at least 1, other numbers at least 0")

    @classmethod
    def varieties(cls) -> list[Task]:
        return [cls(problem=name) for name in PUZZLES]  # type: ignore[arg-type]

    def generator(self) -> Generated:
        settings = {"problem": self.variety, "seed": self.seed}
        settings |= {name: getattr(self.puzzle.shape, name) for name in sorted(self.puzzle.uses)}
        names = ("examples", "valid_examples", "test_examples")
        settings |= dict(zip(names, self.sizes.values(), strict=True))
        known = {name: str(value) for name, value in settings.items()}
        return Generated(known, lambda part: self._draw(part, self.puzzle), self._easier)

    def _easier(self) -> list[list[Solved]]:
        """As many examples of each easier level as there are for training."""
        levels = self.puzzle.easier()
        return [self._draw("train", puzzle, level) for level, puzzle in enumerate(levels, start=1)]

    def _draw(self, part: str, puzzle: Puzzle, *level: int) -> list[Solved]:
        """The examples of a split; each split and level has its own random stream."""
        seeds = np.random.SeedSequence([self.seed, PARTS.index(part), *level])
        drawn = puzzle.draw(np.random.Generator(np.random.PCG64(seeds)), self.sizes[part])
        return [Solved(*pair, line) for line, pair in enumerate(drawn, start=1)]

    def example(self, row: Row | Sentence) -> Solved:
        raise TypeError("examples are drawn, not read")

    def question(self, text: str) -> Solved:
        return Solved(self.puzzle.read(text), self.puzzle.encode(None))

    def with_target(self, question: Solved, answer: Any) -> Solved:
        return question._replace(answer=self.puzzle.encode(answer))

    def key(self, example: Solved) -> Hashable:
        return self.puzzle.key(example.question)

    def length(self, example: Solved) -> int:
        return max(len(example.question), len(example.answer))

    def prepare(self, examples: Sequence[Solved]) -> None:
        """A problem has a fixed vocabulary."""
        self.lengths.target = max((len(example.answer) for example in examples), default=0)

    def signature(self) -> Signature:
        source, target = self.puzzle.spaces()
        if isinstance(target, Tokens):
            target = replace(target, longest=self.lengths.target)
        return Signature(self.form, source, target)

    def encode(self, example: Solved) -> Item:
        return Item(example.question, example.answer)

    def decode(self, row: Sequence[Any]) -> Any:
        return self.puzzle.decode(row)

    def baseline(self) -> Baseline:
        if isinstance(self.puzzle.spaces()[1], Vectors):
            return Baseline("mean of all answers", rule=self._mean_answer)
        return super().baseline()

    def _mean_answer(self, train: Sequence[Solved]) -> BaselineRule:
        mean = self.puzzle.decode(np.mean([example.answer for example in train], axis=0).tolist())
        return lambda example: (mean, math.nan)

    def score(self, example: Solved, answer: Any, nats: float) -> dict[str, Ratio]:
        right = self.puzzle.decode(example.answer.tolist())
        return self.puzzle.score(right, answer) | {"loss": Ratio(nats, len(example.answer))}

    def confusion_pairs(self, example: Solved, answer: Any) -> list[tuple[str, str]]:
        return self.puzzle.confusion_pairs(self.reference(example), answer)

    def show(self, answer: Any) -> str:
        return self.puzzle.show(answer)

    def show_question(self, example: Solved) -> str:
        return self.puzzle.shown(example.question)

    def show_tokens(self, example: Solved, answer: Any) -> tuple[list[str], list[str]]:
        return self.puzzle.target_tokens(example.question), self.puzzle.places(answer)

    def is_known(self, example: Solved) -> list[bool]:
        return self.puzzle.knows(example.question)
