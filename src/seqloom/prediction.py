"""Search options, hypotheses and predictions, and predictive distributions of forecasts.

`Search` says how a model decodes: greedy or beam search with its penalties and constraints, or a
forecast and its horizon. `Prediction` is what a model returns for a batch: the best targets with
their log-probabilities, n-best lists of `Hypothesis`, search trees, label probabilities, and for
time series a `QuantileForecast` each.
"""

from dataclasses import dataclass, fields
from math import isfinite
from statistics import NormalDist
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from .batch import Sequences
from .errors import UsageError
from .signature import BEGIN, PAD, Bits, Form, Labels, Signature, Space, Tokens

# Probability levels of the quantiles that every forecast has. The central 50, 80 and 95 %
# prediction intervals lie between pairs of them.
LEVELS = (
    *(0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4),
    0.5,
    *(0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975),
)
NORMAL_QUANTILES = np.array([NormalDist().inv_cdf(level) for level in LEVELS])  # of N(0, 1)


@dataclass(frozen=True)
class BernoulliLogits:
    """Independent Bernoulli distributions of the bits of each row, by their logits (log-odds).

    log p(row) = Σ_k -log(1 + e^{-s_k}) where the k-th bit is 1, and -log(1 + e^{s_k}) where it is 0
    """

    values: Float[np.ndarray, "time size"]

    def log_probs(self, rows: Float[np.ndarray, "time size"]) -> Float[np.ndarray, " time"]:
        """The natural log-probability of each of these rows."""
        # logaddexp(0, s) is log(1 + e^s), without overflow where s is large
        each: np.ndarray = -np.logaddexp(0.0, np.where(rows > 0, -self.values, self.values))
        return each.sum(-1)

    def mode(self) -> Float[np.ndarray, "time size"]:
        """The more probable value of each bit."""
        return (self.values > 0).astype(np.float32)


@dataclass(frozen=True)
class QuantileForecast:
    """Probabilistic forecast of one series: mean and quantiles at LEVELS of each step.

    The quantiles rise with their level. `paths` are sample paths of the whole horizon, if
    `Search.samples` asked for some.
    """

    mean: Float[np.ndarray, "time width"]
    quantiles: Float[np.ndarray, "time width levels"]
    paths: Float[np.ndarray, "samples time width"] | None = None

    @classmethod
    def normal(
        cls,
        mean: Float[np.ndarray, "time width"],
        deviation: Float[np.ndarray, "time width"],
        paths: Float[np.ndarray, "samples time width"] | None = None,
    ) -> "QuantileForecast":
        """From a normal distribution at each step, with this standard deviation."""
        return cls(mean, mean[..., None] + deviation[..., None] * NORMAL_QUANTILES, paths)

    @classmethod
    def from_samples(
        cls, paths: Float[np.ndarray, "samples time width"], *, keep: int = 0
    ) -> "QuantileForecast":
        """From sample paths, by their mean and empirical quantiles; the first `keep` are kept."""
        quantiles = np.moveaxis(np.quantile(paths, LEVELS, axis=0), 0, -1)
        return cls(paths.mean(0), quantiles, paths[:keep] if keep else None)

    def interval(
        self, coverage: float
    ) -> tuple[Float[np.ndarray, "time width"], Float[np.ndarray, "time width"]]:
        """The central prediction interval: 0.8 is from the quantile at 0.1 to that at 0.9."""
        low, high = round((1 - coverage) / 2, 6), round((1 + coverage) / 2, 6)
        return self.quantiles[..., LEVELS.index(low)], self.quantiles[..., LEVELS.index(high)]


SEARCH_FORMS = (Form.NEXT, Form.TRANSDUCE)  # forms whose targets are decoded token by token
LEAST_LIMIT = 100  # inputs may be longer than any in training, and so may outputs
FORECAST_SETTINGS = frozenset({"horizon", "samples", "seed"})  # meaningful for forecasts only
EndReason = Literal["end", "limit", "stuck"]
NodeStatus = Literal["grows", "ended", "dropped", "cut"]


