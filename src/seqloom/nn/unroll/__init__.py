"""Whole unrolls as one autograd function each: the quick twins of the cells.

No graph is kept per step. Forward, every step is one matrix product added to W x + b and a few
operations in place. Backward, whatever does not hang on the gradient is made for all steps at once,
the steps run from right to left, and the gradient of a weight is one product at the end.
The equation in the cell is the truth; tests hold these to it, forward and backward.
"""

from .elman import ElmanUnroll
from .gru import GRUUnroll
from .lstm import LSTMUnroll
from .minimal import MinimalUnroll, SumUnroll

__all__ = ["ElmanUnroll", "GRUUnroll", "LSTMUnroll", "MinimalUnroll", "SumUnroll"]
