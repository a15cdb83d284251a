"""seqloom inspect: a picture of what happens inside a model while it answers."""

import argparse
import sys
from pathlib import Path

from .arguments import at_least_one
from .inputs import arguments
from .judging import load_run
from .records import to_json
from .terminal import can_show, show, width


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
    if given.output is not None:
        path = view.save(given.output)
        show(to_json({"path": str(path)}) if given.json else str(path))
    elif given.json:
        show(to_json(view.to_json()))
    else:
        show(view.to_text(width(), ascii=not can_show("▁█·…", sys.stdout)))
    return 0
