"""Puzzles that test memory, by the names recipes use: drawn by chance, with their answers."""

from typing import Literal

from .adding import Adding
from .copying import Copying
from .order import Order
from .parity import Parity
from .puzzle import Puzzle
from .recall import Recall

PUZZLES: dict[str, type[Puzzle]] = {
    "adding": Adding,
    "copy": Copying,
    "order": Order,
    "parity": Parity,
    "recall": Recall,
}
PuzzleName = Literal["adding", "copy", "order", "parity", "recall"]  # the same, for the option

__all__ = ["PUZZLES", "Puzzle", "PuzzleName"]
