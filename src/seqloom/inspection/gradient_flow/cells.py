"""Gradient flow of untrained cells on random input: vanishing and exploding gradients."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ...config import constructor_arguments, parse_toml_value, problems
from ...errors import UsageError, unknown
from ...nn.cells import CELLS
from ...nn.cells.options import RNNOptions
from ...nn.rnn import RNNLayer
from ...views import GradientFlow, GradientFlowView
from .jacobians import (
    SequenceGradientFlow,
    median_flow,
    norms_by_lag,
    precision,
    sequence_gradient_flow,
    total_norm,
)


def gradient_flow_of_cells(
    cells: Sequence[str],
    *,
    hidden: int = 128,
    length: int = 100,
    seeds: int = 3,
    clip: float = 1.0,
    **rnn_options: Any,
) -> GradientFlowView:
    """Gradient flow of untrained cells: the median over random initialisations and inputs.

    x_t ~ N(0, I), of the size of the state, for t = 1 … T; L = v · h_T with a random v of norm 1.

    Each cell is named as in "lstm", or with options of its own as in
    "elman:activation=relu,start=identity"; further keyword arguments are options of all of them.
    See `GradientFlow` for what is measured.

    Args:
        hidden: Hidden size, and size of the input.
        length: Sequence length.
        seeds: Number of random seeds, over which the median is taken.
        clip: Maximum gradient norm (gradient clipping); 0 disables it.
    """
    for name, value, least in (("hidden", hidden, 1), ("length", length, 2), ("seeds", seeds, 1)):
        if value < least:
            raise UsageError(
                "U010", f"{name} = {value}: expected a whole number of at least {least}"
            )
    if not cells:
        raise UsageError("U010", "no cell is named", help=[f"choose from: {', '.join(CELLS)}"])
    parsed = [(text, *read_cell(text, rnn_options)) for text in cells]
    flows: list[GradientFlow] = []
    for text, cell, options in parsed:
        runs, bound = _by_seed(cell, options, hidden, length, seeds)
        flows.append(median_flow(runs, text, bound, clip))
    of = f"the median over {seeds} random seeds" if seeds > 1 else "one random seed"
    return GradientFlowView(flows, [f"untrained cells of {hidden} units on random input; {of}"])


def read_cell(text: str, options: Mapping[str, Any]) -> tuple[str, RNNOptions]:
    """A cell and its options from "NAME" or "NAME:OPTION=VALUE,…", over options for all cells."""
    name, _, rest = text.partition(":")
    if name not in CELLS:
        raise unknown("cell", name, CELLS)
    given = {**options, **dict(read_option(one) for one in rest.split(",") if one)}
    if wrong := problems(RNNOptions, given):
        raise UsageError("U010", f"{text}: {wrong[0]}", notes=wrong[1:])
    return name, RNNOptions(**constructor_arguments(RNNOptions, given))


def read_option(text: str) -> tuple[str, Any]:
    """An option of recurrent layers from OPTION=VALUE."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError("U005", f"{text!r}: expected option=value", help=["for example  skip=5"])
    return name.strip().removeprefix("model."), parse_toml_value(value)


def _by_seed(
    cell: str, options: RNNOptions, hidden: int, length: int, seeds: int
) -> tuple[list[SequenceGradientFlow], float | None]:
    """The flow for each seed, and the largest bound, which holds for all and for their median."""
    flows: list[SequenceGradientFlow] = []
    bounds: list[float] = []
    with torch.random.fork_rng(devices=[]):
        for seed in range(seeds):
            torch.manual_seed(seed)
            layer = RNNLayer(cell, hidden, hidden, options).eval()
            layer.to(kind := precision(layer))
            x = torch.randn(length, hidden).to(kind)
            flows.append(_of_sequence(layer, x, torch.randn(hidden).to(kind)))
            if (bound := layer.jacobian_bound()) is not None:
                bounds.append(bound)
    return flows, max(bounds, default=None)


def _of_sequence(layer: RNNLayer, x: torch.Tensor, readout: torch.Tensor) -> SequenceGradientFlow:
    first = tuple(part.detach() for part in layer.initial(1))
    output_gradients = torch.zeros_like(x)
    output_gradients[-1] = readout / readout.norm()
    x.requires_grad_()
    outputs, _ = layer.run(x[None], layer.initial(1))
    loss = outputs[0, -1] @ output_gradients[-1]
    of_x, *of_weights = torch.autograd.grad(loss, [x, *layer.parameters()], allow_unused=True)
    by_lag, norm = norms_by_lag(of_x), total_norm(of_weights)
    return sequence_gradient_flow(layer, x.detach(), first, output_gradients, by_lag, norm)
