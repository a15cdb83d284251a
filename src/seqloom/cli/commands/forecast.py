"""seqloom forecast: how series go on, with how far that may be off."""

import argparse
import csv
import io
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...errors import MachineError
from ...inference.forecast import Asked, Outlook, view_of
from ...prediction import LEVELS
from ...runs.record import to_json
from ...views.draw.sparkline import BARS, condensed, sparkline
from ...views.draw.text import fold, to_ascii
from ...views.draw.time_axis import spoken_number
from ...views.forecast import Fan, spark_lines, table_of
from ..arguments import add_reading, at_least_one
from ..inputs import STANDARD_INPUT
from ..loading import Progress, load_run
from ..terminal import can_show, columns, say, several, show, table, visible, width
from .evaluate import reading_settings

MOST_ROWS = 24  # of a table in the terminal
MARKS = BARS + "│–…"
TABLE = (0, 1, 4, 5, 6, 7, 8)  # time, mean, 80 %, 95 % and what came, of what `table_of` gives


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument(
        "file",
        metavar="FILE",
        help="series, read as the run's own; rows without a number at their end tell what is"
        " known of the future",
    )
    parser.add_argument(
        "--horizon",
        type=int,
        metavar="N",
        help="steps to look ahead; left out: as many as were learned",
    )
    parser.add_argument(
        "--samples", type=int, default=0, metavar="N", help="futures drawn at random, with --json"
    )
    parser.add_argument(
        "-s", "--seed", type=int, default=1, metavar="N", help="where chance starts (1)"
    )
    parser.add_argument(
        "--hold-out",
        "--backtest",
        action="store_true",
        help="forecast the last steps of the file, to see them beside what came",
    )
    parser.add_argument(
        "--series",
        action="append",
        default=[],
        metavar="NAME",
        help="only this series of the file; may be repeated",
    )
    written = parser.add_argument_group("what is written")
    written.add_argument(
        "-o", "--output", type=Path, metavar="FILE.svg", help="draw it; also .png, .html, .json"
    )
    written.add_argument("--csv", metavar="FILE", help="write every step; - is standard output")
    written.add_argument(
        "--history",
        type=int,
        default=0,
        metavar="N",
        help="steps of the past that are drawn; left out: some",
    )
    written.add_argument("--dark", action="store_true", help="draw on a dark page")
    add_reading(parser)


def run(given: argparse.Namespace) -> int:
    """Print what is expected of each series."""
    asked = Asked(
        horizon=0 if given.horizon is None else at_least_one("--horizon", given.horizon),
        samples=given.samples,
        seed=given.seed,
        hold_out=given.hold_out,
        series=tuple(given.series),
    )
    if given.history:
        at_least_one("--history", given.history)
    run = load_run(given.run, given.runs_dir)
    settings = reading_settings(given)
    with Progress(f"asking {run.name}", quiet=given.quiet) as progress:
        found = run.forecast(given.file, asked, settings=settings, tell=progress.tell)
    if given.csv is not None:
        _write_csv(found, given.csv)
    elif given.json:
        for one in found:
            show(to_json(one.as_dict()))
    if given.csv != STANDARD_INPUT and not given.json:
        _print(found, given)
    if given.output is not None:
        path = view_of(found, history=given.history, dark=given.dark).save(given.output)
        (say if given.json or given.csv == STANDARD_INPUT else show)(str(path))
    return 0


def _print(found: Sequence[Outlook], given: argparse.Namespace) -> None:
    """One series as a picture and a table, several in one line each."""
    fans = [fan for one in found for fan in one.fans()]
    is_plain = not can_show(MARKS, sys.stdout)
    if len(fans) > 1:
        for line in _overview(fans, is_plain):
            show(line)
    else:
        for line in spark_lines(fans[0].late(max(96, given.history)), width(), is_plain):
            show(line)
        show()
        for line in _steps(fans[0]):
            show(line)
    show()
    caption = view_of(found, history=given.history).caption
    for line in fold(to_ascii(caption) if is_plain else caption, width()):
        show(line)


def _steps(fan: Fan) -> list[str]:
    """The next steps: time, mean, and the bands of 80 and 95 %."""
    rows = [[row[place] for place in TABLE] for row in table_of(fan)]
    has_come = any(row[-1] for row in rows)
    heading = ["", "mean", "80 % from", "to", "95 % from", "to", "came"]
    cut = len(heading) if has_come else -1
    shown = rows if len(rows) <= MOST_ROWS else rows[: MOST_ROWS - 1]
    lines = table([row[:cut] if not has_come else row for row in [heading, *shown]], "lr")
    if len(shown) < len(rows):
        more = several(len(rows) - len(shown), "more step")
        lines.append(f"and {more}: --csv FILE or --json gives all of them")
    return lines


def _overview(fans: Sequence[Fan], is_plain: bool) -> list[str]:
    """A line for each: its name, its past and its future on one scale, and where it goes."""
    rows = []
    rule, dash = ("|", "-") if is_plain else ("│", "–")
    for fan in fans:
        low, high = fan.band(0.8)
        past = condensed(fan.past[-4 * len(fan.mean) :].tolist(), 24)
        ahead = condensed(fan.mean.tolist(), 12)
        both = sparkline([*past, *ahead], ascii=is_plain)
        drawn = f"{both[: len(past)]}{rule}{both[len(past) :]}"
        band = f"{spoken_number(float(low[-1]))} {dash} {spoken_number(float(high[-1]))}"
        rows.append([visible(fan.name), drawn, spoken_number(float(fan.mean[-1])), band])
    # A sparkline is never cut: it is not a word.
    longest = max(columns(row[1]) for row in rows)
    drawn_rows = [[row[0], row[1].ljust(longest), *row[2:]] for row in rows]
    return table([["", "", "at the end", "80 % band"], *drawn_rows], "lrrr")


def _write_csv(found: Sequence[Outlook], file: str) -> None:
    """Every step of every number of every series in a row."""
    text = _rows(found)
    if file == STANDARD_INPUT:
        show(text.removesuffix("\n"))
        return
    try:
        Path(file).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        reason = error.strerror or str(error)
        help = ["write to a folder that exists and that you may write to"]
        raise MachineError("E302", f"cannot write {file!r}: {reason}", help=help) from error


def _rows(found: Iterable[Outlook]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["series", "number", "time", "mean", *(f"{q:g}" for q in LEVELS), "actual"])
    for one in found:
        for name, fan in zip(one.names, one.fans(), strict=True):
            for step, time in enumerate(one.ahead):
                numbers = [fan.mean[step], *fan.quantiles[step], fan.came[step]]
                cells = ["" if math.isnan(value) else repr(float(value)) for value in numbers]
                writer.writerow([one.name, name, time, *cells])
    return written.getvalue()
