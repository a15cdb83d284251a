"""Inputs for inference: arguments, the rows of a table, or lines in batches."""

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

from ..data.formats import TEXT_AND_LABEL
from ..data.formats.base import InputFile
from ..data.formats.joined import table_warning
from ..data.formats.parallel_names import files_of, name_of
from ..data.options import Data
from ..data.text.files import is_shell_pipe, require_regular_file
from ..data.text.reading import encoding_name, invalid_character, read_text
from ..errors import DataError, Place, UsageError
from ..runs.run import Run
from ..signature import Columns, Tokens
from ..task import Task
from .loading import say_notes
from .terminal import is_interactive, say

AT_ONCE = 4096
PAUSE = 0.05  # seconds without a new line after which a batch is complete
STANDARD_INPUT = "-"
MAX_LINE = 1 << 26  # characters of one input


def batches(lines: Iterator[str], *, are_typed: bool = False) -> Iterator[list[str]]:
    """Lines in batches of some thousands, so that a large file is streamed.

    From the keyboard each line is a batch. From a pipe a batch is what has arrived so far, so that
    a slow writer gets predictions without delay.
    """
    if are_typed and _is_pipe(sys.stdin):
        yield from _arriving(lines)
        return
    size = 1 if is_interactive(sys.stdin) else AT_ONCE
    while batch := list(islice(lines, size)):
        yield batch


def is_file(text: str) -> bool:
    """Whether an argument names a file, or standard input, whose lines are the inputs."""
    try:
        path = Path(text)
        return text == STANDARD_INPUT or path.is_file() or is_shell_pipe(path)
    except (OSError, ValueError):  # too long for a file name, or a character that none may have
        return False


def is_folder(text: str, task: Task) -> bool:
    """Whether an argument names a folder of texts; a word may be the name of a folder, too."""
    try:
        return Path(text).is_dir() and (task.roles == TEXT_AND_LABEL or os.sep in text)
    except (OSError, ValueError):
        return False


def _is_pipe(stream: IO[str]) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):
        return False


def _arriving(lines: Iterator[str]) -> Iterator[list[str]]:
    """Batches of lines that arrive without a pause between them; at most AT_ONCE each.

    A thread reads, because a blocking read of a pipe has no time limit.
    """
    waiting: Queue[str | BaseException] = Queue(maxsize=AT_ONCE)

    def read() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(StopIteration())
        except BaseException as error:  # raised again by the consumer
            waiting.put(error)

    Thread(target=read, daemon=True).start()
    last: BaseException | None = None
    while last is None:
        batch, last = _available(waiting)
        if batch:
            yield batch
    if not isinstance(last, StopIteration):
        raise last


def _available(
    waiting: "Queue[str | BaseException]",
) -> tuple[list[str], BaseException | None]:
    """The next line and those right after it, and the exception that ended the lines."""
    batch: list[str] = []
    while len(batch) < AT_ONCE:
        try:
            line = waiting.get(timeout=PAUSE if batch else None)
        except Empty:
            break
        if isinstance(line, BaseException):
            return batch, line
        batch.append(line)
    return batch, None


def argument_texts(texts: list[str]) -> Iterator[str]:
    """The arguments, checked: a shell may pass bytes that do not decode."""
    for number, text in enumerate(texts, start=1):
        if invalid_character(text) is not None:
            raise _decoding_error(f"input {number}", None, text, "utf-8")
        yield text


def read_lines(file: str, encoding: str) -> Iterator[str]:
    """The lines of a file, split at line feeds only; blank lines keep output and input aligned."""
    with ExitStack() as stack:
        binary, name = _opened(file, encoding, stack)
        codec = "utf-8-sig" if encoding_name(encoding) == "UTF-8" else encoding
        # Undecodable bytes become lone surrogates, so that the error can name the line.
        text = io.TextIOWrapper(binary, codec, errors="surrogateescape", newline="\n")
        stack.callback(text.detach)  # so that standard input is not closed
        number = 0
        try:
            for number, line in enumerate(_bounded(text, name), start=1):
                if invalid_character(line) is not None:
                    raise _decoding_error(name, number, line, encoding)
                yield line.removesuffix("\n").removesuffix("\r")
        except UnicodeError as error:
            raise _decoding_error(name, number + 1, "", encoding) from error


def _bounded(text: io.TextIOWrapper, name: str) -> Iterator[str]:
    """The lines of a text; one that never ends would fill the memory."""
    for number, line in enumerate(iter(lambda: text.readline(MAX_LINE + 1), ""), start=1):
        if len(line) > MAX_LINE:
            raise DataError(
                "D046",
                f'a line of "{name}" has more than {MAX_LINE:,} characters',
                place=Place(name, number),
                help=["each line is one input: break the text into lines"],
            )
        yield line


