"""Puzzles that are drawn by chance, with their answers, by the names recipes use."""

from typing import Literal

from .adding import Adding
from .addition import Addition
from .copying import Copying
from .dates import Dates
from .order import Order
from .parity import Parity
from .programs import Programs
from .puzzle import Puzzle
from .recall import Recall
from .reversal import Reversal
from .shape import PLAIN, Shape

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

__all__ = ["PLAIN", "PUZZLES", "Puzzle", "PuzzleName", "Shape"]
