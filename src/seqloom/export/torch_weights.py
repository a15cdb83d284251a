"""Weights under the names of torch's nn.LSTM, nn.GRU and nn.RNN, from our recurrence and into it.

torch has two biases where one is enough: b_ih + b_hh is our b. Only in the candidate of a GRU b_hh
stands inside the reset gate: it is our d. What we write has zeros for every other b_hh.

Exchange the weights of a recurrence with torch: the work behind `seqloom convert`.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import safetensors
import torch
from safetensors.torch import save
from torch import Tensor, nn

from ..errors import DataError, MachineError, ModelError, UsageError
from ..model import Model
from ..nn.cells.base import Cell
from ..nn.cells.elman import Elman
from ..nn.cells.gru import GRU
from ..nn.cells.lstm import LSTM
from ..nn.cells.options import Wiring
from ..nn.rnn import Layer, Recurrence
from ..runs.run import RUNS, TASK, Run
from ..runs.train import keep_converted
from ..training.checkpoints import refuse_existing, unreadable, write_whole

Kind = Literal["LSTM", "GRU", "RNN"]
Activation = Literal["tanh", "relu"]
_BLOCKS: dict[Kind, int] = {"LSTM": 4, "GRU": 3, "RNN": 1}  # products of a step, one below another
_NAMES: dict[Kind, str] = {"LSTM": "lstm", "GRU": "gru", "RNN": "elman"}
_KINDS: dict[type[Cell], Kind] = {LSTM: "LSTM", GRU: "GRU", Elman: "RNN"}
_TENSOR = re.compile(r"(?:weight|bias)_(?:ih|hh)_l(0|[1-9]\d{0,3})(_reverse)?")
_INSIDE = re.compile(r"((?:.*\.)?)(?:weight|bias)_(?:ih|hh|hr)_l\d+(?:_reverse)?", re.DOTALL)
_OURS = re.compile(r"(backward_)?layers\.(0|[1-9]\d{0,3})\.cell\.(read|recur)\.(weight|bias)")


@dataclass(frozen=True)
class TorchModule:
    """One of torch's recurrent modules, by what its constructor is given.

    `hidden` is torch's: the width of one direction.
    """

    kind: Kind
    inputs: int
    hidden: int
    layers: int
    both: bool
    activation: Activation = "tanh"

    def __str__(self) -> str:
        """The module as Python code."""
        told = [str(self.inputs), str(self.hidden)]
        told += [f"num_layers={self.layers}"] * (self.layers > 1)
        told += [f"nonlinearity={self.activation!r}"] * (self.activation != "tanh")
        told += ["bidirectional=True"] * self.both
        return f"nn.{self.kind}({', '.join([*told, 'batch_first=True'])})"

    def shapes(self, biases: bool = True) -> dict[str, tuple[int, ...]]:
        """Every tensor of its state_dict, in its order."""
        rows, found = _BLOCKS[self.kind] * self.hidden, dict[str, tuple[int, ...]]()
        for layer in range(self.layers):
            reads = self.inputs if layer == 0 else self.hidden * (1 + self.both)
            for end in ("", "_reverse")[: 1 + self.both]:
                found[f"weight_ih_l{layer}{end}"] = (rows, reads)
                found[f"weight_hh_l{layer}{end}"] = (rows, self.hidden)
                if biases:
                    found |= {f"bias_{side}_l{layer}{end}": (rows,) for side in ("ih", "hh")}
        return found


def to_torch(recurrence: Recurrence) -> dict[str, Tensor]:
    """The weights of a recurrence as the state_dict of the torch module that computes the same."""
    module = module_of(recurrence)
    found: dict[str, Tensor] = {}
    for end, cell in _cells(recurrence):
        recur = cell.recur
        assert recur is not None  # noqa: S101 - every cell that torch has, has one
        second = torch.zeros_like(cell.read.bias)
        if recur.bias is not None:
            second[-cell.hidden :] = recur.bias
        parts = {"weight_ih": cell.read.weight, "weight_hh": recur.weight}
        parts |= {"bias_ih": cell.read.bias, "bias_hh": second}
        found |= {f"{name}_{end}": part.detach().clone() for name, part in parts.items()}
    return {name: found[name] for name in module.shapes()}


def from_torch(
    weights: Mapping[str, Tensor], *, activation: Activation | None = None
) -> Recurrence:
    """A recurrence that computes what torch's module with this state_dict does.

    The state_dict of an nn.RNN does not tell its nonlinearity: `activation` does. The kind, the
    layers, the directions and the sizes are read from the shapes.
    """
    module = module_in(weights)
    if activation == "relu" and module.kind != "RNN":
        raise UsageError("U010", f"activation = relu: torch's nn.{module.kind} has none to choose")
    recurrence = Recurrence(
        _NAMES[module.kind],
        module.inputs,
        module.hidden * (1 + module.both),
        layers=module.layers,
        both=module.both,
        wiring=Wiring(activation=activation or "tanh"),
    )
    is_double = any(tensor.dtype == torch.float64 for tensor in weights.values())
    recurrence = recurrence.to(torch.float64 if is_double else torch.float32)
    fill(recurrence, weights)
    return recurrence


def fill(recurrence: Recurrence, weights: Mapping[str, Tensor]) -> None:
    """Give a recurrence the weights of torch's module; they must be of the same shapes."""
    needed, found = module_of(recurrence), module_in(weights)
    here, there = needed.shapes(), found.shapes()
    if needed.kind != found.kind or here != there:
        name = next((n for n in here | there if here.get(n) != there.get(n)), "")
        raise ModelError(
            "M142",
            "the weights do not fit",
            notes=[
                f"{name}: the file has {there.get(name)}, {here.get(name)} is needed",
                f"the file holds {found}",
                f"needed is     {needed}",
            ],
            help=["train a run of the file's shape, or choose another with --part or --prefix"],
        )
    if shared := _shared(recurrence):
        raise ModelError(
            "M142",
            f"{shared} layers of this run share one cell (tied = true); those of torch do not",
            help=["train a run without model.tied"],
        )
    with torch.no_grad():
        for end, cell in _cells(recurrence):
            _fill_cell(cell, {name: weights.get(f"{name}_{end}") for name in _PARTS})


