"""Files of inputs that are predicted in their own shape: predictions joined to the rows of a table.

CSV and TSV get columns, JSON lines get keys; CoNLL columns are filled in by `conll`.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from ..options import Data
from ..text.reading import read_lines
from . import EXTENSIONS, TEXT_AND_LABEL, check_format, folders, parse_rows, treebank
from .base import (
    PREDICTION,
    PROBABILITY,
    FieldRules,
    InputFile,
    JoinedPrediction,
    ParsedFile,
    ReadRequest,
    Row,
    free_names,
)
from .columns_roles import parse_columns
from .csv import parse_records, sniff_delimiter
from .delimited import RawRecord
from .fasttext import LABEL_PREFIX
from .parallel_names import files_of

_FIRST_WORD = re.compile(r"\s*(\S+)\s")


@dataclass(frozen=True)
class InputRoles:
    """The roles of a file to learn from, of which the first `num_inputs` are inputs.

    `labels` are those of the run, by which lines of a label and a text are known again.
    """

    roles: tuple[str, ...]
    num_inputs: int
    rules: FieldRules
    labels: Collection[str] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The roles that are read."""
        return self.roles[: self.num_inputs]

    def columns(self, given: str) -> dict[str, str]:
        """The columns of the inputs: of all roles, as for training, or of the inputs alone."""
        parts = given.split(",") if given.strip() else []
        names_all = "=" in given or len(parts) == len(self.roles)
        found = parse_columns(given, self.roles if names_all else self.inputs)
        return {role: name for role, name in found.items() if role in self.inputs}


def read_inputs(
    path: Path, roles: InputRoles, settings: Data, example: Callable[[Row], Any]
) -> InputFile | None:
    """The rows of a table of inputs; None for plain text, in which each line is an input."""
    if path.is_dir() and roles.roles == TEXT_AND_LABEL:
        return _folder(path, settings, example)
    path = files_of(path)[0]
    if settings.format == "text":
        return None
    name = settings.format if settings.format != "auto" else EXTENSIONS.get(path.suffix.lower(), "")
    if name:
        check_format(name, roles.roles)
    lines, guess = read_lines(path, settings.encoding), ""
    if not name:
        name, guess = looks_like_table(lines, roles, settings)
    if not name:
        return None
    parsed = _parse(path, lines, name, roles, settings)
    blank = [not any(str(field).strip() for field in row.fields) for row in parsed.rows]
    examples = [
        None if is_blank else example(_inputs_only(row, roles))
        for row, is_blank in zip(parsed.rows, blank, strict=True)
        if isinstance(row, Row)
    ]
    writer = TableWriter(parsed, lines)
    return InputFile(name, examples, writer.write, guess)


def _parse(
    path: Path, lines: list[str], name: str, roles: InputRoles, settings: Data
) -> ParsedFile:
    """The rows of a table; blank inputs are rows, so that every row gets its place."""
    if name in ("label-first", "trees"):  # a line has its label beside the text
        return parse_rows(lines, name, ReadRequest(path, roles.roles, {}), settings)
    columns, rules = roles.columns(settings.columns), roles.rules
    rules = replace(rules, may_be_empty=frozenset(roles.inputs))
    request = ReadRequest(path, roles.inputs, columns, name == "tsv", rules=rules)
    return parse_rows(lines, name, request, settings)


def _inputs_only(row: Row, roles: InputRoles) -> Row:
    return Row(row.line, row.fields[: roles.num_inputs])


def looks_like_table(lines: list[str], roles: InputRoles, settings: Data) -> tuple[str, str]:
    """The format of a table whose name does not say it, and why; two empty texts for plain text.

    Where training would read any line as a text, as for language models, so does inference.
    """
    written = [line for line in lines if line.strip()]
    if not written or len(roles.roles) == 1:
        return "", ""
    if re.match(r'\s*\{\s*"', written[0]):
        return "jsonl", "its first line is a JSON object"
    if (header := _header(written[0], roles, settings)) is not None:
        return ("tsv" if "\t" in written[0] else "csv"), header
    return _by_all_lines(written, roles)


