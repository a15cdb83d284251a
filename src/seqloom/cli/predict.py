"""seqloom predict, and the verb of each task: let a run answer, one result a line."""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..answering import as_dict, has_chance, has_labels
from ..decoding import Draws
from ..errors import UsageError
from ..forms import Form
from ..model import Search
from ..record import to_json
from ..run import Run, wrong_task
from ..training.evaluation import Answer
from ..views import View
from .allowing import add_allow, allowed
from .arguments import add_search, at_least_one, given_twice, search_of
from .drawing import add_draws, draws_of
from .inputs import STANDARD_INPUT, arguments, batches, is_file, lines_of
from .judging import Progress, load_together, say_notes
from .marking import drawn
from .oddities import Oddities
from .sheets import fill, sheet_given
from .terminal import can_show, is_live, show, width
from .trees import Trees


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
