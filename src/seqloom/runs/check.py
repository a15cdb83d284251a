"""Data checks: read a file as a task would and report statistics, warnings and problems."""

import codecs
import re
import shlex
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..config import with_defaults
from ..data.checks.series import facts, series_findings
from ..data.checks.tags import scheme_findings
from ..data.checks.text import CheckInput, Finding, Side, text_findings
from ..data.formats import EXTENSIONS, ParsedFile
from ..data.formats.base import format_lines, pluralize
from ..data.formats.folders import splits_in
from ..data.formats.music import is_midi
from ..data.formats.parallel_names import files_of
from ..data.formats.series import read_series
from ..data.options import Data
from ..data.text.files import read_bytes, require_possible_name
from ..data.text.reading import encoding_name, lazy_lines, read_lines
from ..errors import SeqloomError
from ..metrics.intervals import MIN_EXAMPLES
from ..metrics.paired import visible_difference
from ..recipe import Recipe
from ..task import Task
from ..tasks import TASKS
from .infer_task import guess_task
from .names import file_argument

# Roles whose values come from a closed set.
_LABELS = {"label", "tag"}
GUESSED_LINES = 200_000  # from which the task is guessed


@dataclass(frozen=True)
class SequenceStatistics:
    """Length and vocabulary statistics of the sequences of one role, such as source or target."""

    role: str
    unit: str
    median: float
    longest: int
    longest_line: int
    kinds: int
    total: int


