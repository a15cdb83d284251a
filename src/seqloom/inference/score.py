"""How likely a model thinks texts are, symbol by symbol."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Ids, Sequences, collate
from ..data.loading.batching import in_order_of_length
from ..errors import DataError
from ..model import Carries, Generator, Model
from ..signature import BEGIN
from ..task import Task

AT_ONCE = 64  # texts side by side: their distributions over a large vocabulary must have room


@dataclass(frozen=True)
class Score:
    """The probability of a text: log p(y) = Σ_t log p(y_t | y_<t), its end among the symbols."""

    text: str
    symbols: list[str]
    log_probs: Float[np.ndarray, " time"]  # natural, one for each symbol
    unknown: list[str]  # symbols that training never showed: the model scored <unk> for each

    @property
    def log_prob(self) -> float:
        """The natural log-probability of the whole."""
        return float(self.log_probs.sum())

    @property
    def bits(self) -> float:
        """How much the whole surprises: -log2 p."""
        return -self.log_prob / log(2)

    @property
    def bits_per_symbol(self) -> float:
        """How much a symbol surprises in the mean."""
        return self.bits / max(1, len(self.symbols))

    @property
    def perplexity(self) -> float:
        """Among how many equally likely symbols the model might as well have chosen each time."""
        nats = -self.log_prob / max(1, len(self.symbols))
        return exp(nats) if nats < 700 else inf

    def surprise(self) -> list[tuple[str, float]]:
        """Each symbol with how many bits it surprises by: -log2 p(y_t | y_<t)."""
        bits = (-self.log_probs / log(2)).tolist()
        return list(zip(self.symbols, bits, strict=True))


def score(model: Model, task: Task, texts: Sequence[str]) -> list[Score]:
    """The score of each text, read from its beginning to its end."""
    return _scores(model, task, texts, [task.question(text) for text in texts])


def score_of(model: Model, task: Task, example: Any) -> Score:
    """The score of one example."""
    return _scores(model, task, [task.shown_question(example)], [example])[0]


def _scores(model: Model, task: Task, texts: Sequence[str], examples: Sequence[Any]) -> list[Score]:
    items = [task.encode(example) for example in examples]
    for number, item in enumerate(items, start=1):
        if not len(item.target):  # a blank line still has its end, unless the text goes on
            raise DataError("D023", f"sentence {number} is empty", help=["leave it out"])
    found: dict[int, Float[np.ndarray, " _"]] = {}
    for which in in_order_of_length([len(item.target) for item in items], AT_ONCE):
        batch = collate([items[i] for i in which])
        with model.at_rest():
            log_probs = symbol_log_probs(model, batch)
        for i, row, length in zip(which.tolist(), log_probs, batch.target.lengths, strict=True):
            found[i] = row[:length]
    return [
        Score(text, _names(task, example, item.target), found[i], task.unknown_symbols(example))
        for i, (text, example, item) in enumerate(zip(texts, examples, items, strict=True))
    ]


def symbol_log_probs(model: Model, batch: Batch) -> Float[np.ndarray, "batch time"]:
    """Log-probability of every target symbol of a model of the next; 0 beyond a row's length."""
    if isinstance(model, Carries):
        window = Batch(batch.target.late(BEGIN), batch.target)
        log_probs, _ = model.log_probs_from(window, model.begin(window.source))
        return np.asarray(log_probs, dtype=np.float64)
    if isinstance(model, Generator):
        return _by_steps(model, batch.target)
    raise TypeError(f"{type(model).__name__} does not say what is next")


def _by_steps(model: Generator, target: Sequences) -> Float[np.ndarray, "batch time"]:
    state, rows = model.begin(target), np.arange(len(target))
    read: np.ndarray = target.late(BEGIN).values
    found = np.zeros(read.shape)
    for time in range(read.shape[1]):
        log_probs, state = model.step(read[:, time], state)
        found[:, time] = log_probs[rows, target.values[:, time]]
    return np.where(target.mask, found, 0.0)


def _names(task: Task, example: Any, target: Ids) -> list[str]:
    """What each symbol is called: as it was typed, also where the model read it as unknown."""
    names = task.symbols(example, "")[1]
    return names if len(names) == len(target) else [task.shown_symbol(int(i)) for i in target]
