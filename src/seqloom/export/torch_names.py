"""state_dict conversion between nn.LSTM, nn.GRU or nn.RNN of torch and Seqloom's RNN layers.

torch has two biases where one is enough: b_ih + b_hh is our b. Only in the candidate of a GRU is
b_hh multiplied by the reset gate: it is our d. All other b_hh are written as zeros.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ..errors import ModelError, UsageError
from ..nn.cells.base import Cell
from ..nn.cells.elman import Elman
from ..nn.cells.gru import GRU
from ..nn.cells.lstm import LSTM
from ..nn.cells.options import RNNOptions
from ..nn.rnn import RNN, RNNLayer

Kind = Literal["LSTM", "GRU", "RNN"]
Activation = Literal["tanh", "relu"]
_BLOCKS: dict[Kind, int] = {
    "LSTM": 4,
    "GRU": 3,
    "RNN": 1,
}  # matrices stacked in weight_ih and weight_hh
_NAMES: dict[Kind, str] = {"LSTM": "lstm", "GRU": "gru", "RNN": "elman"}
_KINDS: dict[type[Cell], Kind] = {LSTM: "LSTM", GRU: "GRU", Elman: "RNN"}
_TENSOR = re.compile(r"(?:weight|bias)_(?:ih|hh)_l(0|[1-9]\d{0,3})(_reverse)?")
_INSIDE = re.compile(r"((?:.*\.)?)(?:weight|bias)_(?:ih|hh|hr)_l\d+(?:_reverse)?", re.DOTALL)
_OURS = re.compile(r"(backward_)?layers\.(0|[1-9]\d{0,3})\.cell\.(read|recur)\.(weight|bias)")


@dataclass(frozen=True)
class TorchModule:
    """A recurrent module of torch, by the arguments of its constructor.

    `hidden` is the hidden size of one direction, as in torch.
    """

    kind: Kind
    inputs: int
    hidden: int
    layers: int
    both: bool
    activation: Activation = "tanh"

    def __str__(self) -> str:
        """The module as Python code."""
        arguments = [str(self.inputs), str(self.hidden)]
        arguments += [f"num_layers={self.layers}"] * (self.layers > 1)
        arguments += [f"nonlinearity={self.activation!r}"] * (self.activation != "tanh")
        arguments += ["bidirectional=True"] * self.both
        return f"nn.{self.kind}({', '.join([*arguments, 'batch_first=True'])})"

    def shapes(self, biases: bool = True) -> dict[str, tuple[int, ...]]:
        """The names and shapes of its state_dict, in order."""
        rows, found = _BLOCKS[self.kind] * self.hidden, dict[str, tuple[int, ...]]()
        for layer in range(self.layers):
            reads = self.inputs if layer == 0 else self.hidden * (1 + self.both)
            for end in ("", "_reverse")[: 1 + self.both]:
                found[f"weight_ih_l{layer}{end}"] = (rows, reads)
                found[f"weight_hh_l{layer}{end}"] = (rows, self.hidden)
                if biases:
                    found |= {f"bias_{side}_l{layer}{end}": (rows,) for side in ("ih", "hh")}
        return found


def to_torch(recurrence: RNN) -> dict[str, Tensor]:
    """The weights of an RNN as the state_dict of the equivalent torch module."""
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


def from_torch(weights: Mapping[str, Tensor], *, activation: Activation | None = None) -> RNN:
    """The RNN that is equivalent to torch's module with this state_dict.

    The module, layers, directions and sizes follow from names and shapes; `activation` is the
    nonlinearity of an nn.RNN, which the state_dict does not hold.
    """
    module = module_in(weights)
    if activation == "relu" and module.kind != "RNN":
        raise UsageError("U010", f"activation = relu: torch's nn.{module.kind} has no such option")
    recurrence = RNN(
        _NAMES[module.kind],
        module.inputs,
        module.hidden * (1 + module.both),
        num_layers=module.layers,
        bidirectional=module.both,
        rnn_options=RNNOptions(activation=activation or "tanh"),
    )
    is_double = any(tensor.dtype == torch.float64 for tensor in weights.values())
    recurrence = recurrence.to(torch.float64 if is_double else torch.float32)
    fill(recurrence, weights)
    return recurrence


def fill(recurrence: RNN, weights: Mapping[str, Tensor]) -> None:
    """Copy the weights of torch's module into an RNN of the same shapes."""
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


