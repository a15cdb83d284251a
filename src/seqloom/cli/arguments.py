"""Arguments that several commands share: how a file is read, how to search, what to set."""

import argparse
import tomllib
from typing import Any, get_args

from ..data.formats.parallel_names import name_of
from ..data.options import Data
from ..errors import UsageError
from ..model import Search


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How FILE is read; what is left out is as the recipe says."""
    formats = get_args(Data.__annotations__["format"])
    parser.add_argument("--format", choices=formats, help="how FILE is laid out")
    parser.add_argument("--encoding", metavar="NAME", help="of FILE, such as cp1252")
    parser.add_argument(
        "--columns", metavar="ROLES", help="such as text=review,label=stars, or 1,2"
    )
    parser.add_argument(
        "--skip-bad", action="store_true", default=None, help="leave out lines that are wrong"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="may be repeated"
    )


def add_file(parser: argparse.ArgumentParser, help: str, nargs: str = "*") -> None:
    """FILE, or two parallel files: the shell makes these of train.{de,en}, unless it is quoted."""
    parser.add_argument("file", metavar="FILE", nargs=nargs, help=f"{help}; or two parallel ones")


def add_parts(parser: argparse.ArgumentParser, judged: str) -> None:
    """The files beside the one to learn from; parallel ones have one name: 'valid.{de,en}'."""
    for name, help in (("valid", "choose the best step"), ("test", f"judge {judged}")):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="FILE", help=f"{help} on this file"
        )


def parts_of(given: argparse.Namespace) -> dict[str, str]:
    """What `add_parts` was given, as settings."""
    names = {f"data.{name}": name_of(getattr(given, name)) for name in ("valid", "test")}
    return {path: name for path, name in names.items() if name}


def add_search(parser: argparse.ArgumentParser) -> None:
    """How to look for the best answer."""
    parser.add_argument(
        "--beam", type=int, default=1, metavar="N", help="candidates kept; 1 is greedy search"
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=Search().length_penalty,
        metavar="A",
        help="scores are divided by length to this power",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        default=0.0,
        metavar="B",
        help="how much a place of the source weighs that was not looked at",
    )
    parser.add_argument(
        "--block-ngrams",
        type=int,
        default=0,
        metavar="N",
        help="no N symbols in a row come twice in an answer",
    )
    parser.add_argument(
        "--with",
        dest="others",
        action="append",
        default=[],
        metavar="RUN",
        help="answer together with this run, by the mean of probabilities; may be repeated",
    )


def add_unknown_labels(parser: argparse.ArgumentParser) -> None:
    """What to do with labels that a run cannot answer."""
    parser.add_argument(
        "--unknown-labels",
        choices=("error", "skip"),
        default="error",
        help="what to do with rows whose label training never showed",
    )


def search_of(given: argparse.Namespace) -> Search:
    """The search that was asked for."""
    return Search(
        beam=at_least_one("--beam", given.beam),
        length_penalty=given.length_penalty,
        coverage_penalty=given.coverage,
        block_ngrams=given.block_ngrams,
    )


def reading_of(given: argparse.Namespace) -> dict[str, Any]:
    """What is set in a recipe by options and then by --set."""
    named = {
        "data.format": given.format,
        "data.encoding": given.encoding,
        "data.columns": given.columns,
        "data.skip_bad": given.skip_bad,
    }
    settings = {path: value for path, value in named.items() if value is not None}
    return settings | dict(_setting(text) for text in given.set)


def at_least_one(option: str, value: int) -> int:
    """A count that makes sense, or an error that names its option."""
    if value < 1:
        raise UsageError("U010", f"{option} {value}: expected a whole number of at least 1")
    return value


def given_twice(what: str) -> UsageError:
    """Things to work on that come from two sides."""
    return UsageError("U010", f"{what} are given both as arguments and by --file: choose one")


def _setting(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise UsageError(
            "U005",
            f"--set {text}: expected table.key=value",
            help=["for example  --set model.hidden=256"],
        )
    try:
        found: Any = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        found = value  # plain words need no quotes here
    return path.strip(), found
