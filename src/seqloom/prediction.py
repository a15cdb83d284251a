"""How to look for the best target, and what is found.

What a model says of what is to come: what to expect, and how far it may be off.
"""

from dataclasses import dataclass, fields
from math import isfinite
from statistics import NormalDist
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from .batch import Sequences
from .errors import UsageError
from .signature import BEGIN, PAD, Bits, Form, Labels, Signature, Tokens

# The shares of chance below which the given quantiles lie. 50, 80 and 95 % are bands of them.
LEVELS = (
    *(0.025, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4),
    0.5,
    *(0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975),
)
NORMAL = np.array([NormalDist().inv_cdf(level) for level in LEVELS])  # quantiles of N(0, 1)


@dataclass(frozen=True)
class Odds:
    """What a model expects of rows of bits: the log of the odds of each yes.

    log p(row) = Σ_k -log(1 + e^{-s_k}) where the k-th is yes, and -log(1 + e^{s_k}) where it is no
    """

    values: Float[np.ndarray, "time size"]

    def log_probs(self, rows: Float[np.ndarray, "time size"]) -> Float[np.ndarray, " time"]:
        """The natural log-probability of each of these rows."""
        found: np.ndarray = -np.logaddexp(0.0, np.where(rows > 0, -self.values, self.values))
        return found.sum(-1)

    def likelier(self) -> Float[np.ndarray, "time size"]:
        """The likelier of yes and no, each by itself."""
        return (self.values > 0).astype(np.float32)


