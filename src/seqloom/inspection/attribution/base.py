"""What every probe is: whom it can ask, and what it gives."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...views.attribution import Unit
from .options import How
from .question import Asked


@dataclass(frozen=True)
class Told:
    """What a probe found: numbers, in words how, and what must be known of them.

    The unit is left out where it is that of the answer: nats, or the numbers that were answered.
    """

    values: Float[np.ndarray, "rows read"]
    by: str
    notes: tuple[str, ...] = ()
    unit: Unit | None = None


@dataclass(frozen=True)
class Probe:
    """One way to find out what moved an answer; `needs` says in words what `can` asks for."""

    can: Callable[[Asked], bool]
    find: Callable[[Asked, How], Told]
    needs: str
