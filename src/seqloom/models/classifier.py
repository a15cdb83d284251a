"""What models share that make one vector of a whole sequence, and one answer of that."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..model import Prediction, Search
from ..nn.output.heads import output_layer
from ..nn.output.options import Aims
from ..nn.token_options import Ends
from ..signature import WRITTEN, Form, Signature
from .backbone import take_vectors
from .neural import Neural


class Whole(Neural, ABC):
    """One answer for a whole source; a model of this kind has to make a vector of it."""

    forms = frozenset({Form.WHOLE})
    writes = WRITTEN
    input: nn.Module

    def __init__(self, signature: Signature, *, hidden: int, ends: Ends, aims: Aims) -> None:
        super().__init__(signature)
        self.ends, self.aims = ends, aims
        self.output = output_layer(signature.target, hidden, ends, aims)

    @abstractmethod
    def vectors(self, source: Sequences) -> Float[Tensor, "batch hidden"]:
        """What is known of each source."""

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        return self.output.log_prob(self.vectors(batch.source)[:, None], batch.target)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        states = self.vectors(batch.source)[:, None]
        return self.output.loss(states, batch.target, self.aims.smoothing)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The best answer for each source."""
        states, lengths = self.vectors(source)[:, None], np.ones(len(source), dtype=np.int64)
        best, log_probs = self.output.best(states, lengths)
        chances = self.output.chances(states, lengths) if search.chances else None
        return Prediction(Sequences(best.numpy(), lengths), log_probs, chances=chances)

    def log_chances(self, source: Sequences) -> Float[Tensor, "batch place classes"]:
        lengths = np.ones(len(source), dtype=np.int64)
        return self.output.log_chances(self.vectors(source)[:, None], lengths)

    def take_vectors(self, symbols: Sequence[str]) -> str:
        """Start from the vectors of a file, where one is named; says how many symbols it has."""
        return take_vectors(self.input, self.ends, symbols) if self.ends.vectors else ""
