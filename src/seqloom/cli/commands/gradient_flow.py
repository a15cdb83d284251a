"""seqloom gradient-flow: gradient flow through time of recurrent layers, and gate statistics."""

import argparse
from functools import reduce
from pathlib import Path

from ...errors import UsageError
from ...runs.run import Run
from ...views import GateStatisticsView, GradientFlowView
from ..arguments import at_least_one
from ..inputs import argument_texts
from ..loading import load_run
from ..output import output_view

UNTRAINED = ("hidden", "length", "seeds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("runs", metavar="RUN", nargs="*", help="runs to analyse, side by side")
    reading = parser.add_argument_group("runs")
    reading.add_argument("--text", help="input of the models")
    reading.add_argument(
        "--file", metavar="FILE", help="or a file of examples, for medians over them"
    )
    reading.add_argument(
        "--layer", type=int, default=0, metavar="N", help="layer, from 1 (default: the top layer)"
    )
    reading.add_argument(
        "--gates",
        action="store_true",
        help="show instead how often every gate is saturated open or closed",
    )
    untrained = parser.add_argument_group("untrained cells, on random input")
    untrained.add_argument(
        "--cell",
        action="append",
        default=[],
        metavar="NAME[:OPTION=VALUE,…]",
        help="such as lstm, or elman:activation=relu,start=identity; may be repeated",
    )
    untrained.add_argument("--hidden", type=int, metavar="N", help="hidden size (128)")
    untrained.add_argument("--length", type=int, metavar="N", help="sequence length (100)")
    untrained.add_argument(
        "--seeds", type=int, metavar="N", help="random seeds, of which the median is shown (3)"
    )
    untrained.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="option of all cells; may be repeated",
    )
    parser.add_argument(
        "--clip",
        type=float,
        metavar="X",
        help="maximum gradient norm (default: as in training)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="save as .svg, .png, .json or .html"
    )


def run(args: argparse.Namespace) -> int:
    """Draw the view in the terminal, or save it and print the path."""
    _reject_contradictions(args)
    view = _untrained(args) if args.cell else _trained(args)
    output_view(view, args, "▁█·…‖∂γ")
    return 0


def _untrained(args: argparse.Namespace) -> GradientFlowView:
    from ...inspection.gradient_flow.cells import gradient_flow_of_cells, read_option

    settings = {name: getattr(args, name) for name in UNTRAINED if getattr(args, name) is not None}
    for name, value in settings.items():
        at_least_one(f"--{name}", value)
    clip = 1.0 if args.clip is None else args.clip
    wiring = dict(read_option(text) for text in args.set)
    return gradient_flow_of_cells(args.cell, clip=clip, **settings, **wiring)


def _trained(args: argparse.Namespace) -> GradientFlowView | GateStatisticsView:
    texts = list(argument_texts([args.text])) if args.text is not None else []
    runs = [load_run(name, args.runs_dir) for name in args.runs]
    if args.gates:
        return reduce(_beside, [one.gate_statistics(texts, file=args.file or "") for one in runs])
    return reduce(GradientFlowView.beside, [_memory(one, texts, args) for one in runs])


def _memory(run: Run, texts: list[str], args: argparse.Namespace) -> GradientFlowView:
    return run.gradient_flow(texts, file=args.file or "", layer=args.layer, clip=args.clip)


def _beside(first: GateStatisticsView, second: GateStatisticsView) -> GateStatisticsView:
    return first.beside(second)


def _reject_contradictions(args: argparse.Namespace) -> None:
    """Reject options of runs for untrained cells, and the other way round."""
    if bool(args.runs) == bool(args.cell):
        raise UsageError(
            "U001",
            "both runs and --cell: choose one" if args.runs else "neither a run nor --cell",
            help=[
                'seqloom gradient-flow my-run --text "…"',
                "seqloom gradient-flow --cell elman --cell lstm",
            ],
        )
    reads = [f"--{name}" for name in ("text", "file") if getattr(args, name) is not None]
    if args.runs and len(reads) != 1:
        raise UsageError(
            "U001",
            "both --text and --file: choose one" if reads else "no input",
            help=['--text "…"', "--file FILE"],
        )
    only = [f"--{name}" for name in (*UNTRAINED, "set") if getattr(args, name) not in (None, [])]
    wrong = only if args.runs else [*reads, *["--gates"] * args.gates]
    if wrong:
        kind = "untrained cells" if args.runs else "runs"
        raise UsageError(
            "U001", f"{wrong[0]} is for {kind} only", help=["seqloom gradient-flow --help"]
        )
