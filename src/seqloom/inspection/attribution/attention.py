"""Attribution by attention weights, and attention rollout (Abnar & Zuidema, 2020)."""

import numpy as np
from jaxtyping import Float

from ...batch import Batch, Sequences
from ...errors import ModelError
from ...model import Search
from ...signature import Form
from ...trace import TraceRecord, watch
from .base import AttributionMethod, Attributions
from .options import AttributionOptions
from .target import AttributionProblem

CAUTION = (
    "attention weights do not explain what caused a prediction (Jain & Wallace, 2019):"
    " compare with --by occlusion"
)

Weights = Float[np.ndarray, "blocks queries keys"]


def applies(problem: AttributionProblem) -> bool:
    """Whether anything in the model attends to the input tokens."""
    return bool(_records(problem))


def attribute(problem: AttributionProblem, how: AttributionOptions) -> Attributions:
    """The attention weights of the last layer, the mean over its heads.

    Rollout multiplies them with (A + I) / 2 of each layer of self-attention below, A being the mean
    over its heads: the residual connection counts as half.
    """
    records = _records(problem)
    last, below = records[-1], _self_attention(problem, records)
    weights = _mean_over_heads(last)
    notes = [f"{last.path}, {_heads(last)}", CAUTION]
    if how.rollout:
        if not below:
            raise ModelError(
                "M342",
                "there are no layers of self-attention for the rollout",
                help=["--by attention"],
            )
        weights = _rollout(weights, last, below)
        notes.insert(1, f"rollout through {len(below)} layers of self-attention")
    whole = join_blocks(weights, len(problem.inputs))
    if problem.form is Form.WHOLE:
        if len(whole) > 1:
            notes.insert(1, "the mean over all positions, since the label is of the whole")
        whole = np.repeat(whole.mean(0, keepdims=True), len(problem.parts), axis=0)
    else:
        whole = whole[[part.position for part in problem.parts]]
    if problem.form in (Form.WHOLE, Form.EACH):
        notes.append("it does not depend on the output that is explained")
    by = "attention rollout" if how.rollout else "attention"
    return Attributions(whole, by, tuple(notes), "share")


def _records(problem: AttributionProblem) -> list[TraceRecord]:
    """All attention weights of the model's own modules, in the order of the computation."""
    model = problem.model
    source = Sequences.pad([problem.inputs])
    with watch(model) as trace:
        if problem.form is Form.NEXT:
            output = Sequences.pad([problem.output])
            model.log_prob(Batch(output, output))
        elif problem.form is Form.TRANSDUCE:
            model.log_prob(Batch(source, Sequences.pad([problem.output])))
        else:
            model.predict(source, Search())
    known = set(trace.paths.values())
    records = [record for record in trace.of_kind("attention") if record.path in known]
    return records if records and _is_over_inputs(problem, records[-1]) else []


def _is_over_inputs(problem: AttributionProblem, record: TraceRecord) -> bool:
    """Whether the weights are over the input tokens themselves, or over blocks of them."""
    *_, queries, keys = record.value.shape
    in_blocks = problem.form is Form.NEXT and len(record.value) > 1
    allowed = {Form.WHOLE: {1, len(problem.inputs)}, Form.TRANSDUCE: {len(problem.output)}}
    fits = keys == len(problem.inputs) and queries in allowed.get(
        problem.form, {len(problem.inputs)}
    )
    return bool(in_blocks or fits)


def _self_attention(problem: AttributionProblem, records: list[TraceRecord]) -> list[TraceRecord]:
    """The layers of self-attention over the input, the lowest first."""
    square = [r for r in records if r.value.ndim == 4 and r.value.shape[2] == r.value.shape[3]]
    if problem.form is Form.TRANSDUCE:
        return [record for record in square if record.path.startswith("encoder")]
    return square


def _mean_over_heads(record: TraceRecord) -> Weights:
    value = record.value.astype(np.float64)
    return np.asarray(value.mean(1) if value.ndim == 4 else value)


def _heads(record: TraceRecord) -> str:
    heads = record.value.shape[1] if record.value.ndim == 4 else 1
    return f"the mean of its {heads} heads" if heads > 1 else "the last layer with attention"


def _rollout(weights: Weights, last: TraceRecord, below: list[TraceRecord]) -> Weights:
    """Attention rollout: the product of all layers of self-attention, below cross-attention."""
    time = below[0].value.shape[-1]
    product: np.ndarray = np.eye(time)[None]
    for layer in below:
        product = (_mean_over_heads(layer) + np.eye(time)) / 2 @ product
    return product if last is below[-1] else np.asarray(weights @ product)


def join_blocks(weights: Weights, length: int) -> Float[np.ndarray, "rows columns"]:
    """One matrix of a text that was read in blocks, which overlap by half.

    Of every block but the first the second half counts, whose tokens have more context.
    """
    if len(weights) == 1:
        return weights[0]
    half = weights.shape[-1] // 2
    whole = np.zeros(((len(weights) + 1) * half,) * 2)
    for number, block in enumerate(weights):
        first = half if number else 0
        start = number * half
        whole[start + first : start + 2 * half, start : start + 2 * half] = block[first:]
    return whole[:length, :length]


METHOD = AttributionMethod(applies, attribute, "nothing in it attends to the input tokens")
