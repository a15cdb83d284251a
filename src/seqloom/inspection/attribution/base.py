"""What an attribution method is: where it applies, how it attributes, and what it returns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...views.attribution import Unit
from .options import AttributionOptions
from .target import AttributionProblem


@dataclass(frozen=True)
class Attributions:
    """The attribution of each output part to each input token, positive where it speaks for it.

    Args:
        values: the attributions; not a number where there is none.
        by: the name of the method, with its variant.
        notes: what must be known to read them.
        unit: their unit; None is that of the output: nats, or the real number that is predicted.
    """

    values: Float[np.ndarray, "parts inputs"]
    by: str
    notes: tuple[str, ...] = ()
    unit: Unit | None = None


@dataclass(frozen=True)
class AttributionMethod:
    """One attribution method; `requires` says why it does not apply to a model, for an error."""

    applies: Callable[[AttributionProblem], bool]
    attribute: Callable[[AttributionProblem, AttributionOptions], Attributions]
    requires: str
