"""Whole unrolls as one autograd function each: the quick twins of the cells.

No graph is kept per step. Forward, every step is one matrix product added to W x + b and a few
operations in place. Backward, the steps run from right to left, and the gradient of a weight is one
product at the end. The equation in the cell is the truth; tests hold these to it, forward and
backward.

Each unroll stands here twice: its steps written in torch, for all numbers and options, and
compiled, for what training mostly is: many steps of several sequences in float32.
"""

from .dispatch import compiled_pays, unroll_elman, unroll_gru, unroll_lstm, unroll_minimal

__all__ = ["compiled_pays", "unroll_elman", "unroll_gru", "unroll_lstm", "unroll_minimal"]
