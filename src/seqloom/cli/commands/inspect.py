"""seqloom inspect: a picture of what happens inside a model while it answers."""

import argparse
from pathlib import Path
from typing import Any

from ...config import Option, options
from ...errors import UsageError
from ...inspection.options import Inspecting
from ...runs.record import to_json
from ...runs.run import Run
from ..arguments import at_least_one
from ..inputs import arguments
from ..loading import load_run
from ..output import hand_out
from ..terminal import show

OWN = ("view", "beam")  # options with arguments of their own here


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("run", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument("file", metavar="FILE", nargs="?", default="", help="of series")
    parser.add_argument("--text", help="what the model reads")
    parser.add_argument(
        "--view", default="", metavar="NAME", help="the kind of picture; left out: the first"
    )
    parser.add_argument("--views", action="store_true", help="instead: list the views of the run")
    parser.add_argument(
        "--series",
        action="append",
        default=[],
        metavar="NAME",
        help="only this series of FILE; may be repeated",
    )
    parser.add_argument("--beam", type=int, metavar="N", help="candidates kept; 1 is greedy search")
    parser.add_argument(
        "--step", type=int, metavar="N", help="as it was at this step of training, of a probed text"
    )
    of_views = parser.add_argument_group("options of views")
    for option in options(Inspecting):
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


def run(given: argparse.Namespace) -> int:
    """Draw in the terminal, or save and print where."""
    if given.views:
        _list(load_run(given.run, given.runs_dir), given)
        return 0
    (text,) = arguments([given.text or ""])
    if given.text is None and not given.file:
        raise UsageError(
            "U316", "nothing to look at", help=['--text "…"', "FILE   of a run that forecasts"]
        )
    asked = {
        option.name: getattr(given, option.name)
        for option in options(Inspecting)
        if getattr(given, option.name) is not None
    }
    if given.beam is not None:
        at_least_one("--beam", given.beam)
    run = load_run(given.run, given.runs_dir)
    more = {"file": given.file, "series": given.series, "step": given.step}
    hand_out(run.inspect(text, **more, **asked), given)
    return 0


def _list(run: Run, given: argparse.Namespace) -> None:
    """The views of a run, and those it lacks."""
    found = run.views()
    if given.json:
        shown = [
            {
                "view": kind.view,
                "title": kind.title,
                "about": kind.about,
                "options": [_option(option) for option in kind.options()],
            }
            for kind in found.shown
        ]
        missing = [{"view": kind.view, "title": kind.title} for kind in found.missing]
        show(to_json({"views": shown, "missing": missing, "probes": run.probes()}))
        return
    for kind in found.shown:
        takes = f"  ({', '.join('--' + name.replace('_', '-') for name in kind.takes)})"
        show(f"{kind.view:14}{kind.about}{takes if kind.takes else ''}")
    show(f"not shown: {', '.join(kind.view for kind in found.missing) or 'none'}")
    if (kept := run.probes())["steps"]:
        show(f"kept at the steps {', '.join(map(str, kept['steps']))} (--step) of the texts:")
        for text in kept["inputs"]:
            show(f"  {text}")


def _option(option: Option) -> dict[str, Any]:
    return {"name": option.name, "default": option.default, "help": option.help}
