"""seqloom regimes: which states a series goes through, and when."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...recipe import Recipe
from ...runs.segment import AS_ONE, find, view_of
from ...views.draw.text import to_ascii
from ...views.segmentation import MOST_STRETCHES, RegimesView
from ..arguments import add_reading, at_least_one, reading_of
from ..output import hand_out
from ..terminal import can_show, say, show, table

if TYPE_CHECKING:
    from ...models.gaussian_hmm import HiddenRegimes

MARKS = "▁█–…±"


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="numbers: a table, JSON lines, or .ts")
    parser.add_argument("--states", type=int, default=3, metavar="N", help="how many (3)")
    parser.add_argument(
        "--restarts", type=int, default=5, metavar="N", help="starts to take the best of (5)"
    )
    parser.add_argument("--series", default="", metavar="NAME", help="which to show, of several")
    parser.add_argument(
        "-s", "--seed", type=int, default=1, metavar="N", help="where chance starts (1)"
    )
    parser.add_argument(
        "--name", default="", help="keep the model as a run of this name, which can forecast"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )
    add_reading(parser)


def run(given: argparse.Namespace) -> int:
    """Print what each state is and when it held, or save the picture and print where."""
    recipe = _recipe(given)
    found = find(recipe, _kept(recipe, given) if given.name else None)
    if not given.quiet:
        for sentence in found.said:
            say(sentence)
    view = view_of(found, given.series)
    if given.output is None and not given.json:
        _print_tables(view)
    hand_out(view, given, MARKS)
    return 0


def _recipe(given: argparse.Namespace) -> Recipe:
    """A forecast by hidden regimes, as the options say."""
    settings = {
        "data.train": given.file,
        "model.states": at_least_one("--states", given.states),
        "model.restarts": at_least_one("--restarts", given.restarts),
        "training.seed": given.seed,
        "training.epochs": 50,
    }
    blank = Recipe({}, {"name": "forecast"}, {"name": "hidden-regimes"}, {})
    return blank.with_settings({**AS_ONE, **settings, **reading_of(given)}).checked()


def _kept(recipe: Recipe, given: argparse.Namespace) -> "HiddenRegimes":
    """The model of a new run, which was learned from the beginning of the series."""
    from ..session import Session

    outcome = Session(Path(given.runs_dir), quiet=given.quiet).train(recipe, given.name)
    say(f"kept as {outcome.run.name}:  seqloom forecast {outcome.run.name} {given.file}")
    return cast("HiddenRegimes", outcome.run.model)


def _print_tables(view: RegimesView) -> None:
    """The states, and the last stretches."""
    plain = not can_show(MARKS, sys.stdout)
    states, stretches = view.states_table(), view.to_table()
    left_out = max(0, len(stretches) - 1 - MOST_STRETCHES)
    shown = [stretches[0], *stretches[1:][-MOST_STRETCHES:]]
    lines = [*table(states, "l" + "r" * (len(states[0]) - 1)), ""]
    lines += table(shown, "lllr")
    if left_out:
        lines.append(f"(and {left_out:,} before them)")
    for line in [*lines, ""]:
        show(to_ascii(line) if plain else line)
