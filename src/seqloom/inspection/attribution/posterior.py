"""By the posterior: what each place says of the others, in a model that is a chain."""

from typing import cast

import numpy as np

from ...batch import Sequences
from ...model import WeighsEvidence
from .base import Probe, Told
from .options import How
from .question import Asked
from .scoring import SEQUENCES_AT_ONCE


def can(asked: Asked) -> bool:
    """Whether the model can read a place as if nothing stood there."""
    return isinstance(asked.model, WeighsEvidence)


def find(asked: Asked, how: How) -> Told:
    """log p(z_t | x) - log p(z_t | x without x_s), by forward and backward sums.

    Unlike occlusion by UNKNOWN nothing stands in the place: every symbol could be there.
    """
    time = len(asked.read)
    heard = np.concatenate([np.ones((1, time), dtype=bool), ~np.eye(time, dtype=bool)])
    found = np.concatenate([_told(asked, some) for some in np.array_split(heard, _pieces(time))])
    values = (found[0] - found[1:]).T
    note = "of each symbol in turn the evidence was taken away: the place could have held any"
    return Told(values, "posterior", (note,))


def _pieces(time: int) -> int:
    return -(-(time + 1) // SEQUENCES_AT_ONCE)


def _told(asked: Asked, heard: np.ndarray) -> np.ndarray:
    """The log of each chance that is asked for, with what is heard."""
    model = cast(WeighsEvidence, asked.model)  # as `can` has seen
    chances = model.posteriors(Sequences.pad([asked.read] * len(heard)), heard)
    places, labels = zip(*((row.place, row.value) for row in asked.rows), strict=True)
    there = np.asarray(chances, dtype=np.float64)[:, list(places), list(labels)]
    return np.asarray(np.log(np.maximum(there, np.finfo(np.float64).tiny)))


PROBE = Probe(can, find, "it is no chain whose evidence could be taken away place by place")
