"""seqloom compose: generate a piece of music, as MIDI or JSON, and draw its piano roll."""

import argparse
import sys
from pathlib import Path

from ...config import options
from ...errors import UsageError
from ...inference.compose import CompositionOptions, require_music_suffix
from ...runs.record import to_json
from ..arguments import at_least_one
from ..loading import load_run
from ..output import MARKS
from ..terminal import can_show, say, show, width

QUARTERS = 4  # per bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="file to write: .mid or .json"
    )
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="picture of the piano roll: .svg, .png, .html or .json",
    )
    parser.add_argument(
        "--prompt", type=Path, metavar="FILE", help="piece to continue: MIDI or JSON"
    )
    parser.add_argument(
        "--prompt-steps", type=int, metavar="N", help="use the first N steps of the prompt only"
    )
    parser.add_argument(
        "--bars",
        type=int,
        metavar="N",
        help=f"length in bars of {QUARTERS} quarter notes, instead of --steps",
    )
    for option in options(CompositionOptions):
        parser.add_argument(
            f"--{option.name}",
            type=option.kind,
            default=None if option.name == "steps" else option.default,
            metavar="N" if option.kind is int else "X",
            help=f"{option.help} ({option.default:g})".replace("%", "%%"),
        )
    parser.add_argument(
        "--tempo", type=float, default=90.0, metavar="X", help="quarter notes per minute (90)"
    )


def run(args: argparse.Namespace) -> int:
    """Generate a piece, save it, and draw it in the terminal."""
    if args.output is not None:
        require_music_suffix(args.output)
    run = load_run(args.run, args.runs_dir)
    steps = run.music_task().steps_per_quarter * QUARTERS
    chosen = {option.name: getattr(args, option.name) for option in options(CompositionOptions)}
    settings = CompositionOptions(**{**chosen, "steps": _steps(args, steps)})
    if args.prompt_steps is not None:
        at_least_one("--prompt-steps", args.prompt_steps)
    composed = run.compose(settings, prompt=args.prompt or (), prompt_steps=args.prompt_steps)
    view = composed.view(run.name)
    saved = {}
    if args.output is not None:
        saved["path"] = str(composed.save(args.output, args.tempo))
    if args.picture is not None:
        saved["picture"] = str(view.save(args.picture))
    if args.json:
        show(to_json({**composed.to_json(), "caption": view.caption, **saved}))
        return 0
    if not args.quiet:
        show(view.to_text(width(), ascii=not can_show(MARKS + "▀▄", sys.stdout)))
    for path in saved.values():
        (show if args.quiet else say)(path)
    return 0


def _steps(args: argparse.Namespace, in_a_bar: int) -> int:
    if args.bars is None:
        return CompositionOptions.steps if args.steps is None else int(args.steps)
    if args.steps is not None:
        raise UsageError("U334", "--bars and --steps both set the length: leave one out")
    at_least_one("--bars", args.bars)
    return int(args.bars) * in_a_bar
