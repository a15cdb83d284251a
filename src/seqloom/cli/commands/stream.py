"""seqloom stream: answer every symbol, or every number, as it comes in, one a line.

A line without a symbol ends the sequence: the next one begins a new one, as in files of columns.
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
from ...inference.stream import ForecastReply, NumbersReply, Reply, Stream, StreamState
from ...prediction import LEVELS
from ...runs.record import to_json
from ...task import Task
from ..arguments import at_least_one
from ..inputs import STANDARD_INPUT, lines_of
from ..loading import load_run, say_notes
from ..terminal import show, visible

AnyReply = Reply | NumbersReply | ForecastReply


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument(
        "-f",
        "--file",
        metavar="FILE",
        default=STANDARD_INPUT,
        help="symbols or numbers, one a line; standard input if left out; a blank line begins a"
        " new sequence",
    )
    parser.add_argument("--encoding", default="utf-8", metavar="NAME", help="of the input")
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="go on from what is saved there, if it is there, and save there at the end",
    )
    parser.add_argument(
        "--top", type=int, default=5, metavar="N", help="likeliest answers told with --json"
    )


def run(given: argparse.Namespace) -> int:
    """Answer every line at once, until the input ends or somebody ends it."""
    at_least_one("--top", given.top)
    run = load_run(given.run, given.runs_dir)
    stream = run.stream()
    if given.state is not None and given.state.exists():
        stream.state = StreamState.load(given.state)
        say_notes([f"going on after {stream.steps:,} steps of {given.state}"], given.quiet)
    with _ended_politely():
        try:
            _answer_all(stream, run.task, given)
        finally:
            if given.state is not None:
                stream.state.save(given.state)
    return 0


def _answer_all(stream: Stream, task: Task, given: argparse.Namespace) -> None:
    unknown_was_told = False
    for number, line in enumerate(lines_of(given.file, given.encoding), start=1):
        if _is_blank(task, line):
            stream.reset()
            show(to_json({"reset": True}) if given.json else "")
        else:
            reply = _answer(stream, line, number, given.file)
            show(to_json(_as_dict(line, reply, given.top)) if given.json else _as_text(reply))
            if not (reply.is_known or unknown_was_told):
                note = f"{visible(line)!r} is unknown and read as <unk>; others are not told"
                say_notes([note], given.quiet)
                unknown_was_told = True
        sys.stdout.flush()


def _is_blank(task: Task, line: str) -> bool:
    """Whether a line has no symbol in it; where symbols are characters, a space is one."""
    if line and not line.isspace():
        return False
    return not line or len(task.ask(task.question(line))) == len(task.ask_end())


def _answer(stream: Stream, line: str, number: int, file: str) -> AnyReply:
    try:
        return stream.step(line)
    except DataError as error:
        name = "standard input" if file == STANDARD_INPUT else file
        place = Place(name, number)
        raise DataError(error.code, error.problem, place=place, help=error.help) from error


def _as_text(reply: AnyReply) -> str:
    """The answer; what is expected of a series has its 80 % band behind it."""
    if not isinstance(reply, ForecastReply):
        return reply.value
    rows = zip(*(edge[0] for edge in (reply.answer.mean, *reply.answer.band(0.8))), strict=True)
    return "; ".join(f"{mean:.6g} [{low:.6g}, {high:.6g}]" for mean, low, high in rows)


def _as_dict(line: str, reply: AnyReply, top: int) -> dict[str, Any]:
    if isinstance(reply, NumbersReply):
        numbers = [float(number) for number in reply.numbers]
        return {"input": line, "output": reply.value, "numbers": numbers}
    if isinstance(reply, ForecastReply):
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
def _ended_politely() -> Iterator[None]:
    """A polite kill ends like Ctrl-C does, so that the state is saved."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
