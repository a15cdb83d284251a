"""seqloom generate: let texts go on, printed symbol by symbol as they are drawn."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ...decoding import Sampling
from ...inference.generate import Piece
from ...runs.record import to_json
from ...runs.run import Run, must_predict_symbols
from ..arguments import at_least_one, given_twice
from ..inputs import STANDARD_INPUT, arguments, lines_of
from ..loading import UnknownSymbols, load_run
from ..sampling_arguments import add_allow, add_sampling, allowed, sampling_of
from ..session import Leaving
from ..terminal import coloured, is_live, show

SIDE_BY_SIDE = 64  # texts drawn at once: their distributions over a large vocabulary must have room


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument("inputs", metavar="PROMPT", nargs="*", help="what a text begins with")
    parser.add_argument("--prompt", metavar="TEXT", help="the same, as an option")
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="a file of prompts, one a line; - is standard input"
    )
    parser.add_argument("--encoding", default="utf-8", metavar="NAME", help="of FILE")
    add_sampling(parser)
    parser.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text ends before this; \\n is a line break; may be repeated",
    )
    add_allow(parser, "texts")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="texts for each prompt")


def run(given: argparse.Namespace) -> int:
    """Print every text as it is drawn; several are drawn side by side and printed in order."""
    sampling = sampling_of(given)
    at_least_one("--count", given.count)
    stop = [text.replace("\\n", "\n").replace("\\t", "\t") for text in given.stop]
    run = load_run(given.run, given.runs_dir)
    must_predict_symbols(run, given.command)
    allow = allowed(run, given)
    unknown = UnknownSymbols(run, given.quiet)
    wanted = _wanted(given)
    printer = _AsJson() if given.json else _AsText(run.task.continuous)
    is_typed = given.file == STANDARD_INPUT and is_live(sys.stdin)
    while texts := list(islice(wanted, given.count if is_typed else SIDE_BY_SIDE)):
        pieces = _drawn(run, texts, sampling, stop, allow)  # refuses what it cannot go on from
        for text in texts:
            unknown.count(text.prompt)
        unknown.tell()
        _print(pieces, texts, printer)
    return 0


class Wanted(NamedTuple):
    """A text to be drawn: how it begins, the number of its prompt, and which of several it is."""

    prompt: str
    number: int
    copy: int
    is_blank: bool = False  # a blank line of a file has a blank answer, so that lines still match


def _wanted(given: argparse.Namespace) -> Iterator[Wanted]:
    texts = [*given.inputs, *([given.prompt] if given.prompt is not None else [])]
    if texts and given.file:
        raise given_twice("prompts")
    prompts = lines_of(given.file, given.encoding) if given.file else arguments(texts or [""])
    for number, prompt in enumerate(prompts):
        if given.file and not prompt.strip():
            yield Wanted(prompt, number, 0, is_blank=True)
            continue
        for copy in range(given.count):
            yield Wanted(prompt, number, copy)


def _drawn(
    run: Run, texts: list[Wanted], sampling: Sampling, stop: list[str], allow: list[str]
) -> Iterator[Piece]:
    """Pieces of some texts that are drawn side by side."""
    drawn = [(place, text) for place, text in enumerate(texts) if not text.is_blank]
    pieces = run.generating(
        [text.prompt for _, text in drawn],
        sampling,
        stop=stop,
        streams=[sampling.stream(text.number, text.copy) for _, text in drawn],
        allow=allow,
    )
    blanks = (Piece(place, "", "end") for place, text in enumerate(texts) if text.is_blank)
    return chain(blanks, (replace(piece, row=drawn[piece.row][0]) for piece in pieces))


def _print(pieces: Iterator[Piece], texts: list[Wanted], printer: "Printer") -> None:
    """Print pieces as they come; whatever ends it, what was drawn is printed."""
    queue, leaving = _Queue(len(texts)), Leaving()
    try:
        with leaving.listening():
            for piece in pieces:
                for ready in queue.take(piece):
                    printer.print(texts[ready.row], ready)
                sys.stdout.flush()
                leaving.exit_if_asked()
    except (KeyboardInterrupt, SystemExit):
        for piece in queue.rest():
            printer.print(texts[piece.row], piece)
        printer.leave()
        raise


class _Queue:
    """Pieces in the order of their texts: those of the first that has not ended pass at once."""

    def __init__(self, count: int) -> None:
        self._waiting: list[list[Piece]] = [[] for _ in range(count)]
        self._first = 0

    def take(self, piece: Piece) -> list[Piece]:
        """What can be printed now that this piece has come."""
        self._waiting[piece.row].append(piece)
        ready: list[Piece] = []
        while self._first < len(self._waiting):
            ready += self._waiting[self._first]
            self._waiting[self._first] = []
            if not (ready and ready[-1].row == self._first and ready[-1].ended):
                break
            self._first += 1
        return ready

    def rest(self) -> list[Piece]:
        """What still waits, of all texts."""
        return [piece for pieces in self._waiting for piece in pieces]


@runtime_checkable
class Printer(Protocol):
    """How texts are told."""

    def print(self, text: Wanted, piece: Piece) -> None:
        """The next piece of a text."""

    def leave(self) -> None:
        """Nothing more will come."""


class _AsText:
    """Prompt and text as one goes over into the other; texts of several lines stand apart."""

    def __init__(self, are_long: bool) -> None:
        self._open: Wanted | None = None
        self._between = ("", "\n") if are_long else ("", "")

    def print(self, text: Wanted, piece: Piece) -> None:
        if text != self._open:
            self.leave()
            prompt = coloured(text.prompt, "bold", sys.stdout) if text.prompt else ""
            sys.stdout.write(self._between[0] + prompt)
            self._between = self._between[-1:] * 2
            self._open = text
        sys.stdout.write(piece.text)
        if piece.ended:
            self.leave()

    def leave(self) -> None:
        """End the line that is begun."""
        if self._open is not None:
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._open = None


class _AsJson:
    """An object for each text, once it has ended."""

    def __init__(self) -> None:
        self._drawn: dict[Wanted, list[Piece]] = {}

    def print(self, text: Wanted, piece: Piece) -> None:
        self._drawn.setdefault(text, []).append(piece)
        if piece.ended:
            self._tell(text, self._drawn.pop(text), piece.ended)

    def leave(self) -> None:
        """Tell those too that were broken off."""
        for text, pieces in self._drawn.items():
            self._tell(text, pieces, "interrupted")
        sys.stdout.flush()

    def _tell(self, text: Wanted, pieces: list[Piece], ended: str) -> None:
        found: dict[str, Any] = {"input": text.prompt, "output": None}
        if not text.is_blank:
            symbols = sum(piece.ended != "end" for piece in pieces)
            output = "".join(piece.text for piece in pieces)
            found |= {"output": output, "symbols": symbols, "ended": ended}
        show(to_json(found))