def _by_all_lines(written: list[str], roles: InputRoles) -> tuple[str, str]:
    """The same for formats without a header."""
    has_label = roles.roles == TEXT_AND_LABEL
    if has_label and treebank.looks_like_tree(written[0]):
        return "trees", "its first line is a bracketed tree"
    tabs = {line.count("\t") for line in written}
    if len(tabs) == 1 and tabs != {0}:
        return "tsv", "every line has as many tabs"
    if has_label and _has_labels_first(written, roles.labels):
        return "label-first", "its lines begin with labels"
    return "", ""


def table_warning(lines: Sequence[str]) -> str:
    """What makes lines that are read as texts look like rows of a table; empty if nothing does."""
    written = [line for line in lines if line.strip()]
    if not written:
        return ""
    if all(re.match(r"\s*\{.*\}\s*$", line) for line in written):
        return "its lines are JSON objects"
    if (tabs := sum("\t" in line for line in written)) and 2 * tabs > len(written):
        return f"{tabs:,} of its lines have tabs"
    delimiter = sniff_delimiter(list(written), ())
    sizes = {line.count(delimiter) for line in written}
    is_even = len(written) > 1 and len(sizes) == 1 and sizes != {0}
    return f"every line has {sizes.pop():,} times the character {delimiter!r}" if is_even else ""


def _header(first: str, roles: InputRoles, settings: Data) -> str | None:
    """Why a first line is a header: it names the columns of the inputs beside others."""
    titles = {title.strip(' "') for title in re.split("[,;|\t]", first)}
    named = {role: role for role in roles.inputs} | roles.columns(settings.columns)
    wanted = {part.strip() for name in named.values() for part in name.split("+")}
    is_header = wanted <= titles and len(titles) > 1
    return f"its first line names the column {sorted(wanted)[0]!r}" if is_header else None


def _has_labels_first(lines: list[str], labels: Collection[str]) -> bool:
    """Whether lines begin with fastText's prefix, or nearly all of them with labels of the run."""
    if 2 * sum(line.lstrip().startswith(LABEL_PREFIX) for line in lines) > len(lines):
        return True
    words = [match[1] for line in lines if (match := _FIRST_WORD.match(line))]
    return bool(labels) and 10 * sum(word in labels for word in words) >= 9 * len(lines)


def _folder(path: Path, settings: Data, example: Callable[[Row], Any]) -> InputFile:
    """The texts of a folder; they are listed as TSV, by their places in it."""
    found = list(folders.texts_of(path, settings))
    are_lines = len({file for file, _, _ in found}) < len(found)
    header = ["file", "line"] if are_lines else ["file"]
    rows = [[str(file.relative_to(path)), str(line)][: len(header)] for file, line, _ in found]
    examples = [
        example(Row(number, (text,))) if text.strip() else None
        for number, (_, _, text) in enumerate(found, 1)
    ]

    def write(predictions: Sequence[JoinedPrediction | None]) -> Iterator[str]:
        table = DelimitedTable("\t", header, rows, is_quoted=False)
        yield from table.with_predictions(predictions)

    return InputFile("folder", examples, write)


class TableWriter:
    """Writes a parsed table again, with predictions joined to its rows."""

    def __init__(self, parsed: ParsedFile, lines: list[str]) -> None:
        self._parsed, self._lines = parsed, lines

    def write(self, predictions: Sequence[JoinedPrediction | None]) -> Iterator[str]:
        """The lines of the file."""
        if self._parsed.format == "jsonl":
            return json_lines([self._lines[row.line - 1] for row in self._parsed.rows], predictions)
        return self._table().with_predictions(predictions)

    def _table(self) -> "DelimitedTable":
        """The records of the rows, with all their fields."""
        parsed, lines = self._parsed, self._lines
        wanted = [row.line for row in parsed.rows]
        if parsed.format != "csv":
            rows = [lines[line - 1].split("\t") for line in wanted]
            return DelimitedTable("\t", parsed.header, rows, is_quoted=False)
        records = {
            record.line: record.fields
            for record in parse_records(lines, parsed.delimiter)
            if isinstance(record, RawRecord)
        }
        return DelimitedTable(parsed.delimiter, parsed.header, [records[line] for line in wanted])