@dataclass(frozen=True)
class Foreseen:
    """A forecast of one series: the mean at each step, its quantiles at LEVELS, rising.

    Where they were asked for, there are futures drawn at random, whole paths each.
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
    ) -> "Foreseen":
        """Of a Normal distribution at each step, with this standard deviation."""
        return cls(mean, mean[..., None] + deviation[..., None] * NORMAL, paths)

    @classmethod
    def drawn(cls, paths: Float[np.ndarray, "samples time width"], *, keep: int = 0) -> "Foreseen":
        """Of futures drawn at random, the first few of which are kept as paths."""
        quantiles = np.moveaxis(np.quantile(paths, LEVELS, axis=0), 0, -1)
        return cls(paths.mean(0), quantiles, paths[:keep] if keep else None)

    def band(
        self, share: float
    ) -> tuple[Float[np.ndarray, "time width"], Float[np.ndarray, "time width"]]:
        """Where the middle share of chance begins and ends, as 0.8 between 0.1 and 0.9."""
        low, high = round((1 - share) / 2, 6), round((1 + share) / 2, 6)
        return self.quantiles[..., LEVELS.index(low)], self.quantiles[..., LEVELS.index(high)]


SEARCHED = (Form.NEXT, Form.TRANSDUCE)
FORESEEING = frozenset({"horizon", "samples", "seed"})  # settings that are for forecasts alone
Fate = Literal["grows", "ended", "dropped", "cut"]


@dataclass(frozen=True, kw_only=True)
class Search:
    """How to look for the best target.

    Args:
        beam: How many candidates are kept at each step; 1 is greedy search.
        nbest: How many answers are given for each source, the best first; at most the beam.
        length_penalty: Scores are divided by length to this power; 0 favours short answers.
        coverage_penalty: How much a place of the source weighs that was not looked at; 0 not at
            all. For models with attention.
        block_ngrams: No so many symbols in a row come twice in an answer; 0 lets them.
        shortest: The fewest symbols an answer has before its end.
        limit: The most symbols an answer may have, its end being one.
        allow: The numbers of the only symbols an answer may have; none allows all.
        prefix: The numbers of the symbols that every answer begins with.
        tree: Whether everything that was looked at is kept.
        chances: Whether a model that does not search tells how likely every label is, too.
        horizon: How many steps ahead a forecast goes; 0 as many as were learned.
        samples: How many futures are drawn beside a forecast.
        seed: Where chance starts when futures are drawn.
    """

    beam: int = 1
    nbest: int = 1
    length_penalty: float = 1.0
    coverage_penalty: float = 0.0
    block_ngrams: int = 0
    shortest: int = 0
    limit: int = 100
    allow: frozenset[int] = frozenset()
    prefix: tuple[int, ...] = ()
    tree: bool = False
    chances: bool = False
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
            "limit": (self.limit >= 1, f"{whole} 1"),
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

    def must_fit(self, signature: Signature) -> None:
        """Refuse what has no meaning for such a model."""
        meant = _meant(signature)
        for field in fields(self):
            is_given = getattr(self, field.name) != field.default
            if is_given and field.name not in meant:
                if field.name in FORESEEING:
                    raise UsageError("U300", f"{field.name}: this model forecasts nothing")
                must_search(signature, field.name)
        if signature.form not in SEARCHED or not isinstance(signature.target, Tokens | Labels):
            return
        size = signature.target.size - len((PAD, BEGIN))
        if self.beam > size:
            raise UsageError(
                "U063",
                f"a beam of {self.beam} is wider than the vocabulary: there are {size} symbols",
                help=[f"--beam {size}   or less"],
            )


def _meant(signature: Signature) -> set[str]:
    """The settings that have a meaning for such a model, beside those of search."""
    if signature.form is Form.NEXT and isinstance(signature.target, Bits):
        return {"chances"}  # what follows is drawn
    meant = {"beam", "length_penalty", "limit", "chances"}
    if signature.form is Form.EACH and isinstance(signature.target, Labels):
        meant.add("nbest")  # the best labels of all places together are found without a search
    return meant | FORESEEING if signature.form is Form.FORECAST else meant


def must_search(signature: Signature, setting: str) -> None:
    """Refuse a setting of search for a model that finds its answers without one."""
    if signature.form not in SEARCHED or isinstance(signature.target, Bits):
        raise UsageError(
            "U062",
            f"{setting.replace('_', ' ')}: this model does not search for its answers",
            notes=[
                "It answers every place, or the whole, at once."
                if signature.form not in SEARCHED
                else "How rows of bits go on is drawn: seqloom compose RUN -o piece.mid"
            ],
        )


@dataclass(frozen=True)
class Hypothesis:
    """A target that was found: its log-probability, and the score that ranks it."""

    symbols: Int[np.ndarray, " time"]
    log_prob: float
    score: float
    ended: bool = True  # not where the limit came first


@dataclass(frozen=True)
class Node:
    """One candidate of a search: a symbol after those of its parent.

    Its fate: it grows, has ended, was dropped because others were better, or was cut off by the
    limit or because enough had ended.
    """

    parent: int  # its place among the nodes; -1 where it is the first symbol
    step: int
    symbol: int
    log_prob: float  # of all symbols up to here
    fate: Fate
    score: float | None = None  # what ranks it, where it ended


@dataclass(frozen=True)
class Tree:
    """All that a search looked at for one source, and which nodes became answers, best first."""

    nodes: tuple[Node, ...]
    answers: tuple[int, ...]

    def path(self, node: int) -> list[int]:
        """The nodes from the first symbol to this one."""
        found = []
        while node >= 0:
            found.append(node)
            node = self.nodes[node].parent
        return found[::-1]


@dataclass(frozen=True)
class Prediction:
    """The targets a model finds, each with its natural log-probability.

    Where it searched, there are the best of each source, best first, with `target` in front; and
    what it looked at, where that was asked for. Where it did not, and was asked for them, there are
    the chances of all labels at each place: given the whole source, whatever other places have.
    Of series there is what was foreseen for each, of which `target` is the mean.
    """

    target: Sequences
    log_prob: Float[np.ndarray, " batch"]
    ranked: tuple[tuple[Hypothesis, ...], ...] = ()
    trees: tuple[Tree, ...] = ()
    chances: Float[np.ndarray, "batch place classes"] | None = None
    foreseen: tuple[Foreseen, ...] = ()

    @classmethod
    def of(cls, ranked: list[tuple[Hypothesis, ...]], trees: tuple[Tree, ...] = ()) -> "Prediction":
        """From what was found for each source."""
        first = [found[0] for found in ranked]
        chances = np.array([hypothesis.log_prob for hypothesis in first], dtype=np.float64)
        target = Sequences.pad([hypothesis.symbols for hypothesis in first])
        return cls(target, chances, tuple(ranked), trees)

    @classmethod
    def ahead(cls, foreseen: list[Foreseen], log_prob: Float[np.ndarray, " batch"]) -> "Prediction":
        """From what was foreseen for each series, and the log of the density of its mean."""
        target = Sequences.pad([found.mean for found in foreseen])
        return cls(target, log_prob, foreseen=tuple(foreseen))
