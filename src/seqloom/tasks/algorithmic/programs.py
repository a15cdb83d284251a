"""Learning to Execute (Zaremba & Sutskever, 2014): predict what short programs print."""

from collections.abc import Callable
from dataclasses import replace
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np

from .base import Puzzle, TextPuzzle
from .options import ProblemOptions
from .text import DIGITS, MOST_DIGITS

LOOP = "x"  # what loops count with
NAMES = ascii_lowercase.replace(LOOP, "")
TYPED = "\\n"  # how a user types a line break


class ProgramFragment(NamedTuple):
    """Lines to be executed first, then an expression, and the value it has."""

    lines: tuple[str, ...]
    text: str
    value: int


class Programs(TextPuzzle):
    r"""Say what a program prints (Zaremba & Sutskever, 2014, "Learning to Execute").

    N operations, N being the nesting, each with the result of the last one as an operand at any
    place of it: + and -, * with a small number, an assignment, a loop that adds or subtracts,
    an if-else. The other operands are even in [1, 10^D), D being the digits (the paper's length);
    small numbers, and how often a loop runs, are even in [1, 4 D], so that one pass of reading
    can be enough. The last line prints. The programs are Python:

        j=8584
        for x in range(8):j+=920
        b=(1500+j)
        print((b+7567))

    A line break is typed as \n. The answer ends with END where the paper has a full stop.
    """

    uses = frozenset({"digits", "nesting", "reversed", "doubled", "scrambled"})
    characters = DIGITS + ascii_lowercase + "+-*=<>():" + " \n"
    answers = DIGITS + "-"

    def __init__(self, shape: ProblemOptions) -> None:
        super().__init__(shape)
        shape.must_lie("digits", 1, MOST_DIGITS, " digits in a number")
        shape.must_lie("nesting", 1, len(NAMES), ", a letter for each variable")

    def pair(self, rng: np.random.Generator) -> tuple[str, str]:
        made = ProgramFragment((), *self._number(rng))
        names = iter([NAMES[place] for place in rng.permutation(len(NAMES))])
        for _ in range(self.shape.nesting):
            operation = OPERATIONS[rng.integers(len(OPERATIONS))]
            numbers = [
                made,
                *(ProgramFragment((), *self._number(rng)) for _ in range(operation.others)),
            ]
            operands = [numbers[place] for place in rng.permutation(len(numbers))]
            small = int(rng.integers(1, 4 * self.shape.digits, endpoint=True))
            step = operation.make(operands, small, bool(rng.integers(2)), next(names))
            made = step._replace(lines=made.lines + step.lines)
        text = "\n".join([*made.lines, f"print({made.text})"])
        if self.shape.scrambled:
            text = "".join(text[place] for place in rng.permutation(len(text)))
        return text, str(made.value)

    def read(self, text: str) -> np.ndarray:
        return super().read(text.replace(TYPED, "\n"))

    def shown(self, question: np.ndarray) -> str:
        return super().shown(question).replace("\n", TYPED)

    def easier(self) -> list[Puzzle]:
        """Digits grow first; then nesting, with one digit again."""
        deep, long = self.shape.nesting, self.shape.digits
        levels = [(n, d) for n in range(1, deep + 1) for d in range(1, long + 1)]
        return [Programs(replace(self.shape, nesting=n, digits=d)) for n, d in levels[:-1]]

    def _number(self, rng: np.random.Generator) -> tuple[str, int]:
        value = int(rng.integers(1, 10**self.shape.digits))
        return str(value), value


Make = Callable[
    [list[ProgramFragment], int, bool, str], ProgramFragment
]  # operands, a small number, a coin, a name


class Operation(NamedTuple):
    """A way to make a longer piece of shorter ones: the operands beside the first, and how."""

    others: int
    make: Make


def _sum(operands: list[ProgramFragment], small: int, plus: bool, name: str) -> ProgramFragment:
    one, other = operands
    return ProgramFragment(
        (), f"({one.text}{_sign(plus)}{other.text})", _added(one, other.value, plus)
    )


def _product(
    operands: list[ProgramFragment], small: int, first: bool, name: str
) -> ProgramFragment:
    (one,) = operands
    text = f"({small}*{one.text})" if first else f"({one.text}*{small})"
    return ProgramFragment((), text, small * one.value)


def _assignment(
    operands: list[ProgramFragment], small: int, plus: bool, name: str
) -> ProgramFragment:
    one, other = operands
    text = f"({name}{_sign(plus)}{other.text})"
    return ProgramFragment((f"{name}={one.text}",), text, _added(one, other.value, plus))


def _loop(operands: list[ProgramFragment], small: int, plus: bool, name: str) -> ProgramFragment:
    one, other = operands
    repeated = f"for {LOOP} in range({small}):{name}{_sign(plus)}={other.text}"
    return ProgramFragment(
        (f"{name}={one.text}", repeated), name, _added(one, small * other.value, plus)
    )


def _choice(operands: list[ProgramFragment], small: int, less: bool, name: str) -> ProgramFragment:
    left, right, one, other = operands
    is_so = left.value < right.value if less else left.value > right.value
    text = f"({one.text} if {left.text}{'<' if less else '>'}{right.text} else {other.text})"
    return ProgramFragment((), text, one.value if is_so else other.value)


def _sign(plus: bool) -> str:
    return "+" if plus else "-"


def _added(one: ProgramFragment, value: int, plus: bool) -> int:
    return one.value + value if plus else one.value - value


OPERATIONS = (  # + and - are one, as likely as each of the others
    Operation(1, _sum),
    Operation(0, _product),
    Operation(1, _assignment),
    Operation(1, _loop),
    Operation(3, _choice),
)
