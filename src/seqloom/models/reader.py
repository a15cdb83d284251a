"""The shape most neural models share: an input layer, a body, an output layer."""

from abc import ABC

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..batch import Batch, Sequences
from ..decoding import search as find
from ..errors import ModelError
from ..forms import BEGIN, SPACES, Form, Signature
from ..model import Prediction, Search, State
from ..nn.dropout import SequenceDropout
from ..nn.inputs import input_layer, tensors
from ..nn.outputs import output_layer
from ..nn.pooling import Body, Pooling, PoolingName
from .neural import Neural
from .stepping import ReaderStepper, Steps


class Reader(Neural, ABC):
    """Reads a source with one body; a model of this kind only has to build its body."""

    writes = SPACES

    def __init__(
        self,
        signature: Signature,
        body: Body,
        *,
        width: int,
        hidden: int,
        dropout: float,
        pooling: PoolingName = "mean",
        looks_ahead: bool = False,
    ) -> None:
        super().__init__(signature)
        self.looks_ahead = looks_ahead
        self.input = input_layer(signature.source, width, dropout)
        self.body = body
        self.pooling = Pooling(pooling, hidden) if signature.form is Form.WHOLE else None
        self.dropout = SequenceDropout(dropout)
        self.output = output_layer(signature.target, hidden)

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.output.log_prob(self._states(batch.source), batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        return self.output.loss(self._states(batch.source), batch.target)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The best answer for each position or the whole; what follows, where the form is NEXT."""
        if self.signature.form is Form.NEXT:
            return find(self, source, search, prefix=source)
        best, log_probs = self.output.best(self._states(source))
        lengths = np.minimum(source.lengths, best.shape[1])
        target = Sequences(best.numpy(), lengths)
        return Prediction(target, (log_probs.numpy() * target.mask).sum(1).astype(np.float64))

    def begin(self, source: Sequences) -> State:
        return self._steps().initial(len(source))

    def step(
        self, symbols: Int[np.ndarray, " batch"], state: State
    ) -> tuple[Float[np.ndarray, "batch vocabulary"], State]:
        vector, state = self._steps().step(self.input(torch.from_numpy(symbols)), state)
        return self.output(vector).numpy(), state

    def stepper(self) -> ReaderStepper:
        """Single steps, in NumPy where the body has a twin."""
        if self.looks_ahead or not isinstance(self.body, Steps):
            raise ModelError(
                "M130",
                "this model reads a sequence from both sides, so it must have the whole of it",
                help=["train one that reads forward: --set model.directions=forward"],
            )
        return ReaderStepper(self.input, self.body, self.pooling, self.output)

    def _states(self, source: Sequences) -> Float[Tensor, "batch place hidden"]:
        """A state for each position, or one for the whole."""
        read = source.late(BEGIN) if self.signature.form is Form.NEXT else source
        values, lengths = tensors(read)
        vectors = self.input(values)
        if self.pooling is None:
            return self.dropout(self.body(vectors, lengths))
        return self.dropout(self.pooling(self.body, vectors, lengths)[:, None])

    def _steps(self) -> Steps:
        if not isinstance(self.body, Steps):
            raise TypeError(f"{type(self).__name__} cannot go one step at a time")
        return self.body