def module_of(recurrence: Recurrence) -> TorchModule:
    """The torch module that computes what a recurrence does, or an error that says why none can."""
    _, cell = next(_cells(recurrence))
    kind = _KINDS.get(type(cell))
    both = len(recurrence.backward_layers) > 0
    if kind is None:
        raise _lacks(f"a cell like {type(cell).__name__}", "only lstm, gru and elman are torch's")
    if reason := _lacking(recurrence, both):
        raise _lacks(*reason)
    chosen = recurrence.wiring.activation
    activation: Activation = "relu" if kind == "RNN" and chosen == "relu" else "tanh"
    inputs = cell.read.in_features
    return TorchModule(kind, inputs, cell.hidden, len(recurrence.layers), both, activation)


def module_in(weights: Mapping[str, Tensor]) -> TorchModule:
    """The torch module that has this state_dict, told from its names and shapes."""
    layers = set()
    for name in weights:
        if not (known := _TENSOR.fullmatch(name)):
            raise _unknown(name)
        layers.add(known[1])
    both = any(name.endswith("_reverse") for name in weights)
    kind, inputs, hidden = _first(weights)
    module = TorchModule(kind, inputs, hidden, len(layers), both)
    needed = module.shapes(biases=any(name.startswith("bias") for name in weights))
    for name in sorted(needed.keys() | weights.keys()):
        shape = tuple(weights[name].shape) if name in weights else None
        if shape != needed.get(name):
            raise _wrong(f"{name}: found {shape}, expected {needed.get(name)} in {module}")
        if not weights[name].is_floating_point():
            raise _wrong(f"{name} holds {weights[name].dtype}, not numbers with a point")
        if not torch.isfinite(weights[name].double()).all():
            raise _wrong(f"{name} holds NaN or infinity: the training it is from has failed")
    return module


def prefix_in(names: Collection[str], prefix: str | None = None) -> str:
    """What stands before torch's names in the state_dict of a larger model.

    Where several recurrent modules are in it, `prefix` says which.
    """
    found = sorted({inside[1] for name in names if (inside := _INSIDE.fullmatch(name))})
    if not found:
        kept = ", ".join(shown(name) for name in sorted(names)[:3]) or "nothing"
        is_cell = any(name.rpartition(".")[2] == "weight_ih" for name in names)
        raise ModelError(
            "M141",
            "there is no nn.LSTM, nn.GRU or nn.RNN of torch in the file",
            notes=[f"it holds {kept}" + (", …" if len(names) > 3 else "")],
            help=["an nn.LSTMCell has the same tensors: add _l0 to their names"] * is_cell,
        )
    if prefix is None and len(found) == 1:
        return found[0]
    wanted = prefix and prefix.removesuffix(".") + "."
    if wanted is not None and wanted in found:
        return wanted
    problem = f"the file holds {len(found)} recurrent modules: which?"
    if prefix is not None:
        problem = f"there is no recurrent module under {shown(prefix)}"
    return _choose(problem, [f"--prefix {shown(one.removesuffix('.'))}" for one in found])


