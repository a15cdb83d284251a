"""Judge a model on examples, the same way whatever the model."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..batch import Item, Sequences, collate
from ..data.loading.batching import in_order_of_length
from ..data.loading.bptt import one_stream
from ..decoding import Draws
from ..errors import ModelError
from ..metrics import METRICS, Measured, Ratio, Tally, measure, value_of
from ..model import Carries, Expects, Model, Prediction, Search
from ..prediction import Hypothesis, Tree
from ..signature import Bits, Form
from ..task import Task

SEQUENCES_AT_ONCE = 256
SYMBOLS_AT_ONCE = 4096  # of a continuous text
ABSURD = 1e4  # nats per symbol that no model gives that can still learn


@dataclass(frozen=True)
class Answer:
    """What a model says to an example, and the natural log-probability it gives that.

    Where it searched there is the score that ranked it, the next best answers, if they were asked
    for, and the tree of all that was looked at. Where it did not, there are the chances of all
    labels at each place, if they were asked for.
    """

    value: Any
    log_prob: float
    score: float = math.nan
    others: tuple["Answer", ...] = ()
    tree: Tree | None = None
    chances: Float[np.ndarray, "place classes"] | None = None


@dataclass(frozen=True)
class Evaluation:
    """How every example was judged."""

    examples: list[Any]
    answers: list[Answer | None]
    tallies: dict[str, list[Tally]]  # of each metric, what every example adds
    seconds: float

    def values(self) -> dict[str, float]:
        """Each metric over all examples, the most telling first."""
        return {name: value_of(name, found) for name, found in self.tallies.items()}

    def is_sound(self) -> bool:
        """Whether no number is beyond all reason: weights that ran away surprise without bound."""
        found = [tally for tallies in self.tallies.values() for tally in tallies]
        ratios = [tally for tally in found if isinstance(tally, Ratio)]
        return all(ratio.top <= ABSURD * max(ratio.bottom, 1) for ratio in ratios)

    def impossible(self) -> int:
        """How many examples the model thinks cannot be: their surprise is without bound."""
        judged = zip(*self.tallies.values(), strict=True)
        return sum(any(math.isinf(tally[0]) for tally in tallies) for tallies in judged)

    def measured(self) -> dict[str, Measured]:
        """Each metric with its bootstrap interval."""
        return {name: measure(found, METRICS[name].value) for name, found in self.tallies.items()}


def evaluate(
    model: Model,
    task: Task,
    examples: Sequence[Any],
    search: Search,
    tell: Callable[[int], None] = lambda done: None,
) -> Evaluation:
    """Surprise and the task's own metrics; `tell` hears how many examples are done."""
    search.must_fit(model.signature)
    began = time.perf_counter()
    examples = task.distinct(examples)
    items = [task.encode(example) for example in examples]
    answers: list[Answer | None] = [None] * len(examples)
    with model.at_rest():
        if task.continuous:
            nats = _nats_in_order(carrying(model), items, tell)
        else:
            nats = _nats_by_length(model, task, examples, items, search, answers, tell)
    judged = [
        task.judge(example, answer and answer.value, surprise)
        for example, answer, surprise in zip(examples, answers, nats, strict=True)
    ]
    tallies = {name: [one[name] for one in judged] for name in (judged[0] if judged else {})}
    return Evaluation(list(examples), answers, tallies, time.perf_counter() - began)


