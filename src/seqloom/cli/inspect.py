"""seqloom inspect: a picture of what happens inside a model while it answers."""

import argparse
from pathlib import Path

from .arguments import at_least_one
from .inputs import arguments
from .judging import load_run
from .pictures import hand_out


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument("--text", required=True, help="what the model reads")
    parser.add_argument(
        "--view", default="", metavar="NAME", help="attention or gates; left out: the first it has"
    )
    parser.add_argument(
        "--beam", type=int, default=1, metavar="N", help="candidates kept; 1 is greedy search"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )


def run(given: argparse.Namespace) -> int:
    """Draw in the terminal, or save and print where."""
    (text,) = arguments([given.text])
    beam = at_least_one("--beam", given.beam)
    run = load_run(given.run, given.runs_dir)
    view = run.inspect(text, view=given.view, beam=beam)
    hand_out(view, given)
    return 0