def renamed(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Torch's names for the state_dict of a recurrence."""
    found: dict[str, Tensor] = {}
    for name, tensor in ours.items():
        if not (known := _OURS.fullmatch(name)):
            raise _unknown(name)
        backward, layer, part, what = known.groups()
        end = f"l{layer}" + ("_reverse" if backward else "")
        if part == "read" and what == "bias":
            found.setdefault(f"bias_hh_{end}", torch.zeros_like(tensor))
        if part == "recur" and what == "bias":  # d, which is torch's b_hh of the candidate
            tensor = torch.cat([tensor.new_zeros(2 * tensor.numel()), tensor.flatten()])
        found[f"{what}_{'ih' if part == 'read' else 'hh'}_{end}"] = tensor
    return found


def shown(name: str) -> str:
    """A name from somebody's file, short and without characters that steer a terminal."""
    return repr(name if len(name) <= 60 else name[:59] + "…")


_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _cells(recurrence: Recurrence) -> Iterator[tuple[str, Cell]]:
    """Every cell, with how torch's names end for it."""
    for modules, end in ((recurrence.layers, ""), (recurrence.backward_layers, "_reverse")):
        for number, layer in enumerate(modules):
            assert isinstance(layer, Layer)  # noqa: S101 - for the type checker
            yield f"l{number}{end}", layer.cell


def _fill_cell(cell: Cell, parts: Mapping[str, Tensor | None]) -> None:
    w, u, *biases = (parts[name] for name in _PARTS)
    assert w is not None and u is not None and cell.recur is not None  # noqa: S101
    cell.read.weight.copy_(w)
    cell.recur.weight.copy_(u)
    nothing = torch.zeros(len(w), dtype=torch.float64)
    # Added as doubles: the sum is then rounded once, whatever it was saved as.
    first, second = (nothing if bias is None else bias.double() for bias in biases)
    if cell.recur.bias is None:
        cell.read.bias.copy_(first + second)
        return
    gates = torch.ones_like(first)
    gates[-cell.hidden :] = 0
    cell.read.bias.copy_(first + second * gates)
    cell.recur.bias.copy_(second[-cell.hidden :])


def _lacking(recurrence: Recurrence, both: bool) -> tuple[str, str] | None:
    """The first option that torch's modules do not have, and what they do instead."""
    wiring, several = recurrence.wiring, len(recurrence.layers) > 1
    reasons = {
        "activation = sigmoid": (wiring.activation == "sigmoid", "nn.RNN has tanh and relu"),
        "reset = before": (wiring.reset == "before", "nn.GRU resets after the product"),
        "join = sum": (both and wiring.join == "sum", "torch sets directions side by side"),
        "initial_state = learned": (wiring.initial_state == "learned", "torch begins at zero"),
        "first_bias": (wiring.first_bias, "all steps of torch's modules have the same biases"),
        f"skip = {wiring.skip}": (wiring.skip > 0, "torch has no shortcuts through time"),
        "residual": (several and wiring.residual, "torch only stacks layers"),
        f"zoneout = {wiring.zoneout}": (wiring.zoneout > 0, "it changes every state in use too"),
        "layer_norm": (wiring.layer_norm, "torch's recurrent modules normalise nothing"),
    }
    return next(((name, why) for name, (is_so, why) in reasons.items() if is_so), None)


def _shared(recurrence: Recurrence) -> int:
    """How many layers use a cell that another layer uses too."""
    cells = [id(cell) for _, cell in _cells(recurrence)]
    return sum(cells.count(one) > 1 for one in cells)


def _first(weights: Mapping[str, Tensor]) -> tuple[Kind, int, int]:
    """The kind, and the sizes of what the first layer reads and carries."""
    names = ("weight_ih_l0", "weight_hh_l0")
    for name in names:
        if name not in weights:
            raise _wrong(f"{name} is missing")
        if weights[name].dim() != 2 or 0 in weights[name].shape:
            raise _wrong(f"{name}: found {tuple(weights[name].shape)}, expected a matrix")
    (_, inputs), (rows, hidden) = (weights[name].shape for name in names)
    for kind, blocks in _BLOCKS.items():
        if rows == blocks * hidden:
            return kind, inputs, hidden
    raise _wrong(
        f"weight_hh_l0: found {(rows, hidden)}; an LSTM has 4 rows a column, a GRU 3, an RNN 1"
    )


def _lacks(what: str, why: str) -> ModelError:
    return ModelError(
        "M140",
        f"torch's nn.LSTM, nn.GRU and nn.RNN have nothing for {what}",
        notes=[f"{why[0].upper()}{why[1:]}: torch would compute something else."],
        help=["a run whose recurrence is torch's can be converted: seqloom explain M140"],
    )


def _unknown(name: str) -> ModelError:
    if re.fullmatch(r"weight_hr_l\d+(_reverse)?", name):
        return _wrong(f"{name} is of an LSTM with proj_size, which Seqloom does not have")
    return _wrong(f"{shown(name)} is no tensor of nn.LSTM, nn.GRU or nn.RNN")


def _wrong(problem: str) -> ModelError:
    return ModelError("M141", problem)


def _choose(problem: str, choices: list[str]) -> str:
    raise UsageError("U020", problem, help=[*choices[:5], *["…"] * (len(choices) > 5)])


OURS = ("seqloom", "recurrence")  # the mark of a file with our own names


class Weights:
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
        self.tensors: dict[str, Tensor] = renamed(tensors) if self.is_ours else tensors
        self.others = len(names) - len(mine)

    def recurrence(self, activation: Activation | None = None) -> Recurrence:
        """A recurrence with these weights; `activation` tells what an nn.RNN bends with."""
        told: Activation | None = "relu" if self.facts.get("nonlinearity") == "relu" else None
        return from_torch(self.tensors, activation=activation or told)


def read_recurrence(
    path: str | Path, *, prefix: str | None = None, activation: Activation | None = None
) -> Recurrence:
    """A recurrence from a .safetensors file: a state_dict of torch, or what `save_ours` wrote."""
    return Weights(Path(path), prefix).recurrence(activation)


def recurrence_in(model: Model, part: str = "") -> tuple[str, Recurrence]:
    """The recurrence of a model, with its name in it; `part` chooses where there are several."""
    modules = model.named_modules() if isinstance(model, nn.Module) else ()
    found = {name: module for name, module in modules if isinstance(module, Recurrence)}
    if not found:
        raise ModelError("M140", "this model has no recurrence, so there is nothing to convert")
    if part in found or (not part and len(found) == 1):
        name = part or next(iter(found))
        return name, found[name]
    problem = f"there is no part called {part!r}" if part else "which part of the run?"
    raise UsageError("U020", problem, help=[f"--part {name}" for name in found])


def save_torch(path: Path, recurrence: Recurrence, *, force: bool = False) -> TorchModule:
    """Write a state_dict that torch's module loads, with the line of Python that does it."""
    module = module_of(recurrence)
    facts = {"format": "pt", **_facts(module), "load": loading(module, path.name)}
    _write(path, to_torch(recurrence), facts, force)
    return module


def save_ours(path: Path, recurrence: Recurrence, *, force: bool = False) -> TorchModule:
    """Write the state_dict of a recurrence that torch has too, for `read_recurrence`."""
    module = module_of(recurrence)
    _write(path, recurrence.state_dict(), dict([OURS]) | _facts(module), force)
    return module


def loading(module: TorchModule, file: str) -> str:
    """The line of Python that makes torch's module with the weights of a file."""
    name = module.kind.lower()
    return (
        f"import torch, safetensors.torch; {name} = torch.{module}; "
        f"{name}.load_state_dict(safetensors.torch.load_file({file!r}))"
    )


def put_into(
    run: Run, path: Path, weights: Weights, *, part: str = "", name: str = "", runs: Path = RUNS
) -> Run:
    """A new run: the old one, but the recurrence has these weights. The old one is left alone."""
    part, recurrence = recurrence_in(run.model, part)
    fill(recurrence, weights.tensors)
    note = f"the weights of {part} are from {path.name}, all others from {run.name}"
    saved = (run.folder / TASK).read_bytes()
    made = keep_converted(run.recipe, saved, run.model, note, name=name, runs=runs)
    return replace(made, parts=run.parts)


def _is_of(name: str, before: str) -> bool:
    """Whether a tensor is of the module with this prefix itself, not of one inside or beside it."""
    return name.startswith(before) and "." not in name.removeprefix(before)


def _facts(module: TorchModule) -> dict[str, str]:
    sizes = {"input_size": module.inputs, "hidden_size": module.hidden}
    sizes |= {"num_layers": module.layers, "directions": 1 + module.both}
    bend = {"nonlinearity": module.activation} if module.kind == "RNN" else {}
    return {"kind": module.kind, **{name: str(size) for name, size in sizes.items()}, **bend}


def _write(path: Path, weights: Mapping[str, Tensor], facts: dict[str, str], force: bool) -> None:
    """One safetensors file, whole or not at all."""
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
