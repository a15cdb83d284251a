"""Read a file as a task would and report what was found: the work behind `seqloom check`.

Which task a file is made for: the guess of `seqloom check`, and its reason in words.
"""

import codecs
import re
import shlex
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from ..data.checks.series import facts, series_findings
from ..data.checks.tags import scheme_findings
from ..data.checks.text import Finding, Side, View, find
from ..data.formats import Row, Sentence, Source, guess_format, read_rows, read_sentences
from ..data.formats.base import count, listed
from ..data.formats.columns_roles import has_few_kinds
from ..data.formats.fasttext import is_plain
from ..data.formats.folders import parts_in
from ..data.formats.music import JSON, is_midi, looks_like_rolls
from ..data.formats.parallel_names import files_of
from ..data.formats.series import looks_like_series, read_series
from ..data.options import Data
from ..data.text.reading import read_lines, spoken
from ..errors import SeqloomError
from ..recipe import Recipe
from ..task import Task
from ..tasks import TASKS

# Layouts that one task alone is made for.
_MADE_FOR = {
    "columns": ("tag", "one word a line, a blank line between sentences"),
    "text": ("language", "plain text"),
    "parallel": ("translate", "parallel files"),
}


def guess_task(path: Path, read: list[list[str]], settings: Data) -> tuple[str, str]:
    """The task a file is made for, and the reason in words."""
    if music := _music(path, read, settings):
        return "music", music
    if path.is_dir():
        return "classify", "a folder of texts by label"
    if len(read) == 1 and (reason := looks_like_series(read[0], path, settings)):
        labelled = any(line.casefold().startswith("@classlabel true") for line in read[0][:99])
        return "series-classify" if labelled and "series-classify" in TASKS else "forecast", reason
    name = _layout(path, read[0], settings) if len(read) == 1 else "parallel"
    if name in _MADE_FOR:
        return _MADE_FOR[name]
    lenient = replace(settings, skip_bad=True)
    if name == "jsonl" and _are_sentences(path, lenient):
        return "tag", "words with tags, or texts with spans"
    return _by_rows(path, name, lenient)


def _music(path: Path, read: list[list[str]], settings: Data) -> str:
    """What tells that a file is of music; empty where nothing does."""
    if is_midi(path):
        return "MIDI files"
    is_json = settings.format == "auto" and path.suffix.lower() in JSON
    return "lists of frames of pitches" if is_json and looks_like_rolls(read[0]) else ""


def _by_rows(path: Path, name: str, lenient: Data) -> tuple[str, str]:
    """The first task whose columns a file has."""
    for task in ("translate", "classify", "language"):
        try:
            rows = read_rows(path, TASKS[task].roles, lenient).rows
        except SeqloomError:
            continue
        kinds = len({row.fields[-1] for row in rows if isinstance(row, Row)})
        if task == "language":
            return task, "one column of text"
        if task == "translate" and name == "tsv" and _is_label([*rows]):
            return "classify", f"2 columns; the second has {count(kinds, 'value')}"
        role = TASKS[task].roles[-1]
        return task, f'2 columns; "{role}" has {count(kinds, "value")}'
    return "classify", f"a {name} file has columns"


def _are_sentences(path: Path, settings: Data) -> bool:
    """Whether JSON lines hold words with tags, or texts with spans."""
    try:
        return bool(read_sentences(path, TASKS["tag"].roles, settings).rows)
    except SeqloomError:
        return False


def _layout(path: Path, lines: list[str], settings: Data) -> str:
    """The format, by the user's word, the file's name or its lines."""
    if settings.format != "auto":
        return settings.format
    named = guess_format(path, lines, TASKS["language"].roles)
    if named != "text":
        return named
    if _is_columns(lines):
        return "columns"
    found = set()
    for task in ("translate", "classify"):
        try:
            found.add(guess_format(path, lines, TASKS[task].roles))
        except SeqloomError:
            continue
    # Sentences may well begin with the same few words.
    if not is_plain(lines):
        found.discard("label-first")
    written = [line for line in lines if line.strip()]
    # One stray tab does not make a table.
    if 2 * sum("\t" in line for line in written) < len(written):
        found.discard("tsv")
    return min(found, default="text")