@dataclass(frozen=True, kw_only=True)
class Search:
    """Decoding options: greedy search, beam search and its constraints, forecasts.

    Args:
        beam: Beam size: hypotheses kept at each step; 1 is greedy search.
        nbest: Hypotheses returned for each source, best first; at most the beam size.
        length_penalty: Log-probabilities are divided by length to this power; 0 favours short
            outputs.
        coverage_penalty: Weight of the coverage penalty, for source positions that received no
            attention; 0 disables it. For models with attention.
        block_ngrams: No-repeat n-gram size: no n-gram of this size occurs twice in an output; 0
            disables it.
        shortest: Minimum number of tokens before the end of sequence.
        limit: Maximum number of tokens, the end of sequence among them; 0 is half as many again as
            the longest target in training has, and at least 100.
        allow: Ids of the only tokens that an output may have; empty allows all.
        prefix: Ids of the tokens that every output begins with.
        tree: Keep the search tree: all candidates, and why each was dropped.
        probabilities: Return the probabilities of all labels too, for models that do not search.
        horizon: Forecast horizon, in steps; 0 is the horizon of training.
        samples: Number of sample paths returned with a forecast.
        seed: Random seed of the sample paths.
    """

    beam: int = 1
    nbest: int = 1
    length_penalty: float = 1.0
    coverage_penalty: float = 0.0
    block_ngrams: int = 0
    shortest: int = 0
    limit: int = 0
    allow: frozenset[int] = frozenset()
    prefix: tuple[int, ...] = ()
    tree: bool = False
    probabilities: bool = False
    horizon: int = 0
    samples: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        whole = "expected a whole number of at least"
        weight = isfinite(self.coverage_penalty) and self.coverage_penalty >= 0
        right = {
            "beam": (self.beam >= 1, f"{whole} 1"),
            "nbest": (self.nbest >= 1, f"{whole} 1"),
            "length_penalty": (isfinite(self.length_penalty), "expected a number"),
            "coverage_penalty": (weight, "expected 0 or more"),
            "block_ngrams": (self.block_ngrams >= 0, f"{whole} 1, or 0 for none"),
            "shortest": (self.shortest >= 0, f"{whole} 0"),
            "limit": (self.limit >= 0, f"{whole} 1, or 0 for what follows from training"),
            "horizon": (self.horizon >= 0, f"{whole} 1"),
            "samples": (self.samples >= 0, f"{whole} 0"),
            "seed": (self.seed >= 0, f"{whole} 0"),
        }
        for name, (is_right, expected) in right.items():
            if not is_right:
                raise UsageError("U060", f"{name} {getattr(self, name):g}: {expected}")
        if self.nbest > self.beam:
            raise UsageError(
                "U061",
                f"a beam of {self.beam} cannot give the {self.nbest} best answers",
                help=[f"--beam {self.nbest}   or more"],
            )

    def validate_for(self, signature: Signature) -> None:
        """Raise an error for settings that have no meaning for such a model."""
        applicable = _applicable(signature)
        for field in fields(self):
            is_set = getattr(self, field.name) != field.default
            if is_set and field.name not in applicable:
                if field.name in FORECAST_SETTINGS:
                    raise UsageError("U300", f"{field.name}: this model does not forecast")
                require_search(signature, field.name)
        if signature.form not in SEARCH_FORMS or not isinstance(signature.target, Tokens | Labels):
            return
        size = signature.target.size - len((PAD, BEGIN))
        if self.beam > size:
            raise UsageError(
                "U063",
                f"a beam of {self.beam} is wider than the vocabulary: there are {size} tokens",
                help=[f"--beam {size}   or less"],
            )


