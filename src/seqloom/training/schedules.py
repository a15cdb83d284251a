"""How the learning rate moves from the first step to the last."""

import math
from collections.abc import Callable

FLOOR = 0.01  # the share of the rate at the very start and the very end


def _cosine(progress: float) -> float:
    """(1 + cos π p) / 2, as in Loshchilov & Hutter (2017)."""
    return FLOOR + (1 - FLOOR) * (1 + math.cos(math.pi * progress)) / 2


SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda progress: 1.0,
    "linear": lambda progress: 1 - (1 - FLOOR) * progress,
    "cosine": _cosine,
    "plateau": lambda progress: 1.0,  # what evaluation finds moves this one
}


def factor(schedule: str, progress: float, warmup: float) -> float:
    """What the learning rate is multiplied by, `progress` of the way from 0 to 1."""
    rise = min(1.0, max(FLOOR, progress / warmup)) if warmup else 1.0
    return rise * SCHEDULES[schedule](min(1.0, progress))
