"""seqloom check: read a file as a task would and say what is in it."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from ...data.checks.text import Finding
from ...data.formats.delimited import DELIMITER_NAMES
from ...data.formats.parallel_names import name_of
from ...errors import SeqloomError
from ...recipe import Recipe
from ...runs.check import Part, Report, check
from ...tasks import TASKS
from ..arguments import add_file, add_reading, at_least_one, reading_of

EXIT_PROBLEM = 3
_MARKS = {"problem": "✘", "warning": "⚠", "note": "ℹ"}
_COLOURS = {"✔": "32", "⚠": "33", "✘": "31", "ℹ": "36"}


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_file(parser, "the file to look at", nargs="+")
    parser.add_argument("--task", choices=sorted(TASKS), help="read it for this task")
    add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--rows",
        type=int,
        metavar="N",
        help="with --json: the first N rows as a model will see them, and how long rows are",
    )


def run(given: argparse.Namespace) -> int:
    """Print the report; the exit code is 3 if something blocks training."""
    recipe = Recipe().with_settings(reading_of(given))
    report = check(Path(name_of(given.file)), given.task, recipe.build_data(), recipe.task)
    if given.json:
        more = _rows(report, recipe, given) if given.rows is not None else {}
        print(json.dumps(report.as_dict() | more, ensure_ascii=False))
    else:
        print("\n".join(_lines(report)))
    return EXIT_PROBLEM if report.has_problems else 0


def _rows(report: Report, recipe: Recipe, given: argparse.Namespace) -> dict[str, Any]:
    """Rows of the file; none where it cannot be read as the task would."""
    from ...runs.preview import rows

    most = at_least_one("--rows", given.rows)
    if not report.task:  # the file cannot be read at all
        return {"rows": [], "lengths": {}}
    try:
        found = rows(report.path, report.task, recipe.build_data(), recipe.task, most)
    except SeqloomError:  # the report says why
        return {"rows": [], "lengths": {}}
    return found.as_dict()


def _lines(report: Report) -> list[str]:
    """The report as it is printed."""
    told = []
    if report.counts:
        names = [report.path.name, "task", *(part.role for part in report.parts), "label"]
        width = max(12, *(len(name) for name in names)) + 2
        rows = [
            (report.path.name, _found(report)),
            ("task", f"{report.task}  ({report.why})   change with --task"),
            *((part.role, _lengths(part)) for part in report.parts),
            *report.facts.items(),
        ]
        rows += [(_label_name(report), _labels(report))] * bool(report.labels)
        told += [_visible(f"{name:<{width}}{text}") for name, text in rows]
    if report.passed:
        told.append("          ".join(_coloured(f"✔ {text}") for text in report.passed))
    for finding in report.findings:
        told += _told(finding)
    return [*told, *[f"Next: {report.next}"] * bool(report.next)]


def _found(report: Report) -> str:
    """The counts, the encoding and the layout on one line."""
    counts = dict(report.counts)
    blank, bad = counts.pop("blank"), counts.pop("bad")
    pieces = [f"{number:,} {name}" for name, number in counts.items()]
    pieces += [f"{bad:,} bad"] * bool(bad) + [f"{blank:,} blank"] * bool(blank)
    pieces += [report.encoding, DELIMITER_NAMES.get(report.delimiter, report.format)]
    if report.header is not None:
        pieces.append(f"header: {','.join(report.header)}")
    return " · ".join(pieces)


def _lengths(part: Part) -> str:
    """The lengths of one role's sequences and their symbols."""
    return (
        f"median {part.median:,g} {part.unit}, longest {part.longest:,} (line "
        f"{part.longest_line:,}), {part.kinds:,} different {part.unit}"
    )


def _label_name(report: Report) -> str:
    return TASKS[report.task].roles[-1]


def _labels(report: Report) -> str:
    """The commonest labels with their counts."""
    shown = [f"{name} {number:,}" for name, number in list(report.labels.items())[:12]]
    rest = len(report.labels) - len(shown)
    return " · ".join([*shown, *[f"and {rest:,} more"] * bool(rest)])


def _told(finding: Finding) -> list[str]:
    """A finding with its mark; the lines after the first stand below it."""
    first, *rest = (_visible(line) for line in finding.text.split("\n"))
    return [_coloured(f"{_MARKS[finding.level]} {first}   [{finding.code}]"), *rest]


def _visible(line: str) -> str:
    """Without the characters that steer a terminal: the words are the file's own."""
    return "".join(mark if mark.isprintable() else "·" for mark in line)


def _coloured(line: str) -> str:
    """The mark in colour, on a terminal that wants it."""
    is_plain = not sys.stdout.isatty() or os.environ.get("TERM") == "dumb"
    if is_plain or os.environ.get("NO_COLOR"):
        return line
    return f"\033[{_COLOURS[line[0]]}m{line[0]}\033[0m{line[1:]}"
