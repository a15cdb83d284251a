"""How symbols are drawn: the options of `generate`, and of answers that are drawn.

--allow: a file of the only symbols that answers may have.
"""

import argparse
from dataclasses import replace

from ..config import Option, options
from ..decoding import Draws, Sampling
from ..errors import DataError, UsageError
from ..inference.constraints import known
from ..model import Search
from ..runs.run import Run
from .inputs import lines_of
from .loading import say_notes
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


SHARED = ("block_ngrams", "shortest")  # options of a search, too
OF_SEARCH = {"beam": "--beam", "nbest": "--nbest", "length_penalty": "--length-penalty"}
OF_SEARCH |= {"coverage_penalty": "--coverage", "tree": "--tree"}


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """All options of drawing, with their defaults."""
    for option in options(Sampling):
        _add(parser, option, option.default)


def sampling_of(given: argparse.Namespace) -> Sampling:
    """What `add_sampling` was given."""
    return Sampling(**{option.name: getattr(given, option.name) for option in options(Sampling)})


def add_draws(parser: argparse.ArgumentParser) -> None:
    """Answers that are drawn, beside a search, which has some of the options."""
    group = parser.add_argument_group("draw answers")
    group.add_argument(
        "--sample", type=int, metavar="N", help="draw N answers, instead of looking for the best"
    )
    for option in _own():
        _add(group, option, None)


def draws_of(given: argparse.Namespace, search: Search) -> Draws | None:
    """What `add_draws` was given, with the rules of the search; None where nothing is drawn."""
    told = {option.name: getattr(given, option.name) for option in _own()}
    told = {name: value for name, value in told.items() if value is not None}
    if given.sample is None:
        if told:
            flag = _flag(next(iter(told)))
            raise UsageError(
                "U067",
                f"{flag} is for answers that are drawn",
                help=["--sample 1   to draw them", f"leave {flag} out"],
            )
        return None
    _refuse_search(given, search)
    told |= {name: getattr(search, name) for name in SHARED}
    draws = Draws(sampling=Sampling(**told), count=given.sample)
    return replace(draws, allow=search.allow, prefix=search.prefix)


def _refuse_search(given: argparse.Namespace, search: Search) -> None:
    """What would change nothing about answers that are drawn is not ignored."""
    plain = Search()
    clashing = [
        flag for name, flag in OF_SEARCH.items() if getattr(search, name) != getattr(plain, name)
    ]
    if given.explain:
        clashing.append("--explain")
    if clashing:
        raise UsageError(
            "U067",
            f"{clashing[0]} is for answers that are searched for, and --sample draws them",
            help=["leave one of them out"],
        )


def _own() -> list[Option]:
    """The options that a search does not have."""
    return [option for option in options(Sampling) if option.name not in (*SHARED, "limit")]


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
