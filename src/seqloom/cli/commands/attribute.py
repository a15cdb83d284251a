"""seqloom attribute: which inputs moved a prediction (occlusion, gradients, attention)."""

import argparse
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import UsageError
from ...inspection.attribution import METHODS, AttributionOptions, TargetOptions
from ...runs.record import to_json
from ...runs.run import Run
from ...signature import Form
from ...views import AttributionView
from ...views.attribution import AGAINST, FOR
from ..arguments import add_length, at_least_one, length_from
from ..inputs import argument_texts, text_lines
from ..loading import load_run, say_notes
from ..output import MARKS
from ..terminal import can_show, coloured, show, wants_colour, width
from .predict import InputWarnings

OPPOSED = ("against ", "less ")  # labels of rows whose bars are negative attributions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument(
        "--text", action="append", default=[], help="input of the model; may be repeated"
    )
    parser.add_argument(
        "-f",
        "--file",
        metavar="FILE",
        help="file of texts, one per line; - is standard input; a forecasting run reads series",
    )
    parser.add_argument(
        "--series", default="", metavar="NAME", help="of a forecasting run: this series of FILE"
    )
    parser.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="encoding of FILE (utf-8)"
    )
    target = parser.add_argument_group("prediction to explain")
    target.add_argument(
        "--at",
        default="",
        metavar="POSITION",
        help="one position, by number from 1 or by token; of the output if there is one",
    )
    target.add_argument(
        "--every", action="store_true", help="of a language model: every position of the text"
    )
    target.add_argument(
        "--for",
        dest="instead",
        default="",
        metavar="PREDICTION",
        help="contrast with this prediction",
    )
    target.add_argument(
        "--beam", type=int, default=1, metavar="N", help="beam size; 1 is greedy search (1)"
    )
    add_length(target)
    method = parser.add_argument_group("attribution method")
    method.add_argument(
        "--by",
        default="",
        metavar="METHOD",
        help=f"{', '.join(METHODS)} (default: the best for the model)",
    )
    method.add_argument(
        "--leave-out",
        action="store_true",
        help="with occlusion: delete tokens instead of replacing them by <unk>",
    )
    method.add_argument(
        "--integrated",
        action="store_true",
        help="with gradient: integrated gradients from a baseline of 0",
    )
    method.add_argument(
        "--rollout",
        action="store_true",
        help="with attention: attention rollout through all layers",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )


def run(args: argparse.Namespace) -> int:
    """Draw the attribution of each text in the terminal, or save it and print the path."""
    beam = at_least_one("--beam", args.beam)
    how = AttributionOptions(
        by=args.by,
        leave_out=args.leave_out,
        integrated=args.integrated,
        rollout=args.rollout,
    )
    about = TargetOptions(
        at=args.at,
        every=args.every,
        instead=args.instead,
        beam=beam,
        limit=length_from(args),
    )
    _one_source(args)
    run = load_run(args.run, args.runs_dir)
    texts = _texts(run, args)
    warnings = InputWarnings(run)
    how_and_what: Any = {"options": how, "target": about}
    how_and_what |= {"series": [args.series]} if args.series else {}
    if args.file and run.task.form is Form.FORECAST:
        _output(run.attribute(file=args.file, **how_and_what), 0, args)
        return 0
    for number, text in enumerate(texts):
        warnings.count([run.task.question(text)])
        _output(run.attribute(text, **how_and_what), number, args)
        sys.stdout.flush()
    say_notes(warnings.notes(), args.quiet)
    return 0


def _one_source(args: argparse.Namespace) -> None:
    """Refuse --text and --file together, and neither of them."""
    if bool(args.text) == bool(args.file):
        raise UsageError(
            "U001",
            "both --text and --file: choose one" if args.text else "no input",
            help=['--text "…"', "--file FILE"],
        )


def _texts(run: Run, args: argparse.Namespace) -> Iterator[str]:
    """The texts of --text, or the lines of the file that are not blank."""
    if args.text:
        return argument_texts(args.text)
    return (line for line in text_lines(args.file, run.task, args) if line.strip())


def _output(view: AttributionView, number: int, args: argparse.Namespace) -> None:
    """Save the picture and print its path, or draw it; further files get a number in their name."""
    if args.output is not None:
        path = args.output
        if number:
            path = path.with_stem(f"{path.stem}-{number + 1}")
        saved = view.save(path)
        show(to_json({"path": str(saved)}) if args.json else str(saved))
    elif args.json:
        show(to_json(view.to_json()))
    else:
        is_plain = not can_show(MARKS + AGAINST, sys.stdout)
        show(("\n" if number else "") + _painted(view.to_text(width(), ascii=is_plain)))


def _painted(text: str) -> str:
    """Bars in colour on a terminal: cyan for positive, yellow for negative attribution."""
    if not wants_colour(sys.stdout):
        return text
    return "\n".join(_painted_line(line) for line in text.split("\n"))


def _painted_line(line: str) -> str:
    """The label of a row says whether its bars are positive or negative."""
    side = "yellow" if line.lstrip().startswith(OPPOSED) else "cyan"
    for marks, colour in ((FOR, side), (AGAINST, "yellow")):
        line = re.sub(f"[{marks}]+", partial(_in_colour, colour), line)
    return line


def _in_colour(colour: str, match: re.Match[str]) -> str:
    return coloured(match[0], colour, sys.stdout)
