"""seqloom predict, and the verb of each task: let a run answer, one result a line.

Questions with their labels in them: in colour where it is welcome, readable without.

What is odd of inputs: symbols that training never showed, and sources far longer than any.

What searches looked at, written to a file: one tree a line.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from ...decoding import Draws
from ...errors import MachineError, UsageError
from ...evaluation.evaluate import Answer
from ...model import Search
from ...prediction import Tree
from ...runs.answer import as_dict, has_chance, has_labels
from ...runs.record import to_json
from ...runs.run import Run, wrong_task
from ...signature import END, UNKNOWN, Columns, Form, Tokens
from ...task import Marked
from ...views import View
from ..arguments import add_search, at_least_one, given_twice, search_of
from ..inputs import STANDARD_INPUT, arguments, batches, fill, is_file, lines_of, sheet_given
from ..loading import Progress, load_together, say_notes
from ..sampling_arguments import add_allow, add_draws, allowed, draws_of
from ..terminal import Stream, can_show, is_live, several, show, visible, wants_colour, width

# Categories of Okabe and Ito (2008), as the nearest of a terminal's 256 colours; with each the ink
# that is readable on it, whatever the colours of the terminal.
_BLACK, _WHITE = 16, 231
PAPERS: Final = (
    (214, _BLACK),
    (74, _BLACK),
    (36, _BLACK),
    (227, _BLACK),
    (25, _WHITE),
    (166, _BLACK),
    (175, _BLACK),
)
_STYLES = ("", ";4", ";3", ";3;4")  # the same colour again is underlined, then italic, then both


def drawn(marked: Marked, stream: Stream) -> str:
    """One line: [Ada Lovelace person] wrote, or the/DET cat/NOUN."""
    is_welcome = wants_colour(stream)
    places = {label: place for place, label in enumerate(marked.labels)}
    told = []
    for text, label in marked.pieces:
        shown = visible(text) if is_welcome else text
        if label:
            shown = f"{shown}/{label}" if marked.between else f"[{shown} {label}]"
            shown = _painted(shown, places.get(label, 0)) if is_welcome else shown
        told.append(shown)
    return marked.between.join(told)


def _painted(text: str, place: int) -> str:
    paper, ink = PAPERS[place % len(PAPERS)]
    style = _STYLES[place // len(PAPERS) % len(_STYLES)]
    return f"\033[48;5;{paper};38;5;{ink}{style}m{text}\033[0m"


FAR = 2  # so many times the longest source of training is far longer
NAMED = 3  # so many inputs are told by number


class Oddities:
    """Counts what is odd; answers are given all the same."""

    def __init__(self, run: Run) -> None:
        self.run, self.total, self.unknown, self._read = run, 0, 0, 0
        self._strange: list[int] = []  # the inputs of which nothing is known
        self._long: list[int] = []
        self._cut: list[int] = []  # the inputs that are longer than what is read of them
        self._longest = 0

    def count(self, texts: Sequence[str]) -> None:
        """Look at inputs as the model reads them."""
        task = self.run.task
        if not isinstance(task.signature().source, Tokens | Columns):
            return
        for text in texts:
            self._read += 1
            question = task.question(text)
            self._cut += [self._read] * ("D147" in task.remarks([question]))
            symbols = np.asarray(task.ask(question))
            symbols = symbols[:, 0] if symbols.ndim > 1 else symbols  # of a word, not of letters
            symbols = symbols[symbols != END]
            unknown = int((symbols == UNKNOWN).sum())
            self.total += len(symbols)
            self.unknown += unknown
            if unknown and unknown == len(symbols):
                self._strange.append(self._read)
            if 0 < FAR * task.longest_source() < len(symbols):
                self._long.append(self._read)
                self._longest = max(self._longest, len(symbols))

    def notes(self) -> list[str]:
        """A sentence for each oddity."""
        told = []
        if self.unknown:
            are = "is" if self.unknown == 1 else "are"
            whole = several(self.total, "symbol")
            told.append(f"{self.unknown:,} of {whole} {are} unknown and read as <unk>")
        if self._strange:
            told.append(
                f"{_fields_in(self._strange)} nothing that {self.run.name} knows: another language,"
                " script or spelling than it learned from?"
            )
        if self._long:
            longest = several(self._longest, "symbol")
            told.append(
                f"{_fields_in(self._long)} up to {longest}, and no source of training had more than"
                f" {self.run.task.longest_source():,}: long answers may break off or repeat"
            )
        if self._cut:
            told.append(
                f"{_fields_in(self._cut)} more than is read of a text: the rest was left out"
            )
        return told


def _fields_in(numbers: list[int]) -> str:
    """input 3 has; inputs 1, 2, 3 and 14 more have."""
    shown = ", ".join(f"{number:,}" for number in numbers[:NAMED])
    more = f" and {len(numbers) - NAMED:,} more" if len(numbers) > NAMED else ""
    return f"input {shown} has" if len(numbers) == 1 else f"inputs {shown}{more} have"


class Trees:
    """A file of JSON lines, made when the first tree comes; nothing without a name."""

    def __init__(self, path: Path | None, run: Run) -> None:
        self._path, self._run = path, run
        self._open = ExitStack()
        self._file: IO[str] | None = None

    def __enter__(self) -> "Trees":
        if self._path is not None:
            try:
                self._file = self._open.enter_context(self._path.open("w", encoding="utf-8"))
            except OSError as error:
                reason = error.strerror or str(error)
                raise MachineError("E302", f"cannot write {str(self._path)!r}: {reason}") from error
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def write(self, text: str, answer: Answer | None) -> None:
        """The tree of one input; null for a blank line."""
        if self._file is not None:
            tree = None if answer is None else answer.tree
            self._file.write(to_json(tree and tree_as_dict(self._run, text, tree)) + "\n")


def tree_as_dict(run: Run, text: str, tree: Tree) -> dict[str, Any]:
    """A tree for machines: nodes name their parents by their place, -1 where there is none."""
    question = run.task.question(text)
    return {
        "view": "beam",
        "version": 1,
        "model": run.name,
        "input": text,
        "nodes": [
            {
                "parent": node.parent,
                "step": node.step,
                "symbol": shown(run, node.symbol, question),
                "log_prob": node.log_prob,
                "fate": node.fate,
                "score": node.score,
            }
            for node in tree.nodes
        ],
        "answers": [tree.path(node) for node in tree.answers],
    }


def shown(run: Run, symbol: int, question: Any) -> str:
    """A symbol as it is called, one copied from the question as there; the end has no letters."""
    target = run.model.signature.target
    if isinstance(target, Tokens) and symbol >= target.size:
        return run.task.show(run.task.answer_to(question, [symbol]))
    return "</s>" if symbol == END else run.task.shown_symbol(symbol)


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="*",
        help="what to answer, or a file; - is standard input",
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="a file of inputs, one a line; - is standard input"
    )
    parser.add_argument("--encoding", default="utf-8", metavar="NAME", help="of FILE")
    parser.add_argument(
        "--format",
        choices=("auto", "text", "columns", "jsonl"),
        default="auto",
        help="of FILE; one in columns or JSON lines is answered in its own shape",
    )
    parser.add_argument("--columns", metavar="ROLES", help="of FILE, such as word=1,tag=4")
    add_search(parser)
    parser.add_argument(
        "--nbest", type=int, default=1, metavar="N", help="the N best answers, with their scores"
    )
    add_draws(parser)
    add_allow(parser, "answers")
    parser.add_argument(
        "--shortest", type=int, default=0, metavar="N", help="the fewest symbols an answer has"
    )
    parser.add_argument("--prefix", default="", metavar="TEXT", help="every answer begins with it")
    parser.add_argument(
        "--batch-tokens",
        type=int,
        metavar="N",
        help="so many symbols are read at once, padding and all (256 inputs)",
    )
    parser.add_argument(
        "--tree", type=Path, metavar="FILE", help="write all that was looked at, as JSON lines"
    )
    parser.add_argument(
        "--explain", action="store_true", help="draw what happened inside under each answer"
    )


def run(given: argparse.Namespace) -> int:
    """Answer every input, in order."""
    search = replace(search_of(given), tree=given.tree is not None)
    nbest = at_least_one("--nbest", given.nbest)
    search = replace(search, nbest=nbest, shortest=given.shortest)
    if given.batch_tokens is not None:
        at_least_one("--batch-tokens", given.batch_tokens)
    run = load_together(given)
    if given.command not in ("predict", run.task.verb):
        raise wrong_task(run, given.command)
    if run.task.form is Form.FORECAST and len(given.inputs) == 1 and is_file(given.inputs[0]):
        raise UsageError(
            "U318",
            f"{run.task.verb} reads files; predict reads series that are typed, one a line",
            help=[f"seqloom {run.task.verb} {given.run} {given.inputs[0]}"],
        )
    search = replace(_with_rules(run, search, given), chances=has_labels(run))
    search.must_fit(run.model.signature)
    how = draws_of(given, search) or search
    how.must_fit(run.model.signature)
    if (sheet := sheet_given(run, given)) is not None:
        return fill(run, sheet, how, given)
    inputs, where = _inputs(given)
    answer = _found(run, how, given, where == "arguments")
    odd = Oddities(run)
    shown = _as_json if given.json else _as_text
    quiet = given.quiet or sys.stdout.isatty()
    with Progress(f"asking {run.name}", quiet=quiet) as progress, Trees(given.tree, run) as trees:
        done = 0
        for texts in batches(inputs, are_typed=where == STANDARD_INPUT):
            odd.count(texts)
            for result in answer(texts):
                show(shown(run, result, how))
                trees.write(result.text, result.answer)
            sys.stdout.flush()
            done += len(texts)
            progress.tell(done)
    say_notes(odd.notes(), given.quiet)
    return 0


def _with_rules(run: Run, search: Search, given: argparse.Namespace) -> Search:
    """The search with what --allow and --prefix say."""
    search.must_fit(run.model.signature)
    return run.ruled(search, allow=allowed(run, given), prefix=given.prefix)


@dataclass(frozen=True)
class Result:
    """What was asked and what came of it; blank lines have no answer."""

    text: str
    answer: Answer | None = None
    view: View | None = None


def _inputs(given: argparse.Namespace) -> tuple[Iterator[str], str]:
    """Arguments if there are any, else the file, else standard input; and which of them.

    One argument that is the name of a file, or -, stands for its lines.
    """
    file = given.file
    if given.inputs and file:
        raise given_twice("inputs")
    if len(given.inputs) == 1 and is_file(given.inputs[0]):
        (file,) = given.inputs
    elif given.inputs:
        return arguments(given.inputs), "arguments"
    if given.explain:
        raise UsageError("U010", "--explain draws inputs that are given as arguments only")
    file = file or STANDARD_INPUT
    return lines_of(file, given.encoding), STANDARD_INPUT if file == STANDARD_INPUT else "file"


def _found(
    run: Run, how: Search | Draws, given: argparse.Namespace, are_arguments: bool
) -> Callable[[list[str]], list[Result]]:
    """Answers to texts; a blank line of a file has a blank answer, so that lines still match."""
    done = 0

    def answer(texts: list[str]) -> list[Result]:
        nonlocal done
        asked = [text for text in texts if text.strip() or are_arguments]
        here = replace(how, first=done) if isinstance(how, Draws) else how
        answers = iter(run.answers(asked, here, tokens=given.batch_tokens or 0))
        done += len(asked)
        return [
            Result(text, next(answers), view(text))
            if text.strip() or are_arguments
            else Result(text)
            for text in texts
        ]

    def view(text: str) -> View | None:
        return run.inspect(text, beam=given.beam) if given.explain else None

    return answer


def _as_text(run: Run, result: Result, how: Search | Draws) -> str:
    """One line, or one for each of several with its number and its score before it.

    With a picture below it, and its probability beside it, if asked for.
    """
    if result.answer is None:
        return ""
    if _several(how):
        found = enumerate((result.answer, *result.answer.others), start=1)
        return "\n".join(
            f"{rank}\t{one.score:.4f}\t{run.task.show(one.value)}" for rank, one in found
        )
    told = _told(run, result.text, result.answer)
    if run.task.form is Form.NEXT:
        told = _joined(run, result.text, told)
    if result.view is None:
        return told
    is_plain = not can_show("▁█·", sys.stdout)
    picture = result.view.to_text(width(), ascii=is_plain)
    chance = (
        f"   p={math.exp(result.answer.log_prob):.2g}" if has_chance(run, result.answer) else ""
    )
    return f"{told}{chance}\n{picture}\n"


def _several(how: Search | Draws) -> bool:
    return (how.count if isinstance(how, Draws) else how.nbest) > 1


def _as_json(run: Run, result: Result, how: Search | Draws) -> str:
    several = ("drawn" if isinstance(how, Draws) else "nbest") if _several(how) else ""
    found = as_dict(run, result.text, result.answer, several)
    return to_json(found if result.view is None else found | {"view": result.view.to_json()})


def _told(run: Run, text: str, answer: Answer) -> str:
    """An answer in one line: as it is, marked in the question, or with how sure it is."""
    marked = run.task.marked(run.task.question(text), answer.value)
    if marked is not None:
        return drawn(marked, sys.stdout)
    if answer.chances is not None and is_live(sys.stdout):
        return run.task.show_surely(answer.value, answer.chances)
    return run.task.show(answer.value)


def _joined(run: Run, prompt: str, text: str) -> str:
    """A prompt and how it goes on."""
    are_words = run.task.read_unit == "words"
    return f"{prompt} {text}".strip() if are_words else prompt + text