def _is_columns(lines: list[str]) -> bool:
    """Whether lines of equally many words stand in groups, the last words being of few kinds."""
    parted = [not line.strip() for line in lines]
    groups = [len(list(group)) for is_blank, group in groupby(parted) if not is_blank]
    words = [line for line in lines if line.strip() and not re.match(r"#(\s|$)", line)]
    if len(groups) < 2 or 2 * len(groups) > sum(groups) or not words:
        return False
    tabbed = all("\t" in line for line in words)
    cells = [line.split("\t") if tabbed else line.split() for line in words]
    width, times = Counter(len(cell) for cell in cells).most_common(1)[0]
    is_even = width > 1 and times > 0.95 * len(cells)
    single = all(len(cell[0].split()) == 1 for cell in cells)
    return is_even and single and has_few_kinds([cell[-1] for cell in cells])


def _is_label(rows: list[Row | Sentence]) -> bool:
    """Whether the last fields repeat as labels do."""
    return has_few_kinds([str(row.fields[-1]) for row in rows])


# The roles whose fields come from a closed set.
_LABELS = {"label", "tag"}


@dataclass(frozen=True)
class Part:
    """The sequences of one role: how long they are and how many kinds of symbols they have."""

    role: str
    unit: str
    median: float
    longest: int
    longest_line: int
    kinds: int
    total: int


