"""seqloom compose: draw a piece of music, write it as MIDI or JSON, and draw its picture."""

import argparse
import sys
from pathlib import Path

from ...config import options
from ...errors import UsageError
from ...inference.compose import Composing, must_be_music
from ...runs.record import to_json
from ..arguments import at_least_one
from ..loading import load_run
from ..output import MARKS
from ..terminal import can_show, say, show, width

QUARTERS = 4  # to a bar


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to: .mid or .json")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="the piano roll: .svg, .png, .html or .json"
    )
    parser.add_argument(
        "--prompt", type=Path, metavar="FILE", help="a piece to go on from: MIDI or JSON"
    )
    parser.add_argument(
        "--prompt-steps", type=int, metavar="N", help="go on from its first N steps, not from all"
    )
    parser.add_argument(
        "--bars", type=int, metavar="N", help=f"so many bars of {QUARTERS} quarters, not --steps"
    )
    for option in options(Composing):
        parser.add_argument(
            f"--{option.name}",
            type=option.kind,
            default=None if option.name == "steps" else option.default,
            metavar="N" if option.kind is int else "X",
            help=f"{option.help} ({option.default:g})".replace("%", "%%"),
        )
    parser.add_argument(
        "--tempo", type=float, default=90.0, metavar="X", help="quarter notes a minute (90)"
    )


def run(given: argparse.Namespace) -> int:
    """Draw, save what is to be saved, and sketch it in the terminal."""
    if given.output is not None:
        must_be_music(given.output)
    run = load_run(given.run, given.runs_dir)
    steps = run.must_compose().steps_per_quarter * QUARTERS
    asked = {option.name: getattr(given, option.name) for option in options(Composing)}
    settings = Composing(**{**asked, "steps": _steps(given, steps)})
    if given.prompt_steps is not None:
        at_least_one("--prompt-steps", given.prompt_steps)
    composed = run.compose(settings, prompt=given.prompt or (), prompt_steps=given.prompt_steps)
    view = composed.view(run.name)
    saved = {}
    if given.output is not None:
        saved["path"] = str(composed.save(given.output, given.tempo))
    if given.picture is not None:
        saved["picture"] = str(view.save(given.picture))
    if given.json:
        show(to_json({**composed.to_json(), "caption": view.caption, **saved}))
        return 0
    if not given.quiet:
        show(view.to_text(width(), ascii=not can_show(MARKS + "▀▄", sys.stdout)))
    for path in saved.values():
        (show if given.quiet else say)(path)
    return 0


def _steps(given: argparse.Namespace, in_a_bar: int) -> int:
    if given.bars is None:
        return Composing.steps if given.steps is None else int(given.steps)
    if given.steps is not None:
        raise UsageError("U334", "--bars and --steps say the same: leave one out")
    at_least_one("--bars", given.bars)
    return int(given.bars) * in_a_bar
