"""Time series in JSON lines, also those of GluonTS: one object a series.

{"name": "shop", "start": "2019-01", "step": "month", "values": [3, 4, null], "known": {"price": …}}

Nested `values` and `known` have a list for each time step. In files of GluonTS, nested `target` and
`feat_dynamic_real` have a list for each column.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ....errors import DataError, Place
from ...options import Data
from ...series.date_styles import DateParseError, read_dates
from ...series.dates import TimeStep, last_day
from ..base import ParseResult
from ..jsonl import parse_objects
from .base import RawSeries, RawSeriesFile, infinite_value, no_rows

_NAME = ("name", "item_id", "id", "unique_id", "series")
_SECOND = 1_000_000
_STEPS = {  # in words, and as frequencies of pandas
    **dict.fromkeys(("year", "y", "ys", "ye", "a"), TimeStep("month", 12)),
    **dict.fromkeys(("quarter", "q", "qs", "qe"), TimeStep("month", 3)),
    **dict.fromkeys(("month", "m", "ms", "me"), TimeStep("month", 1)),
    **dict.fromkeys(("week", "w"), TimeStep("microsecond", 604_800 * _SECOND)),
    **dict.fromkeys(("day", "d"), TimeStep("microsecond", 86_400 * _SECOND)),
    **dict.fromkeys(("weekday", "b"), TimeStep("weekday", 1)),
    **dict.fromkeys(("hour", "h"), TimeStep("microsecond", 3_600 * _SECOND)),
    **dict.fromkeys(("minute", "min", "t"), TimeStep("microsecond", 60 * _SECOND)),
    **dict.fromkeys(("second", "s"), TimeStep("microsecond", _SECOND)),
}

_ENDS = {"m", "me", "q", "qe", "y", "ye", "a"}  # in pandas the last days of months


def read_jsonl(lines: list[str], path: Path, settings: Data) -> RawSeriesFile:
    """Read the series of JSON lines."""
    result: ParseResult[Any] = ParseResult()
    series: list[RawSeries] = []
    known: tuple[str, ...] | None = None
    time = ""
    for number, item in parse_objects(lines, result, path):
        one = _Line(item, number, path)
        raw, inputs = one.raw(settings)
        if known is not None and inputs != known:
            raise one.wrong(f"its inputs are {_listed(inputs)}, and the first has {_listed(known)}")
        known = inputs
        if series and raw.values.shape[1] != series[0].values.shape[1]:
            raise one.wrong("it has another number of columns than the first")
        time = "start" if raw.times else time
        series.append(raw)
    for bad in result.bad_lines if not settings.skip_bad else ():
        place = Place(str(path), bad.line, bad.text, bad.mark, bad.note)
        raise DataError(bad.code, bad.reason, place=place, help=bad.help)
    if not series:
        raise no_rows(path)
    notes = []
    if time and not all(raw.times for raw in series):
        notes.append("some series have no start: their steps are numbered")
        time, series = "", [_untimed(raw) for raw in series]
    width = series[0].values.shape[1]
    names = ("value",) if width == 1 else tuple(str(column) for column in range(1, width + 1))
    return RawSeriesFile(path, series, names, known or (), time, notes)


class _Line:
    """One object, its line and its file."""

    def __init__(self, item: dict[str, Any], line: int, path: Path) -> None:
        self.item, self.line, self.path = item, line, path

    def raw(self, settings: Data) -> tuple[RawSeries, tuple[str, ...]]:
        """The raw series, and the names of its known inputs."""
        item = self.item
        by_column = "target" in item and "values" not in item
        if by_column:
            values = self._columns(item["target"], "target")
        elif "values" in item:
            values = self._steps(item["values"], "values")
        else:
            raise self.wrong('it has no "values" and no "target"')
        known, names = self._known()
        static, more = self._static()
        size = max(len(values), len(known))  # known inputs may go on into the future
        if names and len(known) < len(values):
            raise DataError(
                "D209",
                f"known inputs have {len(known):,} steps, and values {len(values):,}",
                place=Place(str(self.path), self.line),
                help=["known inputs need a value at every step, also in the future"],
            )
        whole = np.full((size, values.shape[1]), np.nan)
        whole[: len(values)] = values
        inputs = np.concatenate(
            [known if names else np.zeros((size, 0)), np.repeat(static[None], size, 0)], axis=1
        )
        if np.isnan(inputs).any():
            raise self.wrong("a known input is missing at some step", "D209")
        name = next((str(item[key]) for key in _NAME if key in item), str(self.line))
        labels = [str(label) for label in item.get("labels", [])]
        if labels and len(labels) != size:
            raise self.wrong(f"it has {len(labels):,} labels and {size:,} steps")
        raw = RawSeries(name, [self.line] * size, whole, inputs, self._times(size), labels)
        raw.label = str(item.get("label", ""))
        return raw, (*names, *more)

    def wrong(self, reason: str, code: str = "D212") -> DataError:
        """An error about this line."""
        return DataError(
            code,
            f"this line is not a series: {reason}",
            place=Place(str(self.path), self.line),
            help=['{"name": "a", "start": "2019-01", "step": "month", "values": [1, 2, null]}'],
        )

    def _known(self) -> tuple[Float[np.ndarray, "time known"], tuple[str, ...]]:
        if "known" in self.item:
            found = self.item["known"]
            if isinstance(found, dict):
                columns = [self._steps(found[name], name)[:, 0] for name in found]
                self._must_be_even(columns)
                return np.stack(columns, axis=1), tuple(found)
            rows = self._steps(found, "known")
        elif "feat_dynamic_real" in self.item:
            rows = self._columns(self.item["feat_dynamic_real"], "feat_dynamic_real")
        else:
            return np.zeros((0, 0)), ()
        return rows, tuple(f"known {number}" for number in range(1, rows.shape[1] + 1))

    def _static(self) -> tuple[Float[np.ndarray, " static"], tuple[str, ...]]:
        found = self.item.get("static", self.item.get("feat_static_real", []))
        if isinstance(found, dict):
            return np.array([self._number(one) for one in found.values()]), tuple(found)
        several = found if isinstance(found, list) else [found]
        names = tuple(f"static {number}" for number in range(1, len(several) + 1))
        return np.array([self._number(one) for one in several]), names

    def _times(self, size: int) -> list[str]:
        """The times of all steps; empty if the object has none."""
        given = self.item.get("times", self.item.get("timestamps"))
        if isinstance(given, list):
            if len(given) != size:
                raise self.wrong(f"it has {len(given):,} times and {size:,} steps")
            return [str(one) for one in given]
        start, freq = self.item.get("start"), self.item.get("step", self.item.get("freq"))
        if start is None or freq is None:
            return []
        step = self._step(str(freq))
        try:
            dates = read_dates([str(start)])
        except DateParseError as error:
            raise self.wrong(f"its start {str(start)!r} cannot be read: {error.reason}") from None
        first = dates.values[0]
        number = step.number(first)
        is_end = str(freq).lstrip("0123456789 ").casefold() in _ENDS and first.day == last_day(
            first
        )
        step = TimeStep(step.unit, step.count, 0 if is_end else first.day)
        return [dates.write(step.date(number + i * step.count, first)) for i in range(size)]

    def _step(self, text: str) -> TimeStep:
        """A frequency in words, or as in pandas: hour, 15min, MS, W-SUN."""
        found = re.fullmatch(r"(\d*)\s*([a-z]+?)s?(-[a-z]+)?", text.strip().casefold())
        named = _STEPS.get(text.strip().casefold()) or (found and _STEPS.get(found[2]))
        if found is None or not named:
            raise self.wrong(f"there is no step {text!r}; examples are hour, day, month and 15min")
        return TimeStep(named.unit, named.count * int(found[1] or 1))

    def _steps(self, found: Any, key: str) -> Float[np.ndarray, "time width"]:
        """A number, or a list of numbers, for each time step."""
        if not isinstance(found, list) or not found:
            raise self.wrong(f'"{key}" must be a list of numbers')
        rows = [one if isinstance(one, list) else [one] for one in found]
        if len({len(row) for row in rows}) > 1:
            raise self.wrong(f'the lists in "{key}" have different lengths')
        return np.array([[self._number(one) for one in row] for row in rows])

    def _columns(self, found: Any, key: str) -> Float[np.ndarray, "time width"]:
        """A number for each time step, or a list of all steps for each column."""
        rows = self._steps(found, key)
        is_nested = isinstance(found[0], list)
        return rows.T.copy() if is_nested else rows

    def _number(self, value: Any) -> float:
        if value is None or str(value).casefold() in ("nan", "na", ""):
            return np.nan
        try:
            number = float(value) if not isinstance(value, bool | list | dict) else None
        except ValueError:
            number = None
        if number is None:
            raise self.wrong(f"{json.dumps(value)[:30]} is not a number", "D202")
        if np.isinf(number):
            raise infinite_value(self.path, self.line, str(value), "a series")
        return number

    def _must_be_even(self, columns: list[np.ndarray]) -> None:
        if len({len(column) for column in columns}) > 1:
            raise self.wrong("its inputs have different lengths")


def _untimed(raw: RawSeries) -> RawSeries:
    raw.times = []
    return raw


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
