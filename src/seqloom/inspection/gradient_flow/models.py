"""Gradient flow of a trained recurrent model on its input."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor, nn

from ...batch import Batch, Sequences
from ...errors import DataError, ModelError, UsageError
from ...model import GradientTrained, Model
from ...nn.cells import State
from ...nn.rnn import RNN, RNNLayer
from ...signature import Form
from ...views import GradientFlow
from .jacobians import (
    SequenceGradientFlow,
    median_flow,
    norms_by_lag,
    precision,
    sequence_gradient_flow,
    total_norm,
)

MIN_LENGTH = 3  # steps below which a sequence says nothing about time
MAX_SEQUENCES = 16  # over which a median is taken: each costs a product of Jacobians


def gradient_flow_of_model(
    model: Model, batches: Iterable[Batch], name: str, *, clip: float, layer: int = 0
) -> GradientFlow:
    """Gradient flow of a layer of a model, the median over batches of one sequence.

    T is the last step of a sequence. L is the negative log-likelihood of the last token where each
    position has a target, and of the whole output otherwise. Truncation and clipping are of the
    training loss, over all tokens. `layer` counts from 1; 0 is the top one. Of several stacks it is
    the first, which is the encoder's; of two directions, the one that reads from the left.
    """
    copy = deepcopy(model)  # hooks, precision and mode are changed in it
    chosen = _choose(copy, name, layer)
    module = cast(nn.Module, copy)
    module.eval().to(precision(chosen.layer))
    flows = []
    for batch in batches:
        if (flow := _of_batch(copy, chosen, batch)) is not None:
            flows.append(flow)
        if len(flows) == MAX_SEQUENCES:
            break
    if not flows:
        raise DataError(
            "D026",
            f"gradient flow needs a sequence of at least {MIN_LENGTH} tokens",
            help=["give a longer text"],
        )
    return median_flow(flows, name, chosen.layer.jacobian_bound(), clip)


def num_recurrent_layers(model: Model, batch: Batch) -> int:
    """The number of recurrent layers whose gradients can be followed; 0 if there are none."""
    stack = _stack(model)
    if stack is None or not isinstance(model, GradientTrained):
        return 0
    layers = [layer for layer in stack.layers if isinstance(layer, RNNLayer)]
    with model.inference_mode():  # layers stepped by a decoder are never called as modules
        calls, _ = _record_calls(layers[-1], lambda: cast(GradientTrained, model).loss(batch))
    return len(layers) if calls.outputs else 0


@dataclass(frozen=True)
class _ChosenLayer:
    """A layer of a stack, the lowest layer, and which of its calls it is if it is shared."""

    layer: RNNLayer
    lowest: RNNLayer
    call: int


@dataclass
class _LayerCalls:
    """The inputs, initial states and outputs of each call of a layer."""

    inputs: list[Tensor] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)

    def hook(self, layer: nn.Module, inputs: Any, outputs: Any) -> None:
        """A forward hook."""
        x, state = inputs
        self.inputs.append(x)
        self.states.append(tuple(part.detach() for part in state))
        self.outputs.append(outputs[0])


def _choose(model: Model, name: str, number: int) -> _ChosenLayer:
    stack = _stack(model)
    if stack is None or not isinstance(model, GradientTrained):
        raise ModelError(
            "M125",
            f"{name} has no recurrent layer, so no gradient goes through time in it",
            help=["choose a run of a recurrent model", "seqloom runs   lists the runs"],
        )
    layers = [layer for layer in stack.layers if isinstance(layer, RNNLayer)]
    if not 0 <= number <= len(layers):
        raise UsageError(
            "U010", f"layer {number}: {name} has {len(layers)}", help=["they count from 1"]
        )
    index = (number or len(layers)) - 1
    layer = layers[index]
    return _ChosenLayer(layer, layers[0], sum(other is layer for other in layers[:index]))


def _stack(model: Model) -> RNN | None:
    """The first stack of recurrent layers."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    return next((module for module in modules if isinstance(module, RNN)), None)


def _of_batch(model: Model, chosen: _ChosenLayer, batch: Batch) -> SequenceGradientFlow | None:
    """The gradient flow of one sequence; None if it is too short."""
    learner = cast(GradientTrained, model)
    if batch.source.lengths[0] < MIN_LENGTH:
        return None
    calls, total = _record_calls(chosen.layer, lambda: learner.loss(batch))
    if not calls.outputs:
        raise ModelError(
            "M208",
            "the decoder has input feeding, and the source is encoded by convolutions:"
            " no recurrent layer is unrolled by itself",
            help=["choose a run with a recurrent encoder, or without input feeding"],
        )
    weights = list(cast(nn.Module, model).parameters())
    outputs = calls.outputs[chosen.call]
    of_outputs, *of_weights = torch.autograd.grad(total, [outputs, *weights], allow_unused=True)
    loss = _input_gradient(model, chosen.lowest, batch)
    if model.signature.form in (Form.NEXT, Form.EACH):
        # The loss of the last token alone is that of all tokens minus that of all but the last.
        loss = loss - _input_gradient(model, chosen.lowest, _without_last(batch))
    x, first = calls.inputs[chosen.call][0].detach(), calls.states[chosen.call]
    output_gradients = torch.zeros_like(outputs) if of_outputs is None else of_outputs
    by_lag, norm = norms_by_lag(loss), total_norm(of_weights)
    return sequence_gradient_flow(chosen.layer, x, first, output_gradients[0], by_lag, norm)


def _input_gradient(model: Model, lowest: RNNLayer, batch: Batch) -> Tensor:
    """∂/∂x_k of -log p(target | source), x the input of the lowest layer; (time, features)."""
    calls, log_prob = _record_calls(lowest, lambda: model.log_prob(batch))
    (gradient,) = torch.autograd.grad(-log_prob.sum(), calls.inputs[0])
    return gradient[0]


def _without_last(batch: Batch) -> Batch:
    """The same source, and the target without its last position."""
    target = batch.target
    return Batch(batch.source, Sequences(target.values, target.lengths - 1))


def _record_calls(layer: RNNLayer, compute: Any) -> tuple[_LayerCalls, Tensor]:
    calls = _LayerCalls()
    hook = layer.register_forward_hook(calls.hook)
    try:
        result: Tensor = compute()
    finally:
        hook.remove()
    return calls, result