@dataclass(frozen=True)
class DelimitedTable:
    """Rows of fields, with a header or without, to which predictions are joined as columns."""

    delimiter: str
    header: list[str] | None
    rows: Sequence[list[str]]
    is_quoted: bool = True
    _buffer: io.StringIO = field(default_factory=io.StringIO, compare=False)

    def with_predictions(self, predictions: Sequence[JoinedPrediction | None]) -> Iterator[str]:
        """The lines; a row has several where its prediction is an n-best list."""
        ranked = [_ranked(one) for one in predictions]
        names = list(dict.fromkeys(name for rows in ranked for row in rows for name in row))
        names = names or [PREDICTION]
        if self.header is not None:
            yield self._line([*self.header, *free_names(names, self.header)])
        width = max(map(len, [self.header or [], *self.rows]))
        for fields, rows in zip(self.rows, ranked, strict=True):
            padded = [*fields, *[""] * (width - len(fields))]
            for row in rows or [{}]:
                yield self._line([*padded, *(row.get(name, "") for name in names)])

    def _line(self, fields: list[str]) -> str:
        if not self.is_quoted:
            return self.delimiter.join(re.sub(r"[\t\r\n]", " ", one) for one in fields)
        self._buffer.seek(0)
        self._buffer.truncate()
        csv.writer(self._buffer, delimiter=self.delimiter, lineterminator="").writerow(fields)
        return self._buffer.getvalue()


def _ranked(prediction: JoinedPrediction | None) -> list[dict[str, str]]:
    """The cells of a prediction by column; with an n-best list a row for each hypothesis."""
    if prediction is None:
        return []
    if not prediction.others:
        return [_cells(prediction)]
    every = [prediction._replace(others=()), *prediction.others]
    return [
        {"rank": str(rank), **_cells(one), "score": f"{one.score:.6g}"}
        for rank, one in enumerate(every, start=1)
    ]


def _cells(prediction: JoinedPrediction) -> dict[str, str]:
    cells = {PREDICTION: prediction.text}
    if isinstance(prediction.probability, float):
        cells[PROBABILITY] = f"{prediction.probability:.6g}"
    probabilities = prediction.probabilities or {}
    return cells | {f"p({label})": f"{p:.6g}" for label, p in probabilities.items()}


def json_lines(
    objects: Sequence[str], predictions: Sequence[JoinedPrediction | None]
) -> Iterator[str]:
    """JSON objects with keys for their predictions; null where the input is blank."""
    for text, prediction in zip(objects, predictions, strict=True):
        item, keys = json.loads(text), _keys(prediction)
        names = free_names(list(keys), list(item))
        yield json.dumps(item | dict(zip(names, keys.values(), strict=True)), ensure_ascii=False)


def _keys(prediction: JoinedPrediction | None) -> dict[str, Any]:
    if prediction is None:
        return {PREDICTION: None}
    keys: dict[str, Any] = {PREDICTION: prediction.value}
    if prediction.probability is not None:
        keys[PROBABILITY] = prediction.probability
    if prediction.probabilities is not None:
        keys["probabilities"] = dict(prediction.probabilities)
    if prediction.others:
        every = [prediction, *prediction.others]
        keys["nbest"] = [
            {PREDICTION: one.value} | ({"score": one.score} if isfinite(one.score) else {})
            for one in every
        ]
    return keys
