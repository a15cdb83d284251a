"""Draw sequences from anything that can `begin` and `step`."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..batch import Sequences
from ..forms import BEGIN, END, PAD
from ..model import Generator


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a sequence is drawn.

    Args:
        temperature: Below 1 the likely becomes likelier, above 1 the choice becomes wilder.
        limit: The most symbols drawn.
        seed: Where randomness starts: the same seed draws the same symbols.
    """

    temperature: float = 1.0
    limit: int = 100
    seed: int = 1


def sample(
    model: Generator, source: Sequences, settings: Sampling, prefix: Sequences
) -> list[Int[np.ndarray, " time"]]:
    """A sequence for each source, drawn symbol by symbol after its prefix."""
    chance = np.random.default_rng(settings.seed)
    state = model.begin(source)
    symbols = np.full(len(source), BEGIN)
    drawn: list[list[int]] = [[] for _ in range(len(source))]
    ended = np.zeros(len(source), dtype=bool)
    for time in range(settings.limit + int(prefix.lengths.max(initial=0))):
        log_probs, state = model.step(symbols, state)
        symbols = _draw(log_probs, settings.temperature, chance)
        for row in np.flatnonzero(~ended):
            if time < prefix.lengths[row]:
                symbols[row] = prefix.values[row, time]
                continue
            ended[row] = symbols[row] == END or len(drawn[row]) >= settings.limit
            if not ended[row]:
                drawn[row].append(int(symbols[row]))
        if ended.all():
            break
    return [np.array(row, dtype=np.int64) for row in drawn]


def _draw(
    log_probs: Float[np.ndarray, "batch vocabulary"],
    temperature: float,
    chance: np.random.Generator,
) -> Int[np.ndarray, " batch"]:
    """By the Gumbel trick: the largest of log p / temperature + noise is a fair draw."""
    scores = log_probs.astype(np.float64) / max(temperature, 1e-6)
    scores[:, [PAD, BEGIN]] = -np.inf
    found: np.ndarray = (scores + chance.gumbel(size=scores.shape)).argmax(axis=1)
    return found
