"""The constant error carousel."""

from ..unroll import unroll_minimal
from .cell import AllProducts, Cell, Mask, Outputs, Products, Recur, State

_ONLY = "it only adds up what comes in"


class Carousel(Cell):
    """The constant error carousel (Hochreiter, 1991): a linear unit that feeds itself by weight 1.

    h' = h + W x + b

    ∂h'/∂h is the identity: no gradient fades, and nothing is ever forgotten.
    """

    products = 1
    recurrent = 0
    refuses = {"zoneout": _ONLY, "recurrent_dropout": _ONLY, "start": "it has no matrix U"}

    def stretch(self) -> float:
        return 1.0

    def step(self, a: Products, state: State, recur: Recur) -> State:
        return (state[0] + a,)

    def unrolled(self, a: AllProducts, state: State, mask: Mask = None) -> Outputs:
        """A running sum."""
        outputs = unroll_minimal(a, state[0])
        return outputs, (outputs[:, -1],)
