"""seqloom forecast: forecast time series, with prediction intervals."""

import argparse
import csv
import io
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...errors import cannot_save
from ...inference.forecast import ForecastRequest, SeriesForecast, forecast_view
from ...prediction import LEVELS
from ...runs.record import to_json
from ...views.draw.sparkline import BARS, downsample, sparkline
from ...views.draw.text import fold, to_ascii
from ...views.draw.time_axis import format_number
from ...views.forecast import FanChart, fan_chart_table, spark_lines
from ..arguments import add_data_options, at_least_one
from ..inputs import STANDARD_INPUT
from ..loading import ProgressLine, load_run
from ..terminal import can_show, display_width, plural, say, show, table, visible, width
from .evaluate import only_data_settings

MOST_ROWS = 24  # of a table in the terminal
MARKS = BARS + "│–…"
TABLE = (0, 1, 4, 5, 6, 7, 8)  # time, mean, 80 % and 95 % intervals, actual


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument(
        "file",
        metavar="FILE",
        help="time series, in the format of the training file; last rows without values give the"
        " known inputs of the future",
    )
    parser.add_argument(
        "--horizon",
        type=int,
        metavar="N",
        help="forecast horizon, in steps (default: that of training)",
    )
    parser.add_argument(
        "--samples", type=int, default=0, metavar="N", help="with --json: number of sample paths"
    )
    parser.add_argument(
        "-s", "--seed", type=int, default=1, metavar="N", help="random seed of the sample paths (1)"
    )
    parser.add_argument(
        "--hold-out",
        "--backtest",
        action="store_true",
        help="hold out the last steps of the file, and compare the forecast with them",
    )
    parser.add_argument(
        "--series",
        action="append",
        default=[],
        metavar="NAME",
        help="only this series of FILE; may be repeated",
    )
    written = parser.add_argument_group("output")
    written.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.svg",
        help="save the picture: .svg, .png, .html or .json",
    )
    written.add_argument(
        "--csv", metavar="FILE", help="write every step as CSV; - is standard output"
    )
    written.add_argument(
        "--history",
        type=int,
        default=0,
        metavar="N",
        help="past steps to draw (default: chosen by the horizon)",
    )
    written.add_argument("--dark", action="store_true", help="draw on a dark background")
    add_data_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the forecast of each series."""
    request = ForecastRequest(
        horizon=0 if args.horizon is None else at_least_one("--horizon", args.horizon),
        samples=args.samples,
        seed=args.seed,
        hold_out=args.hold_out,
        series=tuple(args.series),
    )
    if args.history:
        at_least_one("--history", args.history)
    run = load_run(args.run, args.runs_dir)
    settings = only_data_settings(args)
    with ProgressLine(f"forecasting with {run.name}", quiet=args.quiet) as progress:
        forecasts = run.forecast(args.file, request, settings=settings, tell=progress.update)
    if args.csv is not None:
        _write_csv(forecasts, args.csv)
    elif args.json:
        for one in forecasts:
            show(to_json(one.as_dict()))
    if args.csv != STANDARD_INPUT and not args.json:
        _print(forecasts, args)
    if args.output is not None:
        path = forecast_view(forecasts, history=args.history, dark=args.dark).save(args.output)
        (say if args.json or args.csv == STANDARD_INPUT else show)(str(path))
    return 0


def _print(forecasts: Sequence[SeriesForecast], args: argparse.Namespace) -> None:
    """Print one series as a picture and a table, several as one line each."""
    fans = [fan for one in forecasts for fan in one.fans()]
    is_plain = not can_show(MARKS, sys.stdout)
    if len(fans) > 1:
        for line in _overview(fans, is_plain):
            show(line)
    else:
        for line in spark_lines(fans[0].last(max(96, args.history)), width(), is_plain):
            show(line)
        show()
        for line in _steps(fans[0]):
            show(line)
    show()
    caption = forecast_view(forecasts, history=args.history).caption
    for line in fold(to_ascii(caption) if is_plain else caption, width()):
        show(line)


def _steps(fan: FanChart) -> list[str]:
    """The forecast steps: time, mean, and the 80 % and 95 % prediction intervals."""
    rows = [[row[column] for column in TABLE] for row in fan_chart_table(fan)]
    has_actual = any(row[-1] for row in rows)
    heading = ["", "mean", "80 % from", "to", "95 % from", "to", "actual"]
    cut = len(heading) if has_actual else -1
    shown = rows if len(rows) <= MOST_ROWS else rows[: MOST_ROWS - 1]
    lines = table([row[:cut] if not has_actual else row for row in [heading, *shown]], "lr")
    if len(shown) < len(rows):
        more = plural(len(rows) - len(shown), "more step")
        lines.append(f"and {more}: --csv FILE or --json gives all of them")
    return lines


def _overview(fans: Sequence[FanChart], is_plain: bool) -> list[str]:
    """A line for each series: name, sparkline of past and forecast on one scale, and last step."""
    rows = []
    rule, dash = ("|", "-") if is_plain else ("│", "–")
    for fan in fans:
        low, high = fan.interval(0.8)
        past = downsample(fan.past[-4 * len(fan.mean) :].tolist(), 24)
        ahead = downsample(fan.mean.tolist(), 12)
        both = sparkline([*past, *ahead], ascii=is_plain)
        curve = f"{both[: len(past)]}{rule}{both[len(past) :]}"
        interval = f"{format_number(float(low[-1]))} {dash} {format_number(float(high[-1]))}"
        rows.append([visible(fan.name), curve, format_number(float(fan.mean[-1])), interval])
    # Padded, so that `table` does not cut a sparkline.
    longest = max(display_width(row[1]) for row in rows)
    padded = [[row[0], row[1].ljust(longest), *row[2:]] for row in rows]
    return table([["", "", "last step", "80 % interval"], *padded], "lrrr")


def _write_csv(forecasts: Sequence[SeriesForecast], file: str) -> None:
    """Write a row for every step of every variable of every series."""
    text = _rows(forecasts)
    if file == STANDARD_INPUT:
        show(text.removesuffix("\n"))
        return
    try:
        Path(file).write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise cannot_save(Path(file), error) from error


def _rows(forecasts: Iterable[SeriesForecast]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["series", "number", "time", "mean", *(f"{q:g}" for q in LEVELS), "actual"])
    for one in forecasts:
        for name, fan in zip(one.names, one.fans(), strict=True):
            for step, time in enumerate(one.ahead):
                numbers = [fan.mean[step], *fan.quantiles[step], fan.actuals[step]]
                cells = ["" if math.isnan(value) else repr(float(value)) for value in numbers]
                writer.writerow([one.name, name, time, *cells])
    return written.getvalue()
