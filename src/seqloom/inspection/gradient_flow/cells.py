"""The memory of cells that have learned nothing yet, on random input."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ...config import problems, taken
from ...errors import UsageError, unknown
from ...nn.cells import CELLS
from ...nn.cells.options import Wiring
from ...nn.rnn import Layer
from ...views import Memory, MemoryView
from .jacobians import Measured, by_lag, measured, median, precision, size_of


def memory_of_cells(
    cells: Sequence[str],
    *,
    hidden: int = 128,
    length: int = 100,
    seeds: int = 3,
    clip: float = 1.0,
    **wiring: Any,
) -> MemoryView:
    """How far back fresh cells feel: the median over several random starts and inputs.

    x_t ~ N(0, I), as wide as the state, for t = 1 … T; L = v · h_T with a random v of length 1.

    Each cell is named as in "lstm", or with options of its own as in
    "elman:activation=relu,start=identity"; further keyword arguments are options of all of them.
    See `Memory` for what is measured.

    Args:
        hidden: The width of the state and of the input.
        length: How many steps are read.
        seeds: How many random starts the median is of.
        clip: The longest a gradient may be; 0 is off.
    """
    for name, value, least in (("hidden", hidden, 1), ("length", length, 2), ("seeds", seeds, 1)):
        if value < least:
            raise UsageError(
                "U010", f"{name} = {value}: expected a whole number of at least {least}"
            )
    if not cells:
        raise UsageError("U010", "no cell is named", help=[f"choose from: {', '.join(CELLS)}"])
    made = [(text, *read_cell(text, wiring)) for text in cells]
    found: list[Memory] = []
    for text, cell, one in made:
        measures, stretch = _measure(cell, one, hidden, length, seeds)
        found.append(median(measures, text, stretch, clip))
    drawn = f"the median of {seeds} random starts" if seeds > 1 else "one random start"
    return MemoryView(found, [f"fresh cells of {hidden} units on random input; {drawn}"])


def read_cell(text: str, options: Mapping[str, Any]) -> tuple[str, Wiring]:
    """A cell and its wiring from "NAME" or "NAME:OPTION=VALUE,…", over options for all cells."""
    name, _, rest = text.partition(":")
    if name not in CELLS:
        raise unknown("cell", name, CELLS)
    given = {**options, **dict(read_option(one) for one in rest.split(",") if one)}
    if wrong := problems(Wiring, given):
        raise UsageError("U010", f"{text}: {wrong[0]}", notes=wrong[1:])
    return name, Wiring(**taken(Wiring, given))


def read_option(text: str) -> tuple[str, Any]:
    """An option of the wiring from OPTION=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError("U005", f"{text!r}: expected option=value", help=["for example  skip=5"])
    try:
        found: Any = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        found = value  # plain words need no quotes here
    return name.strip().removeprefix("model."), found


def _measure(
    cell: str, wiring: Wiring, hidden: int, length: int, seeds: int
) -> tuple[list[Measured], float | None]:
    """What each random start shows, and the largest bound, which holds for all and their median."""
    found: list[Measured] = []
    stretches: list[float] = []
    with torch.random.fork_rng(devices=[]):
        for seed in range(seeds):
            torch.manual_seed(seed)
            layer = Layer(cell, hidden, hidden, wiring).eval()
            layer.to(kind := precision(layer))
            x = torch.randn(length, hidden).to(kind)
            found.append(_one(layer, x, torch.randn(hidden).to(kind)))
            if (stretch := layer.stretch()) is not None:
                stretches.append(stretch)
    return found, max(stretches, default=None)


def _one(layer: Layer, x: torch.Tensor, readout: torch.Tensor) -> Measured:
    first = tuple(part.detach() for part in layer.initial(1))
    pull = torch.zeros_like(x)
    pull[-1] = readout / readout.norm()
    x.requires_grad_()
    outputs, _ = layer.run(x[None], layer.initial(1))
    wanted = [x, *layer.parameters()]
    of_x, *of_weights = torch.autograd.grad(outputs[0, -1] @ pull[-1], wanted, allow_unused=True)
    read = x.detach()
    return measured(layer, read, first, pull, by_lag(of_x), size_of(of_weights))
