"""Output layers: softmax, adaptive softmax, sigmoid (multi-label), Gaussian; CRF in `crf`."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, logsigmoid

from ...batch import Sequences, length_mask
from ...errors import ModelError
from ...signature import Bits, Columns, Labels, Series, Space, Tokens, Vectors
from ...statistical.hmm.chain import EmissionScores, LinearChain
from ...statistical.hmm.compiled import best_paths
from ..embedding import replace_unknown
from ..token_options import DEFAULT_TOKEN_OPTIONS, TokenOptions
from .base import OutputLayer as OutputLayer
from .crf import CRFOutput
from .cross_entropy import chunked_cross_entropy, rows_at_once
from .options import DEFAULT_LOSS_OPTIONS, LossOptions, constrain_rows


class SoftmaxOutput(OutputLayer):
    """Softmax output layer: a categorical distribution at each position, softmax(W h + b).

    A target from `size` on, a numbered unknown token of the source, counts as UNKNOWN. `weights`
    are class weights, which are used in the loss alone.
    """

    weights: Float[Tensor, " size"] | None

    def __init__(
        self,
        width: int,
        size: int,
        loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
        weights: Float[Tensor, " size"] | None = None,
    ) -> None:
        super().__init__()
        self.scores = constrain_rows(nn.Linear(width, size), loss_options)
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, states: Float[Tensor, "*shape width"]) -> Float[Tensor, "*shape size"]:
        """Log-probabilities of all tokens."""
        return self.scores(states).log_softmax(-1)

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each target token, a few rows at a time; 0 at padding."""
        real, right = _real(states, target)
        right = replace_unknown(right, self.scores.out_features)
        count = rows_at_once(self.scores.out_features)
        chunks = zip(real.split(count), right.split(count), strict=True)
        parts = [-cross_entropy(self.scores(h), y, reduction="none") for h, y in chunks]
        return _padded(torch.cat(parts) if parts else states.new_zeros(0), target)

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Cross-entropy in nats per real target token; no logits are computed at padding.

        Label smoothing ε: the right token has 1 - ε, and ε is spread evenly over all tokens
        (Szegedy et al., 2016).
        """
        real, right = _real(states, target)
        right = replace_unknown(right, self.scores.out_features)
        if self.weights is not None:  # labels are few: their logits fit into memory
            nats = cross_entropy(
                self.scores(real), right, reduction="none", label_smoothing=smoothing
            )
            return (nats * self.weights[right]).mean()
        return chunked_cross_entropy(real, self.scores.weight, self.scores.bias, right, smoothing)

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Int[Tensor, "batch time"], Float[np.ndarray, " batch"]]:
        """The most probable token at each position, and their joint log-probability."""
        best = self(states).max(dim=-1)
        return best.indices, _sequence_sums(best.values, lengths)

    def probabilities(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time classes"]:
        """The probability of each token at each position."""
        return self(states).exp().numpy()

    def n_best(
        self,
        states: Float[Tensor, "batch time width"],
        lengths: Int[np.ndarray, " batch"],
        count: int,
    ) -> list[list[tuple[Int[np.ndarray, " _"], float]]]:
        """The n most probable sequences: paths of a chain in which all transitions score 0."""
        size = self.scores.out_features
        free = LinearChain.first_order(np.zeros(size), np.zeros((size, size)), np.zeros(size))
        return best_paths(
            free, EmissionScores.from_padded(self(states).double().numpy(), lengths), count
        )


class AdaptiveSoftmaxOutput(OutputLayer):
    """Adaptive softmax (Grave et al., 2017): frequent tokens, and clusters of rarer ones.

    p(w | h) = p(w) among the frequent tokens,  or  p(cluster | h) p(w | cluster, h)

    The n-th cluster has a projection to width / 4ⁿ dimensions. In training only the clusters that
    occur in a batch are computed.
    """

    def __init__(self, width: int, size: int, cuts: list[int]) -> None:
        super().__init__()
        if cuts[-1] >= size - 1:
            raise ModelError(
                "M124",
                f"adaptive_softmax = {list(cuts)}: the vocabulary has only {size:,} tokens",
                help=["leave adaptive_softmax out: the vocabulary is small enough"],
            )
        if width < 4 ** len(cuts):
            raise ModelError(
                "M124",
                f"adaptive_softmax has {len(cuts)} cutoffs: hidden_size must be at least"
                f" {4 ** len(cuts)}",
                help=["fewer cutoffs", f"--set model.hidden_size={4 ** len(cuts)}"],
            )
        self.parts = nn.AdaptiveLogSoftmaxWithLoss(width, size, cuts)

    def forward(self, states: Float[Tensor, "*shape width"]) -> Float[Tensor, "*shape size"]:
        """Log-probabilities of all tokens."""
        return self.parts.log_prob(states.flatten(0, -2)).unflatten(0, states.shape[:-1])

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each target token; 0 at padding."""
        real, right = _real(states, target)
        right = replace_unknown(right, self.parts.n_classes)
        return _padded(self.parts(real, right).output, target)

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per real target token; label smoothing would need all clusters, so there is none."""
        return -self.log_probs(states, target).sum() / int(target.lengths.sum())

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Int[Tensor, "batch time"], Float[np.ndarray, " batch"]]:
        """The most probable token at each position, and their joint log-probability."""
        best = self(states).max(dim=-1)
        return best.indices, _sequence_sums(best.values, lengths)

    def probabilities(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time classes"]:
        """The probability of each token at each position."""
        return self(states).exp().numpy()


class GaussianOutput(OutputLayer):
    """Linear regression output: a Gaussian with unit variance around W h + b at each position.

    log p(y | h) = -½ ‖y - W h - b‖² - ½ n log 2π      vectors of n components

    Maximum likelihood is then least squares.
    """

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.mean = nn.Linear(width, size)
        self.constant = 0.5 * size * math.log(2 * math.pi)

    def forward(self, states: Float[Tensor, "*shape width"]) -> Float[Tensor, "*shape features"]:
        """The means."""
        return self.mean(states)

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-density of each target vector; 0 at padding."""
        values, mask = torch.from_numpy(target.values), torch.from_numpy(target.mask)
        errors = (values - self(states)).square().sum(-1) / 2 + self.constant
        return -(errors * mask)

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per real target vector; label smoothing is for classes only."""
        return -self.log_prob(states, target).sum() / int(target.lengths.sum())

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Float[Tensor, "batch time features"], Float[np.ndarray, " batch"]]:
        """The mean at each position, and their joint log-density."""
        means = self(states)
        return means, -self.constant * lengths.astype(np.float64)

    def probabilities(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> None:
        """Real values have densities, not probabilities."""


class SigmoidOutput(OutputLayer):
    """Sigmoid output layer for multi-label targets: independent Bernoulli variables.

    p(y | h) = Π_k σ(s_k)^{y_k} (1 - σ(s_k))^{1 - y_k}          s = W h + b
    """

    def __init__(
        self, width: int, size: int, loss_options: LossOptions = DEFAULT_LOSS_OPTIONS
    ) -> None:
        super().__init__()
        self.scores = constrain_rows(nn.Linear(width, size), loss_options)

    def forward(self, states: Float[Tensor, "*shape width"]) -> Float[Tensor, "*shape size"]:
        """The logits: log-odds of each label."""
        return self.scores(states)

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of all labels at each position; 0 at padding."""
        logits = self(states)
        right = torch.from_numpy(target.values).to(logits.dtype)
        # With logits: log σ of a sigmoid that rounds to 0 or 1 would be infinite.
        nats = binary_cross_entropy_with_logits(logits, right, reduction="none").sum(-1)
        return -(nats * torch.from_numpy(target.mask))

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Binary cross-entropy, nats per position; label smoothing ε makes targets ε/2, 1 - ε/2."""
        right = torch.from_numpy(target.values) * (1 - smoothing) + smoothing / 2
        nats = binary_cross_entropy_with_logits(self(states), right, reduction="none").sum(-1)
        return (nats * torch.from_numpy(target.mask)).sum() / int(target.lengths.sum())

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Float[Tensor, "batch time labels"], Float[np.ndarray, " batch"]]:
        """The labels with a probability above ½, and the joint log-probability of all decisions."""
        logits = self(states)
        return (logits > 0).float(), _sequence_sums(logsigmoid(logits.abs()).sum(-1), lengths)

    def probabilities(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time labels"]:
        """The probability of each label."""
        return self(states).sigmoid().numpy()

    def class_log_probs(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[Tensor, "batch time labels"]:
        """The log-probability of each label."""
        return logsigmoid(self(states))


def output_layer(
    space: Space,
    width: int,
    token_options: TokenOptions = DEFAULT_TOKEN_OPTIONS,
    loss_options: LossOptions = DEFAULT_LOSS_OPTIONS,
) -> OutputLayer:
    """The output layer for a target space."""
    weights = loss_options.class_weights(space)
    if loss_options != DEFAULT_LOSS_OPTIONS and (
        token_options.cuts() or token_options.crf or isinstance(space, Vectors)
    ):
        raise ModelError(
            "M324",
            "label_smoothing, balance and max_norm are for a plain softmax or sigmoid: not for real"
            " values, and not with adaptive_softmax or crf",
            help=["leave them out"],
        )
    match space:
        case Labels() if token_options.crf:
            return CRFOutput(width, space)
        case Tokens(size) | Labels(size):
            cuts = token_options.cuts()
            if cuts:
                return AdaptiveSoftmaxOutput(width, size, cuts)
            return SoftmaxOutput(width, size, loss_options, weights)
        case Bits(size):
            return SigmoidOutput(width, size, loss_options)
        case Vectors(size):
            return GaussianOutput(width, size)
        case Columns() | Series():
            raise TypeError(f"{space} is an input space, not a target space")


def _real(
    states: Float[Tensor, "batch time width"], target: Sequences
) -> tuple[Float[Tensor, "rows width"], Int[Tensor, " rows"]]:
    """The states and the targets at real positions."""
    if (target.lengths == target.values.shape[1]).all():  # no padding: no copy
        return states.flatten(0, 1), torch.from_numpy(target.values).flatten()
    mask = target.mask
    return states[torch.from_numpy(mask)], torch.from_numpy(target.values[mask])


def _sequence_sums(
    log_probs: Float[Tensor, "batch time"], lengths: Int[np.ndarray, " batch"]
) -> Float[np.ndarray, " batch"]:
    """Sums over the real positions of each sequence."""
    real = length_mask(lengths, log_probs.shape[1])
    return (log_probs.numpy() * real).sum(1).astype(np.float64)


def _padded(rows: Float[Tensor, " rows"], target: Sequences) -> Float[Tensor, "batch time"]:
    """Values at real positions, put back into (batch, time); 0 at padding."""
    mask = torch.from_numpy(target.mask)
    return rows.new_zeros(mask.shape).masked_scatter(mask, rows)