def _opened(file: str, encoding: str, stack: ExitStack) -> tuple[IO[bytes], str]:
    if file != STANDARD_INPUT:
        try:
            require_regular_file(Path(file), or_pipe=True)
            return stack.enter_context(Path(file).open("rb")), file
        except OSError:
            read_text(Path(file), encoding)  # raises D001, with the nearest name
            raise
    if is_interactive(sys.stdin):
        say("Reading from the keyboard, one input per line; Ctrl-D ends.")
    return sys.stdin.buffer, "standard input"


def _decoding_error(name: str, line: int | None, text: str, encoding: str) -> DataError:
    index = invalid_character(text)
    notes = []
    if index is not None and "\udc80" <= text[index] <= "\udcff":
        notes = [f"byte 0x{ord(text[index]) - 0xDC00:02X} at character {index + 1:,}"]
    return DataError(
        "D030",
        f'"{name}" is not {encoding_name(encoding)} text',
        place=Place(name, line),
        notes=notes,
        help=["--encoding NAME   the encoding of the file, such as cp1252"],
    )


_STANDARD_INPUT = Path("/dev/stdin")
TABLES = ("csv", "tsv", "jsonl", "columns", "label-first", "trees", "wide", "long", "rows", "ts")
LOOKED_AT = 50  # lines of a text file, to see whether they are rows of a table


def named_file(args: argparse.Namespace, task: Task) -> str:
    """The file of inputs that the arguments name; empty if they are texts or nothing.

    A single argument that names a file, or -, stands for it; two parallel files for the first.
    """
    if args.file or not args.inputs:
        return str(args.file or "")
    (first, *others) = args.inputs
    if not others and (is_file(first) or is_folder(first, task)):
        return str(first)
    if others and all(map(is_file, args.inputs)):
        if (
            len(args.inputs) == len(task.roles)
            and len({Path(one).stem for one in args.inputs}) == 1
        ):
            return name_of(args.inputs)
        raise UsageError(
            "U092",
            f"{first} and {others[0]} are files: the inputs of one are predicted at a time",
            help=[f"--file {first}"],
        )
    parallel = files_of(first) if not others else []
    return str(first) if len(parallel) > 1 and all(file.is_file() for file in parallel) else ""


def find_input_file(run: Run, args: argparse.Namespace) -> InputFile | None:
    """The file of inputs if it is a table, and so predicted in its own shape; else None."""
    file, is_table = named_file(args, run.task), args.format in TABLES or args.columns is not None
    if args.explain or not (file or is_table):
        return None
    if args.inputs and not file:
        raise _no_table(args, "the inputs are arguments")
    if file in ("", STANDARD_INPUT):
        if not is_table:
            return None
        file = str(_STANDARD_INPUT)
    found = run.task.inputs(Path(file), _data(run, args))
    if found is None and is_table:
        raise _no_table(args, f"each line of {file} is an input of {run.name}")
    if found is not None and found.guess:
        how = f"{Path(file).name} is read as {found.format}, as {found.guess}"
        say_notes([f"{how}; --format text reads each line as an input"], args.quiet)
    return found


def _data(run: Run, args: argparse.Namespace) -> Data:
    """How a file is read: as in training, but for its format and what the options say."""
    settings = {"data.encoding": args.encoding}
    if not run.task.reads_series or args.format != "auto":  # else wide, long or rows, as it was
        settings["data.format"] = args.format
    if args.columns is not None:
        settings["data.columns"] = args.columns
    return run.recipe.with_settings(settings).build_data()


def text_lines(file: str, task: Task, args: argparse.Namespace) -> Iterator[str]:
    """The lines of a file of texts, with a note if they look like the rows of a table."""
    is_text = isinstance(task.signature().source, Tokens | Columns) and bool(task.roles)
    is_sure = getattr(args, "format", "auto") == "text"  # the user said so
    if is_text and Path(file).is_file() and not is_sure:
        warning = table_warning(list(islice(read_lines(file, args.encoding), LOOKED_AT)))
        if warning:
            say_notes(
                [f"{file} looks like a table: {warning}; each line is read as a text"], args.quiet
            )
    return read_lines(file, args.encoding)


def _no_table(args: argparse.Namespace, why: str) -> UsageError:
    given = f"--columns {args.columns}" if args.columns is not None else f"--format {args.format}"
    return UsageError(
        "U091",
        f"{given}: {why}, not rows of a table",
        help=["--format csv   or tsv, jsonl, for a file that has columns"],
    )
