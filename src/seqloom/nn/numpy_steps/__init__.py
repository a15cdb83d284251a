"""Single steps of RNNs and Transformers in NumPy: the fast path of streaming and decoding.

A call of torch costs more than the arithmetic of one step at batch size 1. These classes work on
the same weights, laid out once, and give what the reference steps in torch give; tests compare
them.
"""

from .recurrence import NumpyRNN
from .transformer import NumpyTransformer, NumpyTransformerDecoder

__all__ = ["NumpyRNN", "NumpyTransformer", "NumpyTransformerDecoder"]
