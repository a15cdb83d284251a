"""seqloom mix: linear interpolation of two runs, with weights of maximum validation likelihood."""

import argparse
from pathlib import Path

from ...experiments.ensemble import MixtureResult, mix_runs
from ...runs.record import to_json
from ...runs.run import Run
from ..arguments import add_name
from ..loading import ProgressLine, load_run, say_notes
from ..suggestions import folder_arguments, prediction_command
from ..terminal import plural, say, show, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("first", metavar="RUN", help="name or folder of a run")
    parser.add_argument("second", metavar="RUN", help="a run of the same task and vocabulary")
    parser.add_argument(
        "--valid",
        metavar="FILE",
        default="",
        help="validation file (default: the validation set of the first)",
    )
    add_name(parser, "name of the mixture", "-n")


def run(args: argparse.Namespace) -> int:
    """Make the mixture, and print what it gains."""
    runs: Path = args.runs_dir
    first, second = load_run(args.first, runs), load_run(args.second, runs)
    with ProgressLine(
        f"interpolating {first.name} and {second.name}", quiet=args.quiet
    ) as progress:
        made = mix_runs(
            first, second, valid=args.valid, name=args.name, runs=runs, tell=progress.update
        )
    say_notes(made.notes, args.quiet)
    if args.json:
        show(to_json(_as_dict(made, first, second)))
    elif args.quiet:
        show(str(made.run.folder))
    else:
        show("\n".join(_lines(made, first, second)))
        say(f"Next: {prediction_command(made.run.folder, made.run.recipe, made.run.task)}")
        three = folder_arguments([run.folder for run in (first, second, made.run)])
        say(f"      seqloom compare {three}")
    return 0


def _as_dict(made: MixtureResult, first: Run, second: Run) -> dict[str, object]:
    names = (first.name, second.name, made.run.name)
    return {
        "run": made.run.name,
        "folder": str(made.run.folder),
        "shares": [made.weight, 1 - made.weight],
        "symbols": made.num_tokens,
        "bits_per_symbol": [
            {"run": name, "valid": bits} for name, bits in zip(names, made.bits, strict=True)
        ],
    }


def _lines(made: MixtureResult, first: Run, second: Run) -> list[str]:
    weights = (f"{made.weight:.3f}", f"{1 - made.weight:.3f}", "")
    names = (first.name, second.name, made.run.name)
    rows = [["run", "weight", "valid bits per token"]]
    rows += [
        [name, weight, f"{bits:.4f}"]
        for name, weight, bits in zip(names, weights, made.bits, strict=True)
    ]
    on = f"on {plural(made.num_tokens, 'validation token')}"
    return [*table(rows, "lrr"), _verdict(made, names, on), str(made.run.folder)]


def _verdict(made: MixtureResult, names: tuple[str, str, str], on: str) -> str:
    """How much the mixture gains over the better run, if anything."""
    for weight, name, other in ((made.weight, *names[:2]), (1 - made.weight, *names[1::-1])):
        if weight == 1:
            return f"The mixture gains nothing: all weight is on {name}, none on {other}, {on}."
    better = min(made.bits[:2])
    name = names[made.bits.index(better)]
    saved = better - made.bits[2]
    return f"The mixture saves {saved:.4f} bits per token over {name} alone, {on}."
