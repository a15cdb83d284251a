"""seqloom why: which inputs moved an answer."""

import argparse
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ...errors import UsageError
from ...inspection.attribution import PROBES, How, Question
from ...runs.record import to_json
from ...views import InfluenceView
from ...views.attribution import AGAINST, FOR
from ..arguments import at_least_one
from ..inputs import arguments, lines_of
from ..loading import load_run, say_notes
from ..output import MARKS
from ..terminal import can_show, coloured, show, wants_colour, width
from .predict import Oddities

OPPOSED = ("against ", "less ")  # how rows of bars begin that stand for what speaks against


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument(
        "--text", action="append", default=[], help="what the model reads; may be repeated"
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="texts, one a line; - is standard input"
    )
    parser.add_argument("--encoding", default="utf-8", metavar="NAME", help="of FILE")
    asked = parser.add_argument_group("what is explained")
    asked.add_argument(
        "--at",
        default="",
        metavar="PLACE",
        help="one place, by its number from 1 or its symbol; of what is written if a model writes",
    )
    asked.add_argument(
        "--every", action="store_true", help="of a model of the next symbol: all of the text"
    )
    asked.add_argument(
        "--for", dest="instead", default="", metavar="ANSWER", help="why not this answer instead?"
    )
    asked.add_argument(
        "--beam", type=int, default=1, metavar="N", help="candidates kept; 1 is greedy search"
    )
    found = parser.add_argument_group("how it is found out")
    found.add_argument(
        "--by", default="", metavar="PROBE", help=f"{', '.join(PROBES)}; left out: the best"
    )
    found.add_argument(
        "--leave-out",
        action="store_true",
        help="for occlusion: leave symbols out, instead of reading them as unknown",
    )
    found.add_argument(
        "--integrated", action="store_true", help="for gradient: add up slopes on the way from 0"
    )
    found.add_argument(
        "--rollout", action="store_true", help="for attention: follow it down through all layers"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )


def run(given: argparse.Namespace) -> int:
    """Draw each text in the terminal, or save the pictures and print where."""
    beam = at_least_one("--beam", given.beam)
    how = How(
        by=given.by,
        leave_out=given.leave_out,
        integrated=given.integrated,
        rollout=given.rollout,
    )
    about = Question(at=given.at, every=given.every, instead=given.instead, beam=beam)
    texts = _texts(given)
    run = load_run(given.run, given.runs_dir)
    odd = Oddities(run)
    for number, text in enumerate(texts):
        odd.count([text])
        view = run.why(text, how=how, about=about)
        _hand_out(view, number, given)
        sys.stdout.flush()
    say_notes(odd.notes(), given.quiet)
    return 0


def _texts(given: argparse.Namespace) -> Iterator[str]:
    """Those of --text, or the lines of a file that have something in them."""
    if bool(given.text) == bool(given.file):
        raise UsageError(
            "U001",
            "both --text and --file: choose one" if given.text else "nothing to read",
            help=['--text "…"', "--file FILE"],
        )
    if given.text:
        return arguments(given.text)
    return (line for line in lines_of(given.file, given.encoding) if line.strip())


def _hand_out(view: InfluenceView, number: int, given: argparse.Namespace) -> None:
    """Save a picture and print where, or draw it; the second of several has a 2 in its name."""
    if given.output is not None:
        path = given.output
        if number:
            path = path.with_stem(f"{path.stem}-{number + 1}")
        saved = view.save(path)
        show(to_json({"path": str(saved)}) if given.json else str(saved))
    elif given.json:
        show(to_json(view.to_json()))
    else:
        is_plain = not can_show(MARKS + AGAINST, sys.stdout)
        show(("\n" if number else "") + _painted(view.to_text(width(), ascii=is_plain)))


def _painted(text: str) -> str:
    """Marks in colour, where colour is welcome: blue-green for it, yellow against it."""
    if not wants_colour(sys.stdout):
        return text
    return "\n".join(_painted_line(line) for line in text.split("\n"))


def _painted_line(line: str) -> str:
    """In a rail the name of a row says whether its bars are for it or against it."""
    side = "yellow" if line.lstrip().startswith(OPPOSED) else "cyan"
    for marks, colour in ((FOR, side), (AGAINST, "yellow")):
        line = re.sub(f"[{marks}]+", partial(_in_colour, colour), line)
    return line


def _in_colour(colour: str, found: re.Match[str]) -> str:
    return coloured(found[0], colour, sys.stdout)
