"""Answers that are drawn, where others are searched for."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int

from ..batch import Batch, Sequences
from ..errors import ModelError, UsageError
from ..model import Generator, Model
from ..prediction import Hypothesis, Prediction, must_search
from ..signature import END, Form, Signature
from .sampling import Sampling, sample

AT_ONCE = 256  # answers drawn together, however many are asked for: each takes memory


@dataclass(frozen=True, kw_only=True)
class Draws:
    """How answers are drawn, instead of looking for the best.

    Args:
        sampling: How each of their symbols is drawn.
        count: How many answers there are for each source, in the order in which they are drawn.
        allow: The numbers of the only symbols an answer may have; none allows all.
        prefix: The numbers of the symbols that every answer begins with.
        first: The number of the first source. Randomness follows from a source's number, so that
            it is answered the same whatever is asked beside it.
    """

    sampling: Sampling = field(default_factory=Sampling)
    count: int = 1
    allow: frozenset[int] = frozenset()
    prefix: tuple[int, ...] = ()
    first: int = 0

    def __post_init__(self) -> None:
        if self.count < 1:
            expected = "expected a whole number of at least 1"
            raise UsageError("U060", f"sample {self.count}: {expected}")

    def must_fit(self, signature: Signature) -> None:
        """Refuse a model whose answers cannot be drawn."""
        must_search(signature, "sample")
        if signature.form is Form.NEXT:
            raise UsageError(
                "U066",
                "sample: this model lets texts go on, and has a command of its own for that",
                help=['seqloom generate RUN --prompt "…" --count 3'],
            )

    def predict(
        self, model: Model, source: Sequences, numbers: Int[np.ndarray, " batch"]
    ) -> Prediction:
        """Answers to the sources, which have these numbers; scores are their log-probabilities.

        The log-probability is the model's own, of the whole answer with its end, however the
        temperature and the cuts changed what was drawn from.
        """
        found: list[Hypothesis] = []
        total = len(source) * self.count
        for start in range(0, total, AT_ONCE):
            places = np.arange(start, min(start + AT_ONCE, total))
            rows, copies = np.divmod(places, self.count)
            streams = [
                self.sampling.stream(self.first + number, copy)
                for number, copy in zip(numbers[rows].tolist(), copies.tolist(), strict=True)
            ]
            some = Sequences(source.values[rows], source.lengths[rows])
            found += self._drawn(model, some, streams)
        firsts = range(0, total, self.count)
        return Prediction.of([tuple(found[first : first + self.count]) for first in firsts])

    def _drawn(
        self, model: Model, source: Sequences, streams: list[np.random.Generator]
    ) -> list[Hypothesis]:
        """An answer to each source, from a stream of random numbers of its own."""
        if not isinstance(model, Generator):
            raise ModelError("M120", f"{type(model).__name__} cannot generate")
        begun = Sequences.pad([np.array(self.prefix, dtype=np.int64)] * len(source))
        drawn = sample(model, source, self.sampling, begun, streams=streams, allow=self.allow)
        targets = [self._whole(row) for row in drawn]
        log_probs = model.log_prob(Batch(source, Sequences.pad(targets))).tolist()
        return [
            Hypothesis(target, log_prob, log_prob, ended=bool(target[-1] == END))
            for target, log_prob in zip(targets, log_probs, strict=True)
        ]

    def _whole(self, row: Int[np.ndarray, " _"]) -> Int[np.ndarray, " _"]:
        """With what it begins with, and with its end, unless the limit came first."""
        end = [END] if len(row) < self.sampling.limit else []
        return np.array([*self.prefix, *row.tolist(), *end], dtype=np.int64)