def spread(task: Task, valid: Sequence[Any], most: int) -> list[Any]:
    """What an evaluation during training looks at, where there is more than that.

    Files are often sorted, and their first lines the short ones, so examples are taken from all
    over, evenly. A continuous text is read from its beginning: its examples go on from the last.
    """
    if task.continuous or len(valid) <= most:
        return list(valid[:most])
    return [valid[place * len(valid) // most] for place in range(most)]


def carrying(model: Model) -> Carries:
    """The model as one that can read a continuous text."""
    if not isinstance(model, Carries):
        raise ModelError(
            "M126",
            f"{type(model).__name__} cannot read a continuous text",
            help=["--set task.layout=lines   each line is a sequence of its own"],
        )
    return model


def _nats_in_order(model: Carries, items: list[Item], tell: Callable[[int], None]) -> list[float]:
    """How much each example surprises a reader of one long text."""
    if not items:
        return []
    ends = np.cumsum([len(item.target) for item in items])
    found, done = [], 0
    state = model.begin(Sequences.pad([items[0].target[:0]]))
    for window in one_stream(items, SYMBOLS_AT_ONCE):
        log_probs, state = model.log_probs_from(window, state)
        found.append(np.asarray(log_probs, dtype=np.float64)[0])
        done += len(found[-1])
        tell(int(np.searchsorted(ends, done, side="right")))
    return [float(-part.sum()) for part in np.split(np.concatenate(found), ends[:-1])]


def _nats_by_length(  # noqa: PLR0913, PLR0917 - what it does is one step of `evaluate`
    model: Model,
    task: Task,
    examples: Sequence[Any],
    items: list[Item],
    search: Search,
    answers: list[Answer | None],
    tell: Callable[[int], None],
) -> list[float]:
    """How much each example surprises the model; the answers are filled in where there are any."""
    nats, done = [0.0] * len(items), 0
    for which in in_order_of_length([len(item.source) for item in items], SEQUENCES_AT_ONCE):
        batch = collate([items[i] for i in which])
        surprise = -model.log_prob(batch)
        found = None
        if task.form is not Form.NEXT:
            said = model.predict(batch.source, search)
            found = _answers(task, [examples[i] for i in which], said)
        elif isinstance(model.signature.target, Bits) and isinstance(model, Expects):
            found = _expected(model, task, [examples[i] for i in which], batch.source)
        for place, i in enumerate(which):
            nats[i] = float(surprise[place])
            answers[i] = found[place] if found else None
        done += len(which)
        tell(done)
    return nats


def predict(
    model: Model,
    task: Task,
    examples: Sequence[Any],
    how: Search | Draws,
    tell: Callable[[int], None] = lambda done: None,
    tokens: int = 0,
) -> list[Answer]:
    """The model's answers, searched for or drawn, in the order of the examples.

    Those of similar length are asked together: at most `tokens` symbols of them with their padding,
    where that is not 0.
    """
    how.must_fit(model.signature)
    asked = [task.ask(example) for example in examples]
    found: dict[int, Answer] = {}
    copies = how.count if isinstance(how, Draws) else 1
    with model.at_rest():
        lengths = [len(ids) for ids in asked]
        for which in in_order_of_length(lengths, max(1, SEQUENCES_AT_ONCE // copies), tokens):
            source = Sequences.pad([asked[i] for i in which])
            said = _said(model, source, which, how)
            answers = _answers(task, [examples[i] for i in which], said)
            found.update(zip(which.tolist(), answers, strict=True))
            tell(len(found))
    return [found[place] for place in range(len(examples))]


def _said(
    model: Model, source: Sequences, numbers: Int[np.ndarray, " batch"], how: Search | Draws
) -> Prediction:
    """What the model answers to sources that have these numbers."""
    if isinstance(how, Draws):
        return how.predict(model, source, numbers)
    return model.predict(source, how)


def _answers(task: Task, examples: Sequence[Any], prediction: Prediction) -> list[Answer]:
    if prediction.ranked:
        trees = prediction.trees or [None] * len(examples)
        several = zip(examples, prediction.ranked, trees, strict=True)
        return [_best(task, *found) for found in several]
    chances = _rows_of_chances(prediction)
    rows: Sequence[Any] = prediction.foreseen or prediction.target.rows()
    log_probs = prediction.log_prob.tolist()
    return [
        Answer(task.answer_to(example, row), log_prob, chances=known)
        for example, row, log_prob, known in zip(examples, rows, log_probs, chances, strict=True)
    ]


def _expected(
    model: Expects, task: Task, examples: Sequence[Any], source: Sequences
) -> list[Answer]:
    """What was expected of every row of bits from those before it, and how likely that is."""
    return [
        Answer(task.answer_to(example, odds), float(odds.log_probs(odds.likelier()).sum()))
        for example, odds in zip(examples, model.odds(source), strict=True)
    ]


def _rows_of_chances(prediction: Prediction) -> list[Any]:
    """The chances at the real places of each source; None where nobody asked for them."""
    lengths = prediction.target.lengths.tolist()
    if prediction.chances is None:
        return [None] * len(lengths)
    return [found[:length] for found, length in zip(prediction.chances, lengths, strict=True)]


def _best(task: Task, example: Any, ranked: Sequence[Hypothesis], tree: Tree | None) -> Answer:
    """What was found for one source."""
    first, *others = (
        Answer(task.answer_to(example, found.symbols.tolist()), found.log_prob, found.score)
        for found in ranked
    )
    return replace(first, others=tuple(others), tree=tree)
