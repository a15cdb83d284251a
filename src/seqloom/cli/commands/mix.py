"""seqloom mix: a run that interpolates two, with the shares that suit validation best."""

import argparse
from pathlib import Path

from ...experiments.ensemble import Mixed, mixed
from ...runs.record import to_json
from ...runs.run import Run
from ..loading import Progress, load_run, say_notes
from ..session import call
from ..terminal import say, several, show, table


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("first", metavar="RUN", help="the name of a run, or its folder")
    parser.add_argument("second", metavar="RUN", help="another of the same task and vocabulary")
    parser.add_argument(
        "--valid", metavar="FILE", default="", help="left out: the validation part of the first"
    )
    parser.add_argument("-n", "--name", default="", help="what to call the mixture")


def run(given: argparse.Namespace) -> int:
    """Make the mixture, and say what it is better by."""
    runs: Path = given.runs_dir
    first, second = load_run(given.first, runs), load_run(given.second, runs)
    with Progress(f"mixing {first.name} and {second.name}", quiet=given.quiet) as progress:
        made = mixed(
            first, second, valid=given.valid, name=given.name, runs=runs, tell=progress.tell
        )
    say_notes(made.notes, given.quiet)
    if given.json:
        show(to_json(_as_dict(made, first, second)))
    elif given.quiet:
        show(str(made.run.folder))
    else:
        show("\n".join(_lines(made, first, second)))
        say(f"Next: seqloom {made.run.task.verb} {call(made.run.folder)}")
        three = " ".join(call(run.folder) for run in (first, second, made.run))
        say(f"      seqloom compare {three}")
    return 0


def _as_dict(made: Mixed, first: Run, second: Run) -> dict[str, object]:
    names = (first.name, second.name, made.run.name)
    return {
        "run": made.run.name,
        "folder": str(made.run.folder),
        "shares": [made.weight, 1 - made.weight],
        "symbols": made.symbols,
        "bits_per_symbol": [
            {"run": name, "valid": bits} for name, bits in zip(names, made.bits, strict=True)
        ],
    }


def _lines(made: Mixed, first: Run, second: Run) -> list[str]:
    shares = (f"{made.weight:.3f}", f"{1 - made.weight:.3f}", "")
    names = (first.name, second.name, made.run.name)
    rows = [["run", "share", "valid bits per symbol"]]
    rows += [
        [name, share, f"{bits:.4f}"]
        for name, share, bits in zip(names, shares, made.bits, strict=True)
    ]
    on = f"on {several(made.symbols, 'validation symbol')}"
    return [*table(rows, "lrr"), _verdict(made, names, on), str(made.run.folder)]


def _verdict(made: Mixed, names: tuple[str, str, str], on: str) -> str:
    """What the mixture is worth, or that it is worth nothing."""
    for share, name, other in ((made.weight, *names[:2]), (1 - made.weight, *names[1::-1])):
        if share == 1:
            return f"Mixing buys nothing: {other} adds nothing to {name}, {on}."
    better = min(made.bits[:2])
    name = names[made.bits.index(better)]
    saved = better - made.bits[2]
    return f"The mixture saves {saved:.4f} bits per symbol over {name} alone, {on}."
