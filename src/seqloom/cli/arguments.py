"""Arguments shared by commands: data files and formats, search, settings of a recipe."""

import argparse
from typing import Any, get_args

from ..config import parse_toml_value
from ..data.formats.parallel_names import name_of
from ..data.options import Data
from ..errors import UsageError
from ..model import Search
from ..runs.names import run_name


def add_name(parser: argparse.ArgumentParser, help: str, *options: str) -> None:
    """Add --name of a new run: a name that no run can have is refused before a file is read."""
    parser.add_argument(*options, "--name", type=run_name, default="", metavar="NAME", help=help)


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading FILE; the default of each is that of the recipe."""
    formats = get_args(Data.__annotations__["format"])
    parser.add_argument(
        "--format", choices=formats, help="format of FILE (default: from the recipe, or detected)"
    )
    parser.add_argument("--encoding", metavar="NAME", help="encoding of FILE, such as cp1252")
    parser.add_argument(
        "--columns", metavar="ROLES", help="columns to read, as text=review,label=stars or 1,2"
    )
    parser.add_argument(
        "--skip-bad", action="store_true", default=None, help="skip lines that cannot be read"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="change a setting of the recipe; may be repeated",
    )


def add_file(parser: argparse.ArgumentParser, help: str, nargs: str = "*") -> None:
    """Add FILE, or two parallel files: the shell expands train.{de,en} to both, unless quoted."""
    parser.add_argument("file", metavar="FILE", nargs=nargs, help=f"{help}; or two parallel files")


def add_split_files(parser: argparse.ArgumentParser, evaluated: str) -> None:
    """Add --valid and --test; parallel files have one name: 'valid.{de,en}'."""
    for name, help in (("valid", "choose the best step"), ("test", f"evaluate {evaluated}")):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="FILE", help=f"{help} on this file"
        )


def split_settings(args: argparse.Namespace) -> dict[str, str]:
    """The options of `add_split_files` as settings of a recipe."""
    names = {f"data.{name}": name_of(getattr(args, name)) for name in ("valid", "test")}
    return {path: name for path, name in names.items() if name}


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of greedy and beam search."""
    parser.add_argument(
        "--beam", type=int, default=1, metavar="N", help="beam size; 1 is greedy search (1)"
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=Search().length_penalty,
        metavar="A",
        help="length penalty: scores are divided by length to this power",
    )
    parser.add_argument(
        "--coverage",
        type=float,
        default=0.0,
        metavar="B",
        help="weight of the coverage penalty (Wu et al., 2016); 0 disables it",
    )
    parser.add_argument(
        "--block-ngrams",
        type=int,
        default=0,
        metavar="N",
        help="no-repeat n-gram size: no n-gram of N tokens occurs twice; 0 disables it",
    )
    add_length(parser)
    parser.add_argument(
        "--with",
        dest="others",
        action="append",
        default=[],
        metavar="RUN",
        help="ensemble with this run, by the mean of probabilities; may be repeated",
    )


def add_length(parser: argparse._ActionsContainer) -> None:
    """Add --length, the limit of a search."""
    parser.add_argument(
        "--length",
        type=int,
        metavar="N",
        help="maximum number of tokens of an output (default: half as many again as the longest"
        " target in training has, and at least 100)",
    )


def length_from(args: argparse.Namespace) -> int:
    """The limit from the argument of `add_length`; 0 where it follows from training."""
    return 0 if args.length is None else at_least_one("--length", args.length)


def add_unknown_labels(parser: argparse.ArgumentParser) -> None:
    """Add --unknown-labels: what to do with labels that are not in the training data."""
    parser.add_argument(
        "--unknown-labels",
        choices=("error", "skip"),
        default="skip",
        help="rows whose label is not in the training data: skip and count them, or stop (skip)",
    )


def search_from(args: argparse.Namespace) -> Search:
    """The search settings from the arguments of `add_search`."""
    return Search(
        beam=at_least_one("--beam", args.beam),
        length_penalty=args.length_penalty,
        coverage_penalty=args.coverage,
        block_ngrams=args.block_ngrams,
        limit=length_from(args),
    )


def data_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Settings of a recipe from the options of `add_data_options`, then from --set."""
    named = {
        "data.format": args.format,
        "data.encoding": args.encoding,
        "data.columns": args.columns,
        "data.skip_bad": args.skip_bad,
    }
    settings = {path: value for path, value in named.items() if value is not None}
    return settings | dict(_setting(text) for text in args.set)


def at_least_one(option: str, value: int) -> int:
    """The value if it is at least 1, or an error that names its option."""
    if value < 1:
        raise UsageError("U010", f"{option} {value}: expected a whole number of at least 1")
    return value


def conflicting_inputs(what: str) -> UsageError:
    """The error for inputs given both as arguments and by --file."""
    return UsageError("U010", f"{what} are given both as arguments and by --file: choose one")


def _setting(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise UsageError(
            "U005",
            f"--set {text}: expected table.key=value",
            help=["for example  --set model.hidden_size=256"],
        )
    return path.strip(), parse_toml_value(value)
