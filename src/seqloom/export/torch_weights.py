"""torch state_dict files of recurrent layers: export, and import into a run; `seqloom convert`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import safetensors
from safetensors.torch import save
from torch import Tensor, nn

from ..errors import DataError, MachineError, ModelError, UsageError
from ..model import Model
from ..nn.rnn import RNN
from ..runs.names import RUNS
from ..runs.run import TASK, Run
from ..runs.split_record import copy_record
from ..runs.train import save_converted
from ..training.checkpoints import unreadable
from ..training.files import refuse_existing, write_whole
from .torch_names import (
    Activation,
    TorchModule,
    fill,
    from_torch,
    module_of,
    prefix_in,
    to_torch,
    torch_names_of,
)

OURS = ("seqloom", "recurrence")  # metadata of a file with Seqloom's own names


class TorchWeightsFile:
    """The weights of one recurrent module in a file, under torch's names."""

    def __init__(self, path: Path, prefix: str | None = None) -> None:
        if not path.is_file():
            raise DataError("D001", f'cannot find "{path}"', help=["check the name of the file"])
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                self.facts: Mapping[str, str] = file.metadata() or {}
                names = list(file.keys())
                self.is_ours = OURS in self.facts.items()
                before = "" if self.is_ours else prefix_in(names, prefix)
                mine = names if self.is_ours else [n for n in names if _is_of(n, before)]
                tensors = {name.removeprefix(before): file.get_tensor(name) for name in mine}
        except (safetensors.SafetensorError, OSError, ValueError, TypeError) as error:
            found = unreadable(path, error)
            again = ["save or copy the file again"] if found.code == "M113" else found.help
            raise ModelError(found.code, found.problem, notes=found.notes, help=again) from error
        self.tensors: dict[str, Tensor] = torch_names_of(tensors) if self.is_ours else tensors
        self.others = len(names) - len(mine)

    def recurrence(self, activation: Activation | None = None) -> RNN:
        """An RNN with these weights; `activation` is that of an nn.RNN."""
        saved: Activation | None = "relu" if self.facts.get("nonlinearity") == "relu" else None
        return from_torch(self.tensors, activation=activation or saved)


def read_recurrence(
    path: str | Path, *, prefix: str | None = None, activation: Activation | None = None
) -> RNN:
    """An RNN from a .safetensors file: a state_dict of torch, or a file of `save_seqloom`."""
    return TorchWeightsFile(Path(path), prefix).recurrence(activation)


def recurrence_in(model: Model, part: str = "") -> tuple[str, RNN]:
    """The RNN of a model, with its module name; `part` chooses one of several."""
    modules = model.named_modules() if isinstance(model, nn.Module) else ()
    found = {name: module for name, module in modules if isinstance(module, RNN)}
    if not found:
        raise ModelError(
            "M140", "this model has no recurrent layers, so there is nothing to convert"
        )
    if part in found or (not part and len(found) == 1):
        name = part or next(iter(found))
        return name, found[name]
    problem = f"there is no part called {part!r}" if part else "which part of the run?"
    raise UsageError("U020", problem, help=[f"--part {name}" for name in found])


def save_torch(path: Path, recurrence: RNN, *, force: bool = False) -> TorchModule:
    """Write a state_dict for torch's module, with the code that loads it in the metadata."""
    module = module_of(recurrence)
    facts = {"format": "pt", **_facts(module), "load": loading_code(module, path.name)}
    _write(path, to_torch(recurrence), facts, force)
    return module


def save_seqloom(path: Path, recurrence: RNN, *, force: bool = False) -> TorchModule:
    """Write the state_dict of an RNN under Seqloom's names, for `read_recurrence`."""
    module = module_of(recurrence)
    _write(path, recurrence.state_dict(), dict([OURS]) | _facts(module), force)
    return module


def loading_code(module: TorchModule, file: str) -> str:
    """A line of Python that builds torch's module with the weights of a file."""
    name = module.kind.lower()
    return (
        f"import torch, safetensors.torch; {name} = torch.{module}; "
        f"{name}.load_state_dict(safetensors.torch.load_file({file!r}))"
    )


def replace_weights(
    run: Run,
    path: Path,
    weights: TorchWeightsFile,
    *,
    part: str = "",
    name: str = "",
    runs: Path = RUNS,
) -> Run:
    """A new run: a copy of `run` whose RNN has these weights."""
    part, recurrence = recurrence_in(run.model, part)
    fill(recurrence, weights.tensors)
    note = f"the weights of {part} are from {path.name}, all others from {run.name}"
    saved = (run.folder / TASK).read_bytes()
    made = save_converted(run.recipe, saved, run.model, note, name=name, runs=runs)
    copy_record(made.folder, run.folder)
    return replace(made, parts=run.parts)


def _is_of(name: str, before: str) -> bool:
    """Whether a tensor belongs to the module with this prefix itself, not to a submodule."""
    return name.startswith(before) and "." not in name.removeprefix(before)


def _facts(module: TorchModule) -> dict[str, str]:
    sizes = {"input_size": module.inputs, "hidden_size": module.hidden}
    sizes |= {"num_layers": module.layers, "directions": 1 + module.both}
    activation = {"nonlinearity": module.activation} if module.kind == "RNN" else {}
    return {"kind": module.kind, **{name: str(size) for name, size in sizes.items()}, **activation}


def _write(path: Path, weights: Mapping[str, Tensor], facts: dict[str, str], force: bool) -> None:
    """Write a safetensors file atomically."""
    refuse_existing(path, force)
    whole = {name: tensor.detach().contiguous().clone() for name, tensor in weights.items()}
    if not path.parent.is_dir():
        make = [f"make the folder first:  mkdir -p '{path.parent}'"]
        raise MachineError("E320", f"cannot write to {path} (its folder is missing)", help=make)
    try:
        write_whole(path, save(whole, metadata=facts))
    except MachineError as error:
        elsewhere = ["-o FILE   write to another place"]
        raise MachineError(error.code, error.problem, notes=error.notes, help=elsewhere) from error
