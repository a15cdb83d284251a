"""Options that algorithmic problems share: length, digits, nesting, reversal."""

from collections.abc import Set
from dataclasses import dataclass, fields

from ...config import StepsOrZero
from ...errors import UsageError


@dataclass(frozen=True, kw_only=True)
class ProblemOptions:
    """Options of the questions of algorithmic problems.

    Args:
        length: Question length, T in the literature. Not for addition, dates and programs.
        digits: For addition and programs alone: maximum number of digits.
        nesting: For programs alone: depth of nested operations.
        reversed: For texts (addition, dates, programs, reversal): questions are read from right to
            left.
        doubled: For texts: questions are read twice, with a semicolon between; where they are
            reversed as well, the first time from right to left.
        scrambled: For programs alone: the characters of each question stand in any order, and the
            answer is kept; a control that shows what can be told from the characters alone.
    """

    length: StepsOrZero = 50
    digits: int = 3
    nesting: int = 1
    reversed: bool = False
    doubled: bool = False
    scrambled: bool = False

    def must_be_of(self, uses: Set[str]) -> None:
        """Refuse options that a problem does not have."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default and field.name not in uses:
                raise UsageError(
                    "U010",
                    f"[task] {field.name} = {str(value).lower()}: this problem has no such setting",
                    help=[f"it takes {', '.join(f.name for f in fields(self) if f.name in uses)}"],
                )

    def must_lie(self, name: str, least: int, most: int | None = None, why: str = "") -> None:
        """Refuse a number that is too small or too large."""
        value = getattr(self, name)
        if value < least:
            raise UsageError(
                "U010",
                f"[task] {name} = {value}: this problem needs at least {least}",
                help=[f"--set task.{name}={least} or more"],
            )
        if most is not None and value > most:
            raise UsageError(
                "U010",
                f"[task] {name} = {value}: this problem has room for at most {most}{why}",
                help=[f"--set task.{name}={most} or less"],
            )


DEFAULT_PROBLEM_OPTIONS = ProblemOptions()
