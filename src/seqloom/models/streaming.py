"""Streaming inference for backbone models: single steps in NumPy, or in torch as a fallback.

A step of one small sequence spends most of its time in torch's dispatch, not in arithmetic; NumPy
kernels over copies of the weights avoid that. Bodies without such kernels are stepped in torch.
"""

from collections.abc import Callable
from copy import deepcopy
from math import log
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ..model import State
from ..nn.embedding import ConcatenatedEmbedding, Embedding
from ..nn.numpy_steps import NumpyRNN, NumpyTransformer
from ..nn.numpy_steps.base import MatrixProduct, Row, Rows, to_array
from ..nn.numpy_steps.pooling import running_pool
from ..nn.numpy_steps.threads import single_thread
from ..nn.output.heads import GaussianOutput, OutputLayer, SigmoidOutput, SoftmaxOutput
from ..nn.pooling import Pooling
from ..nn.rnn import RNN
from ..nn.transformer.encoder import TransformerStack

MAX_TABLE = 1 << 22  # largest table, in numbers, of precomputed input products of all tokens


@runtime_checkable
class SteppableBody(Protocol):
    """A causal body that can be run one position at a time, with the same result."""

    def initial(self, batch: int) -> State: ...

    def step(
        self, x: Float[Tensor, "batch width"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]: ...


class BackboneStepper:
    """Steps a single sequence through input layer, body, pooling and output layer.

    A state is the body's, then that of the running pool. Nothing is recorded for `watch`.
    """

    def __init__(
        self,
        input_layer: nn.Module,
        body: SteppableBody,
        pooling: Pooling | None,
        output: OutputLayer,
        hidden: int,
    ) -> None:
        self._body = _numpy_body(body)
        self._products = _input_products(input_layer, self._body)
        self._output = _numpy_output(output)
        self._pool = None if pooling is None else running_pool(pooling, hidden)
        self._split = len(self._body.begin())

    def begin(self) -> State:
        return self._body.begin() + (() if self._pool is None else self._pool.begin())

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, " classes"], State]:
        with single_thread():  # threads cost more than they gain in products this small
            return self._step(value, state)

    def _step(self, value: Any, state: State) -> tuple[Float[np.ndarray, " classes"], State]:
        output, new = self._body.step(self._products(value), state[: self._split])
        if self._pool is not None:
            end = self._body.final_output(output, new)
            output, pooled = self._pool.step(output, end, state[self._split :])
            new += pooled
        return self._output(output), new


class _TorchBody:
    """A copy of the body, stepped in torch for one sequence: the fallback without NumPy kernels."""

    def __init__(self, body: SteppableBody) -> None:
        self.body = _frozen_copy(body)
        with torch.no_grad():
            self.first = tuple(to_array(part[0]) for part in body.initial(1))

    def begin(self) -> Rows:
        return self.first

    def products(self, x: Row) -> Row:
        """The input, unchanged: the body computes its own products."""
        return x

    def step(self, a: Row, state: Rows) -> tuple[Row, Rows]:
        batch = tuple(torch.from_numpy(part)[None] for part in state)
        with torch.no_grad():
            output, new = self.body.step(torch.from_numpy(a)[None], batch)
        return output[0].numpy(), tuple(part[0].numpy() for part in new)

    def final_output(self, output: Row, state: Rows) -> Row:
        if not isinstance(self.body, RNN):
            return output
        batch = tuple(torch.from_numpy(part)[None] for part in state)
        return self.body.final_output(batch)[0].numpy()


def log_softmax(logits: Row) -> Row:
    """logits - log Σ exp(logits), in place."""
    logits -= np.maximum.reduce(logits)  # half the time of logits.max()
    logits -= logits.dtype.type(log(np.add.reduce(np.exp(logits))))
    return logits


def _numpy_body(body: SteppableBody) -> NumpyRNN | NumpyTransformer | _TorchBody:
    if isinstance(body, RNN) and NumpyRNN.supports(body):
        return NumpyRNN(body)
    if isinstance(body, TransformerStack) and NumpyTransformer.supports(body):
        return NumpyTransformer(body)
    return _TorchBody(body)


def _input_products(
    input_layer: nn.Module, body: NumpyRNN | NumpyTransformer | _TorchBody
) -> Callable[[Any], Float[np.ndarray, " _"]]:
    """From an input value to the products W x the body starts with; for tokens a table look-up."""
    if isinstance(input_layer, ConcatenatedEmbedding) and input_layer.is_word_only:
        of_word = _input_products(input_layer.words, body)
        return lambda columns: of_word(columns[0])
    if not isinstance(input_layer, Embedding):
        frozen = _frozen_copy(input_layer)

        def of_row(row: Shaped[np.ndarray, " _"]) -> Row:
            with torch.no_grad():
                return body.products(frozen(torch.from_numpy(row)[None])[0].numpy())

        return of_row
    rows = to_array(input_layer.table.weight)
    # W E x depends on the token alone: for small vocabularies all of them are computed at once.
    if isinstance(body, NumpyRNN) and len(rows) * body.width <= MAX_TABLE:
        return body.all_products(input_layer.table.weight).__getitem__
    return lambda token: body.products(rows[token])


def _numpy_output(output: OutputLayer) -> Callable[[Row], Row]:
    """From a hidden state to log-probabilities or predicted numbers."""
    if isinstance(output, SoftmaxOutput):
        logits, bias = MatrixProduct(output.scores.weight), to_array(output.scores.bias)
        return lambda state: log_softmax(logits(state) + bias)
    if isinstance(output, GaussianOutput):
        means, shift = MatrixProduct(output.mean.weight), to_array(output.mean.bias)
        return lambda state: means(state) + shift
    if isinstance(output, SigmoidOutput):
        bit_logits, offset = MatrixProduct(output.scores.weight), to_array(output.scores.bias)
        # log σ(s) = -log(1 + e^{-s}), without overflow
        return lambda state: -np.logaddexp(0, -bit_logits(state) - offset)
    frozen = _frozen_copy(output)

    def by_torch(state: Row) -> Row:
        with torch.no_grad():
            return frozen(torch.from_numpy(state)[None])[0].numpy()

    return by_torch


def _frozen_copy(module: Any) -> Any:
    """A copy that further training does not change, without dropout."""
    copy = deepcopy(module)
    return copy.eval() if isinstance(copy, nn.Module) else copy
