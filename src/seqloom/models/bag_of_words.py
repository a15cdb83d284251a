"""Words and short runs of words, whatever their order: the baselines of classification."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..nn.bag_of_words import Bags, Grams, fit
from ..nn.dropout import SequenceDropout
from ..nn.embedding import input_layer
from ..nn.output.heads import Decisions, Symbols
from ..nn.output.options import PLAIN_AIMS, Aims
from ..nn.token_options import PLAIN_ENDS, Ends
from ..signature import Bits, Columns, Labels, Signature, Tokens
from .classifier import Whole

FeatureName = Literal["tf-idf", "counts", "vectors"]
MERSENNE = 2**19 - 1  # a prime, so that buckets are filled evenly


@dataclass(frozen=True)
class Examples:
    """Bags and what is right for each: what logistic regression learns from, all at once."""

    bags: tuple[Bags, ...]
    right: tuple[np.ndarray, ...]

    def __add__(self, other: "Examples") -> "Examples":
        return Examples(self.bags + other.bags, self.right + other.right)


class Bag(Whole):
    """A bag of words: what is said counts, not in which order.

    tf-idf    x_g = n_g (1 + log (1 + N) / (1 + N_g)), then x / ‖x‖;   y = softmax(W x + b)
    counts    x_g = n_g, how often a gram comes;                       y = softmax(W x + b)
    vectors   h = mean of E g over all grams;   y = softmax(V h + c), or of relu(U h + d)

    A gram is a word, or a run of up to `order` words; N_g of N texts have it. The first two are
    logistic regression: W is the one best matrix for all training texts together, under a penalty
    for its size, and is found in one go. Vectors are learned by gradient, as fastText does it
    (Joulin et al., 2017); with a hidden layer it is a deep averaging network (Iyyer et al., 2015).

    Args:
        features: What stands for a text: how often each gram comes, the rare ones counting more and
            all texts as much (tf-idf), or just how often (counts), or the mean of learned vectors.
        order: How many words a gram has at most: with 2, pairs of neighbours count as well.
        buckets: How many numbers all grams of two words and more share; where there are more grams,
            some are taken for each other.
        penalty: Of tf-idf and counts: the weight of half the sum of squared weights beside the
            surprise of all texts together; scikit-learn's 1 / C.
        width: Of vectors: the width of the vector that stands for a gram.
        hidden: Of vectors: the width of a hidden layer; 0 is none.
        dropout: Of vectors: the share of numbers dropped while training.
        ends: How symbols come in and go out.
        aims: What descent aims at beside the right answer.
    """

    reads = frozenset({Tokens, Labels, Columns})
    writes = frozenset({Tokens, Labels, Bits})
    is_baseline = True
    rarity: Tensor

    def __init__(
        self,
        signature: Signature,
        *,
        features: FeatureName = "tf-idf",
        order: int = 2,
        buckets: int = MERSENNE,
        penalty: float = 1.0,
        width: int = 128,
        hidden: int = 0,
        dropout: float = 0.0,
        ends: Ends = PLAIN_ENDS,
        aims: Aims = PLAIN_AIMS,
    ) -> None:
        _refuse_impossible(order, buckets, penalty, hidden)
        is_counted = features != "vectors"
        own = {"width": (width, 128), "hidden": (hidden, 0), "dropout": (dropout, 0.0)}
        _refuse_others(features, own if is_counted else {"penalty": (penalty, 1.0)})
        if is_counted and (ends != PLAIN_ENDS or aims.max_norm):
            raise _of_others("vectors, tie_vectors, max_norm and their like are", features)
        answers = signature.target.size if isinstance(signature.target, _ANSWERS) else 0
        last = answers if is_counted else hidden or width
        super().__init__(signature, hidden=last, ends=ends, aims=aims)
        self.features, self.penalty = features, penalty
        self.grams = Grams(signature.source, order, buckets)
        if is_counted:
            self._be_counted(answers)
            return
        self.input = input_layer(signature.source, width, dropout, ends)
        self.runs = nn.Embedding(self.grams.buckets, width) if order > 1 else None
        self.hide = nn.Linear(width, hidden) if hidden else None
        self.dropout = SequenceDropout(dropout)

    def _be_counted(self, answers: int) -> None:
        """A row of scores for each gram; it learns from all texts at once, not step by step."""
        self.table = nn.Parameter(torch.zeros(self.grams.kinds, answers))
        self.register_buffer("rarity", torch.ones(self.grams.kinds))
        scores = _scores_of(self.output)
        nn.init.eye_(scores.weight).requires_grad_(False)  # what comes in are scores already
        nn.init.zeros_(scores.bias)
        # Only now, so that it is `LearnsFromStatistics`: vectors learn by gradient.
        self.statistics, self.update = self._statistics, self._update

    def vectors(self, source: Sequences) -> Float[Tensor, "batch hidden"]:
        if self.features != "vectors":
            return self._valued(self.grams.bags(source)).times(self.table)
        words, is_word = self.grams.words(source, known=False)
        real = torch.from_numpy(is_word)
        total = (self.input(torch.from_numpy(source.values)) * real[..., None]).sum(1)
        count = is_word.sum(1)
        if self.runs is not None:
            rows, runs = self.grams.runs(words, is_word)
            order = np.argsort(rows, kind="stable")
            numbers = torch.from_numpy(runs[order] - self.grams.size)
            starts = torch.from_numpy(np.searchsorted(rows[order], np.arange(len(source))))
            total = total + embedding_bag(numbers, self.runs.weight, starts, mode="sum")
            count = count + np.bincount(rows, minlength=len(source))
        mean = total / torch.from_numpy(np.maximum(count, 1))[:, None]
        if self.hide is not None:
            mean = torch.relu(self.hide(self.dropout(mean)))
        return self.dropout(mean)

    def _statistics(self, batch: Batch) -> Examples:
        return Examples((self.grams.bags(batch.source),), (batch.target.values[:, 0],))

    def _update(self, statistics: Examples) -> None:
        bags, right = Bags.joined(statistics.bags), np.concatenate(statistics.right)
        seen = np.bincount(bags.grams, minlength=self.grams.kinds)
        rarity = np.where(seen, 1 + np.log((1 + len(right)) / (1 + seen)), 0)  # new ones: nothing
        self.rarity.copy_(torch.from_numpy(rarity))
        single = right.ndim == 1
        wanted = np.eye(len(self.table[0]))[right] if single else right.astype(np.float64)
        smoothing, weights = self.aims.smoothing, np.ones(len(right))
        wanted = wanted * (1 - smoothing) + smoothing / (wanted.shape[1] if single else 2)
        if isinstance(self.output, Symbols) and self.output.weights is not None:
            weights = self.output.weights.numpy().astype(np.float64)[right]
        table, bias = fit(
            self._valued(bags),
            wanted,
            weights,
            kinds=self.grams.kinds,
            penalty=self.penalty,
            single=single,
        )
        with torch.no_grad():
            self.table.copy_(table)
            _scores_of(self.output).bias.copy_(bias)

    def _valued(self, bags: Bags) -> Bags:
        """How much each gram of each text counts."""
        if self.features == "counts":
            return bags
        return bags.weighed(self.rarity.numpy().astype(np.float64))


_ANSWERS = (Tokens, Labels, Bits)


def _scores_of(output: nn.Module) -> nn.Linear:
    if not isinstance(output, Symbols | Decisions):
        raise TypeError("a bag gives labels")
    return output.scores


def _refuse_impossible(order: int, buckets: int, penalty: float, hidden: int) -> None:
    if order < 1 or buckets < 1 or hidden < 0:
        raise ModelError(
            "M322",
            f"order = {order}, buckets = {buckets}, hidden = {hidden}: a gram has one word or more,"
            " and a number of its own or shared",
            help=["--set model.order=2"],
        )
    if penalty <= 0:
        raise ModelError(
            "M322",
            f"penalty = {penalty:g}: without one the best weights may be beyond all bounds",
            help=["--set model.penalty=0.01   almost none"],
        )


def _refuse_others(features: FeatureName, others: dict[str, tuple[Any, Any]]) -> None:
    """Options that belong to other features must be left as they are."""
    for name, (value, default) in others.items():
        if value != default:
            raise _of_others(f"{name} = {value} is", features)


def _of_others(what: str, features: FeatureName) -> ModelError:
    for_whom = "tf-idf and counts" if features == "vectors" else "vectors"
    return ModelError(
        "M322",
        f"{what} for features = {for_whom}, and they are {features}",
        help=[f"--set model.features={'tf-idf' if features == 'vectors' else 'vectors'}"],
    )
