"""Single steps of recurrences and of Transformers in NumPy: twins without torch's cost.

A call of torch costs more than the arithmetic of one step at batch 1. The twins work on the same
weights, arranged once, and give what the readable steps give; tests compare them.
"""

from .recurrence import QuickRecurrence
from .transformer import QuickDecoder, QuickStack

__all__ = ["QuickDecoder", "QuickRecurrence", "QuickStack"]
