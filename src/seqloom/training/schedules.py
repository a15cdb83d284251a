"""How the learning rate moves from the first step to the last."""

import math
from collections.abc import Callable

FLOOR = 0.01  # the share of the rate at the very start and the very end


def _cosine(progress: float) -> float:
    """(1 + cos π p) / 2, as in Loshchilov & Hutter (2017)."""
    return FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * progress)) / 2


# From how far training is, 0 to 1, how often as long as the warm-up it has taken, 1 or more, and
# how many epochs are over.
SCHEDULES: dict[str, Callable[[float, float, int], float]] = {
    "constant": lambda progress, warmups, epochs: 1.0,
    "linear": lambda progress, warmups, epochs: 1 - (1 - FLOOR) * progress,
    "cosine": lambda progress, warmups, epochs: _cosine(progress),
    "inverse-root": lambda progress, warmups, epochs: warmups**-0.5,  # Vaswani et al., 2017
    "plateau": lambda progress, warmups, epochs: 1.0,  # what evaluation finds moves this one
    "halved": lambda progress, warmups, epochs: 0.5**epochs,
}


def factor(schedule: str, progress: float, warmup: float, step: int = 0, epochs: int = 0) -> float:
    """What the learning rate of a step is multiplied by, `progress` of the way from 0 to 1.

    A warm-up from 1 on is a number of steps, below it a share of the way. `step` steps were taken,
    and `epochs` are over.
    """
    warmups = progress / warmup if 0 < warmup < 1 else (step + 1) / (warmup or 1)
    rise = min(1.0, max(FLOOR, warmups)) if warmup else 1.0
    return rise * SCHEDULES[schedule](min(1.0, progress), max(1.0, warmups), epochs)
