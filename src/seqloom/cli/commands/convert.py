"""seqloom convert: weights of a recurrence to torch, and from it."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...runs.record import to_json
from ..loading import load_run
from ..terminal import say, several, show

if TYPE_CHECKING:
    from ...export.torch_weights import TorchModule

SUFFIXES = {".safetensors", ".pt", ".pth", ".bin", ".ckpt"}
ARPA = ".arpa"  # a file with this ending holds n-grams


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "what",
        metavar="RUN|FILE",
        help="a run, or a .safetensors file: a state_dict of torch, or what convert wrote; or an "
        ".arpa file of n-grams, which becomes a new run",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="where to write: what is a run or Seqloom's as torch's state_dict, what is torch's "
        "under Seqloom's names; of an n-gram run FILE.arpa",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    parser.add_argument(
        "--into", metavar="RUN", help="make a new run: this one with the weights of the file"
    )
    parser.add_argument("--name", default="", help="what the new run is called")
    parser.add_argument(
        "--part", default="", metavar="NAME", help="of the run: body, encoder or decoder"
    )
    parser.add_argument(
        "--prefix", metavar="NAME", help="what stands before the names in the file: encoder.lstm"
    )
    parser.add_argument(
        "--activation", choices=("tanh", "relu"), help="of an nn.RNN: its weights do not tell"
    )


def run(given: argparse.Namespace) -> int:
    """Convert, print where the result is, and say how it is used."""
    if Path(given.what).suffix == ARPA:
        return _from_arpa(given)
    is_file = Path(given.what).is_file() or Path(given.what).suffix in SUFFIXES
    _refuse_contradictions(given, is_file)
    if not is_file:
        return _to_arpa(given) if given.output.suffix == ARPA else _run_to_torch(given)
    return _into_run(given) if given.into else _file_to_file(given)


def _run_to_torch(given: argparse.Namespace) -> int:
    from ...export import torch_weights
    from ...training.checkpoints import refuse_existing

    refuse_existing(given.output, given.force)
    model = load_run(given.what, given.runs_dir).model
    part, recurrence = torch_weights.recurrence_in(model, given.part)
    module = torch_weights.save_torch(given.output, recurrence, force=given.force)
    _tell_torch(given, module, {"part": part})
    return 0


def _to_arpa(given: argparse.Namespace) -> int:
    from ...export.arpa import save_arpa

    run = load_run(given.what, given.runs_dir)
    count = save_arpa(given.output, run, force=given.force)
    if given.json:
        show(to_json({"path": str(given.output), "from": run.name, "grams": count}))
        return 0
    show(str(given.output))
    if not given.quiet:
        say(f"It has {several(count, 'gram')}. KenLM, SRILM and seqloom convert read it.")
    return 0


def _from_arpa(given: argparse.Namespace) -> int:
    from ...export.arpa import run_from_arpa

    wrong = {"-o": given.output, "--into": given.into, "--part": given.part}
    wrong |= {"--prefix": given.prefix, "--activation": given.activation, "--force": given.force}
    for option, value in wrong.items():
        if value:
            hint = "--name NAME   what the new run is called"
            raise UsageError("U001", f"{option} does not go with this", help=[hint])
    new = run_from_arpa(Path(given.what), name=given.name, runs=Path(given.runs_dir))
    if given.json:
        show(to_json({"name": new.name, "folder": str(new.folder), "from": given.what}))
        return 0
    show(str(new.folder))
    if not given.quiet:
        unit, order = new.recipe.task["symbols"], new.recipe.model["order"]
        say(f"{new.name} predicts {unit} by n-grams of order {order}.")
        say(f"Next: seqloom evaluate {new.name} FILE    seqloom generate {new.name}")
    return 0


def _file_to_file(given: argparse.Namespace) -> int:
    from ...export import torch_weights
    from ...training.checkpoints import refuse_existing

    refuse_existing(given.output, given.force)
    weights = torch_weights.Weights(Path(given.what), given.prefix)
    recurrence = weights.recurrence(given.activation)
    if weights.is_ours:
        module = torch_weights.save_torch(given.output, recurrence, force=given.force)
        _tell_torch(given, module, {})
        return 0
    module = torch_weights.save_ours(given.output, recurrence, force=given.force)
    line = f"seqloom.export.torch_weights.read_recurrence({str(given.output)!r})"
    if given.json:
        show(to_json({"path": str(given.output), **_facts(module), "load": line}))
        return 0
    show(str(given.output))
    if not given.quiet:
        say(f"It was {module}{_left(weights.others)}.\nNext, in Python: {line}")
    return 0


def _into_run(given: argparse.Namespace) -> int:
    from ...export import torch_weights

    old = load_run(given.into, given.runs_dir)
    path = Path(given.what)
    weights = torch_weights.Weights(path, given.prefix)
    new = torch_weights.put_into(
        old, path, weights, part=given.part, name=given.name, runs=Path(given.runs_dir)
    )
    if given.json:
        show(to_json({"name": new.name, "folder": str(new.folder), "from": old.name}))
        return 0
    show(str(new.folder))
    if not given.quiet:
        kept = "its input and output layers were trained with other weights"
        say(f"{new.name} is {old.name} with the weights of {path.name}{_left(weights.others)}.")
        say(f"note: {kept}")
        say(f"Next: seqloom evaluate {new.name}    seqloom train --resume {new.name}")
    return 0


def _tell_torch(given: argparse.Namespace, module: "TorchModule", more: dict[str, Any]) -> None:
    from ...export.torch_weights import loading

    line = loading(module, str(given.output))
    if given.json:
        show(to_json({"path": str(given.output), **_facts(module), **more, "load": line}))
        return
    show(str(given.output))
    if not given.quiet:
        say(f"It is {module}.\nNext, in Python:\n{line}")


def _facts(module: "TorchModule") -> dict[str, Any]:
    return {
        "kind": module.kind,
        "input_size": module.inputs,
        "hidden_size": module.hidden,
        "num_layers": module.layers,
        "bidirectional": module.both,
    }


def _left(others: int) -> str:
    """How much of a larger model was not looked at."""
    return f" ({several(others, 'other tensor')} left out)" if others else ""


def _refuse_contradictions(given: argparse.Namespace, is_file: bool) -> None:
    """Options that say nothing together are a misunderstanding, not to be passed over."""
    if given.into:
        wrong = {"-o": given.output, "--activation": given.activation, "--force": given.force}
        hint = "--name NAME   what the new run is called"
    elif is_file:
        wrong, hint = {"--name": given.name, "--part": given.part}, "--into RUN   make a new run"
    else:
        wrong = {"--name": given.name, "--prefix": given.prefix, "--activation": given.activation}
        hint = "seqloom convert RUN -o FILE"
    for option, value in wrong.items():
        if value:
            raise UsageError("U001", f"{option} does not go with this", help=[hint])
    if given.into and not is_file:
        raise UsageError(
            "U001",
            f"--into needs a file of weights; {given.what!r} is none",
            help=["seqloom convert lstm.safetensors --into RUN"],
        )
    if not given.into and given.output is None:
        helps = ["-o FILE.safetensors"] + ["--into RUN   make a new run"] * is_file
        raise UsageError("U001", "where shall it be written?", help=helps)
