"""Bag of words: logistic regression on n-gram features, or averaged embeddings (fastText)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from ..batch import Batch, Sequences
from ..config import Rate, Size, SizeOrZero
from ..errors import ModelError
from ..model import FitIteration
from ..nn.bag_of_words import CSRMatrix, NGramHasher
from ..nn.dropout import SequenceDropout
from ..nn.embedding import input_layer
from ..nn.output.heads import SigmoidOutput, SoftmaxOutput
from ..nn.output.options import DEFAULT_LOSS_OPTIONS, LossOptions
from ..nn.token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions
from ..signature import Bits, Columns, Labels, Signature, Tokens
from ..statistical.logistic_regression.newton import (
    Coefficients,
    ColumnMatrix,
    Problem,
    SigmoidLoss,
    SoftmaxLoss,
    minimise,
)
from .classifier import SequenceClassifier

FeatureName = Literal["tf-idf", "counts", "vectors"]
PENALTY = 0.05  # the best of validation folds of reviews, questions and text messages
ROWS_AT_ONCE = 1 << 14  # of weights that are copied, so that a copy takes little memory
HASH_BUCKETS = 2**19 - 1  # a Mersenne prime, so that hashes spread evenly


@dataclass(frozen=True)
class LabelledBags:
    """N-gram counts and targets of all examples: the training set of logistic regression."""

    bags: tuple[CSRMatrix, ...]
    targets: tuple[np.ndarray, ...]

    def __add__(self, other: "LabelledBags") -> "LabelledBags":
        return LabelledBags(self.bags + other.bags, self.targets + other.targets)


class BagOfWords(SequenceClassifier):
    """Bag-of-words classifier: logistic regression on tf-idf or counts, or averaged embeddings.

    tf-idf    x_g = n_g (1 + log (1 + N) / (1 + N_g)), then x / ‖x‖;   y = softmax(W x + b)
    counts    x_g = n_g, the count of n-gram g in the text;            y = softmax(W x + b)
    vectors   h = mean of E g over all n-grams;   y = softmax(V h + c), or of relu(U h + d)

    N-grams have up to `order` words; N_g of N texts have n-gram g. The first two are logistic
    regression with an L2 penalty on W, fitted to all training texts at once. Embeddings are trained
    by gradient descent, as in fastText (Joulin et al., 2017); with a hidden layer it is a deep
    averaging network (Iyyer et al., 2015).

    Args:
        features: Features of a text: tf-idf weights of its n-grams, their counts, or the mean of
            their learned embeddings (vectors).
        order: Largest n-gram size: 2 adds pairs of neighbouring words (bigrams).
        buckets: Number of hash buckets for all n-grams of two words or more; with fewer buckets
            than n-grams some share one.
        penalty: L2 penalty of logistic regression, scikit-learn's 1 / C; for tf-idf and counts,
            which are larger numbers and are better off with 1 or more.
        embedding_size: Embedding size. For vectors.
        hidden_size: Hidden size. For vectors; 0 is no hidden layer.
        dropout: Dropout rate between layers. For vectors.
        token_options: Options of embeddings and output layer.
        loss_options: Options of the training loss.
    """

    source_spaces = frozenset({Tokens, Labels, Columns})
    target_spaces = frozenset({Tokens, Labels, Bits})
    is_baseline = True
    learns = "maximum likelihood (Newton's method), or gradient descent where grams are embedded"
    rarity: Tensor

    def __init__(
        self,
        signature: Signature,
        *,
        features: FeatureName = "tf-idf",
        order: Size = 2,
        buckets: int = HASH_BUCKETS,
        penalty: float = PENALTY,
        embedding_size: Size = 128,
        hidden_size: SizeOrZero = 0,
        dropout: Rate = 0.0,
        token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
        loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
    ) -> None:
        _check_sizes(order, buckets, penalty, hidden_size)
        is_linear = features != "vectors"
        own = {
            "embedding_size": (embedding_size, 128),
            "hidden_size": (hidden_size, 0),
            "dropout": (dropout, 0.0),
        }
        # 1.0 was the default once, and stands in the recipes of older runs.
        of_others = {"penalty": (penalty, 1.0 if penalty == 1.0 else PENALTY)}
        _check_unused(features, own if is_linear else of_others)
        if is_linear and (token_options != DEFAULT_TOKEN_OPTIONS or loss_options.max_norm):
            raise _wrong_features("embedding options and max_norm are", features)
        classes = signature.target.size if isinstance(signature.target, _CLASSES) else 0
        last = classes if is_linear else hidden_size or embedding_size
        super().__init__(
            signature, hidden_size=last, token_options=token_options, loss_options=loss_options
        )
        self.features, self.penalty = features, penalty
        self.grams = NGramHasher(signature.source, order, buckets)
        if is_linear:
            self._init_linear(classes)
            return
        self.input = input_layer(signature.source, embedding_size, dropout, token_options)
        self.runs = nn.Embedding(self.grams.buckets, embedding_size) if order > 1 else None
        self.hide = nn.Linear(embedding_size, hidden_size) if hidden_size else None
        self.dropout = SequenceDropout(dropout)

    def _init_linear(self, classes: int) -> None:
        """Logistic regression: a row of weights for each n-gram, fitted to all texts at once."""
        self.table = nn.Parameter(torch.zeros(self.grams.num_features, classes))
        self.register_buffer("rarity", torch.ones(self.grams.num_features))
        scores = _linear_layer(self.output)
        nn.init.eye_(scores.weight).requires_grad_(False)  # its input is logits already
        nn.init.zeros_(scores.bias)
        # Set on the instance, so that only linear models are `StatisticsTrained`.
        self.statistics, self.update = self._statistics, self._update
        self.fit_iterations = self._fit_iterations

    def encode(self, source: Sequences) -> Float[Tensor, "batch hidden"]:
        if self.features != "vectors":
            return self._weighted(self.grams.count(source)).matmul(self.table)
        words, is_word = self.grams.words(source, known=False)
        real = torch.from_numpy(is_word)
        total = (self.input(torch.from_numpy(source.values)) * real[..., None]).sum(1)
        count = is_word.sum(1)
        if self.runs is not None:
            rows, runs = self.grams.ngrams(words, is_word)
            order = np.argsort(rows, kind="stable")
            numbers = torch.from_numpy(runs[order] - self.grams.num_words)
            starts = torch.from_numpy(np.searchsorted(rows[order], np.arange(len(source))))
            total = total + embedding_bag(numbers, self.runs.weight, starts, mode="sum")
            count = count + np.bincount(rows, minlength=len(source))
        mean = total / torch.from_numpy(np.maximum(count, 1))[:, None]
        if self.hide is not None:
            mean = torch.relu(self.hide(self.dropout(mean)))
        return self.dropout(mean)

    def _statistics(self, batch: Batch) -> LabelledBags:
        bags = self.grams.count(batch.source).compact()
        return LabelledBags((bags,), (batch.target.values[:, 0],))

    def _update(self, statistics: LabelledBags) -> None:
        for _ in self._fit_iterations(statistics, {}):
            pass

    def _fit_iterations(
        self, statistics: LabelledBags, begun: Mapping[str, np.ndarray]
    ) -> Iterator[FitIteration]:
        """Logistic regression by Newton's method; only n-grams that occur have coefficients."""
        bags, targets = CSRMatrix.concatenate(statistics.bags), np.concatenate(statistics.targets)
        del statistics  # as large as the features that are made of them
        documents = np.bincount(bags.columns, minlength=self.grams.num_features)
        # Inverse document frequency; n-grams that training never had get no weight.
        idf = np.where(documents, 1 + np.log((1 + len(targets)) / (1 + documents)), 0)
        self.rarity.copy_(torch.from_numpy(idf))
        used = np.flatnonzero(documents)
        problem = self._problem(bags, targets, used)
        del bags
        start = Coefficients.from_arrays(begun) if begun else None
        if start is not None and start.table.shape != problem.shape:
            start = None
        for found in minimise(problem, start):
            if not found.is_between:
                self._take(found, used)
            yield FitIteration(
                found.progress,
                {"loss": found.loss},
                {} if found.is_between else found.arrays(),
                is_final=found.is_final,
                has_converged=found.has_converged,
            )

    def _problem(
        self, bags: CSRMatrix, targets: np.ndarray, used: Int[np.ndarray, " used"]
    ) -> Problem:
        """The features, targets and weights of all texts; two labels are one, yes or no."""
        single = targets.ndim == 1
        classes = len(self.table[0])
        wanted = np.eye(classes)[targets] if single else targets.astype(np.float64)
        smoothing, weights = self.loss_options.label_smoothing, np.ones(len(targets))
        wanted = wanted * (1 - smoothing) + smoothing / (wanted.shape[1] if single else 2)
        if isinstance(self.output, SoftmaxOutput) and self.output.weights is not None:
            weights = self.output.weights.numpy().astype(np.float64)[targets]
        numbers = np.zeros(self.grams.num_features, dtype=np.int32)
        numbers[used] = np.arange(len(used))
        weighted = self._weighted(bags)
        features = ColumnMatrix.from_rows(
            np.append(bags.offsets, len(bags.columns)),
            numbers[bags.columns],
            weighted.values,
            len(used),
        )
        is_binary = single and classes == 2
        loss = SoftmaxLoss() if single and not is_binary else SigmoidLoss()
        return Problem(
            features, wanted[:, 1:] if is_binary else wanted, weights, self.penalty, loss
        )

    def _take(self, found: Coefficients, used: Int[np.ndarray, " used"]) -> None:
        """Set the weights, a few rows at a time; two labels share what tells them apart."""
        bias, table = _linear_layer(self.output).bias.detach().numpy(), self.table.detach().numpy()
        is_binary = table.shape[1] == 2 and found.table.shape[1] == 1
        shares = np.array([-0.5, 0.5]) if is_binary else np.ones(1)
        for start in range(0, len(used), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            table[used[rows]] = found.table[rows] * shares
        bias[:] = found.bias * shares

    def _weighted(self, bags: CSRMatrix) -> CSRMatrix:
        """The features: counts, or tf-idf weights."""
        if self.features == "counts":
            return bags
        return bags.weighted(self.rarity.numpy().astype(np.float64))


_CLASSES = (Tokens, Labels, Bits)


def _linear_layer(output: nn.Module) -> nn.Linear:
    if not isinstance(output, SoftmaxOutput | SigmoidOutput):
        raise TypeError("a bag-of-words model predicts labels")
    return output.scores


def _check_sizes(order: int, buckets: int, penalty: float, hidden_size: int) -> None:
    if order < 1 or buckets < 1 or hidden_size < 0:
        raise ModelError(
            "M322",
            f"order = {order}, buckets = {buckets}, hidden_size = {hidden_size}: order and buckets"
            " must be at least 1, and hidden_size at least 0",
            help=["--set model.order=2"],
        )
    if penalty <= 0:
        raise ModelError(
            "M322",
            f"penalty = {penalty:g} must be positive: without one the weights may not converge",
            help=["--set model.penalty=0.01   almost none"],
        )


def _check_unused(features: FeatureName, others: dict[str, tuple[Any, Any]]) -> None:
    """Raise an error for options that belong to other features."""
    for name, (value, default) in others.items():
        if value != default:
            raise _wrong_features(f"{name} = {value} is", features)


def _wrong_features(what: str, features: FeatureName) -> ModelError:
    for_whom = "tf-idf and counts" if features == "vectors" else "vectors"
    return ModelError(
        "M322",
        f"{what} for features = {for_whom}, not for {features}",
        help=[f"--set model.features={'tf-idf' if features == 'vectors' else 'vectors'}"],
    )