@dataclass(frozen=True)
class CheckReport:
    """The report on a file; if the file cannot be read, it has only the problem."""

    path: Path
    task: str
    why: str
    format: str = ""
    encoding: str = ""
    delimiter: str = ""
    header: list[str] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    parts: list[SequenceStatistics] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    suggested: dict[str, Any] = field(default_factory=dict)  # options of the task, by the file
    next: str = ""

    @property
    def has_problems(self) -> bool:
        """Whether a finding prevents training."""
        return any(finding.level == "problem" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        return {**asdict(self), "path": str(self.path)}


def check(
    path: Path, task_name: str | None, settings: Data, options: Mapping[str, Any]
) -> CheckReport:
    """Read a file as a task would; errors become findings."""
    if task_name is not None:
        TASKS.find(task_name)
    require_possible_name(str(path))
    given, path = path, splits_in(path).get("train", path)
    try:
        read = [_lines(file, settings) for file in files_of(path)]
    except SeqloomError as unreadable:
        report = CheckReport(path, task_name or "", "", findings=[_problem(unreadable, [])])
        return replace(report, next=_next(report, settings, unreadable, options))
    task, why = (
        (task_name, "as you say")
        if task_name
        else guess_task(path, [list(lines[:GUESSED_LINES]) for lines in read], settings)
    )
    if TASKS[task].reads_series:
        return _series(CheckReport(given, task, why), path, settings, options)
    source, error = _read(path, task, settings, options)
    report = CheckReport(path, task, why)
    if source is not None:
        report = _report(source, task, why, _view(source, task, read, settings, options))
        report = replace(report, suggested=_unusual(task, source, options))
    findings = _problems(source, error) + _around(path, source) + report.findings
    passed = _passed(task, source, findings)
    told = report.facts | (_test_part(source, settings) if source is not None else {})
    report = replace(report, path=given, findings=findings, passed=passed, facts=told)
    return replace(report, next=_next(report, settings, error, options))


def _lines(path: Path, settings: Data) -> Sequence[str]:
    """The lines of a file, of a large one on disk; folders and MIDI files have none."""
    if path.is_dir() or is_midi(path):
        return []
    if EXTENSIONS.get(path.suffix.lower()) is None and settings.format in ("auto", "text"):
        large = lazy_lines(path, settings.encoding)
        if large is not None:
            return large
    return read_lines(path, settings.encoding, unpack=True)


def _series(
    report: CheckReport, path: Path, settings: Data, options: Mapping[str, Any]
) -> CheckReport:
    """Check a file of time series: frequency, lengths, missing values and anomalies."""
    error = None
    try:
        recording = read_series(path, settings)
        counts = {"series": len(recording.series), "blank": 0, "bad": 0}
        reader = Recipe(task={**options, "name": report.task}).build_task()
        examples = [] if reader.splits_in_time else reader.read(path, settings)
        labels = Counter(label for example in examples for label in reader.labels_of(example))
        report = replace(
            report,
            format=settings.format if settings.format != "auto" else "series",
            encoding=encoding_name(settings.encoding),
            counts=counts,
            labels=dict(labels.most_common()),
            facts=facts(recording),
            findings=series_findings(recording),
            passed=["dates in order, none twice"] * bool(recording.step),
        )
    except SeqloomError as found:
        error = found
        report = replace(report, findings=[_problem(error, [])])
    return replace(report, next=_next(report, settings, error, options))


def _open(path: Path, task: str, settings: Data, options: Mapping[str, Any]) -> ParsedFile:
    """The rows of a file, as the task reads them."""
    return Recipe(task={**options, "name": task}).build_task().open(path, settings)


def _read(
    path: Path, task: str, settings: Data, options: Mapping[str, Any]
) -> tuple[ParsedFile | None, SeqloomError | None]:
    """The readable rows, and the error at which a task would stop."""
    try:
        return _open(path, task, settings, options), None
    except SeqloomError as error:
        try:
            return _open(path, task, replace(settings, skip_bad=True), options), error
        except SeqloomError:
            return None, error


def _view(
    source: ParsedFile,
    task: str,
    read: Sequence[Sequence[str]],
    settings: Data,
    options: Mapping[str, Any],
) -> CheckInput:
    """The rows as token sequences, by role."""
    reader = fitting_task(task, source, options)
    rows = source.rows if TASKS[task].roles[-1] in _LABELS else ()
    compared = () if task == "language" else source.rows  # running text may repeat itself
    labels = [(row.line, label) for row in rows for label in reader.labels_of(reader.example(row))]
    return CheckInput(
        task=task,
        lines=np.fromiter((row.line for row in source.rows), np.int64, len(source.rows)),
        sides=reader.sides(source),
        keys=[_frozen(row.fields[0]) for row in compared],
        answers=[_frozen(row.fields[-1]) for row in compared],
        labels=labels,
        raw=read,
        max_length=settings.max_length,
        continuous=options.get("layout") == "stream",
    )


def _unusual(task: str, source: ParsedFile, options: Mapping[str, Any]) -> dict[str, Any]:
    """The suggested options that are not the defaults, without those that are given."""
    usual = with_defaults(TASKS[task], {})
    suited = TASKS[task].suggested_options(source).items()
    return {name: value for name, value in suited if usual[name] != value and name not in options}


def fitting_task(task: str, source: ParsedFile, options: Mapping[str, Any]) -> Task:
    """The task with the given options, and with options suggested by the file otherwise."""
    suited = TASKS[task].suggested_options(source)
    return Recipe(task={**suited, **options, "name": task}).build_task()


def _test_part(source: ParsedFile, settings: Data) -> dict[str, str]:
    """What the test part that is split off could tell about two models."""
    rows = len(source.rows)
    fraction = settings.with_fractions(rows).test_fraction
    if settings.test or settings.folds or not fraction or not rows:
        return {}
    count = max(1, round(fraction * rows))
    by_size = round(replace(settings, test_fraction=-1.0).with_fractions(rows).test_fraction * rows)
    more = f" (--set data.test_fraction=-1 takes {by_size:,})" * (by_size > count)
    told = (
        f"differences of accuracy below {100 * visible_difference(count):.2g} points may be chance"
    )
    if count < MIN_EXAMPLES:
        told = "too few to tell two models apart"
    return {"test part": f"{count:,} of {rows:,} rows: {told}{more}"}


def _frozen(found: str | list[str]) -> Hashable:
    return found if isinstance(found, str) else tuple(found)


def _report(source: ParsedFile, task: str, why: str, view: CheckInput) -> CheckReport:
    """The report on the rows that were read."""
    labels = Counter(label for _, label in view.labels)
    name = {"tag": "sentences", "language": "lines", "music": "pieces"}.get(task, "rows")
    return CheckReport(
        path=source.path,
        task=task,
        why=why,
        format=source.format,
        encoding=source.encoding,
        delimiter=source.delimiter,
        header=source.header,
        counts={name: len(source.rows), "blank": len(source.blank), "bad": len(source.bad)},
        parts=[_statistics(view, side) for side in view.sides],
        labels=dict(labels.most_common()),
        findings=text_findings(view) + (scheme_findings(source) if task == "tag" else []),
    )


def _statistics(view: CheckInput, side: Side) -> SequenceStatistics:
    """Length and vocabulary statistics of one role."""
    longest = int(side.lengths.argmax())
    return SequenceStatistics(
        role=side.role,
        unit=side.unit,
        median=float(np.median(side.lengths)),
        longest=int(side.lengths[longest]),
        longest_line=int(view.lines[longest]),
        kinds=len(side.counts),
        total=int(side.lengths.sum()),
    )


def _problem(error: SeqloomError, lines: list[int]) -> Finding:
    """An error as a finding, with its full message."""
    if not lines and error.place is not None and error.place.line is not None:
        lines = [error.place.line]
    text = error.text().removeprefix(f"error[{error.code}]: ")
    return Finding("problem", error.code, text, lines)


def _problems(source: ParsedFile | None, error: SeqloomError | None) -> list[Finding]:
    """The error that stops a task, or the lines skipped with `skip_bad`."""
    bad = source.bad if source is not None else []
    if error is not None:
        return [_problem(error, [line for line, why in bad if why.startswith(error.code)])]
    if not bad:
        return []
    lines = [line for line, _ in bad]
    say = f"{pluralize(len(bad), 'line')} left out that cannot be read ({format_lines(lines)})"
    return [Finding("warning", "D024", say, lines)]


def _around(path: Path, source: ParsedFile | None) -> list[Finding]:
    """Blank lines and byte order marks."""
    found = []
    if source is not None and source.blank:
        count = pluralize(len(source.blank), "blank line")
        say = f"{count} skipped (first: {format_lines(source.blank)})"
        found.append(Finding("warning", "D020", say, list(source.blank)))
    if source is not None:
        found += [Finding("note", "D016", note, []) for note in source.notes]
    if _begins_with_mark(path):
        say = "the file begins with a byte order mark, which is not read as text"
        found.append(Finding("note", "D032", say, [1]))
    return found


def _begins_with_mark(path: Path) -> bool:
    for file in files_of(path):
        if not file.is_dir() and read_bytes(file, limit=2) == codecs.BOM_UTF8:
            return True
    return False


def _passed(task: str, source: ParsedFile | None, findings: list[Finding]) -> list[str]:
    """The checks that passed."""
    if source is None:
        return []
    codes = {finding.code for finding in findings}
    passed = [] if codes & {"D014", "D020"} else ["no empty rows"]
    if task == "classify" and not codes & {"D010", "D011", "D071"}:
        passed.append("one label per row")
    if task == "translate" and not codes & {"D010", "D011"}:
        passed.append("one target per row")
    return passed if "D070" in codes or task == "language" else [*passed, "no row twice"]


def _next(
    report: CheckReport, settings: Data, error: SeqloomError | None, options: Mapping[str, Any]
) -> str:
    """The suggested next command: train, or check again with an option that fixes the error."""
    remedy = _remedy(error)
    given = [
        f"--{name} {shlex.quote(value)}"
        for name, value, default in (
            ("format", settings.format, "auto"),
            ("columns", settings.columns, ""),
            ("encoding", settings.encoding, "utf-8"),
        )
        if value != default and not remedy.startswith(f"--{name}")
    ]
    given += ["--skip-bad"] * settings.skip_bad + [remedy] * bool(remedy)
    file = file_argument(report.path)
    if error is not None:
        return " ".join(["seqloom check", file, *given]) if remedy else ""
    chosen = report.suggested | dict(options)
    sets = [f"--set task.{name}={str(value).lower()}" for name, value in chosen.items()]
    return " ".join(["seqloom train", report.task, file, *given, *sets])


def _remedy(error: SeqloomError | None) -> str:
    """The option that makes the file readable, if the error names one."""
    help = error.help if error is not None else ()
    found = [re.match(r"--(encoding [a-z0-9-]+$|skip-bad)", line) for line in help]
    return next((match.group() for match in found if match), "")
