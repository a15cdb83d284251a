"""Files of series to be labelled: predictions are joined to the rows, or listed by series."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ....errors import DataError
from ...options import Data
from ...series.schema import SeriesFile, TimeSeries
from ...text.reading import read_lines
from ..base import JoinedPrediction
from ..columns_roles import parse_columns
from ..csv import parse_records, sniff_delimiter
from ..delimited import RawRecord
from ..joined import DelimitedTable, json_lines
from . import TABLE_EXTENSIONS, parse_series
from .columns import ROLES


@dataclass(frozen=True)
class UnlabelledSeries:
    """The series of a file, whose labels may be missing, and the lines of the file."""

    file: SeriesFile
    lines: list[str]
    is_json: bool

    def write(self, predictions: Sequence[JoinedPrediction], each: bool) -> Iterator[str]:
        """The file with a prediction for each series, or with `each` for each time step.

        Where rows of the file are no series, nor time steps in order, there is a row for each.
        """
        if self.is_json:
            objects = [self.lines[one.line - 1] for one in self.file.series]
            yield from json_lines(objects, predictions)
            return
        table = self._joined(each) or self._listed(each)
        every = [one for joined in predictions for one in _by_step(joined)]
        yield from table.with_predictions(every if each else predictions)

    def _joined(self, each: bool) -> DelimitedTable | None:
        """The rows of the file, if each is a series, or with `each` a time step of one."""
        delimiter = sniff_delimiter(self.lines, ())
        records = [r for r in parse_records(self.lines, delimiter) if isinstance(r, RawRecord)]
        records = [record for record in records if any(cell.strip() for cell in record.fields)]
        sizes = [len(one) if each else 1 for one in self.file.series]
        lines = [
            one.line + step
            for one, size in zip(self.file.series, sizes, strict=True)
            for step in range(size)
        ]
        header, rows = records[: len(records) - len(lines)], records[len(records) - len(lines) :]
        if [record.line for record in rows] != lines or len(header) > 1:
            return None
        titles = [cell.strip() for cell in header[0].fields] if header else None
        return DelimitedTable(delimiter, titles, [record.fields for record in rows])

    def _listed(self, each: bool) -> DelimitedTable:
        """A row for each series, or for each of its time steps."""
        if not each:
            return DelimitedTable(",", ["series"], [[one.name] for one in self.file.series])
        rows = [[one.name, time] for one in self.file.series for time in _times(one)]
        return DelimitedTable(",", ["series", "time"], rows)


def _times(series: TimeSeries) -> Sequence[str]:
    return series.times or [str(step) for step in range(1, len(series) + 1)]


def _by_step(prediction: JoinedPrediction) -> Iterator[JoinedPrediction]:
    """The label of each time step, with its probability."""
    if not isinstance(prediction.value, list):
        return
    sure = prediction.probability
    for place, label in enumerate(prediction.value):
        yield JoinedPrediction(label, label, sure[place] if isinstance(sure, list) else None)


def read_unlabelled(path: Path, data: Data) -> UnlabelledSeries | None:
    """The series of a file, which need not have labels; None for typed lines of numbers."""
    if data.format == "text":
        return None
    if data.format == "auto" and path.suffix.lower() not in TABLE_EXTENSIONS:
        return None
    lines = read_lines(path, data.encoding, unpack=True)
    first = next(line for line in lines if line.strip())
    try:
        file = parse_series(lines, path, data)
    except DataError as error:
        columns = {
            role: name
            for role, name in (parse_columns(data.columns, ROLES) if data.columns else {}).items()
            if role != "label"
        }
        without = ",".join(f"{role}={name}" for role, name in columns.items())
        if error.code != "D010" or without == data.columns:
            raise
        file = parse_series(lines, path, replace(data, columns=without))
    return UnlabelledSeries(file, lines, first.lstrip().startswith("{"))
