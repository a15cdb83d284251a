"""The memory of a trained model while it reads."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from ...batch import Batch, Sequences
from ...errors import DataError, ModelError, UsageError
from ...model import LearnsByGradient, Model
from ...nn.cells import State
from ...nn.rnn import Layer, Recurrence
from ...signature import Form
from ...views import Memory
from .jacobians import Measured, by_lag, measured, median, precision, size_of

FEWEST = 3  # steps below which nothing can be said about time
MOST = 16  # sequences a median is taken of: each costs a product of Jacobians


def memory_of_model(
    model: Model, batches: Iterable[Batch], name: str, *, clip: float, layer: int = 0
) -> Memory:
    """How far back a layer feels while the model reads, as the median over batches of one sequence.

    T is the last step of a sequence. L is the surprise at the last symbol where there is one for
    each, and of the whole answer otherwise. Truncation and clipping are of the loss that training
    has, of all symbols. `layer` counts from 1; 0 is the top. Of several stacks the first is meant,
    which is the encoder's; in two directions, the one that reads from the left.
    """
    copy = deepcopy(model)
    chosen = _chosen(copy, name, layer)
    module = cast(nn.Module, copy)
    module.eval().to(precision(chosen.layer))
    found = []
    for batch in batches:
        if (one := _measured(copy, chosen, batch)) is not None:
            found.append(one)
        if len(found) == MOST:
            break
    if not found:
        raise DataError(
            "D026",
            f"too short to look back: a sequence needs at least {FEWEST} symbols",
            help=["give a longer text"],
        )
    return median(found, name, chosen.layer.stretch(), clip)


def measured_layers(model: Model, batch: Batch) -> int:
    """How many recurrent layers can be measured; 0 where no gradient goes through time."""
    stack = _stack(model)
    if stack is None or not isinstance(model, LearnsByGradient):
        return 0
    layers = [layer for layer in stack.layers if isinstance(layer, Layer)]
    with model.at_rest():  # layers that walk with a decoder are never run by themselves
        heard, _ = _listen(layers[-1], lambda: cast(LearnsByGradient, model).loss(batch))
    return len(layers) if heard.outputs else 0


@dataclass(frozen=True)
class _Chosen:
    """A layer of a stack, the lowest layer, and which of its calls is meant if it is shared."""

    layer: Layer
    lowest: Layer
    call: int


@dataclass
class _Heard:
    """What a layer was given and what it gave, call by call."""

    inputs: list[Tensor] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)

    def hear(self, layer: nn.Module, given: Any, gave: Any) -> None:
        """A forward hook."""
        x, state = given
        self.inputs.append(x)
        self.states.append(tuple(part.detach() for part in state))
        self.outputs.append(gave[0])


def _chosen(model: Model, name: str, number: int) -> _Chosen:
    stack = _stack(model)
    if stack is None or not isinstance(model, LearnsByGradient):
        raise ModelError(
            "M125",
            f"{name} has no recurrent layer, so no gradient goes through time in it",
            help=["choose a run of a recurrent model: seqloom models lists them"],
        )
    layers = [layer for layer in stack.layers if isinstance(layer, Layer)]
    if not 0 <= number <= len(layers):
        raise UsageError(
            "U010", f"layer {number}: {name} has {len(layers)}", help=["they count from 1"]
        )
    place = (number or len(layers)) - 1
    layer = layers[place]
    return _Chosen(layer, layers[0], sum(other is layer for other in layers[:place]))


def _stack(model: Model) -> Recurrence | None:
    """The first stack of recurrent layers."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    return next((module for module in modules if isinstance(module, Recurrence)), None)


def _measured(model: Model, chosen: _Chosen, batch: Batch) -> Measured | None:
    """One example; nothing where it is too short."""
    learner = cast(LearnsByGradient, model)
    if batch.source.lengths[0] < FEWEST:
        return None
    heard, total = _listen(chosen.layer, lambda: learner.loss(batch))
    if not heard.outputs:
        raise ModelError(
            "M208",
            "what the decoder finds is fed back into it, and its source is read by convolutions",
            help=["choose a run with a recurrent encoder, or without input feeding"],
        )
    weights = list(cast(nn.Module, model).parameters())
    outputs = heard.outputs[chosen.call]
    of_outputs, *of_weights = torch.autograd.grad(total, [outputs, *weights], allow_unused=True)
    loss = _surprise(model, chosen.lowest, batch)
    if model.signature.form in (Form.NEXT, Form.EACH):
        loss = loss - _surprise(model, chosen.lowest, _without_last(batch))
    x, first = heard.inputs[chosen.call][0].detach(), heard.states[chosen.call]
    pull = torch.zeros_like(outputs) if of_outputs is None else of_outputs
    return measured(chosen.layer, x, first, pull[0], by_lag(loss), size_of(of_weights))


def _surprise(model: Model, lowest: Layer, batch: Batch) -> Tensor:
    """∂/∂x_k of -log p(target | source), x being what the lowest layer reads; (time, width)."""
    heard, log_prob = _listen(lowest, lambda: model.log_prob(batch))
    (found,) = torch.autograd.grad(-log_prob.sum(), heard.inputs[0])
    return found[0]


def _without_last(batch: Batch) -> Batch:
    """The same places to read, the last of them without an answer."""
    target = batch.target
    return Batch(batch.source, Sequences(target.values, target.lengths - 1))


def _listen(layer: Layer, compute: Any) -> tuple[_Heard, Tensor]:
    heard = _Heard()
    hook = layer.register_forward_hook(heard.hear)
    try:
        result: Tensor = compute()
    finally:
        hook.remove()
    return heard, result
