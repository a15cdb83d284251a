"""Bands that hold: what windows put aside tell of those of a model that has learned."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..batch import collate
from ..data.loading.batching import in_order_of_length
from ..data.series.conformal import Bands, scores_of
from ..data.series.windows import Window
from ..model import Model, Search
from ..task import Task
from .evaluate import SEQUENCES_AT_ONCE

MOST = 1000  # windows that are asked


@runtime_checkable
class HasBands(Protocol):
    """A task whose forecasts have bands that can be moved."""

    calibrate: bool
    bands: Bands


def calibrate(model: Model, task: Task, aside: Sequence[Any]) -> bool:
    """Let a task learn how wide bands of this model should be; whether it could.

    The windows must not be those that the model learned from.
    """
    if not isinstance(task, HasBands):
        return False
    task.bands.forget()
    windows = [one for one in aside if isinstance(one, Window)]
    if not task.calibrate or not windows:
        return False
    apart = -(-len(windows) // MOST)
    task.bands.learn(_scores(model, task, windows[::apart]), _independent(windows))
    return True


def _scores(model: Model, task: Task, windows: Sequence[Window]) -> np.ndarray:
    """Where what came lies in what was foreseen of each window."""
    items = [task.encode(window) for window in windows]
    longest = max(len(item.target) for item in items)
    found = np.full((len(items), longest, items[0].target.shape[1]), np.nan)
    with model.at_rest():
        for which in in_order_of_length([len(item.source) for item in items], SEQUENCES_AT_ONCE):
            source = collate([items[i] for i in which]).source
            told = model.predict(source, Search()).foreseen
            for place, one in zip(which.tolist(), told, strict=True):
                came = np.asarray(items[place].target, dtype=np.float64)
                found[place, : len(came)] = scores_of(one.quantiles, came)
    return found


def _independent(windows: Sequence[Window]) -> float:
    """How many windows side by side would cover as much: those that overlap tell the same twice."""
    count = 0.0
    for _, one in groupby(windows, key=lambda window: window.series.name):
        mine = list(one)
        steps = max(window.end for window in mine) - min(window.cut for window in mine)
        count += min(len(mine), steps / max(1, mine[0].end - mine[0].cut))
    return count