def module_of(recurrence: RNN) -> TorchModule:
    """The torch module equivalent to an RNN, or an error if there is none."""
    _, cell = next(_cells(recurrence))
    kind = _KINDS.get(type(cell))
    both = len(recurrence.backward_layers) > 0
    if kind is None:
        raise _lacks(f"a cell like {type(cell).__name__}", "only lstm, gru and elman are torch's")
    if reason := _lacking(recurrence, both):
        raise _lacks(*reason)
    chosen = recurrence.rnn_options.activation
    activation: Activation = "relu" if kind == "RNN" and chosen == "relu" else "tanh"
    inputs = cell.read.in_features
    return TorchModule(kind, inputs, cell.hidden, len(recurrence.layers), both, activation)


def module_in(weights: Mapping[str, Tensor]) -> TorchModule:
    """The torch module with this state_dict, inferred from names and shapes."""
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
            raise _wrong(f"{name} holds {weights[name].dtype}, not floating-point numbers")
        if not torch.isfinite(weights[name].double()).all():
            raise _wrong(f"{name} holds NaN or infinity: its training has diverged")
    return module


def prefix_in(names: Collection[str], prefix: str | None = None) -> str:
    """The prefix of torch's names in the state_dict of a larger model.

    If it has several recurrent modules, `prefix` chooses one.
    """
    found = sorted({inside[1] for name in names if (inside := _INSIDE.fullmatch(name))})
    if not found:
        kept = ", ".join(shown(name) for name in sorted(names)[:3]) or "nothing"
        is_cell = any(name.rpartition(".")[2] == "weight_ih" for name in names)
        raise ModelError(
            "M141",
            "the file has no nn.LSTM, nn.GRU or nn.RNN of torch",
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


def torch_names_of(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state_dict of an RNN under torch's names."""
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
    """A name from a file, shortened and with control characters escaped."""
    return repr(name if len(name) <= 60 else name[:59] + "…")


_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _cells(recurrence: RNN) -> Iterator[tuple[str, Cell]]:
    """Every cell, with the suffix of its names in torch."""
    for modules, end in ((recurrence.layers, ""), (recurrence.backward_layers, "_reverse")):
        for number, layer in enumerate(modules):
            assert isinstance(layer, RNNLayer)  # noqa: S101 - for the type checker
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


def _lacking(recurrence: RNN, both: bool) -> tuple[str, str] | None:
    """The first option that torch's modules do not support, and what they do instead."""
    rnn_options, several = recurrence.rnn_options, len(recurrence.layers) > 1
    reasons = {
        "activation = sigmoid": (rnn_options.activation == "sigmoid", "nn.RNN has tanh and relu"),
        "reset = before": (rnn_options.reset == "before", "nn.GRU resets after the product"),
        "join = sum": (both and rnn_options.join == "sum", "torch concatenates directions"),
        "initial_state = learned": (
            rnn_options.initial_state == "learned",
            "the initial state of torch is zero",
        ),
        "first_bias": (rnn_options.first_bias, "all steps of torch's modules have the same biases"),
        f"skip = {rnn_options.skip}": (
            rnn_options.skip > 0,
            "torch has no skip connections in time",
        ),
        "residual": (several and rnn_options.residual, "torch only stacks layers"),
        f"zoneout = {rnn_options.zoneout}": (
            rnn_options.zoneout > 0,
            "it changes every state at inference too",
        ),
        "layer_norm": (rnn_options.layer_norm, "torch's recurrent modules normalise nothing"),
    }
    return next(((name, why) for name, (is_so, why) in reasons.items() if is_so), None)


def _shared(recurrence: RNN) -> int:
    """The number of layers that share their cell with another layer."""
    cells = [id(cell) for _, cell in _cells(recurrence)]
    return sum(cells.count(one) > 1 for one in cells)


def _first(weights: Mapping[str, Tensor]) -> tuple[Kind, int, int]:
    """The kind of module, and the input and hidden sizes of the first layer."""
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
        f"torch's nn.LSTM, nn.GRU and nn.RNN do not support {what}",
        notes=[f"{why[0].upper()}{why[1:]}: torch would compute something else."],
        help=["seqloom explain M140   what can be converted"],
    )


def _unknown(name: str) -> ModelError:
    if re.fullmatch(r"weight_hr_l\d+(_reverse)?", name):
        return _wrong(f"{name} is of an LSTM with proj_size, which Seqloom does not support")
    return _wrong(f"{shown(name)} is not a tensor of nn.LSTM, nn.GRU or nn.RNN")


def _wrong(problem: str) -> ModelError:
    return ModelError("M141", problem)


def _choose(problem: str, choices: list[str]) -> str:
    raise UsageError("U020", problem, help=[*choices[:5], *["…"] * (len(choices) > 5)])
