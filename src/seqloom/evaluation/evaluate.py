"""Evaluation of a model on a test set: negative log-likelihood and the task's metrics.

`predict` decodes examples without scoring them.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..batch import Item, Sequences, collate
from ..cancellation import check_cancelled
from ..data.loading.batching import batches_by_length
from ..data.loading.bptt import one_stream
from ..decoding import SamplingDecoder
from ..errors import ModelError
from ..metrics import METRICS, MetricValue, Tally, value_of
from ..model import BernoulliOutputs, Model, Prediction, Search, Stateful
from ..prediction import SEARCH_FORMS, EndReason, Hypothesis, SearchTree
from ..signature import Bits, Form, Series, Space, Vectors
from ..task import Task

SEQUENCES_AT_ONCE = 256
TOKENS_AT_ONCE = 4096  # of a continuous text
DIVERGED = 1e4  # nats per token or bit beyond which no model recovers


@dataclass(frozen=True)
class ExamplePrediction:
    """The prediction for one example, in terms of the task, with its natural log-probability.

    Args:
        value: the decoded target, such as a text or a list of labels.
        log_prob: its log-probability.
        score: after a search, the score that ranked it.
        ended: after a search or sampling, whether it has its end, or was cut at the limit.
        others: after a search, the rest of the n-best list.
        tree: after a search with `Search.tree`, all its candidates.
        probabilities: with `Search.probabilities`, those of all labels at each position.
    """

    value: Any
    log_prob: float
    score: float = math.nan
    ended: EndReason | None = None
    others: tuple["ExamplePrediction", ...] = ()
    tree: SearchTree | None = None
    probabilities: Float[np.ndarray, "position classes"] | None = None


@dataclass(frozen=True)
class Evaluation:
    """The predictions and the metrics of every example of a test set."""

    examples: list[Any]
    predictions: list[ExamplePrediction | None]
    tallies: dict[str, list[Tally]]  # by metric, the tally of every example
    seconds: float
    has_diverged: bool = False  # whether the losses are those of weights that diverged
    trained_on: tuple[int, ...] = ()  # positions of the examples that the run was trained on
    left_out: int = 0  # examples whose label is not in the training data

    def values(self) -> dict[str, float]:
        """Each metric over all examples, the headline first."""
        return {name: value_of(name, tallies) for name, tallies in self.tallies.items()}

    def num_infinite(self) -> int:
        """How many examples have an infinite loss: the model gives them the probability 0."""
        by_example = zip(*self.tallies.values(), strict=True)
        return sum(any(math.isinf(tally[0]) for tally in tallies) for tallies in by_example)

    def num_cut(self) -> int:
        """How many outputs were cut at the limit on their length."""
        return sum(one is not None and one.ended == "limit" for one in self.predictions)

    def with_intervals(self) -> dict[str, MetricValue]:
        """Each metric with its confidence interval."""
        return {name: METRICS[name].measure(tallies) for name, tallies in self.tallies.items()}


def evaluate(
    model: Model,
    task: Task,
    examples: Sequence[Any],
    search: Search,
    tell: Callable[[int], None] = lambda done: None,
) -> Evaluation:
    """The loss and the task's metrics; `tell` is called with the number of examples done."""
    search.validate_for(model.signature)
    began = time.perf_counter()
    examples = task.distinct(examples)
    items = [task.encode(example) for example in examples]
    predictions: list[ExamplePrediction | None] = [None] * len(examples)
    with model.inference_mode():
        if task.continuous:
            nats = _nats_in_order(require_stateful(model), items, tell)
        else:
            nats = _nats_by_length(model, task, examples, items, search, predictions, tell)
    scores = [
        task.score(example, prediction and prediction.value, loss)
        for example, prediction, loss in zip(examples, predictions, nats, strict=True)
    ]
    tallies = {name: [one[name] for one in scores] for name in (scores[0] if scores else {})}
    seconds = time.perf_counter() - began
    diverged = _has_diverged(nats, items, model.signature.target)
    return Evaluation(list(examples), predictions, tallies, seconds, diverged)


