"""Base class of sequence classifiers: one vector for a whole sequence, one output for it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..model import Prediction, Search
from ..nn.output.heads import output_layer
from ..nn.output.options import LossOptions
from ..nn.token_options import TokenOptions
from ..signature import TARGET_SPACES, Form, Signature
from .backbone import load_embeddings
from .neural import Neural


class SequenceClassifier(Neural, ABC):
    """One output for a whole source; subclasses encode the source as one vector."""

    forms = frozenset({Form.WHOLE})
    target_spaces = TARGET_SPACES
    input: nn.Module

    def __init__(
        self,
        signature: Signature,
        *,
        hidden_size: int,
        token_options: TokenOptions,
        loss_options: LossOptions,
    ) -> None:
        super().__init__(signature)
        self.token_options, self.loss_options = token_options, loss_options
        self.output = output_layer(signature.target, hidden_size, token_options, loss_options)

    @abstractmethod
    def encode(self, source: Sequences) -> Float[Tensor, "batch hidden"]:
        """A vector for each source."""

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.output.log_prob(self.encode(batch.source)[:, None], batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        states = self.encode(batch.source)[:, None]
        return self.output.loss(states, batch.target, self.loss_options.label_smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The most probable label of each source."""
        states, lengths = self.encode(source)[:, None], np.ones(len(source), dtype=np.int64)
        best, log_probs = self.output.best(states, lengths)
        probabilities = self.output.probabilities(states, lengths) if search.probabilities else None
        return Prediction(Sequences(best.numpy(), lengths), log_probs, probabilities=probabilities)

    def class_log_probs(self, source: Sequences) -> Float[Tensor, "batch position classes"]:
        lengths = np.ones(len(source), dtype=np.int64)
        return self.output.class_log_probs(self.encode(source)[:, None], lengths)

    def load_embeddings(self, tokens: Sequence[str]) -> str:
        """Load pretrained embeddings, if a file is named; a note on how many were found."""
        return (
            load_embeddings(self.input, self.token_options, tokens)
            if self.token_options.pretrained_embeddings
            else ""
        )
