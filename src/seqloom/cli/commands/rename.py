"""seqloom rename: rename a run."""

import argparse

from ...runs.package import rename
from ...runs.record import to_json
from ...runs.run import find
from ..terminal import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="a run that is not being trained")
    parser.add_argument("name", metavar="NAME", help="its new name")


def run(args: argparse.Namespace) -> int:
    """Rename the run, and print its new folder."""
    folder = find(args.run, args.runs_dir)
    renamed = rename(folder, args.name)
    show(to_json({"path": str(renamed), "from": folder.name}) if args.json else str(renamed))
    return 0
