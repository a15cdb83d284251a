"""seqloom predict, and the verb of each task: let a run answer, one result a line."""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..forms import Form, Vectors
from ..run import Run, wrong_task
from ..training.evaluation import Answer
from ..views import View
from .arguments import add_search, given_twice, search_of
from .inputs import STANDARD_INPUT, arguments, batches, lines_of
from .judging import Progress, load_run, say_notes
from .oddities import Oddities
from .records import to_json
from .terminal import can_show, show, width


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument("inputs", metavar="INPUT", nargs="*", help="what to answer")
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="a file of inputs, one a line; - is standard input"
    )
    parser.add_argument("--encoding", default="utf-8", metavar="NAME", help="of FILE")
    add_search(parser)
    parser.add_argument(
        "--explain", action="store_true", help="draw what happened inside under each answer"
    )


def run(given: argparse.Namespace) -> int:
    """Answer every input, in order."""
    run = load_run(given.run, given.runs_dir)
    if given.command not in ("predict", run.task.verb):
        raise wrong_task(run, given.command)
    answer = _found(run, given)
    odd = Oddities(run)
    shown = _as_json if given.json else _as_text
    with Progress(f"asking {run.name}", quiet=given.quiet or sys.stdout.isatty()) as progress:
        done = 0
        for texts in batches(_inputs(given)):
            odd.count(texts)
            for result in answer(texts):
                show(shown(run, result))
            sys.stdout.flush()
            done += len(texts)
            progress.tell(done)
    say_notes(odd.notes(), given.quiet)
    return 0


@dataclass(frozen=True)
class Result:
    """What was asked and what came of it; blank lines have no answer."""

    text: str
    answer: Answer | None = None
    view: View | None = None


def _inputs(given: argparse.Namespace) -> Iterator[str]:
    """Arguments if there are any, else the file, else standard input."""
    if given.inputs and given.file:
        raise given_twice("inputs")
    if given.inputs:
        return arguments(given.inputs)
    if given.explain:
        raise UsageError("U010", "--explain draws inputs that are given as arguments only")
    return lines_of(given.file or STANDARD_INPUT, given.encoding)


def _found(run: Run, given: argparse.Namespace) -> Callable[[list[str]], list[Result]]:
    """Answers by search; a blank line of a file has a blank answer, so that lines still match."""
    search = search_of(given)

    def answer(texts: list[str]) -> list[Result]:
        asked = [text for text in texts if text.strip() or given.inputs]
        answers = iter(run.answers(asked, search))
        return [
            Result(text, next(answers), view(text))
            if text.strip() or given.inputs
            else Result(text)
            for text in texts
        ]

    def view(text: str) -> View | None:
        return run.inspect(text, beam=search.beam) if given.explain else None

    return answer


def _as_text(run: Run, result: Result) -> str:
    """One line; with a picture below it, and its probability beside it, if asked for."""
    if result.answer is None:
        return ""
    told = run.task.show(result.answer.value)
    if run.task.form is Form.NEXT:
        told = _joined(run, result.text, told)
    if result.view is None:
        return told
    is_plain = not can_show("▁█·", sys.stdout)
    picture = result.view.to_text(width(), ascii=is_plain)
    chance = (
        f"   p={math.exp(result.answer.log_prob):.2g}" if _has_chance(run, result.answer) else ""
    )
    return f"{told}{chance}\n{picture}\n"


def _as_json(run: Run, result: Result) -> str:
    found: dict[str, Any] = {"input": result.text, "output": None}
    if (answer := result.answer) is not None:
        found["output"] = answer.value
        if run.task.form is Form.EACH:
            symbols = run.task.symbols(run.task.question(result.text), answer.value)
            found["output"] = list(zip(*symbols, strict=True))
        if _has_chance(run, answer):
            found |= {"log_prob": answer.log_prob, "probability": math.exp(answer.log_prob)}
    if result.view is not None:
        found["view"] = result.view.to_json()
    return to_json(found)


def _has_chance(run: Run, answer: Answer) -> bool:
    """Whether an answer has a probability: real numbers have a density only."""
    is_real = isinstance(run.task.signature().target, Vectors)
    return math.isfinite(answer.log_prob) and not is_real


def _joined(run: Run, prompt: str, text: str) -> str:
    """A prompt and how it goes on."""
    are_words = getattr(run.task, "unit", "") == "words"
    return f"{prompt} {text}".strip() if are_words else prompt + text
