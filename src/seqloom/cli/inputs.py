"""Inputs for inference: arguments, or the lines of a file or of standard input, in batches.

Files in columns (CoNLL) and in JSON lines are tagged in place: they are printed with the predicted
tags filled in.
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

from ..data.formats.conll import TagWriter
from ..data.text.reading import encoding_name, invalid_character, read_text
from ..decoding import SamplingDecoder
from ..errors import DataError, Place, UsageError
from ..evaluation.evaluate import predict
from ..model import Search
from ..runs.record import to_json
from ..runs.run import Run
from .loading import ProgressLine, say_notes, unknown_note
from .terminal import is_interactive, say, show

AT_ONCE = 4096
PAUSE = 0.05  # seconds without a new line after which a batch is complete
STANDARD_INPUT = "-"


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
        return text == STANDARD_INPUT or Path(text).is_file()
    except (OSError, ValueError):  # too long for a file name, or a character that none may have
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
            for number, line in enumerate(text, start=1):
                if invalid_character(line) is not None:
                    raise _decoding_error(name, number, line, encoding)
                yield line.removesuffix("\n").removesuffix("\r")
        except UnicodeError as error:
            raise _decoding_error(name, number + 1, "", encoding) from error


def _opened(file: str, encoding: str, stack: ExitStack) -> tuple[IO[bytes], str]:
    if file != STANDARD_INPUT:
        try:
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


def find_sheet(run: Run, args: argparse.Namespace) -> TagWriter | None:
    """The file to fill in with predicted tags, if the input is such a file."""
    if args.explain or len(args.inputs) > 1 or (args.inputs and args.file):
        return None
    file = args.file or "".join(args.inputs)
    is_named = args.format not in ("auto", "text")
    if args.format == "text" or not (file or is_named) or (file and not is_file(file)):
        return None
    if file in ("", STANDARD_INPUT):
        if not is_named:
            return None
        file = str(_STANDARD_INPUT)
    settings = {"data.format": args.format, "data.encoding": args.encoding}
    if args.columns is not None:
        settings["data.columns"] = args.columns
    sheet = run.task.tag_writer(Path(file), run.recipe.with_settings(settings).build_data())
    if sheet is None and is_named:
        raise UsageError("U091", f"--format {args.format}: {run.name} reads one text per line")
    return sheet


def fill_sheet(
    run: Run, sheet: TagWriter, how: Search | SamplingDecoder, args: argparse.Namespace
) -> int:
    """Tag every sentence and print the file with its tags, or a line of JSON per sentence."""
    examples = [run.task.example(row) for row in sheet.rows]
    with ProgressLine(f"inference with {run.name}", len(examples), args.quiet) as progress:
        tokens = args.batch_tokens or 0
        predictions = predict(run.model, run.task, examples, how, progress.update, tokens)
    if args.json:
        for example, one in zip(examples, predictions, strict=True):
            details = run.task.details(example, one.value, one.probabilities)
            show(to_json({"input": run.task.show_question(example), **details}))
    else:
        for line in sheet.write([one.value for one in predictions]):
            show(line)
    say_notes(unknown_note(run.task.unknown_fraction(examples)), args.quiet)
    return 0
