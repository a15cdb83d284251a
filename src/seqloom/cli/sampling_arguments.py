"""Arguments for sampling: temperature, top-k, top-p, seed, and --allow (allowed tokens)."""

import argparse
from dataclasses import replace

from ..config import Option, options
from ..decoding import Sampling, SamplingDecoder
from ..errors import DataError, UsageError
from ..inference.constraints import token_ids
from ..model import Search
from ..runs.run import Run
from .inputs import read_lines
from .loading import say_notes
from .terminal import plural


def add_allow(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --allow, which constrains decoding to the tokens of a file."""
    parser.add_argument(
        "--allow", metavar="FILE", help=f"{what} contain only the tokens of this file, one per line"
    )


def allowed_tokens(run: Run, args: argparse.Namespace) -> list[str]:
    """The tokens of --allow, none without the option; with a note on unknown ones."""
    if args.allow is None:
        return []
    allow = [line for line in read_lines(args.allow, args.encoding) if line]
    if not allow:
        raise DataError("D021", f'"{args.allow}" has no tokens to allow')
    if unknown := token_ids(run.task, allow)[1]:
        listed, are = plural(len(unknown), "token"), "is" if len(unknown) == 1 else "are"
        note = f"{listed} of {args.allow} {are} not in the vocabulary of {run.name}: ignored"
        say_notes([note], args.quiet)
    return allow


SHARED = ("block_ngrams", "shortest", "limit")  # options of beam search, too
SEARCH_FLAGS = {"beam": "--beam", "nbest": "--nbest", "length_penalty": "--length-penalty"}
SEARCH_FLAGS |= {"coverage_penalty": "--coverage", "tree": "--tree"}


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Add all options of sampling, with their defaults."""
    for option in options(Sampling):
        _add(parser, option, option.default)


def sampling_from(args: argparse.Namespace) -> Sampling:
    """The sampling settings from the arguments of `add_sampling`."""
    return Sampling(**{option.name: getattr(args, option.name) for option in options(Sampling)})


def add_sample_options(parser: argparse.ArgumentParser) -> None:
    """Add sampling to a command that searches by default, and so has some options already."""
    group = parser.add_argument_group("sampling")
    group.add_argument(
        "--sample", type=int, metavar="N", help="sample N outputs per input instead of searching"
    )
    for option in _sampling_only():
        _add(group, option, None)


def sampling_decoder_from(args: argparse.Namespace, search: Search) -> SamplingDecoder | None:
    """The sampling decoder with the constraints of the search; None without --sample."""
    chosen = {option.name: getattr(args, option.name) for option in _sampling_only()}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if args.sample is None:
        if chosen:
            flag = _flag(next(iter(chosen)))
            raise UsageError(
                "U067",
                f"{flag} is an option of sampling: it needs --sample",
                help=["--sample 1   samples one output for each input", f"leave {flag} out"],
            )
        return None
    _reject_search_options(args, search)
    chosen |= {name: getattr(search, name) for name in SHARED}
    decoder = SamplingDecoder(sampling=Sampling(**chosen), count=args.sample)
    return replace(decoder, allow=search.allow, prefix=search.prefix)


def _reject_search_options(args: argparse.Namespace, search: Search) -> None:
    """Reject search options that sampling would ignore."""
    default = Search()
    clashing = [
        flag
        for name, flag in SEARCH_FLAGS.items()
        if getattr(search, name) != getattr(default, name)
    ]
    if args.explain:
        clashing.append("--explain")
    if clashing:
        raise UsageError(
            "U067",
            f"{clashing[0]} is an option of search, and --sample does not search",
            help=["leave one of them out"],
        )


def _sampling_only() -> list[Option]:
    """The options of sampling that a search does not have."""
    return [option for option in options(Sampling) if option.name not in SHARED]


def _flag(name: str) -> str:
    return "--length" if name == "limit" else f"--{name.replace('_', '-')}"


def _add(parser: argparse._ActionsContainer, option: Option, default: object) -> None:
    parser.add_argument(
        _flag(option.name),
        dest=option.name,
        type=option.kind,
        default=default,
        metavar="N" if option.kind is int else "X",
        help=f"{option.help} ({option.default:g})".replace("%", "%%"),
    )
