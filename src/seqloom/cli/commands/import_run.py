"""seqloom import: import a run from a zip file."""

import argparse
from pathlib import Path

from ...runs.record import to_json
from ..arguments import add_name
from ..terminal import say, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="zip file of seqloom export")
    add_name(parser, "name of the run", "-n")


def run(args: argparse.Namespace) -> int:
    """Import the run, and print its folder and the next command."""
    from ...recipe import Recipe
    from ...runs.names import RECIPE, run_argument
    from ...runs.package import unpack

    imported = unpack(args.file, args.runs_dir, args.name)
    show(to_json({"path": str(imported), "from": str(args.file)}) if args.json else str(imported))
    if not args.json and not args.quiet:
        for file in Recipe.read(imported / RECIPE).code_files():
            say(f"note: it has code of its own, which has not been run: {file}")
        say(f"Next: seqloom show {run_argument(imported)}   shows all about it")
    return 0
