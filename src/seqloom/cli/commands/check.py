"""seqloom check: read a file as a task would, and report its contents and its problems."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ...data.checks.text import Finding
from ...data.formats.delimited import DELIMITER_NAMES
from ...data.formats.parallel_names import name_of
from ...errors import SeqloomError
from ...recipe import Recipe
from ...runs.check import CheckReport, SequenceStatistics, check
from ...tasks import TASKS
from ..arguments import add_data_options, add_file, at_least_one, data_settings
from ..terminal import coloured, show, visible

EXIT_PROBLEM = 3
_MARKS = {"problem": "✘", "warning": "⚠", "note": "ℹ"}
_COLOURS = {"✔": "green", "⚠": "yellow", "✘": "red", "ℹ": "cyan"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    add_file(parser, "the file to check", nargs="+")
    parser.add_argument(
        "--task", choices=sorted(TASKS), help="task to read it for (default: detected)"
    )
    add_data_options(parser)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--rows",
        type=int,
        metavar="N",
        help="with --json: the first N rows as tokens, and the distribution of lengths",
    )


def run(args: argparse.Namespace) -> int:
    """Print the report; the exit code is 3 if a problem prevents training."""
    recipe = Recipe().with_settings(data_settings(args))
    report = check(Path(name_of(args.file)), args.task, recipe.build_data(), recipe.task)
    if args.json:
        more = _rows(report, recipe, args) if args.rows is not None else {}
        show(json.dumps(report.as_dict() | more, ensure_ascii=False))
    else:
        show("\n".join(_lines(report)))
    return EXIT_PROBLEM if report.has_problems else 0


def _rows(report: CheckReport, recipe: Recipe, args: argparse.Namespace) -> dict[str, Any]:
    """The first rows of the file; none if the task cannot read it."""
    from ...runs.preview import preview_rows

    most = at_least_one("--rows", args.rows)
    if not report.task:  # no task can read the file
        return {"rows": [], "lengths": {}}
    try:
        preview = preview_rows(report.path, report.task, recipe.build_data(), recipe.task, most)
    except SeqloomError:  # the report has the reason
        return {"rows": [], "lengths": {}}
    return preview.as_dict()


def _lines(report: CheckReport) -> list[str]:
    """The lines of the report."""
    lines = []
    if report.counts:
        names = [report.path.name, "task", *(part.role for part in report.parts), "label"]
        width = max(12, *(len(name) for name in names)) + 2
        rows = [
            (report.path.name, _summary(report)),
            ("task", f"{report.task}  ({report.why})   change with --task"),
            *((part.role, _lengths(part)) for part in report.parts),
            *report.facts.items(),
        ]
        rows += [(_label_name(report), _labels(report))] * bool(report.labels)
        lines += [visible(f"{name:<{width}}{text}") for name, text in rows]
    if report.passed:
        lines.append("          ".join(_coloured(f"✔ {text}") for text in report.passed))
    for finding in report.findings:
        lines += _finding_lines(finding)
    return [*lines, *[f"Next: {visible(report.next)}"] * bool(report.next)]


def _summary(report: CheckReport) -> str:
    """The counts, the encoding and the layout on one line."""
    counts = dict(report.counts)
    blank, bad = counts.pop("blank"), counts.pop("bad")
    parts = [f"{number:,} {name}" for name, number in counts.items()]
    parts += [f"{bad:,} bad"] * bool(bad) + [f"{blank:,} blank"] * bool(blank)
    parts += [report.encoding, DELIMITER_NAMES.get(report.delimiter, report.format)]
    if report.header is not None:
        parts.append(f"header: {','.join(report.header)}")
    return " · ".join(parts)


def _lengths(part: SequenceStatistics) -> str:
    """Lengths of the sequences of one column, and its number of token types."""
    return (
        f"median {part.median:,g} {part.unit}, longest {part.longest:,} (line "
        f"{part.longest_line:,}), {part.kinds:,} different {part.unit}"
    )


def _label_name(report: CheckReport) -> str:
    return TASKS[report.task].roles[-1]


def _labels(report: CheckReport) -> str:
    """The most frequent labels with their counts."""
    shown = [f"{name} {number:,}" for name, number in list(report.labels.items())[:12]]
    rest = len(report.labels) - len(shown)
    return " · ".join([*shown, *[f"and {rest:,} more"] * bool(rest)])


def _finding_lines(finding: Finding) -> list[str]:
    """A finding with its mark, and further lines below it."""
    first, *rest = (visible(line) for line in finding.text.split("\n"))
    return [_coloured(f"{_MARKS[finding.level]} {first}   [{finding.code}]"), *rest]


def _coloured(line: str) -> str:
    """The line with its mark in colour, on a terminal."""
    return coloured(line[0], _COLOURS[line[0]], sys.stdout) + line[1:]
