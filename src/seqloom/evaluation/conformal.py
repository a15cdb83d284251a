"""Conformal recalibration of prediction intervals on held-out windows."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..batch import collate
from ..data.loading.batching import batches_by_length
from ..data.series.conformal import IntervalRecalibration, normal_scores
from ..data.series.windows import ForecastWindow
from ..model import Model, Search
from ..task import Task
from .evaluate import SEQUENCES_AT_ONCE

MAX_WINDOWS = 1000  # that are forecast for it


@runtime_checkable
class RecalibratesIntervals(Protocol):
    """A task that recalibrates the prediction intervals of its forecasts."""

    calibrate: bool
    bands: IntervalRecalibration


def fit_interval_calibration(model: Model, task: Task, held_out: Sequence[Any]) -> bool:
    """Fit the factors of a task's prediction intervals to this model; returns whether it could.

    The windows must not be those that the model was trained on.
    """
    if not isinstance(task, RecalibratesIntervals):
        return False
    forget_interval_calibration(task)
    windows = [one for one in held_out if isinstance(one, ForecastWindow)]
    if not task.calibrate or not windows:
        return False
    stride = -(-len(windows) // MAX_WINDOWS)
    task.bands.learn(_scores(model, task, windows[::stride]), _num_independent(windows))
    return True


def forget_interval_calibration(task: Task) -> None:
    """Set the factors of a task's prediction intervals back: they belonged to other weights."""
    if isinstance(task, RecalibratesIntervals):
        task.bands.reset()


def _scores(model: Model, task: Task, windows: Sequence[ForecastWindow]) -> np.ndarray:
    """Conformity scores: where the actual values of each window lie in its forecast."""
    items = [task.encode(window) for window in windows]
    longest = max(len(item.target) for item in items)
    scores = np.full((len(items), longest, items[0].target.shape[1]), np.nan)
    with model.inference_mode():
        for which in batches_by_length([len(item.source) for item in items], SEQUENCES_AT_ONCE):
            source = collate([items[i] for i in which]).source
            forecasts = model.predict(source, Search()).forecasts
            for index, forecast in zip(which.tolist(), forecasts, strict=True):
                actual = np.asarray(items[index].target, dtype=np.float64)
                scores[index, : len(actual)] = normal_scores(forecast.quantiles, actual)
    return scores


def _num_independent(windows: Sequence[ForecastWindow]) -> float:
    """The effective number of windows: as many as would cover the same steps without overlap."""
    count = 0.0
    for _, one in groupby(windows, key=lambda window: window.series.name):
        same = list(one)
        steps = max(window.end for window in same) - min(window.origin for window in same)
        count += min(len(same), steps / max(1, same[0].end - same[0].origin))
    return count
