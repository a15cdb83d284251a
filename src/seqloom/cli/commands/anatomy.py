"""seqloom anatomy: how far back recurrent layers feel, and what their gates do."""

import argparse
from functools import reduce
from pathlib import Path

from ...errors import UsageError
from ...runs.run import Run
from ...views import GateSharesView, MemoryView
from ..arguments import at_least_one
from ..inputs import arguments
from ..loading import load_run
from ..output import hand_out

FRESH = ("hidden", "length", "seeds")


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("runs", metavar="RUN", nargs="*", help="runs to look into, side by side")
    reading = parser.add_argument_group("runs")
    reading.add_argument("--text", help="what the models read")
    reading.add_argument("--file", metavar="FILE", help="or a file of examples: medians over them")
    reading.add_argument(
        "--layer", type=int, default=0, metavar="N", help="from 1; left out: the top layer"
    )
    reading.add_argument(
        "--gates", action="store_true", help="instead: how often every gate is open or shut"
    )
    fresh = parser.add_argument_group("fresh cells, on random input")
    fresh.add_argument(
        "--cell",
        action="append",
        default=[],
        metavar="NAME[:OPTION=VALUE,…]",
        help="such as lstm, or elman:activation=relu,start=identity; may be repeated",
    )
    fresh.add_argument("--hidden", type=int, metavar="N", help="width of the state (128)")
    fresh.add_argument("--length", type=int, metavar="N", help="how many steps are read (100)")
    fresh.add_argument(
        "--seeds", type=int, metavar="N", help="random starts to take the median of (3)"
    )
    fresh.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="for all the cells"
    )
    parser.add_argument(
        "--clip",
        type=float,
        metavar="X",
        help="the longest a gradient may be; left out: as trained",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )


def run(given: argparse.Namespace) -> int:
    """Draw in the terminal, or save and print where."""
    _refuse_mixtures(given)
    view = _fresh(given) if given.cell else _trained(given)
    hand_out(view, given, "▁█·…‖∂γ")
    return 0


def _fresh(given: argparse.Namespace) -> MemoryView:
    from ...inspection.gradient_flow.cells import memory_of_cells, read_option

    settings = {name: getattr(given, name) for name in FRESH if getattr(given, name) is not None}
    for name, value in settings.items():
        at_least_one(f"--{name}", value)
    clip = 1.0 if given.clip is None else given.clip
    wiring = dict(read_option(text) for text in given.set)
    return memory_of_cells(given.cell, clip=clip, **settings, **wiring)


def _trained(given: argparse.Namespace) -> MemoryView | GateSharesView:
    texts = list(arguments([given.text])) if given.text is not None else []
    runs = [load_run(name, given.runs_dir) for name in given.runs]
    if given.gates:
        return reduce(_beside, [one.gates(texts, file=given.file or "") for one in runs])
    return reduce(MemoryView.beside, [_memory(one, texts, given) for one in runs])


def _memory(run: Run, texts: list[str], given: argparse.Namespace) -> MemoryView:
    return run.memory(texts, file=given.file or "", layer=given.layer, clip=given.clip)


def _beside(first: GateSharesView, second: GateSharesView) -> GateSharesView:
    return first.beside(second)


def _refuse_mixtures(given: argparse.Namespace) -> None:
    """Runs read a text or a file; fresh cells read random numbers."""
    if bool(given.runs) == bool(given.cell):
        raise UsageError(
            "U001",
            "both runs and --cell: choose one" if given.runs else "neither a run nor --cell",
            help=['seqloom anatomy my-run --text "…"', "seqloom anatomy --cell elman --cell lstm"],
        )
    reads = [f"--{name}" for name in ("text", "file") if getattr(given, name) is not None]
    if given.runs and len(reads) != 1:
        raise UsageError(
            "U001",
            "both --text and --file: choose one" if reads else "nothing to read",
            help=['--text "…"', "--file FILE"],
        )
    only = [f"--{name}" for name in (*FRESH, "set") if getattr(given, name) not in (None, [])]
    strange = only if given.runs else [*reads, *["--gates"] * given.gates]
    if strange:
        kind = "fresh cells" if given.runs else "runs"
        raise UsageError(
            "U001", f"{strange[0]} is for {kind} only", help=["seqloom anatomy --help"]
        )
