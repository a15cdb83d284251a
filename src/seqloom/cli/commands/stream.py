"""seqloom stream: online inference, a prediction after every token or number, one per line.

A blank line ends the sequence: the next line starts a new one, as in CoNLL files.
"""

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from math import exp
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from ...errors import DataError, Place
from ...inference.stream import (
    ForecastPrediction,
    NumericPrediction,
    Stream,
    StreamPrediction,
    StreamState,
)
from ...prediction import LEVELS
from ...runs.record import to_json
from ...task import Task
from ..arguments import at_least_one
from ..inputs import STANDARD_INPUT, read_lines
from ..loading import load_run, say_notes
from ..terminal import show, visible

AnyReply = StreamPrediction | NumericPrediction | ForecastPrediction


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument(
        "-f",
        "--file",
        metavar="FILE",
        default=STANDARD_INPUT,
        help="file of tokens or numbers, one per line (default: standard input); a blank line"
        " starts a new sequence",
    )
    parser.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="encoding of the input (utf-8)"
    )
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="restore the state from FILE if it exists, and save it there at the end",
    )
    parser.add_argument(
        "--top", type=int, default=5, metavar="N", help="with --json: number of top predictions (5)"
    )


def run(args: argparse.Namespace) -> int:
    """Print a prediction for every line as it arrives, until the input ends or a signal comes."""
    at_least_one("--top", args.top)
    run = load_run(args.run, args.runs_dir)
    stream = run.stream()
    if args.state is not None and args.state.exists():
        stream.state = StreamState.load(args.state)
        say_notes([f"state of {stream.steps:,} steps restored from {args.state}"], args.quiet)
    with _exit_on_sigterm():
        try:
            _predict_all(stream, run.task, args)
        finally:
            if args.state is not None:
                stream.state.save(args.state)
    return 0


def _predict_all(stream: Stream, task: Task, args: argparse.Namespace) -> None:
    unknown_was_reported = False
    for number, line in enumerate(read_lines(args.file, args.encoding), start=1):
        if _is_blank(task, line):
            stream.reset()
            show(to_json({"reset": True}) if args.json else "")
        else:
            reply = _predict(stream, line, number, args.file)
            show(to_json(_as_dict(line, reply, args.top)) if args.json else _as_text(reply))
            if not (reply.is_known or unknown_was_reported):
                note = (
                    f"{visible(line)!r} is unknown and read as <unk>; further ones are not reported"
                )
                say_notes([note], args.quiet)
                unknown_was_reported = True
        sys.stdout.flush()


def _is_blank(task: Task, line: str) -> bool:
    """Whether a line has no token in it; with character tokens a space is one."""
    if line and not line.isspace():
        return False
    return not line or len(task.encode_source(task.question(line))) == len(task.encode_end())


def _predict(stream: Stream, line: str, number: int, file: str) -> AnyReply:
    try:
        return stream.step(line)
    except DataError as error:
        name = "standard input" if file == STANDARD_INPUT else file
        place = Place(name, number)
        raise DataError(error.code, error.problem, place=place, help=error.help) from error


def _as_text(reply: AnyReply) -> str:
    """The prediction; a forecast with its 80 % prediction interval."""
    if not isinstance(reply, ForecastPrediction):
        return reply.value
    rows = zip(*(edge[0] for edge in (reply.answer.mean, *reply.answer.interval(0.8))), strict=True)
    return "; ".join(f"{mean:.6g} [{low:.6g}, {high:.6g}]" for mean, low, high in rows)


def _as_dict(line: str, reply: AnyReply, top: int) -> dict[str, Any]:
    if isinstance(reply, NumericPrediction):
        numbers = [float(number) for number in reply.numbers]
        return {"input": line, "output": reply.value, "numbers": numbers}
    if isinstance(reply, ForecastPrediction):
        known = {name: found.tolist() for name, found in reply.posterior.items()}
        rows = reply.answer.quantiles[0]
        levels = {f"{level:g}": rows[:, place].tolist() for place, level in enumerate(LEVELS)}
        expected = {"mean": reply.answer.mean[0].tolist(), "quantiles": levels}
        return {"input": line, "output": reply.value, **expected, "posterior": known}
    return {
        "input": line,
        "output": reply.value,
        "probability": exp(reply.log_prob),
        "log_prob": reply.log_prob,
        "known": reply.is_known,
        "top": reply.top(top),
    }


@contextlib.contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Exit on SIGTERM as on Ctrl-C, so that the state is saved."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
