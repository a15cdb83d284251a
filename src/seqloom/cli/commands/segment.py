"""seqloom segment: segmentation of a time series by a Gaussian HMM (Baum-Welch, Viterbi)."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...recipe import Recipe
from ...runs.segment import AS_ONE, fit_regimes, regimes_view
from ...views.draw.text import to_ascii
from ...views.segmentation import MAX_SEGMENTS, RegimesView
from ..arguments import add_data_options, add_name, at_least_one, data_settings
from ..output import output_view
from ..terminal import can_show, say, show, table

if TYPE_CHECKING:
    from ...models.gaussian_hmm import GaussianHMM

MARKS = "▁█–…±"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="time series: CSV, JSON lines, or .ts")
    parser.add_argument(
        "--states", type=int, default=3, metavar="N", help="number of hidden states (3)"
    )
    parser.add_argument(
        "--restarts",
        type=int,
        default=5,
        metavar="N",
        help="random restarts of EM, of which the best is kept (5)",
    )
    parser.add_argument(
        "--series", default="", metavar="NAME", help="series to show, if the file has several"
    )
    parser.add_argument("-s", "--seed", type=int, default=1, metavar="N", help="random seed (1)")
    add_name(parser, "also save the model as a run of this name, for forecasting")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )
    add_data_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the states and their segments, or save the picture and print the path."""
    recipe = _recipe(args)
    segmented = fit_regimes(recipe, _kept(recipe, args) if args.name else None)
    if not args.quiet:
        for sentence in segmented.notes:
            say(sentence)
    view = regimes_view(segmented, args.series)
    if args.output is None and not args.json:
        _print_tables(view)
    output_view(view, args, MARKS)
    return 0


def _recipe(args: argparse.Namespace) -> Recipe:
    """The recipe of a Gaussian HMM with the options of the command line."""
    settings = {
        "data.train": args.file,
        "model.states": at_least_one("--states", args.states),
        "model.restarts": at_least_one("--restarts", args.restarts),
        "training.seed": args.seed,
        "training.epochs": 50,
    }
    blank = Recipe({}, {"name": "forecast"}, {"name": "gaussian-hmm"}, {})
    return blank.with_settings({**AS_ONE, **settings, **data_settings(args)}).checked()


def _kept(recipe: Recipe, args: argparse.Namespace) -> "GaussianHMM":
    """The model of a new run, trained on the training part of the series."""
    from ..session import Session
    from ..suggestions import prediction_command

    outcome = Session(Path(args.runs_dir), quiet=args.quiet).train(recipe, args.name)
    run = outcome.run
    say(f"saved as {run.name}:  {prediction_command(run.folder, run.recipe, run.task)}")
    return cast("GaussianHMM", outcome.run.model)


def _print_tables(view: RegimesView) -> None:
    """Print the table of states, and the last segments."""
    plain = not can_show(MARKS, sys.stdout)
    states, stretches = view.states_table(), view.to_table()
    left_out = max(0, len(stretches) - 1 - MAX_SEGMENTS)
    shown = [stretches[0], *stretches[1:][-MAX_SEGMENTS:]]
    lines = [*table(states, "l" + "r" * (len(states[0]) - 1)), ""]
    lines += table(shown, "lllr")
    if left_out:
        lines.append(f"(and {left_out:,} before them)")
    for line in [*lines, ""]:
        show(to_ascii(line) if plain else line)
