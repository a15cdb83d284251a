"""--allow: a file of the only symbols that answers may have."""

import argparse

from ..errors import DataError
from ..ruling import known
from ..run import Run
from .inputs import lines_of
from .judging import say_notes
from .terminal import several


def add_allow(parser: argparse.ArgumentParser, what: str) -> None:
    """The option, for answers of some kind."""
    parser.add_argument(
        "--allow", metavar="FILE", help=f"{what} have only the symbols of this file, one a line"
    )


def allowed(run: Run, given: argparse.Namespace) -> list[str]:
    """The lines of the file, none where there is no such file; a note of those that are unknown."""
    if given.allow is None:
        return []
    allow = [line for line in lines_of(given.allow, given.encoding) if line]
    if not allow:
        raise DataError("D021", f'"{given.allow}" has no symbols to allow')
    if unknown := known(run.task, allow)[1]:
        listed, are = several(len(unknown), "symbol"), "is" if len(unknown) == 1 else "are"
        told = f"{listed} of {given.allow} {are} unknown to {run.name} and left out"
        say_notes([told], given.quiet)
    return allow
