"""Decoding by sampling: several outputs sampled for each source, instead of beam search."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Int

from ..batch import Batch, Sequences
from ..errors import ModelError, UsageError
from ..model import Generator, Model
from ..prediction import Hypothesis, Prediction, require_search
from ..signature import END, Form, Signature
from .constraints import output_limit
from .sampling import Sampling, sample

SEQUENCES_AT_ONCE = 256  # outputs sampled in one batch, which bounds the memory of their states


@dataclass(frozen=True, kw_only=True)
class SamplingDecoder:
    """Decoding by sampling, where `Search` decodes by beam search.

    Args:
        sampling: Sampling options for each token.
        count: Outputs for each source, in the order in which they are sampled.
        allow: Ids of the only tokens that an output may have; empty allows all.
        prefix: Ids of the tokens that every output begins with.
        first: The number of the first source. The random generator of a source depends on its
            number, so that its outputs are the same whatever is decoded beside it.
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

    def validate_for(self, signature: Signature) -> None:
        """Raise an error for a model whose outputs cannot be sampled."""
        require_search(signature, "sample")
        if signature.form is Form.NEXT:
            raise UsageError(
                "U066",
                "sample: this is a language model, which continues texts by another command",
                help=['seqloom generate RUN --prompt "…" --count 3'],
            )

    def predict(
        self, model: Model, source: Sequences, numbers: Int[np.ndarray, " batch"]
    ) -> Prediction:
        """Sample outputs for the sources with these numbers; scores are their log-probabilities.

        The log-probability is the model's own, of the whole output with its end, without the
        temperature and the truncation that were used to sample it.
        """
        sampled: list[Hypothesis] = []
        total = len(source) * self.count
        for start in range(0, total, SEQUENCES_AT_ONCE):
            indices = np.arange(start, min(start + SEQUENCES_AT_ONCE, total))
            rows, copies = np.divmod(indices, self.count)
            rngs = [
                self.sampling.rng(self.first + number, copy)
                for number, copy in zip(numbers[rows].tolist(), copies.tolist(), strict=True)
            ]
            some = Sequences(source.values[rows], source.lengths[rows])
            sampled += self._sample(model, some, rngs)
        firsts = range(0, total, self.count)
        return Prediction.of([tuple(sampled[first : first + self.count]) for first in firsts])

    def _sample(
        self, model: Model, source: Sequences, rngs: list[np.random.Generator]
    ) -> list[Hypothesis]:
        """One output for each source, each with its own random generator."""
        if not isinstance(model, Generator):
            raise ModelError("M120", f"{type(model).__name__} cannot generate")
        limit = self._limit(model)
        rows: list[Int[np.ndarray, " _"]] = [np.zeros(0, dtype=np.int64)] * len(source)
        if limit > 0:
            prefix = Sequences.pad([np.array(self.prefix, dtype=np.int64)] * len(source))
            how = replace(self.sampling, limit=limit)
            rows = sample(model, source, how, prefix, rngs=rngs, allow=self.allow)
        targets = [self._with_end(row, limit) for row in rows]
        log_probs = model.log_prob(Batch(source, Sequences.pad(targets))).tolist()
        return [
            Hypothesis(target, log_prob, log_prob, ended=bool(target[-1] == END))
            for target, log_prob in zip(targets, log_probs, strict=True)
        ]

    def _limit(self, model: Generator) -> int:
        """The most tokens after the prefix; not above 0 if the model can decode no more than that.

        The limit does not count the prefix, but what a model can decode does.
        """
        wanted = len(self.prefix) + output_limit(model, self.sampling.limit)
        return output_limit(model, wanted) - len(self.prefix)

    def _with_end(self, row: Int[np.ndarray, " _"], limit: int) -> Int[np.ndarray, " _"]:
        """The whole output: its prefix, and its end unless the limit came first."""
        end = [END] if len(row) < limit else []
        prefix = self.prefix[: len(self.prefix) + min(0, limit)]
        return np.array([*prefix, *row.tolist(), *end], dtype=np.int64)
