"""What a run is asked: arguments, the lines of a file, or of standard input, a batch at a time."""

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

from ..data.text import read_text, spoken, unwritable
from ..errors import DataError, Place
from .terminal import is_live, say

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