def default_limit(target: Space) -> int:
    """The limit on the length of an output where none is given: it follows the training data."""
    longest = target.longest if isinstance(target, Tokens) else 0
    return max(LEAST_LIMIT, longest + longest // 2)


def _applicable(signature: Signature) -> set[str]:
    """The settings that have a meaning for such a model, beside those that only search has."""
    if signature.form is Form.NEXT and isinstance(signature.target, Bits):
        return {"probabilities"}  # rows of bits are sampled, not searched for
    names = {"beam", "length_penalty", "limit", "probabilities"}
    if signature.form is Form.EACH and isinstance(signature.target, Labels):
        names.add("nbest")  # k-best Viterbi needs no search
    return names | FORECAST_SETTINGS if signature.form is Form.FORECAST else names


def require_search(signature: Signature, setting: str) -> None:
    """Raise an error for a search setting where a model finds its predictions without search."""
    if signature.form not in SEARCH_FORMS or isinstance(signature.target, Bits):
        raise UsageError(
            "U062",
            f"{setting.replace('_', ' ')}: this model does not search for its predictions",
            notes=[
                "It predicts all positions, or the whole, at once."
                if signature.form not in SEARCH_FORMS
                else "Rows of bits are sampled: seqloom compose RUN -o piece.mid"
            ],
        )


@dataclass(frozen=True)
class Hypothesis:
    """One decoded target: its tokens, its log-probability, and the score that ranks it."""

    tokens: Int[np.ndarray, " time"]
    log_prob: float
    score: float
    ended: bool = True  # False where the length limit came before the end of sequence
    is_stuck: bool = False  # whether it has no end because no token could follow

    @property
    def end_reason(self) -> EndReason:
        """How it came to its end: by the end of sequence, or cut at the limit."""
        if self.ended:
            return "end"
        return "stuck" if self.is_stuck else "limit"


@dataclass(frozen=True)
class SearchNode:
    """One candidate of a beam search: a token that follows those of its parent.

    Status: `grows` (kept in the beam), `ended`, `dropped` (others were better), or `cut` (by the
    limit, or because the search stopped: what had ended was better).
    """

    parent: int  # index among the nodes; -1 for a first token
    step: int
    token: int
    log_prob: float  # of all tokens up to here
    status: NodeStatus
    score: float | None = None  # what ranks it, where it ended


@dataclass(frozen=True)
class SearchTree:
    """All candidates of a beam search for one source; `ends` are the best hypotheses, in order."""

    nodes: tuple[SearchNode, ...]
    ends: tuple[int, ...]

    def path(self, node: int) -> list[int]:
        """The nodes from the first token to this one."""
        path = []
        while node >= 0:
            path.append(node)
            node = self.nodes[node].parent
        return path[::-1]


@dataclass(frozen=True)
class Prediction:
    """Predicted targets of a batch of sources, each with its natural log-probability.

    Args:
        target: the best target of each source; for time series, the mean of the forecast.
        log_prob: its log-probability; for time series, the log-density of the mean.
        ranked: after a search, the n-best list of each source, best first.
        trees: after a search with `Search.tree`, the candidates of each source.
        probabilities: with `Search.probabilities`, the marginal probabilities of all labels at each
            position, given the whole source.
        forecasts: for time series, the forecast of each.
    """

    target: Sequences
    log_prob: Float[np.ndarray, " batch"]
    ranked: tuple[tuple[Hypothesis, ...], ...] = ()
    trees: tuple[SearchTree, ...] = ()
    probabilities: Float[np.ndarray, "batch position classes"] | None = None
    forecasts: tuple[QuantileForecast, ...] = ()

    @classmethod
    def of(
        cls, ranked: list[tuple[Hypothesis, ...]], trees: tuple[SearchTree, ...] = ()
    ) -> "Prediction":
        """From the n-best list of each source."""
        best = [hypotheses[0] for hypotheses in ranked]
        log_probs = np.array([hypothesis.log_prob for hypothesis in best], dtype=np.float64)
        target = Sequences.pad([hypothesis.tokens for hypothesis in best])
        return cls(target, log_probs, tuple(ranked), trees)

    @classmethod
    def of_forecasts(
        cls, forecasts: list[QuantileForecast], log_prob: Float[np.ndarray, " batch"]
    ) -> "Prediction":
        """From the forecast of each series, and the log-density of its mean."""
        target = Sequences.pad([forecast.mean for forecast in forecasts])
        return cls(target, log_prob, forecasts=tuple(forecasts))
