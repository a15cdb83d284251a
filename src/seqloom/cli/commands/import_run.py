"""seqloom import: a run from one file."""

import argparse
from pathlib import Path

from ...runs.record import to_json
from ..terminal import say, show


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="what seqloom export -o has written"
    )
    parser.add_argument("-n", "--name", default="", metavar="NAME", help="what to call the run")


def run(given: argparse.Namespace) -> int:
    """Unpack it, print where it is, and say how it is used."""
    from ...runs.package import unpack

    found = unpack(given.file, given.runs_dir, given.name)
    show(to_json({"path": str(found), "from": str(given.file)}) if given.json else str(found))
    if not given.json and not given.quiet:
        say(f"seqloom show {found.name}   tells all about it")
    return 0
