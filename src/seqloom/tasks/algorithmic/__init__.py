"""Algorithmic problems by the names recipes use."""

from typing import Literal

from .base import Puzzle
from .memory import Adding, Copying, Order, Parity, Recall, Reversal
from .options import DEFAULT_PROBLEM_OPTIONS, ProblemOptions
from .programs import Programs
from .text import Addition, Dates

PUZZLES: dict[str, type[Puzzle]] = {
    "adding": Adding,
    "addition": Addition,
    "copy": Copying,
    "dates": Dates,
    "order": Order,
    "parity": Parity,
    "programs": Programs,
    "recall": Recall,
    "reversal": Reversal,
}
PuzzleName = Literal[  # the same, for the option
    "adding", "addition", "copy", "dates", "order", "parity", "programs", "recall", "reversal"
]

__all__ = ["DEFAULT_PROBLEM_OPTIONS", "PUZZLES", "Puzzle", "PuzzleName", "ProblemOptions"]
