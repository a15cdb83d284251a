"""Series as JSON lines: one object a series.

{"name": "shop", "start": "2019-01", "step": "month", "values": [3, 4, null], "known": {"price": …}}

Nested `values` and `known` are one list for each step. Files of GluonTS are read, too: there nested
`target` and `feat_dynamic_real` are one list for each column.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ....errors import DataError, Place
from ...options import Data
from ...series.dates import NotDatesError, Step, read_dates
from ..base import Reading
from ..jsonl import objects_of
from .base import Found, Raw, must_be_finite, no_rows

_NAME = ("name", "item_id", "id", "unique_id", "series")
_SECOND = 1_000_000
_STEPS = {  # as words, and as Pandas calls them
    **dict.fromkeys(("year", "y", "ys", "ye", "a"), Step("month", 12)),
    **dict.fromkeys(("quarter", "q", "qs", "qe"), Step("month", 3)),
    **dict.fromkeys(("month", "m", "ms", "me"), Step("month", 1)),
    **dict.fromkeys(("week", "w"), Step("microsecond", 604_800 * _SECOND)),
    **dict.fromkeys(("day", "d"), Step("microsecond", 86_400 * _SECOND)),
    **dict.fromkeys(("weekday", "b"), Step("weekday", 1)),
    **dict.fromkeys(("hour", "h"), Step("microsecond", 3_600 * _SECOND)),
    **dict.fromkeys(("minute", "min", "t"), Step("microsecond", 60 * _SECOND)),
    **dict.fromkeys(("second", "s"), Step("microsecond", _SECOND)),
}


def read_json(lines: list[str], path: Path, settings: Data) -> Found:
    """All series of a file of JSON lines."""
    reading: Reading[Any] = Reading()
    series: list[Raw] = []
    known: tuple[str, ...] | None = None
    time = ""
    for number, item in objects_of(lines, reading):
        one = _Line(item, number, path)
        raw, inputs = one.raw(settings)
        if known is not None and inputs != known:
            raise one.wrong(f"its inputs are {_listed(inputs)}, and the first has {_listed(known)}")
        known = inputs
        if series and raw.values.shape[1] != series[0].values.shape[1]:
            raise one.wrong("it has another number of columns than the first")
        time = "start" if raw.times else time
        series.append(raw)
    for fault in reading.faults if not settings.skip_bad else ():
        place = Place(str(path), fault.line, fault.text, fault.mark, fault.note)
        raise DataError(fault.code, fault.reason, place=place, help=fault.help)
    if not series:
        raise no_rows(path)
    said = []
    if time and not all(raw.times for raw in series):
        said.append("some series have no start: their steps are numbered")
        time, series = "", [_untimed(raw) for raw in series]
    width = series[0].values.shape[1]
    names = ("value",) if width == 1 else tuple(str(place) for place in range(1, width + 1))
    return Found(path, series, names, known or (), time, said)


class _Line:
    """One object, and where it stands."""

    def __init__(self, item: dict[str, Any], line: int, path: Path) -> None:
        self.item, self.line, self.path = item, line, path

    def raw(self, settings: Data) -> tuple[Raw, tuple[str, ...]]:
        """The series, and what its inputs are called."""
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
        size = max(len(values), len(known))  # inputs may go on where the numbers end
        if names and len(known) < len(values):
            raise DataError(
                "D209",
                f"inputs are known at {len(known):,} of {len(values):,} steps only",
                place=Place(str(self.path), self.line),
                help=["an input must be known at every step, and in the future, too"],
            )
        whole = np.full((size, values.shape[1]), np.nan)
        whole[: len(values)] = values
        inputs = np.concatenate(
            [known if names else np.zeros((size, 0)), np.repeat(static[None], size, 0)], axis=1
        )
        if np.isnan(inputs).any():
            raise self.wrong("an input is missing: it must be known at every step", "D209")
        name = next((str(item[key]) for key in _NAME if key in item), str(self.line))
        labels = [str(label) for label in item.get("labels", [])]
        if labels and len(labels) != size:
            raise self.wrong(f"it has {len(labels):,} labels and {size:,} steps")
        raw = Raw(name, [self.line] * size, whole, inputs, self._times(size), labels)
        raw.label = str(item.get("label", ""))
        return raw, (*names, *more)

    def wrong(self, reason: str, code: str = "D212") -> DataError:
        """What is wrong with this line."""
        return DataError(
            code,
            f"this line is no series: {reason}",
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
        return rows, tuple(f"known {place}" for place in range(1, rows.shape[1] + 1))

    def _static(self) -> tuple[Float[np.ndarray, " static"], tuple[str, ...]]:
        found = self.item.get("static", self.item.get("feat_static_real", []))
        if isinstance(found, dict):
            return np.array([self._number(one) for one in found.values()]), tuple(found)
        several = found if isinstance(found, list) else [found]
        names = tuple(f"static {place}" for place in range(1, len(several) + 1))
        return np.array([self._number(one) for one in several]), names

    def _times(self, size: int) -> list[str]:
        """The names of all steps, where they can be told."""
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
        except NotDatesError as error:
            raise self.wrong(f"its start {str(start)!r} cannot be read: {error.reason}") from None
        first = dates.values[0]
        number = step.number(first)
        step = Step(step.unit, step.count, first.day)
        return [dates.write(step.date(number + i * step.count, first)) for i in range(size)]

    def _step(self, text: str) -> Step:
        """A step in words, or as Pandas writes it: hour, 15min, MS, W-SUN."""
        found = re.fullmatch(r"(\d*)\s*([a-z]+?)s?(-[a-z]+)?", text.strip().casefold())
        named = _STEPS.get(text.strip().casefold()) or (found and _STEPS.get(found[2]))
        if found is None or not named:
            raise self.wrong(f"there is no step {text!r}; hour, day, month or 15min are some")
        return Step(named.unit, named.count * int(found[1] or 1))

    def _steps(self, found: Any, key: str) -> Float[np.ndarray, "time width"]:
        """A number, or a list of them, for each step."""
        if not isinstance(found, list) or not found:
            raise self.wrong(f'"{key}" must be a list of numbers')
        rows = [one if isinstance(one, list) else [one] for one in found]
        if len({len(row) for row in rows}) > 1:
            raise self.wrong(f'the lists in "{key}" have different lengths')
        return np.array([[self._number(one) for one in row] for row in rows])

    def _columns(self, found: Any, key: str) -> Float[np.ndarray, "time width"]:
        """Numbers at each step, or a list of all steps for each column."""
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
            raise must_be_finite(self.path, self.line, str(value), "a series")
        return number

    def _must_be_even(self, columns: list[np.ndarray]) -> None:
        if len({len(column) for column in columns}) > 1:
            raise self.wrong("its inputs have different lengths")


def _untimed(raw: Raw) -> Raw:
    raw.times = []
    return raw


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
