"""seqloom generate: continue prompts by sampling, streamed token by token."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ...decoding import Sampling
from ...inference.generate import TextChunk
from ...runs.record import to_json
from ...runs.run import Run, require_language_model
from ..arguments import at_least_one, conflicting_inputs
from ..inputs import STANDARD_INPUT, argument_texts, text_lines
from ..loading import UnknownTokens, load_run, say_notes
from ..sampling_arguments import add_allow, add_sampling, allowed_tokens, sampling_from
from ..session import DeferredExit
from ..terminal import coloured, is_interactive, plural, printable, show

SIDE_BY_SIDE = 64  # batch size: distributions over a large vocabulary must fit into memory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument("inputs", metavar="PROMPT", nargs="*", help="prompt to continue")
    parser.add_argument("--prompt", metavar="TEXT", help="prompt, as an option")
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="file of prompts, one per line; - is standard input"
    )
    parser.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="encoding of FILE (utf-8)"
    )
    add_sampling(parser)
    parser.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="stop sequence: a text ends before it; \\n is a line break; may be repeated",
    )
    add_allow(parser, "texts")
    parser.add_argument(
        "--count", type=int, default=1, metavar="N", help="number of texts per prompt (1)"
    )


def run(args: argparse.Namespace) -> int:
    """Print every text while it is generated; a batch is generated at once, printed in order."""
    sampling = sampling_from(args)
    at_least_one("--count", args.count)
    stop = [text.replace("\\n", "\n").replace("\\t", "\t") for text in args.stop]
    run = load_run(args.run, args.runs_dir)
    require_language_model(run, args.command)
    allow = allowed_tokens(run, args)
    unknown = UnknownTokens(run, args.quiet)
    requests = _requests(run, args)
    printer = _JsonPrinter() if args.json else _TextPrinter(run.task.continuous)
    ends: Counter[str | None] = Counter()
    is_typed = args.file == STANDARD_INPUT and is_interactive(sys.stdin)
    while texts := list(islice(requests, args.count if is_typed else SIDE_BY_SIDE)):
        pieces = _generate(
            run, texts, sampling, stop, allow
        )  # raises on prompts it cannot continue
        for text in texts:
            unknown.count(text.prompt)
        unknown.report()
        _print(_counted(pieces, ends), texts, printer)
    if ends["limit"] and not (args.limit or run.task.continuous):  # else every text is cut
        are = "was" if ends["limit"] == 1 else "were"
        cut = f"{plural(ends['limit'], 'text')} {are} cut at the maximum number of tokens"
        say_notes([f"{cut}; --length N allows more"], args.quiet)
    return 0


def _counted(pieces: Iterator[TextChunk], ends: Counter[str | None]) -> Iterator[TextChunk]:
    """The pieces, counted by how they end a text."""
    for piece in pieces:
        ends[piece.ended] += 1
        yield piece


class TextRequest(NamedTuple):
    """A text to generate: its prompt, the number of the prompt, and the number of the copy."""

    prompt: str
    number: int
    copy: int
    is_blank: bool = False  # blank lines stay, so that output lines match


def _requests(run: Run, args: argparse.Namespace) -> Iterator[TextRequest]:
    texts = [*args.inputs, *([args.prompt] if args.prompt is not None else [])]
    if texts and args.file:
        raise conflicting_inputs("prompts")
    prompts = text_lines(args.file, run.task, args) if args.file else argument_texts(texts or [""])
    for number, prompt in enumerate(prompts):
        if args.file and not prompt.strip():
            yield TextRequest(prompt, number, 0, is_blank=True)
            continue
        for copy in range(args.count):
            yield TextRequest(prompt, number, copy)


def _generate(
    run: Run, texts: list[TextRequest], sampling: Sampling, stop: list[str], allow: list[str]
) -> Iterator[TextChunk]:
    """Generate a batch of texts, piece by piece."""
    rows = [(row, text) for row, text in enumerate(texts) if not text.is_blank]
    pieces = run.stream_generate(
        [text.prompt for _, text in rows],
        sampling,
        stop=stop,
        streams=[sampling.rng(text.number, text.copy) for _, text in rows],
        allow=allow,
    )
    blanks = (TextChunk(row, "", "end") for row, text in enumerate(texts) if text.is_blank)
    return chain(blanks, (replace(piece, row=rows[piece.row][0]) for piece in pieces))


def _print(pieces: Iterator[TextChunk], texts: list[TextRequest], printer: "Printer") -> None:
    """Print tokens as they are generated; on interruption print what there is."""
    queue, interrupt = _OrderedOutput(len(texts)), DeferredExit()
    try:
        with interrupt.listening():
            for piece in pieces:
                for ready in queue.take(piece):
                    printer.print(texts[ready.row], ready)
                sys.stdout.flush()
                interrupt.exit_if_asked()
    except (KeyboardInterrupt, SystemExit):
        for piece in queue.rest():
            printer.print(texts[piece.row], piece)
        printer.close()
        raise


class _OrderedOutput:
    """Orders pieces by text: those of the first unfinished text pass, all others wait."""

    def __init__(self, count: int) -> None:
        self._waiting: list[list[TextChunk]] = [[] for _ in range(count)]
        self._first = 0

    def take(self, piece: TextChunk) -> list[TextChunk]:
        """The pieces that can be printed now."""
        self._waiting[piece.row].append(piece)
        ready: list[TextChunk] = []
        while self._first < len(self._waiting):
            ready += self._waiting[self._first]
            self._waiting[self._first] = []
            if not (ready and ready[-1].row == self._first and ready[-1].ended):
                break
            self._first += 1
        return ready

    def rest(self) -> list[TextChunk]:
        """All pieces that are not printed yet."""
        return [piece for pieces in self._waiting for piece in pieces]


@runtime_checkable
class Printer(Protocol):
    """Prints generated texts."""

    def print(self, text: TextRequest, piece: TextChunk) -> None:
        """Print the next piece of a text."""

    def close(self) -> None:
        """End the output."""


class _TextPrinter:
    """Prints prompt and continuation as one text; continuous texts are separated by blank lines."""

    def __init__(self, are_long: bool) -> None:
        self._open: TextRequest | None = None
        self._between = ("", "\n") if are_long else ("", "")

    def print(self, text: TextRequest, piece: TextChunk) -> None:
        if text != self._open:
            self.close()
            prompt = coloured(text.prompt, "bold", sys.stdout) if text.prompt else ""
            sys.stdout.write(printable(self._between[0] + prompt, sys.stdout))
            self._between = self._between[-1:] * 2
            self._open = text
        sys.stdout.write(printable(piece.text, sys.stdout))
        if piece.ended:
            self.close()

    def close(self) -> None:
        """End the current line."""
        if self._open is not None:
            sys.stdout.write("\n")
            sys.stdout.flush()
        self._open = None


class _JsonPrinter:
    """Prints a JSON object for each text once it is complete."""

    def __init__(self) -> None:
        self._pieces: dict[TextRequest, list[TextChunk]] = {}

    def print(self, text: TextRequest, piece: TextChunk) -> None:
        self._pieces.setdefault(text, []).append(piece)
        if piece.ended:
            self._show(text, self._pieces.pop(text), piece.ended)

    def close(self) -> None:
        """Print the incomplete texts, too."""
        for text, pieces in self._pieces.items():
            self._show(text, pieces, "interrupted")
        sys.stdout.flush()

    def _show(self, text: TextRequest, pieces: list[TextChunk], ended: str) -> None:
        facts: dict[str, Any] = {"input": text.prompt, "output": None}
        if not text.is_blank:
            tokens = sum(piece.ended != "end" for piece in pieces)
            output = "".join(piece.text for piece in pieces)
            facts |= {"output": output, "symbols": tokens, "ended": ended}
        show(to_json(facts))