@dataclass(frozen=True)
class Report:
    """All that was found in a file; where it cannot be read at all, only the problem."""

    path: Path
    task: str
    why: str
    format: str = ""
    encoding: str = ""
    delimiter: str = ""
    header: list[str] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    next: str = ""

    @property
    def has_problems(self) -> bool:
        """Whether something blocks training."""
        return any(finding.level == "problem" for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {**asdict(self), "path": str(self.path)}


def check(path: Path, task_name: str | None, settings: Data, options: Mapping[str, Any]) -> Report:
    """Read a file as a task would; whatever is wrong with it becomes a finding, not an error."""
    if task_name is not None:
        TASKS.find(task_name)
    given, path = path, parts_in(path).get("train", path)
    try:
        read = [_lines(file, settings) for file in files_of(path)]
    except SeqloomError as unreadable:
        report = Report(path, task_name or "", "", findings=[_problem(unreadable, [])])
        return replace(report, next=_next(report, settings, unreadable, options))
    task, why = (task_name, "as you say") if task_name else guess_task(path, read, settings)
    if TASKS[task].reads_series:
        return _series(Report(given, task, why), path, settings, options)
    source, error = _read(path, task, settings, options)
    report = Report(path, task, why)
    if source is not None:
        report = _report(source, task, why, _view(source, task, read, settings, options))
    findings = _problems(source, error) + _around(path, source) + report.findings
    passed = _passed(task, source, findings)
    report = replace(report, path=given, findings=findings, passed=passed)
    return replace(report, next=_next(report, settings, error, options))


def _lines(path: Path, settings: Data) -> list[str]:
    """The lines of a file; folders and MIDI files have none."""
    if path.is_dir() or is_midi(path):
        return []
    return read_lines(path, settings.encoding, unpack=True)


def _series(report: Report, path: Path, settings: Data, options: Mapping[str, Any]) -> Report:
    """A file of series: its step and length, and what is odd of it."""
    error = None
    try:
        recording = read_series(path, settings)
        counts = {"series": len(recording.series), "blank": 0, "bad": 0}
        reader = Recipe(task={**options, "name": report.task}).build_task()
        examples = [] if reader.in_time else reader.read(path, settings)
        labels = Counter(label for example in examples for label in reader.labels_of(example))
        report = replace(
            report,
            format=settings.format if settings.format != "auto" else "series",
            encoding=spoken(settings.encoding),
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


def _open(path: Path, task: str, settings: Data, options: Mapping[str, Any]) -> Source:
    """The rows of a file, as the task reads them."""
    return Recipe(task={**options, "name": task}).build_task().open(path, settings)


def _read(
    path: Path, task: str, settings: Data, options: Mapping[str, Any]
) -> tuple[Source | None, SeqloomError | None]:
    """The rows that can be read, and the error that a task would stop at."""
    try:
        return _open(path, task, settings, options), None
    except SeqloomError as error:
        try:
            return _open(path, task, replace(settings, skip_bad=True), options), error
        except SeqloomError:
            return None, error


def _view(
    source: Source, task: str, read: list[list[str]], settings: Data, options: Mapping[str, Any]
) -> View:
    """The rows as sequences of symbols, each on its side."""
    reader = fitting_task(task, source, options)
    rows = source.rows if TASKS[task].roles[-1] in _LABELS else ()
    labels = [(row.line, label) for row in rows for label in reader.labels_of(reader.example(row))]
    return View(
        task=task,
        lines=[row.line for row in source.rows],
        sides=reader.sides(source),
        keys=[_frozen(row.fields[0]) for row in source.rows],
        answers=[_frozen(row.fields[-1]) for row in source.rows],
        labels=labels,
        raw=[pair for lines in read for pair in enumerate(lines, 1)],
        max_length=settings.max_length,
        continuous=options.get("layout") == "stream",
    )


def fitting_task(task: str, source: Source, options: Mapping[str, Any]) -> Task:
    """The task with the options given, and such as suit the file where it needs them."""
    suited = TASKS[task].suited(source)
    return Recipe(task={**suited, **options, "name": task}).build_task()


def _frozen(found: str | list[str]) -> Hashable:
    return found if isinstance(found, str) else tuple(found)


def _report(source: Source, task: str, why: str, view: View) -> Report:
    """The counts of what was read."""
    labels = Counter(label for _, label in view.labels)
    name = {"tag": "sentences", "language": "lines", "music": "pieces"}.get(task, "rows")
    return Report(
        path=source.path,
        task=task,
        why=why,
        format=source.format,
        encoding=source.encoding,
        delimiter=source.delimiter,
        header=source.header,
        counts={name: len(source.rows), "blank": len(source.blank), "bad": len(source.bad)},
        parts=[_part(view, side) for side in view.sides],
        labels=dict(labels.most_common()),
        findings=find(view) + (scheme_findings(source) if task == "tag" else []),
    )


def _part(view: View, side: Side) -> Part:
    """The lengths and kinds of one side."""
    lengths = [len(sequence) for sequence in side.sequences]
    longest = max(lengths)
    return Part(
        role=side.role,
        unit=side.unit,
        median=float(median(lengths)),
        longest=longest,
        longest_line=view.lines[lengths.index(longest)],
        kinds=len({symbol for sequence in side.sequences for symbol in sequence}),
        total=sum(lengths),
    )


def _problem(error: SeqloomError, lines: list[int]) -> Finding:
    """An error as a finding, with all it says."""
    if not lines and error.place is not None and error.place.line is not None:
        lines = [error.place.line]
    text = error.text().removeprefix(f"error[{error.code}]: ")
    return Finding("problem", error.code, text, lines)


def _problems(source: Source | None, error: SeqloomError | None) -> list[Finding]:
    """What stops a task from reading the file, or what it was told to leave out."""
    bad = source.bad if source is not None else []
    if error is not None:
        return [_problem(error, [line for line, why in bad if why.startswith(error.code)])]
    if not bad:
        return []
    lines = [line for line, _ in bad]
    say = f"{count(len(bad), 'line')} left out that cannot be read ({listed(lines)})"
    return [Finding("warning", "D024", say, lines)]


def _around(path: Path, source: Source | None) -> list[Finding]:
    """Blank lines, and the mark some programs put before the text."""
    found = []
    if source is not None and source.blank:
        say = f"{count(len(source.blank), 'blank line')} skipped (first: {listed(source.blank)})"
        found.append(Finding("warning", "D020", say, list(source.blank)))
    if _begins_with_mark(path):
        say = "the file begins with a byte order mark, which is not read as text"
        found.append(Finding("note", "D032", say, [1]))
    return found


def _begins_with_mark(path: Path) -> bool:
    for file in files_of(path):
        try:
            with file.open("rb") as opened:
                if opened.read(3) == codecs.BOM_UTF8:
                    return True
        except OSError:
            continue
    return False


def _passed(task: str, source: Source | None, findings: list[Finding]) -> list[str]:
    """What was looked for and is right."""
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
    report: Report, settings: Data, error: SeqloomError | None, options: Mapping[str, Any]
) -> str:
    """The command to type next: to train, or to look again with the remedy if there is one."""
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
    file = shlex.quote(str(report.path))
    if error is not None:
        return " ".join(["seqloom check", file, *given]) if remedy else ""
    chosen = {
        f"{part.role}_symbols": "characters"
        for part in report.parts
        if report.task == "translate" and part.unit == "characters"
    } | dict(options)
    sets = [f"--set task.{name}={str(value).lower()}" for name, value in chosen.items()]
    return " ".join(["seqloom train", report.task, file, *given, *sets])


def _remedy(error: SeqloomError | None) -> str:
    """The option that makes the file readable, if the error names one."""
    help = error.help if error is not None else ()
    found = [re.match(r"--(encoding [a-z0-9-]+$|skip-bad)", line) for line in help]
    return next((match.group() for match in found if match), "")
