"""seqloom rename: another name for a run."""

import argparse

from ...runs.package import rename
from ...runs.record import to_json
from ...runs.run import find
from ..terminal import show


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="a run that is not being trained")
    parser.add_argument("name", metavar="NAME", help="what it is called from now on")


def run(given: argparse.Namespace) -> int:
    """Rename it, and print where it is."""
    folder = find(given.run, given.runs_dir)
    found = rename(folder, given.name)
    show(to_json({"path": str(found), "from": folder.name}) if given.json else str(found))
    return 0
