"""seqloom import: import a run from a zip file."""

import argparse
from pathlib import Path

from ...runs.record import to_json
from ..terminal import say, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="zip file of seqloom export")
    parser.add_argument("-n", "--name", default="", metavar="NAME", help="name of the run")


def run(args: argparse.Namespace) -> int:
    """Import the run, and print its folder and the next command."""
    from ...runs.names import run_argument
    from ...runs.package import unpack

    imported = unpack(args.file, args.runs_dir, args.name)
    show(to_json({"path": str(imported), "from": str(args.file)}) if args.json else str(imported))
    if not args.json and not args.quiet:
        say(f"Next: seqloom show {run_argument(imported)}   shows all about it")
    return 0
