"""Recurrent cells by the names recipes use: a new cell adds a file, and its name here."""

from typing import Literal

from .base import Cell, State
from .elman import ContextRNN, Elman
from .gru import GRU, GRUSimple
from .lstm import LSTM, ConstantErrorCarousel, LSTMPeephole, LSTMSimple
from .minimal import MinGRU, MinLSTM

CELLS: dict[str, type[Cell]] = {
    "elman": Elman,
    "context": ContextRNN,
    "carousel": ConstantErrorCarousel,
    "lstm-simple": LSTMSimple,
    "lstm": LSTM,
    "lstm-peephole": LSTMPeephole,
    "gru-simple": GRUSimple,
    "gru": GRU,
    "mingru": MinGRU,
    "minlstm": MinLSTM,
}
CellName = Literal[  # the same names, for the options of models
    "elman",
    "context",
    "carousel",
    "lstm-simple",
    "lstm",
    "lstm-peephole",
    "gru-simple",
    "gru",
    "mingru",
    "minlstm",
]

__all__ = ["CELLS", "Cell", "CellName", "State"]
