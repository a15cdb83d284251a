"""By attention: where the model looked while it answered."""

import numpy as np
from jaxtyping import Float

from ...batch import Batch, Sequences
from ...errors import ModelError
from ...model import Search
from ...signature import Form
from ...trace import Record, watching
from .base import Probe, Told
from .options import How
from .question import Asked

CAUTION = (
    "attention is where the model looked, not what caused its answer (Jain & Wallace, 2019):"
    " compare with --by occlusion"
)

Weights = Float[np.ndarray, "blocks time place"]


def can(asked: Asked) -> bool:
    """Whether anything in the model looked."""
    return bool(_records(asked))


def find(asked: Asked, how: How) -> Told:
    """The weights of the last layer that looks, the mean of its heads.

    Rolled out, they are multiplied with (A + I) / 2 of each layer of self-attention below, A being
    the mean of its heads: what came in by the way around is counted as half.
    """
    records = _records(asked)
    last, below = records[-1], _layers(asked, records)
    looked = _mean(last)
    notes = [f"{last.path}, {_heads(last)}", CAUTION]
    if how.rollout:
        if not below:
            raise ModelError(
                "M342",
                "there are no layers of self-attention to follow down to what was read",
                help=["--by attention"],
            )
        looked = _rolled(looked, last, below)
        notes.insert(1, f"followed down through {len(below)} layers of self-attention")
    whole = assembled(looked, len(asked.read))
    if asked.form is Form.WHOLE:
        if len(whole) > 1:
            notes.insert(1, "the mean of all places: none of them alone gives the answer")
        whole = np.repeat(whole.mean(0, keepdims=True), len(asked.rows), axis=0)
    else:
        whole = whole[[row.place for row in asked.rows]]
    if asked.form in (Form.WHOLE, Form.EACH):
        notes.append("it is the same whichever answer is asked about")
    by = "attention rollout" if how.rollout else "attention"
    return Told(whole, by, tuple(notes), "share")


def _records(asked: Asked) -> list[Record]:
    """All looks of the model's own blocks, in the order of the computation."""
    model = asked.model
    source = Sequences.pad([asked.read])
    with watching(model) as trace:
        if asked.form is Form.NEXT:
            answer = Sequences.pad([asked.answer])
            model.log_prob(Batch(answer, answer))
        elif asked.form is Form.TRANSDUCE:
            model.log_prob(Batch(source, Sequences.pad([asked.answer])))
        else:
            model.predict(source, Search())
    known = set(trace.paths.values())
    found = [record for record in trace.of_kind("attention") if record.path in known]
    return found if found and _is_at_what_was_read(asked, found[-1]) else []


def _is_at_what_was_read(asked: Asked, record: Record) -> bool:
    """Whether the weights are of the symbols themselves, or of blocks of them."""
    *_, time, places = record.value.shape
    in_blocks = asked.form is Form.NEXT and len(record.value) > 1
    rows = {Form.WHOLE: {1, len(asked.read)}, Form.TRANSDUCE: {len(asked.answer)}}
    fits = places == len(asked.read) and time in rows.get(asked.form, {len(asked.read)})
    return bool(in_blocks or fits)


def _layers(asked: Asked, records: list[Record]) -> list[Record]:
    """Those of self-attention over what was read, the lowest first."""
    square = [r for r in records if r.value.ndim == 4 and r.value.shape[2] == r.value.shape[3]]
    if asked.form is Form.TRANSDUCE:
        return [record for record in square if record.path.startswith("encoder")]
    return square


def _mean(record: Record) -> Weights:
    value = record.value.astype(np.float64)
    return np.asarray(value.mean(1) if value.ndim == 4 else value)


def _heads(record: Record) -> str:
    heads = record.value.shape[1] if record.value.ndim == 4 else 1
    return f"the mean of its {heads} heads" if heads > 1 else "the last that looks"


def _rolled(looked: Weights, last: Record, below: list[Record]) -> Weights:
    """Where looks led in the end: a look from above, if there is one, and all layers below it."""
    time = below[0].value.shape[-1]
    rolled: np.ndarray = np.eye(time)[None]
    for layer in below:
        rolled = (_mean(layer) + np.eye(time)) / 2 @ rolled
    return rolled if last is below[-1] else np.asarray(looked @ rolled)


def assembled(looked: Weights, read: int) -> Float[np.ndarray, "rows read"]:
    """One matrix of a text that was read in blocks: of all but the first the second half counts."""
    if len(looked) == 1:
        return looked[0]
    half = looked.shape[-1] // 2
    whole = np.zeros(((len(looked) + 1) * half,) * 2)
    for number, block in enumerate(looked):
        first = half if number else 0
        start = number * half
        whole[start + first : start + 2 * half, start : start + 2 * half] = block[first:]
    return whole[:read, :read]


PROBE = Probe(can, find, "nothing in it looks at the symbols one by one")
