"""Recurrent cells, by the names recipes use: a new cell adds a file and a line here."""

from typing import Literal

from .cell import Cell, State
from .elman import Elman
from .gru import GRU
from .lstm import LSTM

CELLS: dict[str, type[Cell]] = {"elman": Elman, "lstm": LSTM, "gru": GRU}
CellName = Literal["elman", "lstm", "gru"]  # the same names, for the options of models

__all__ = ["CELLS", "GRU", "LSTM", "Cell", "CellName", "Elman", "State"]
