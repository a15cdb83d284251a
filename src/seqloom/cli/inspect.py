"""seqloom inspect: a picture of what happens inside a model while it answers."""

import argparse
from pathlib import Path

from ..errors import UsageError
from .arguments import at_least_one
from .inputs import arguments
from .judging import load_run
from .pictures import hand_out


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument("file", metavar="FILE", nargs="?", default="", help="of series")
    parser.add_argument("--text", help="what the model reads")
    parser.add_argument(
        "--view",
        default="",
        metavar="NAME",
        help="attention, gates or hierarchy, of series forecast or components; left out: the first"
        " it has",
    )
    parser.add_argument(
        "--series",
        action="append",
        default=[],
        metavar="NAME",
        help="only this series of FILE; may be repeated",
    )
    parser.add_argument(
        "--beam", type=int, default=1, metavar="N", help="candidates kept; 1 is greedy search"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )


def run(given: argparse.Namespace) -> int:
    """Draw in the terminal, or save and print where."""
    (text,) = arguments([given.text or ""])
    if given.text is None and not given.file:
        raise UsageError(
            "U316", "nothing to look at", help=['--text "…"', "FILE   of a run that forecasts"]
        )
    beam = at_least_one("--beam", given.beam)
    run = load_run(given.run, given.runs_dir)
    view = run.inspect(text, view=given.view, beam=beam, file=given.file, series=given.series)
    hand_out(view, given)
    return 0
