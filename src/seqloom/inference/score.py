"""Scoring texts with a language model: log-probability, perplexity and surprisal by token."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Ids, Sequences, collate
from ..cancellation import check_cancelled
from ..data.loading.batching import batches_by_length
from ..errors import DataError
from ..model import Generator, Model, Stateful
from ..signature import BEGIN
from ..task import Task

AT_ONCE = 64  # batch size; small, since the log-probabilities of a large vocabulary need memory


@dataclass(frozen=True)
class Score:
    """The log-probability of a text: log p(y) = Σ_t log p(y_t | y_<t), the end token included."""

    text: str
    tokens: list[str]
    log_probs: Float[np.ndarray, " time"]  # natural, one for each token
    unknown: list[str]  # tokens that are not in the vocabulary, scored as <unk>

    @property
    def log_prob(self) -> float:
        """The natural log-probability of the text."""
        return float(self.log_probs.sum())

    @property
    def bits(self) -> float:
        """The surprisal of the text in bits: -log2 p."""
        return -self.log_prob / log(2)

    @property
    def bits_per_token(self) -> float:
        """The mean surprisal of a token in bits."""
        return self.bits / max(1, len(self.tokens))

    @property
    def perplexity(self) -> float:
        """Perplexity: exp of the mean negative log-probability of a token."""
        nats = -self.log_prob / max(1, len(self.tokens))
        return exp(nats) if nats < 700 else inf

    def surprisal(self) -> list[tuple[str, float]]:
        """Each token with its surprisal in bits: -log2 p(y_t | y_<t)."""
        bits = (-self.log_probs / log(2)).tolist()
        return list(zip(self.tokens, bits, strict=True))


def score(model: Model, task: Task, texts: Sequence[str]) -> list[Score]:
    """The score of each text."""
    return _scores(model, task, texts, [task.question(text) for text in texts])


def score_of(model: Model, task: Task, example: Any) -> Score:
    """The score of one example."""
    return _scores(model, task, [task.show_question(example)], [example])[0]


def _scores(model: Model, task: Task, texts: Sequence[str], examples: Sequence[Any]) -> list[Score]:
    items = [task.encode(example) for example in examples]
    for number, item in enumerate(items, start=1):
        if not len(item.target):  # only a continuous text has no end token
            raise DataError("D023", f"sentence {number} is empty", help=["leave it out"])
    found: dict[int, Float[np.ndarray, " _"]] = {}
    for which in batches_by_length([len(item.target) for item in items], AT_ONCE):
        batch = collate([items[i] for i in which])
        with model.inference_mode():
            log_probs = token_log_probs(model, batch)
        for i, row, length in zip(which.tolist(), log_probs, batch.target.lengths, strict=True):
            found[i] = row[:length]
    return [
        Score(text, _names(task, example, item.target), found[i], task.unknown_tokens(example))
        for i, (text, example, item) in enumerate(zip(texts, examples, items, strict=True))
    ]


def token_log_probs(model: Model, batch: Batch) -> Float[np.ndarray, "batch time"]:
    """The log-probability of every target token under a language model; 0 for padding."""
    if isinstance(model, Stateful):
        window = Batch(batch.target.shift_right(BEGIN), batch.target)
        log_probs, _ = model.log_probs_from(window, model.begin(window.source))
        return np.asarray(log_probs, dtype=np.float64)
    if isinstance(model, Generator):
        return _by_steps(model, batch.target)
    raise TypeError(f"{type(model).__name__} is no language model")


def _by_steps(model: Generator, target: Sequences) -> Float[np.ndarray, "batch time"]:
    state, rows = model.begin(target), np.arange(len(target))
    read: np.ndarray = target.shift_right(BEGIN).values
    found = np.zeros(read.shape)
    for time in range(read.shape[1]):
        check_cancelled()
        log_probs, state = model.step(read[:, time], state)
        found[:, time] = log_probs[rows, target.values[:, time]]
    return np.where(target.mask, found, 0.0)


def _names(task: Task, example: Any, target: Ids) -> list[str]:
    """The tokens as texts, as they were typed even if they are unknown to the model."""
    names = task.show_tokens(example, "")[1]
    return names if len(names) == len(target) else [task.show_token(int(i)) for i in target]
