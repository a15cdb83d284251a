"""Fast unrolls of recurrent cells: one autograd function for all time steps of a sequence.

No autograd graph is kept per step. Forward, every step is one matrix product added to W x + b and
a few operations in place. Backward (backpropagation through time), the steps run in reverse, and
the gradient of a weight is one product at the end. The reference implementation is the equation in
the cell; tests hold these unrolls to it, forward and backward.

Each unroll exists twice: in torch operations (`autograd*`), for all dtypes, sizes and options, and
compiled by Numba (`compiled`, `numba/`), for what training mostly is: many steps of several
sequences in float32. `dispatch` chooses.
"""

from .dispatch import unroll_elman, unroll_gru, unroll_lstm, unroll_minimal, use_compiled

__all__ = ["unroll_elman", "unroll_gru", "unroll_lstm", "unroll_minimal", "use_compiled"]
