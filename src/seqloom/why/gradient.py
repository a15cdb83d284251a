"""By gradient: how steeply the answer follows the vectors of the symbols that were read."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..forms import Form
from ..model import Differentiates
from .asking import Asked
from .how import How
from .probe import Probe, Told

SYMBOLS_AT_ONCE = 8192
FEWEST, MOST = 16, 256  # places on the way at which slopes are taken
EXACT = 0.01  # the share of the difference that may be missing

Slopes = tuple[Float[np.ndarray, " rows"], Float[np.ndarray, "rows read"]]


def can(asked: Asked) -> bool:
    """Whether the model makes a vector of each symbol and can be differentiated there."""
    return isinstance(asked.model, Differentiates) and asked.model.door() is not None


def find(asked: Asked, how: How) -> Told:
    """Σ_d x_d ∂log p(answer)/∂x_d of the vector x of each symbol, with all its columns.

    Integrated it is x · ∫ ∂log p/∂(αx) dα from α = 0 to 1, by Gauss-Legendre: summed over all
    symbols, that is log p(answer | x) - log p(answer | all vectors 0).
    """
    if not how.integrated:
        note = "slope times vector: exact for small changes only, a guess for large ones"
        return Told(slopes(asked, 1.0)[1], "gradient", (note,))
    whole, nothing = slopes(asked, 1.0)[0], slopes(asked, 0.0)[0]
    count = FEWEST
    while True:
        values = _integrated(asked, count)
        missing = abs(values.sum(1) - (whole - nothing)).max()
        if missing <= EXACT * max(1.0, abs(whole - nothing).max()) or count >= MOST:
            break
        count *= 2
    reached = ", ".join(f"{total:+.2f}" for total in values.sum(1)[:3])
    true = ", ".join(f"{total:+.2f}" for total in (whole - nothing)[:3])
    notes = (
        f"from all vectors 0 to these, in {count} steps",
        f"they sum to {reached}; the difference is {true}",
    )
    return Told(values, "integrated gradient", notes)


def _integrated(asked: Asked, count: int) -> Float[np.ndarray, "rows read"]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return np.sum(
        [
            weight / 2 * slopes(asked, (1 + node) / 2)[1]
            for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True)
        ],
        axis=0,
    )


def slopes(asked: Asked, share: float) -> Slopes:
    """What is asked for where all vectors are multiplied by a share, and how it follows them."""
    if asked.form in (Form.NEXT, Form.TRANSDUCE):
        return _of_symbols(asked, share)
    rows = asked.rows
    target = np.array([[row.value or 0] for row in rows])
    if asked.is_real:
        target = np.zeros((len(rows), 1, 1), dtype=np.float32)
    places = np.array([row.place for row in rows])
    pieces = []
    for some in _pieces(len(rows), len(asked.read)):
        source = Sequences.pad([asked.read] * len(places[some]))
        lengths = np.ones(len(source), dtype=np.int64)
        pieces.append(_slopes(asked, source, Sequences(target[some], lengths), share, places[some]))
    return _joined(pieces)


def _of_symbols(asked: Asked, share: float) -> Slopes:
    """log p(y_t | y_<t, x) = log p(y_≤t | x) - log p(y_<t | x), and so are its slopes."""
    answers = [[*asked.answer[: row.place], row.value] for row in asked.rows]
    before = [list(asked.answer[: row.place]) for row in asked.rows]
    value, slope = _of_beginnings(asked, answers, share)
    known = [place for place, beginning in enumerate(before) if beginning]
    if known:
        less, other = _of_beginnings(asked, [before[place] for place in known], share)
        value[known] -= less
        slope[known] -= other
    return value, slope


def _of_beginnings(asked: Asked, answers: Sequence[Sequence[int]], share: float) -> Slopes:
    pieces = []
    for some in _pieces(len(answers), max(len(asked.read), len(asked.answer))):
        target = Sequences.pad([np.array(answer, dtype=np.int64) for answer in answers[some]])
        source = target
        if asked.form is Form.TRANSDUCE:
            source = Sequences.pad([asked.read] * len(target))
        pieces.append(_slopes(asked, source, target, share))
    return _joined(pieces)


def _slopes(
    asked: Asked,
    source: Sequences,
    target: Sequences,
    share: float,
    places: np.ndarray | None = None,
) -> Slopes:
    model = cast(Differentiates, asked.model)  # as `can` has seen
    value, slope = model.slopes(Batch(source, target), places, share=share)
    all_read = np.zeros((len(slope), len(asked.read)))
    all_read[:, : slope.shape[1]] = slope
    return np.array(value, dtype=np.float64), all_read


def _pieces(count: int, length: int) -> list[slice]:
    size = max(1, SYMBOLS_AT_ONCE // max(1, length))
    return [slice(start, start + size) for start in range(0, count, size)]


def _joined(pieces: Sequence[Slopes]) -> Slopes:
    values, found = zip(*pieces, strict=True)
    return np.concatenate(values), np.concatenate(found)


PROBE = Probe(can, find, "it makes no vectors of symbols, of which slopes could be taken")
