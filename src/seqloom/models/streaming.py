"""How a reader takes single steps: by a twin in NumPy, or by torch where there is none."""

from collections.abc import Callable
from copy import deepcopy
from math import log
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from ..model import State
from ..nn.embedding import Beside, Embedding
from ..nn.numpy_steps import QuickRecurrence, QuickStack
from ..nn.numpy_steps.base import Matrix, Row, Rows, array_of
from ..nn.numpy_steps.pooling import running_pool
from ..nn.numpy_steps.threads import one_thread
from ..nn.output.heads import Decisions, Numbers, Output, Symbols
from ..nn.pooling import Pooling
from ..nn.rnn import Recurrence
from ..nn.transformer.encoder import TransformerStack

LOOKED_UP = 1 << 22  # up to so many numbers the first products of all symbols are kept in a table


@runtime_checkable
class Steps(Protocol):
    """A causal body that can also go one position at a time, to the same result."""

    def initial(self, batch: int) -> State: ...

    def step(
        self, x: Float[Tensor, "batch width"], state: State
    ) -> tuple[Float[Tensor, "batch hidden"], State]: ...


class ReaderStepper:
    """One value after another through input, body, pooling and output.

    A state is the body's, then what the pooling remembers. Nothing is recorded for `watching`.
    """

    def __init__(
        self, read: nn.Module, body: Steps, pooling: Pooling | None, output: Output, hidden: int
    ) -> None:
        self._body = _body_of(body)
        self._products = _products_of(read, self._body)
        self._answer = _answer_of(output)
        self._pool = None if pooling is None else running_pool(pooling, hidden)
        self._split = len(self._body.begin())

    def begin(self) -> State:
        return self._body.begin() + (() if self._pool is None else self._pool.begin())

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, " classes"], State]:
        with one_thread():
            return self._step(value, state)

    def _step(self, value: Any, state: State) -> tuple[Float[np.ndarray, " classes"], State]:
        output, new = self._body.step(self._products(value), state[: self._split])
        if self._pool is not None:
            end = self._body.end(output, new)
            output, memory = self._pool.step(output, end, state[self._split :])
            new += memory
        return self._answer(output), new


class _Stepped:
    """The body as it is, for one sequence: the way of those that have no twin."""

    def __init__(self, body: Steps) -> None:
        self.body = _at_rest(body)
        with torch.no_grad():
            self.first = tuple(array_of(part[0]) for part in body.initial(1))

    def begin(self) -> Rows:
        return self.first

    def products(self, x: Row) -> Row:
        """What goes in, unchanged: the body makes its own products."""
        return x

    def step(self, a: Row, state: Rows) -> tuple[Row, Rows]:
        batch = tuple(torch.from_numpy(part)[None] for part in state)
        with torch.no_grad():
            output, new = self.body.step(torch.from_numpy(a)[None], batch)
        return output[0].numpy(), tuple(part[0].numpy() for part in new)

    def end(self, output: Row, state: Rows) -> Row:
        if not isinstance(self.body, Recurrence):
            return output
        batch = tuple(torch.from_numpy(part)[None] for part in state)
        return self.body.end(batch)[0].numpy()


def log_softmax(scores: Row) -> Row:
    """scores - log Σ exp(scores)."""
    scores -= np.maximum.reduce(scores)  # half the time of scores.max()
    scores -= scores.dtype.type(log(np.add.reduce(np.exp(scores))))
    return scores


def _body_of(body: Steps) -> QuickRecurrence | QuickStack | _Stepped:
    if isinstance(body, Recurrence) and QuickRecurrence.can(body):
        return QuickRecurrence(body)
    if isinstance(body, TransformerStack) and QuickStack.can(body):
        return QuickStack(body)
    return _Stepped(body)


def _products_of(
    read: nn.Module, body: QuickRecurrence | QuickStack | _Stepped
) -> Callable[[Any], Float[np.ndarray, " _"]]:
    """From a value to what the body begins with: of a symbol it is looked up."""
    if isinstance(read, Beside) and read.has_words_alone:
        of_word = _products_of(read.words, body)
        return lambda columns: of_word(columns[0])
    if not isinstance(read, Embedding):
        still = _at_rest(read)

        def of_row(row: Shaped[np.ndarray, " _"]) -> Row:
            with torch.no_grad():
                return body.products(still(torch.from_numpy(row)[None])[0].numpy())

        return of_row
    rows = array_of(read.table.weight)
    if isinstance(body, QuickRecurrence) and len(rows) * body.width <= LOOKED_UP:
        return body.all_products(read.table.weight).__getitem__
    return lambda symbol: body.products(rows[symbol])


def _answer_of(output: Output) -> Callable[[Row], Row]:
    """From a state to what is said of it."""
    if isinstance(output, Symbols):
        scores, bias = Matrix(output.scores.weight), array_of(output.scores.bias)
        return lambda state: log_softmax(scores(state) + bias)
    if isinstance(output, Numbers):
        means, shift = Matrix(output.mean.weight), array_of(output.mean.bias)
        return lambda state: means(state) + shift
    if isinstance(output, Decisions):
        odds, lean = Matrix(output.scores.weight), array_of(output.scores.bias)
        return lambda state: -np.logaddexp(0, -odds(state) - lean)
    still = _at_rest(output)

    def by_torch(state: Row) -> Row:
        with torch.no_grad():
            return still(torch.from_numpy(state)[None])[0].numpy()

    return by_torch


def _at_rest(thing: Any) -> Any:
    """A copy that stays as it is now, and drops nothing."""
    still = deepcopy(thing)
    return still.eval() if isinstance(still, nn.Module) else still
