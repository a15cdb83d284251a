"""seqloom inspect: views of the internals of a model: attention, gates, states, beam tree, …"""

import argparse
from pathlib import Path
from typing import Any

from ...config import Option, options
from ...errors import UsageError
from ...inspection.options import InspectionOptions
from ...runs.record import to_json
from ...runs.run import Run
from ..arguments import at_least_one
from ..inputs import argument_texts
from ..loading import load_run
from ..output import output_view
from ..terminal import show

OWN = ("view", "beam")  # options that are added separately


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="name or folder of a run")
    parser.add_argument("file", metavar="FILE", nargs="?", default="", help="file of series")
    parser.add_argument("--text", help="input of the model")
    parser.add_argument(
        "--view", default="", metavar="NAME", help="view to draw (default: the first of --views)"
    )
    parser.add_argument("--views", action="store_true", help="list the views of the run, and exit")
    parser.add_argument(
        "--series",
        action="append",
        default=[],
        metavar="NAME",
        help="only this series of FILE; may be repeated",
    )
    parser.add_argument("--beam", type=int, metavar="N", help="beam size; 1 is greedy search")
    parser.add_argument(
        "--step",
        type=int,
        metavar="N",
        help="the snapshot of this training step, for a text of training.probes",
    )
    of_views = parser.add_argument_group("options of views")
    for option in options(InspectionOptions):
        if option.name not in OWN:
            of_views.add_argument(
                f"--{option.name.replace('_', '-')}",
                type=option.kind,
                metavar="X" if option.kind is not str else "TEXT",
                help=option.help.replace("%", "%%"),
            )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )


def run(args: argparse.Namespace) -> int:
    """Draw the view in the terminal, or save it and print the path."""
    if args.views:
        _list(load_run(args.run, args.runs_dir), args)
        return 0
    (text,) = argument_texts([args.text or ""])
    if args.text is None and not args.file:
        raise UsageError(
            "U316", "no input to inspect", help=['--text "…"', "FILE   for a forecasting run"]
        )
    chosen = {
        option.name: getattr(args, option.name)
        for option in options(InspectionOptions)
        if getattr(args, option.name) is not None
    }
    if args.beam is not None:
        at_least_one("--beam", args.beam)
    run = load_run(args.run, args.runs_dir)
    more = {"file": args.file, "series": args.series, "step": args.step}
    output_view(run.inspect(text, **more, **chosen), args)
    return 0


def _list(run: Run, args: argparse.Namespace) -> None:
    """List the views that a run has, and those it does not have."""
    views = run.views()
    if args.json:
        shown = [
            {
                "view": kind.view,
                "title": kind.title,
                "about": kind.about,
                "options": [_option(option) for option in kind.options()],
            }
            for kind in views.shown
        ]
        missing = [{"view": kind.view, "title": kind.title} for kind in views.missing]
        show(to_json({"views": shown, "missing": missing, "probes": run.snapshots()}))
        return
    for kind in views.shown:
        takes = f"  ({', '.join('--' + name.replace('_', '-') for name in kind.takes)})"
        show(f"{kind.view:14}{kind.about}{takes if kind.takes else ''}")
    show(f"not available: {', '.join(kind.view for kind in views.missing) or 'none'}")
    if (kept := run.snapshots())["steps"]:
        show(f"snapshots at the steps {', '.join(map(str, kept['steps']))} (--step) of the texts:")
        for text in kept["inputs"]:
            show(f"  {text}")


def _option(option: Option) -> dict[str, Any]:
    return {"name": option.name, "default": option.default, "help": option.help}
