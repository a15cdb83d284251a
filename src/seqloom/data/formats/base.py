"""Base types of the file formats: read requests, rows, sentences, bad lines, parsed files."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ...errors import DataError, Place
from ..options import Data
from ..text.reading import encoding_name

Item = TypeVar("Item")


class Row(NamedTuple):  # a file has millions of them, and a tuple is made quickly
    """One example of a table: a field for each role, and the line where it starts."""

    line: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Sentence:
    """One sentence: for each role a list with an entry per word; and the line where it starts.

    `lines` are the lines of the words, if each has its own (CoNLL). `text` is the raw text, if the
    words were tokenised from one, and `word_spans` are their character offsets in it.
    """

    line: int
    fields: tuple[list[str], ...]
    lines: tuple[int, ...] = field(default=(), compare=False)
    text: str = field(default="", compare=False)
    word_spans: tuple[tuple[int, int], ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class ParsedFile:
    """A parsed file: its rows or sentences, format and encoding, blank lines and bad lines."""

    path: Path
    format: str
    encoding: str
    header: list[str] | None
    rows: Sequence[Row | Sentence]
    blank: list[int]
    bad: list[tuple[int, str]]
    delimiter: str = ""
    notes: tuple[str, ...] = ()  # what was guessed, a sentence each


@dataclass(frozen=True)
class FieldRules:
    """Which fields may be empty or lists; by default a field is one text that is not empty.

    `may_be_empty` and `may_be_list` are roles. The texts of a list are joined by LIST_SEPARATOR,
    and columns that are concatenated to one field by `separator`.
    """

    may_be_empty: frozenset[str] = frozenset()
    may_be_list: frozenset[str] = frozenset()
    separator: str = " "


LIST_SEPARATOR = "\x1f"  # the unit separator of ASCII, which texts do not have
STRICT_RULES = FieldRules()


@dataclass(frozen=True)
class ReadRequest:
    """What to read from a file: the roles in order, and the columns that the user named."""

    path: Path
    roles: tuple[str, ...]
    columns: dict[str, str]
    extra_fields: bool = False
    keep_blank: bool = False
    rules: FieldRules = STRICT_RULES


PREDICTION, PROBABILITY = "prediction", "probability"  # columns that predictions are joined as


class JoinedPrediction(NamedTuple):
    """A prediction as a file can hold it; `others` are the rest of an n-best list.

    `text` is for a cell and `value` for JSON; a probability is one number, or one for each word.
    `probabilities` are those of all labels.
    """

    text: str
    value: Any
    probability: float | list[float] | None = None
    probabilities: Mapping[str, float] | None = None
    score: float = float("nan")
    others: tuple["JoinedPrediction", ...] = ()


@dataclass(frozen=True)
class InputFile:
    """The inputs of a file as examples, and a function that writes the file with predictions.

    An input that is None is blank: it gets no prediction. `guess` tells how a file was read whose
    name does not say it.
    """

    format: str
    examples: Sequence[Any]
    write: Callable[[Sequence[JoinedPrediction | None]], Iterator[str]]
    guess: str = ""


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be read: the error code, the reason, and how to help."""

    code: str
    line: int
    reason: str
    text: str | None = None
    mark: tuple[int, int] | None = None
    note: str = ""
    help: tuple[str, ...] = ()
    file: Path | None = None  # of parallel files


@dataclass
class ParseResult(Generic[Item]):
    """The result of a parser: rows or sentences, blank lines and bad lines."""

    rows: list[Item] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    bad_lines: list[BadLine] = field(default_factory=list)
    header: list[str] | None = None
    delimiter: str = ""
    notes: list[str] = field(default_factory=list)  # what was guessed, a sentence each


def parsed_file(
    name: str, result: ParseResult[Row] | ParseResult[Sentence], path: Path, settings: Data
) -> ParsedFile:
    """The parsed file; an error for its first bad line, unless `skip_bad` is set."""
    bad_lines = sorted(result.bad_lines, key=lambda bad_line: bad_line.line)
    if bad_lines and not settings.skip_bad:
        raise _error(bad_lines, path)
    if not result.rows:
        left_out = f" ({pluralize(len(bad_lines), 'bad line')} left out)" if bad_lines else ""
        raise DataError(
            "D023", f'"{path.name}" has no rows to use{left_out}', place=Place(str(path))
        )
    return ParsedFile(
        path=path,
        format=name,
        encoding=encoding_name(settings.encoding),
        header=result.header,
        rows=result.rows,
        blank=result.blank,
        bad=[(bad_line.line, f"{bad_line.code}: {bad_line.reason}") for bad_line in bad_lines],
        delimiter=result.delimiter,
        notes=tuple(result.notes),
    )


def free_names(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names for new columns; one that the file has already is counted on: prediction_2."""
    found: list[str] = []
    for name in names:
        free, number = name, 1
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return found


def pluralize(number: int, what: str) -> str:
    """A number with its noun: 1 row, 1,204 rows."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def format_lines(lines: Sequence[int], limit: int = 3) -> str:
    """The first line numbers, with … if there are more."""
    return ", ".join(str(line) for line in lines[:limit]) + (", …" if len(lines) > limit else "")


def _error(bad_lines: list[BadLine], path: Path) -> DataError:
    """The first bad line as an error, with the numbers of bad lines by code."""
    by_code: dict[str, list[int]] = defaultdict(list)
    for bad_line in bad_lines:
        by_code[bad_line.code].append(bad_line.line)
    first = bad_lines[0]
    same = by_code.pop(first.code)
    notes = []
    if len(same) > 1:
        notes = [f"{pluralize(len(same), 'row')} are like this ({format_lines(same)})."]
    notes += [
        f"{pluralize(len(lines), 'other bad row')}: {code} at line {format_lines(lines)}"
        for code, lines in by_code.items()
    ]
    drop = f"--skip-bad   drop {'them' if len(bad_lines) > 1 else 'it'}"
    place = Place(str(first.file or path), first.line, first.text, first.mark, first.note)
    return DataError(first.code, first.reason, place=place, notes=notes, help=[drop, *first.help])
