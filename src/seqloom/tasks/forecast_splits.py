"""Temporal train/validation/test splits of time series, with rolling origins and folds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import UInt64

from ..data.formats.base import pluralize
from ..data.options import Data
from ..data.series.schema import SeriesSchema
from ..data.series.windows import (
    ForecastWindow,
    RollingOrigin,
    concatenate,
    fold_bounds,
    follows,
    row_hashes,
    training_window,
    trim_future,
)
from ..errors import DataError, Place, UsageError


@dataclass(frozen=True)
class Steps:
    """Rows of each series in the splits; 0 goes by the fractions."""

    train: int = 0
    valid: int = 0
    test: int = 0


def parts_of(
    given: Mapping[str, Any], data: Data, reach: RollingOrigin, steps: Steps, outline: SeriesSchema
) -> tuple[dict[str, Sequence[Any]], list[str]]:
    """Training, validation and test splits, with notes.

    A file for validation or test goes on where the training file ends, where its series have the
    same names and, if there are dates, the next ones; else it is judged by itself.
    """
    train = [trim_future(window.series) for window in given["train"]]
    by_size = data.with_fractions(sum(map(len, train)))  # all rows of all series
    cutter = _Cutter(by_size, reach, steps, frozenset(given))
    parts: dict[str, list[ForecastWindow]] = {"train": [], "valid": [], "test": []}
    for one in train:
        learned, valid, test = cutter.ends(len(one))
        if np.isfinite(one.values[:learned]).any():
            parts["train"].append(training_window(one, learned))
            parts["valid"] += reach.windows(one, learned, valid, learned)
            parts["test"] += reach.windows(one, valid, test, valid)
    said, grown = [], {one.name: one for one in train}
    for part in ("valid", "test"):
        if part not in given:
            continue
        others = [trim_future(window.series) for window in given[part]]
        if all(
            other.name in grown and follows(grown[other.name], other, dated=bool(outline.step))
            for other in others
        ):
            for other in others:
                start = len(grown[other.name])
                grown[other.name] = one = concatenate(grown[other.name], other)
                parts[part] += reach.windows(one, start, len(one), start)
            said.append(f"the {_NAMES[part]} file goes on where the training file ends")
        else:
            least = max(outline.period, reach.horizon)
            parts[part] += [found for other in others for found in reach.backtest(other, least)]
            said.append(f"the {_NAMES[part]} file is judged by itself")
    _must_do(parts, given, data, reach, cutter)
    if not parts["valid"] and cutter.wants_valid:
        said.append("the series are too short for a validation part: all steps count alike")
    return dict(parts), said


def restored_parts(
    given: Mapping[str, Sequence[ForecastWindow]],
    hashes: Mapping[str, UInt64[np.ndarray, " _"]],
    reach: RollingOrigin,
) -> dict[str, list[ForecastWindow]]:
    """The parts of series that have changed, cut at the rows where they were cut before."""
    every = {id(one.series): one.series for windows in given.values() for one in windows}
    learned = {id(one.series) for one in given["train"]}
    parts: dict[str, list[ForecastWindow]] = {"train": [], "valid": [], "test": []}
    for number, series in every.items():
        found = row_hashes(series, 0, len(series))
        for part, before in hashes.items():
            rows = np.flatnonzero(np.isin(found, before))
            if not len(rows):
                continue
            first, end = int(rows[0]), int(rows[-1]) + 1
            if part != "train":
                parts[part] += reach.windows(series, first, end, first)
            elif number in learned:
                parts[part].append(training_window(series, end))
    return parts


_NAMES = {"valid": "validation", "test": "test"}


@dataclass(frozen=True)
class _Cutter:
    """Where the splits of a series end."""

    data: Data
    reach: RollingOrigin
    steps: Steps
    given: frozenset[str]

    @property
    def wants_valid(self) -> bool:
        return bool(self.steps.valid or self.data.valid_fraction > 0)

    @property
    def wants_test(self) -> bool:
        by_share = self.data.test_fraction > 0 and "test" not in self.given
        return bool(self.steps.test or self.data.folds or by_share)

    def ends(self, size: int) -> tuple[int, int, int]:
        """Where training, validation and test end in a series of so many rows.

        A part has room for a forecast at least; a series too short for that is learned from.
        """
        if self.steps.train:
            ends = np.cumsum([self.steps.train, self.steps.valid, self.steps.test])
            if ends[-1] > size:
                raise _too_many_steps(self.steps, size)
            return int(ends[0]), int(ends[1]), int(ends[2])
        last, test = size, 0
        if self.data.folds:
            first, last = fold_bounds(size, self.data.folds, self.data.fold)
            test = last - first
        elif "test" not in self.given:
            test = self._rows(self.steps.test, self.data.test_fraction, size)
        valid = 0
        if "valid" not in self.given:
            valid = self._rows(self.steps.valid, self.data.valid_fraction, last)
        if last - test < 1:
            return (last, last, last) if not self.data.folds else (0, 0, 0)
        if last - test - valid <= self.reach.horizon:
            valid = 0
        return last - test - valid, last - test, last

    def _rows(self, steps: int, share: float, size: int) -> int:
        if steps or share <= 0:
            return steps
        return max(self.reach.horizon, round(share * size))


def _must_do(
    parts: Mapping[str, Sequence[ForecastWindow]],
    given: Mapping[str, Any],
    data: Data,
    reach: RollingOrigin,
    cutter: _Cutter,
) -> None:
    """Refuse splits that leave nothing to train or evaluate on."""
    train = given["train"]
    longest = max(len(window.series) for window in train)
    if not parts["train"] or (cutter.wants_test and not parts["test"]):
        if data.folds:
            raise UsageError(
                "U307",
                f"{data.folds} folds of {longest:,} steps have no room for forecasts of"
                f" {reach.horizon:,} steps",
                help=[f"--folds {max(2, longest // reach.horizon - 1)}", "--set task.horizon=1"],
            )
        raise too_far(reach.horizon, longest, train.path)
    for part in ("valid", "test"):
        if part in given and not parts[part]:
            most = max(len(window.series) for window in given[part])
            raise too_far(reach.horizon, most, given[part].path)


def too_far(horizon: int, longest: int, path: str) -> DataError:
    """The error for a horizon longer than the split."""
    return DataError(
        "D220",
        f"a forecast of {pluralize(horizon, 'step')} is too long: the longest series has"
        f" {longest:,},"
        " of which some must come before it",
        place=Place(path) if path else None,
        help=[f"--set task.horizon={max(1, longest // 4)}"] * (horizon > 1)
        + ["give longer series"],
    )


def _too_many_steps(steps: Steps, size: int) -> DataError:
    wanted = steps.train + steps.valid + steps.test
    return DataError(
        "D226",
        f"the parts have {wanted:,} steps together, and a series has {size:,}",
        help=["make task.train_steps, valid_steps and test_steps smaller"],
    )