def evenly_spaced(task: Task, valid: Sequence[Any], most: int) -> list[Any]:
    """At most so many validation examples, evenly spaced, for evaluations during training.

    Files are often sorted, with the short lines first, so the first examples are no fair sample. A
    continuous text is read from its beginning, as each example continues the one before.
    """
    if task.continuous or len(valid) <= most:
        return list(valid[:most])
    return [valid[index * len(valid) // most] for index in range(most)]


def _has_diverged(nats: Sequence[float], items: Sequence[Item], target: Space) -> bool:
    """Whether a loss is not a number, or of discrete outputs beyond what a model recovers from.

    The loss of real numbers has no bound: a density is small where a series that was flat in
    training begins to move. An infinite loss is the probability 0 of what a model excludes.
    """
    if any(map(math.isnan, nats)):
        return True
    if isinstance(target, Vectors | Series):
        return False
    pairs = zip(nats, items, strict=True)
    return any(DIVERGED * max(1, np.size(item.target)) < loss < math.inf for loss, item in pairs)


def require_stateful(model: Model) -> Stateful:
    """The model as one that carries its state through a continuous text, or an error."""
    if not isinstance(model, Stateful):
        raise ModelError(
            "M126",
            f"{type(model).__name__} cannot read a continuous text",
            help=["--set task.layout=lines   each line is a sequence of its own"],
        )
    return model


def _nats_in_order(model: Stateful, items: list[Item], tell: Callable[[int], None]) -> list[float]:
    """The negative log-likelihood of each example of one continuous text."""
    if not items:
        return []
    ends = np.cumsum([len(item.target) for item in items])
    parts, done = [], 0
    state = model.begin(Sequences.pad([items[0].target[:0]]))
    for segment in one_stream(items, TOKENS_AT_ONCE):
        check_cancelled()
        log_probs, state = model.log_probs_from(segment, state)
        parts.append(np.asarray(log_probs, dtype=np.float64)[0])
        done += len(parts[-1])
        tell(int(np.searchsorted(ends, done, side="right")))
    return [float(-part.sum()) for part in np.split(np.concatenate(parts), ends[:-1])]


def _nats_by_length(  # noqa: PLR0913, PLR0917 - what it does is one step of `evaluate`
    model: Model,
    task: Task,
    examples: Sequence[Any],
    items: list[Item],
    search: Search,
    predictions: list[ExamplePrediction | None],
    tell: Callable[[int], None],
) -> list[float]:
    """The negative log-likelihood of each example; fills in predictions where there are any."""
    nats, done = [0.0] * len(items), 0
    for which in batches_by_length([len(item.source) for item in items], SEQUENCES_AT_ONCE):
        check_cancelled()
        batch = collate([items[i] for i in which])
        loss = -model.log_prob(batch)
        decoded = None
        if task.form is not Form.NEXT:
            prediction = model.predict(batch.source, search)
            decoded = _by_example(task, [examples[i] for i in which], prediction)
        elif isinstance(model.signature.target, Bits) and isinstance(model, BernoulliOutputs):
            decoded = _bit_predictions(model, task, [examples[i] for i in which], batch.source)
        for row, i in enumerate(which):
            nats[i] = float(loss[row])
            predictions[i] = decoded[row] if decoded else None
        done += len(which)
        tell(done)
    return nats


def predict(
    model: Model,
    task: Task,
    examples: Sequence[Any],
    how: Search | SamplingDecoder,
    tell: Callable[[int], None] = lambda done: None,
    tokens: int = 0,
) -> list[ExamplePrediction]:
    """Predictions by search or sampling, in the order of the examples.

    Examples of similar length share a batch, of at most `tokens` tokens with padding unless that is
    0.
    """
    how.validate_for(model.signature)
    inputs = [task.encode_source(example) for example in examples]
    by_index: dict[int, ExamplePrediction] = {}
    copies = how.count if isinstance(how, SamplingDecoder) else 1
    with model.inference_mode():
        lengths = [len(ids) for ids in inputs]
        for which in batches_by_length(lengths, max(1, SEQUENCES_AT_ONCE // copies), tokens):
            check_cancelled()
            source = Sequences.pad([inputs[i] for i in which])
            prediction = _decode(model, source, which, how)
            predictions = _by_example(task, [examples[i] for i in which], prediction)
            by_index.update(zip(which.tolist(), predictions, strict=True))
            tell(len(by_index))
    return [by_index[index] for index in range(len(examples))]


def _decode(
    model: Model,
    source: Sequences,
    numbers: Int[np.ndarray, " batch"],
    how: Search | SamplingDecoder,
) -> Prediction:
    """The prediction for sources with these numbers, on which sampling depends."""
    if isinstance(how, SamplingDecoder):
        return how.predict(model, source, numbers)
    return model.predict(source, how)


def _by_example(
    task: Task, examples: Sequence[Any], prediction: Prediction
) -> list[ExamplePrediction]:
    """The predictions of a batch in terms of the task."""
    if prediction.ranked:
        trees = prediction.trees or [None] * len(examples)
        several = zip(examples, prediction.ranked, trees, strict=True)
        return [_from_nbest(task, *one) for one in several]
    probabilities = _without_padding(prediction)
    rows: Sequence[Any] = prediction.forecasts or prediction.target.rows()
    log_probs = prediction.log_prob.tolist()
    return [
        ExamplePrediction(task.decode_for(example, row), log_prob, probabilities=probs)
        for example, row, log_prob, probs in zip(
            examples, rows, log_probs, probabilities, strict=True
        )
    ]


def _bit_predictions(
    model: BernoulliOutputs, task: Task, examples: Sequence[Any], source: Sequences
) -> list[ExamplePrediction]:
    """The prediction of every row of bits from the rows before it (teacher forcing)."""
    return [
        ExamplePrediction(
            task.decode_for(example, logits), float(logits.log_probs(logits.mode()).sum())
        )
        for example, logits in zip(examples, model.bit_logits(source), strict=True)
    ]


def _without_padding(prediction: Prediction) -> list[Any]:
    """The probabilities of each source, without padding; None where they were not requested."""
    lengths = prediction.target.lengths.tolist()
    if prediction.probabilities is None:
        return [None] * len(lengths)
    return [probs[:length] for probs, length in zip(prediction.probabilities, lengths, strict=True)]


def _from_nbest(
    task: Task, example: Any, ranked: Sequence[Hypothesis], tree: SearchTree | None
) -> ExamplePrediction:
    """The prediction for one source from its n-best list."""
    first, *others = (
        ExamplePrediction(
            task.decode_for(example, hypothesis.tokens.tolist()),
            hypothesis.log_prob,
            hypothesis.score,
            hypothesis.end_reason if task.form in SEARCH_FORMS else None,
        )
        for hypothesis in ranked
    )
    return replace(first, others=tuple(others), tree=tree)
