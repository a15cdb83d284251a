"""seqloom convert: RNN weights to and from PyTorch, n-gram models to and from ARPA files."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...data.text.files import is_file
from ...errors import UsageError
from ...runs.names import run_argument
from ...runs.record import to_json
from ..arguments import add_name
from ..loading import load_run
from ..terminal import plural, say, show

if TYPE_CHECKING:
    from ...export.torch_names import TorchModule

SUFFIXES = {".safetensors", ".pt", ".pth", ".bin", ".ckpt"}
ARPA = ".arpa"  # suffix of n-gram models in ARPA format


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "what",
        metavar="RUN|FILE",
        help="a run, a .safetensors file (a state_dict of torch, or one written by convert), or an "
        ".arpa file, which becomes a new run",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write: a torch state_dict of a run or of weights of Seqloom, weights of "
        "Seqloom of a torch state_dict, or FILE.arpa of an n-gram run",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--into", metavar="RUN", help="make a new run: a copy of RUN with the weights of the file"
    )
    add_name(parser, "name of the new run")
    parser.add_argument(
        "--part", default="", metavar="NAME", help="part of the run: body, encoder or decoder"
    )
    parser.add_argument(
        "--prefix", metavar="NAME", help="prefix of the names in the file, as encoder.lstm"
    )
    parser.add_argument(
        "--activation",
        choices=("tanh", "relu"),
        help="activation of an nn.RNN, which its weights do not record",
    )


def run(args: argparse.Namespace) -> int:
    """Convert, and print the path of the result and how to use it."""
    if Path(args.what).suffix == ARPA:
        return _from_arpa(args)
    is_weights = is_file(args.what) or Path(args.what).suffix in SUFFIXES
    _reject_contradictions(args, is_weights)
    if not is_weights:
        return _to_arpa(args) if args.output.suffix == ARPA else _run_to_torch(args)
    return _into_run(args) if args.into else _file_to_file(args)


def _run_to_torch(args: argparse.Namespace) -> int:
    from ...export import torch_weights
    from ...training.files import refuse_existing

    refuse_existing(args.output, args.force)
    model = load_run(args.what, args.runs_dir).model
    part, recurrence = torch_weights.recurrence_in(model, args.part)
    module = torch_weights.save_torch(args.output, recurrence, force=args.force)
    _print_torch(args, module, {"part": part})
    return 0


def _to_arpa(args: argparse.Namespace) -> int:
    from ...export.arpa import save_arpa

    run = load_run(args.what, args.runs_dir)
    count = save_arpa(args.output, run, force=args.force)
    if args.json:
        show(to_json({"path": str(args.output), "from": run.name, "grams": count}))
        return 0
    show(str(args.output))
    if not args.quiet:
        say(f"It has {plural(count, 'n-gram')}. KenLM, SRILM and seqloom convert read it.")
    return 0


def _from_arpa(args: argparse.Namespace) -> int:
    from ...export.arpa import run_from_arpa

    wrong = {"-o": args.output, "--into": args.into, "--part": args.part}
    wrong |= {"--prefix": args.prefix, "--activation": args.activation, "--force": args.force}
    for option, value in wrong.items():
        if value:
            hint = "--name NAME   name of the new run"
            raise UsageError("U001", f"{option} does not apply here", help=[hint])
    new = run_from_arpa(Path(args.what), name=args.name, runs=Path(args.runs_dir))
    if args.json:
        show(to_json({"name": new.name, "folder": str(new.folder), "from": args.what}))
        return 0
    show(str(new.folder))
    if not args.quiet:
        unit, order = new.recipe.task["tokens"], new.recipe.model["order"]
        say(f"{new.name} predicts {unit} by n-grams of order {order}.")
        name = run_argument(new.folder)
        say(f"Next: seqloom generate {name}    seqloom evaluate {name} FILE")
    return 0


def _file_to_file(args: argparse.Namespace) -> int:
    from ...export import torch_weights
    from ...training.files import refuse_existing

    refuse_existing(args.output, args.force)
    weights = torch_weights.TorchWeightsFile(Path(args.what), args.prefix)
    recurrence = weights.recurrence(args.activation)
    if weights.is_ours:
        module = torch_weights.save_torch(args.output, recurrence, force=args.force)
        _print_torch(args, module, {})
        return 0
    module = torch_weights.save_seqloom(args.output, recurrence, force=args.force)
    line = f"seqloom.export.torch_weights.read_recurrence({str(args.output)!r})"
    if args.json:
        show(to_json({"path": str(args.output), **_facts(module), "load": line}))
        return 0
    show(str(args.output))
    if not args.quiet:
        say(f"It was {module}{_ignored_note(weights.others)}.\nNext, in Python: {line}")
    return 0


def _into_run(args: argparse.Namespace) -> int:
    from ...export import torch_weights

    old = load_run(args.into, args.runs_dir)
    path = Path(args.what)
    weights = torch_weights.TorchWeightsFile(path, args.prefix)
    new = torch_weights.replace_weights(
        old, path, weights, part=args.part, name=args.name, runs=Path(args.runs_dir)
    )
    if args.json:
        show(to_json({"name": new.name, "folder": str(new.folder), "from": old.name}))
        return 0
    show(str(new.folder))
    if not args.quiet:
        mismatch = "its input and output layers were trained with other weights"
        ignored = _ignored_note(weights.others)
        say(f"{new.name} is {old.name} with the weights of {path.name}{ignored}.")
        say(f"note: {mismatch}")
        name = run_argument(new.folder)
        say(f"Next: seqloom evaluate {name}    seqloom train --resume {name}")
    return 0


def _print_torch(args: argparse.Namespace, module: "TorchModule", more: dict[str, Any]) -> None:
    from ...export.torch_weights import loading_code

    line = loading_code(module, str(args.output))
    if args.json:
        show(to_json({"path": str(args.output), **_facts(module), **more, "load": line}))
        return
    show(str(args.output))
    if not args.quiet:
        say(f"It is {module}.\nNext, in Python:\n{line}")


def _facts(module: "TorchModule") -> dict[str, Any]:
    return {
        "kind": module.kind,
        "input_size": module.inputs,
        "hidden_size": module.hidden,
        "num_layers": module.layers,
        "bidirectional": module.both,
    }


def _ignored_note(others: int) -> str:
    """How many tensors of the file were not converted."""
    return f" ({plural(others, 'other tensor')} left out)" if others else ""


def _reject_contradictions(args: argparse.Namespace, is_file: bool) -> None:
    """Reject options that do not apply to the direction of the conversion."""
    if args.into:
        wrong = {"-o": args.output, "--activation": args.activation, "--force": args.force}
        hint = "--name NAME   name of the new run"
    elif is_file:
        wrong, hint = {"--name": args.name, "--part": args.part}, "--into RUN   make a new run"
    else:
        wrong = {"--name": args.name, "--prefix": args.prefix, "--activation": args.activation}
        hint = "seqloom convert RUN -o FILE"
    for option, value in wrong.items():
        if value:
            raise UsageError("U001", f"{option} does not apply here", help=[hint])
    if args.into and not is_file:
        raise UsageError(
            "U001",
            f"--into needs a file of weights; {args.what!r} is none",
            help=["seqloom convert lstm.safetensors --into RUN"],
        )
    if not args.into and args.output is None:
        helps = ["-o FILE.safetensors"] + ["--into RUN   make a new run"] * is_file
        raise UsageError("U001", "no output file", help=helps)
