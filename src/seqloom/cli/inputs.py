"""What a run is asked: arguments, the lines of a file, or of standard input, a batch at a time.

Files that are answered in their own shape: each sentence keeps its lines, tags are filled in.
"""

import argparse
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO

from ..data.formats.conll import Sheet
from ..data.text.reading import read_text, spoken, unwritable
from ..decoding import Draws
from ..errors import DataError, Place, UsageError
from ..evaluation.evaluate import predict
from ..model import Search
from ..runs.record import to_json
from ..runs.run import Run
from .loading import Progress, say_notes, unknown_note
from .terminal import is_live, say, show

AT_ONCE = 4096
PAUSE = 0.05  # seconds without a line, after which those that came are answered
STANDARD_INPUT = "-"


def batches(lines: Iterator[str], *, are_typed: bool = False) -> Iterator[list[str]]:
    """The lines some thousands at a time, so that a large file streams.

    Those that come through standard input are taken as they come: typed ones at once, and from a
    pipe what is there, so that whoever writes slowly is answered soon.
    """
    if are_typed and _is_pipe(sys.stdin):
        yield from _as_they_come(lines)
        return
    at_once = 1 if is_live(sys.stdin) else AT_ONCE
    while batch := list(islice(lines, at_once)):
        yield batch


def is_file(text: str) -> bool:
    """Whether an argument stands for the lines of a file, or of standard input."""
    try:
        return text == STANDARD_INPUT or Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a character that none has
        return False


def _is_pipe(stream: IO[str]) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):
        return False


def _as_they_come(lines: Iterator[str]) -> Iterator[list[str]]:
    """Lines that follow one another without a pause are one batch; at most AT_ONCE of them."""
    waiting: Queue[str | BaseException] = Queue(maxsize=AT_ONCE)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(StopIteration())
        except BaseException as error:  # whoever takes the batches must hear of it
            waiting.put(error)

    Thread(target=read, daemon=True).start()
    last: BaseException | None = None
    while last is None:
        batch, last = _what_is_there(waiting)
        if batch:
            yield batch
    if not isinstance(last, StopIteration):
        raise last


def _what_is_there(
    waiting: "Queue[str | BaseException]",
) -> tuple[list[str], BaseException | None]:
    """The next line and those that come right after it; or why there are no more."""
    batch: list[str] = []
    while len(batch) < AT_ONCE:
        try:
            came = waiting.get(timeout=PAUSE if batch else None)
        except Empty:
            break
        if isinstance(came, BaseException):
            return batch, came
        batch.append(came)
    return batch, None


def arguments(texts: list[str]) -> Iterator[str]:
    """The arguments; a shell may pass on bytes that are no characters."""
    for number, text in enumerate(texts, start=1):
        if unwritable(text) is not None:
            raise _not_text(f"input {number}", None, text, "utf-8")
        yield text


def lines_of(file: str, encoding: str) -> Iterator[str]:
    """The lines of a file, split at line feeds only; blank ones are kept, for order's sake."""
    with ExitStack() as opened:
        binary, name = _opened(file, encoding, opened)
        spelled = "utf-8-sig" if spoken(encoding) == "UTF-8" else encoding
        # Undecodable bytes become lone surrogates, so that the very line can be named.
        text = io.TextIOWrapper(binary, spelled, errors="surrogateescape", newline="\n")
        opened.callback(text.detach)  # standard input is not ours to close
        number = 0
        try:
            for number, line in enumerate(text, start=1):
                if unwritable(line) is not None:
                    raise _not_text(name, number, line, encoding)
                yield line.removesuffix("\n").removesuffix("\r")
        except UnicodeError as error:
            raise _not_text(name, number + 1, "", encoding) from error


def _opened(file: str, encoding: str, opened: ExitStack) -> tuple[IO[bytes], str]:
    if file != STANDARD_INPUT:
        try:
            return opened.enter_context(Path(file).open("rb")), file
        except OSError:
            read_text(Path(file), encoding)  # raises the sentence that fits, with the nearest name
            raise
    if is_live(sys.stdin):
        say("Reading from the keyboard, one input a line; Ctrl-D ends.")
    return sys.stdin.buffer, "standard input"


def _not_text(name: str, line: int | None, text: str, encoding: str) -> DataError:
    place = unwritable(text)
    notes = []
    if place is not None and "\udc80" <= text[place] <= "\udcff":
        notes = [f"byte 0x{ord(text[place]) - 0xDC00:02X} at character {place + 1:,}"]
    return DataError(
        "D030",
        f'"{name}" is not {spoken(encoding)} text',
        place=Place(name, line),
        notes=notes,
        help=["--encoding NAME   if you know how it was saved, such as cp1252"],
    )


_STANDARD_INPUT = Path("/dev/stdin")


def sheet_given(run: Run, given: argparse.Namespace) -> Sheet | None:
    """The file to be filled in, if what is given is such a file."""
    if given.explain or len(given.inputs) > 1 or (given.inputs and given.file):
        return None
    asked = given.file or "".join(given.inputs)
    is_named = given.format not in ("auto", "text")
    if given.format == "text" or not (asked or is_named) or (asked and not is_file(asked)):
        return None
    if asked in ("", STANDARD_INPUT):
        if not is_named:
            return None
        asked = str(_STANDARD_INPUT)
    settings = {"data.format": given.format, "data.encoding": given.encoding}
    if given.columns is not None:
        settings["data.columns"] = given.columns
    sheet = run.task.sheet(Path(asked), run.recipe.with_settings(settings).build_data())
    if sheet is None and is_named:
        raise UsageError("U091", f"--format {given.format}: {run.name} is asked one text a line")
    return sheet


def fill(run: Run, sheet: Sheet, how: Search | Draws, given: argparse.Namespace) -> int:
    """Answer every sentence and print the file with the tags in it; or a line of JSON for each."""
    examples = [run.task.example(row) for row in sheet.rows]
    with Progress(f"asking {run.name}", len(examples), given.quiet) as progress:
        tokens = given.batch_tokens or 0
        answers = predict(run.model, run.task, examples, how, progress.tell, tokens)
    if given.json:
        for example, answer in zip(examples, answers, strict=True):
            details = run.task.details(example, answer.value, answer.chances)
            show(to_json({"input": run.task.shown_question(example), **details}))
    else:
        for line in sheet.write([answer.value for answer in answers]):
            show(line)
    say_notes(unknown_note(run.task.unknown_share(examples)), given.quiet)
    return 0
