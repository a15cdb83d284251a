"""By occlusion: hide one symbol after another, and see what becomes of the answer."""

import numpy as np

from ...signature import UNKNOWN, Columns, Labels, Letters, Series, Space, Tokens, Vectors
from ...views.draw.text import visible
from .base import Probe, Told
from .options import How
from .question import Asked
from .scoring import Altered, measured


def find(asked: Asked, how: How) -> Told:
    """log p(answer | x) - log p(answer | x without x_s), for each symbol x_s that was read.

    Without it is with UNKNOWN in its place (Zeiler & Fergus, 2014; Li et al., 2016), or with the
    rest moved together. Each reading is computed in full: what is told is exact.
    """
    space = asked.model.signature.source
    leave_out = how.leave_out or isinstance(space, Labels)
    places = range(len(asked.read))
    if leave_out:
        altered = [Altered(np.delete(asked.read, place, axis=0), place) for place in places]
    else:
        altered = [Altered(hidden(asked.read, place, space)) for place in places]
    base, *others = measured(asked, [Altered(asked.read), *altered])
    values = (base - np.array(others)).T
    by = "occlusion, symbols left out" if leave_out else "occlusion"
    return Told(values, by, tuple(_notes(asked, altered, leave_out, values)))


def hidden(read: np.ndarray, place: int, space: Space) -> np.ndarray:
    """What is read with one place hidden: UNKNOWN there, with one unknown letter; of numbers, 0."""
    found: np.ndarray = read.copy()
    if isinstance(space, Vectors):
        found[place] = 0
    elif isinstance(space, Series):
        found[place, : space.width] = np.nan
    elif isinstance(space, Columns):
        found[place] = _unknown(space, read[place])
    else:
        found[place] = UNKNOWN
    return found


def _unknown(space: Columns, there: np.ndarray) -> np.ndarray:
    """All columns of a place hidden; those of labels stay, as no label stands for none."""
    columns, start = there.copy(), 0
    for part in space.parts:
        length = part.length if isinstance(part, Letters) else 1
        if isinstance(part, Tokens | Letters):
            columns[start] = UNKNOWN
            columns[start + 1 : start + length] = 0
        start += length
    return columns


def _notes(asked: Asked, altered: list[Altered], leave_out: bool, values: np.ndarray) -> list[str]:
    if leave_out:
        notes = ["each symbol in turn was left out, and the rest moved together"]
    elif isinstance(asked.model.signature.source, Vectors):
        notes = ["each place in turn was read as zeros"]
    elif isinstance(asked.model.signature.source, Series):
        notes = ["the numbers of each step in turn were read as missing"]
    else:
        notes = ["each symbol in turn was read as <unk>"]
        same = [
            symbol
            for symbol, one in zip(asked.symbols, altered, strict=True)
            if np.array_equal(one.read, asked.read)
        ]
        if same:
            listed = ", ".join(dict.fromkeys(map(visible, same)))
            notes.append(f"unknown to the model from the start, so nothing changed: {listed}")
    if np.isnan(values).any():
        notes.append("? where a place was left out that the answer itself is about")
    return notes


PROBE = Probe(lambda asked: True, find, "it can explain any model")
