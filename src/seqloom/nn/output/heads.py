"""From vectors to distributions over symbols or real numbers."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, logsigmoid

from ...batch import Sequences, mask_of
from ...errors import ModelError
from ...signature import Bits, Columns, Labels, Series, Space, Tokens, Vectors
from ...statistical.hmm.chain import Lattice, Places
from ...statistical.hmm.compiled import best_paths
from ..embedding import as_known
from ..token_options import PLAIN_ENDS, Ends
from .base import Output as Output
from .crf import Chain
from .cross_entropy import chunked_cross_entropy, rows_at_once
from .options import PLAIN_AIMS, Aims, limit


class Symbols(Output):
    """A categorical distribution at each position: softmax(W h + b).

    A target that is the unknown symbol of a source, numbered from `size` on, counts as UNKNOWN.
    In the loss, and there alone, some symbols may weigh more than others.
    """

    weights: Float[Tensor, " size"] | None

    def __init__(
        self,
        width: int,
        size: int,
        aims: Aims = PLAIN_AIMS,
        weights: Float[Tensor, " size"] | None = None,
    ) -> None:
        super().__init__()
        self.scores = limit(nn.Linear(width, size), aims)
        self.register_buffer("weights", weights, persistent=False)

    def forward(self, states: Float[Tensor, "*place width"]) -> Float[Tensor, "*place size"]:
        """Log-probabilities of all symbols."""
        return self.scores(states).log_softmax(-1)

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each target symbol, a few rows at a time; 0 where there is none."""
        real, right = _real(states, target)
        right = as_known(right, self.scores.out_features)
        count = rows_at_once(self.scores.out_features)
        pieces = zip(real.split(count), right.split(count), strict=True)
        found = [-cross_entropy(self.scores(h), y, reduction="none") for h, y in pieces]
        return _placed(torch.cat(found) if found else states.new_zeros(0), target)

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per real target symbol; padded places are never multiplied.

        With smoothing ε the right symbol counts 1 - ε and all share ε (Szegedy et al., 2016).
        """
        real, right = _real(states, target)
        right = as_known(right, self.scores.out_features)
        if self.weights is not None:  # labels are few: their scores fit into memory
            nats = cross_entropy(
                self.scores(real), right, reduction="none", label_smoothing=smoothing
            )
            return (nats * self.weights[right]).mean()
        return chunked_cross_entropy(real, self.scores.weight, self.scores.bias, right, smoothing)

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Int[Tensor, "batch time"], Float[np.ndarray, " batch"]]:
        """The likeliest symbol at each position, and the log-probability of all."""
        found = self(states).max(dim=-1)
        return found.indices, _summed(found.values, lengths)

    def chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time classes"]:
        """How likely each symbol is at each position."""
        return self(states).exp().numpy()

    def ranked(
        self,
        states: Float[Tensor, "batch time width"],
        lengths: Int[np.ndarray, " batch"],
        count: int,
    ) -> list[list[tuple[Int[np.ndarray, " _"], float]]]:
        """The likeliest few sequences: paths through a lattice in which all moves are free."""
        size = self.scores.out_features
        free = Lattice.of(np.zeros(size), np.zeros((size, size)), np.zeros(size))
        return best_paths(free, Places.of(self(states).double().numpy(), lengths), count)


class AdaptiveSymbols(Output):
    """A categorical distribution in two steps (Grave et al., 2017).

    p(w | h) = p(w) among the frequent symbols,  or  p(cluster | h) p(w | cluster, h)

    A cluster of rarer symbols is scored from a smaller vector: the n-th from width / 4ⁿ numbers.
    Only the clusters that occur are multiplied while training.
    """

    def __init__(self, width: int, size: int, cuts: list[int]) -> None:
        super().__init__()
        if cuts[-1] >= size - 1:
            raise ModelError(
                "M124",
                f"adaptive = {','.join(map(str, cuts))}: there are only {size:,} symbols",
                help=["leave adaptive out: the vocabulary is small enough"],
            )
        if width < 4 ** len(cuts):
            raise ModelError(
                "M124",
                f"adaptive has {len(cuts)} cuts: states must be at least {4 ** len(cuts)} wide",
                help=["fewer cuts", f"--set model.hidden={4 ** len(cuts)}"],
            )
        self.parts = nn.AdaptiveLogSoftmaxWithLoss(width, size, cuts)

    def forward(self, states: Float[Tensor, "*place width"]) -> Float[Tensor, "*place size"]:
        """Log-probabilities of all symbols."""
        return self.parts.log_prob(states.flatten(0, -2)).unflatten(0, states.shape[:-1])

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each target symbol; 0 where there is none."""
        real, right = _real(states, target)
        right = as_known(right, self.parts.n_classes)
        return _placed(self.parts(real, right).output, target)

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per real target symbol; to smooth would be to multiply all clusters."""
        return -self.log_probs(states, target).sum() / int(target.lengths.sum())

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Int[Tensor, "batch time"], Float[np.ndarray, " batch"]]:
        """The likeliest symbol at each position, and the log-probability of all."""
        found = self(states).max(dim=-1)
        return found.indices, _summed(found.values, lengths)

    def chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time classes"]:
        """How likely each symbol is at each position."""
        return self(states).exp().numpy()


class Numbers(Output):
    """A Normal distribution of variance 1 at each position, around W h + b.

    log p(y | h) = -½ ‖y - W h - b‖² - ½ n log 2π      n numbers in a vector

    To make it likely is to make the squared error small.
    """

    def __init__(self, width: int, numbers: int) -> None:
        super().__init__()
        self.mean = nn.Linear(width, numbers)
        self.constant = 0.5 * numbers * math.log(2 * math.pi)

    def forward(self, states: Float[Tensor, "*place width"]) -> Float[Tensor, "*place numbers"]:
        """The means."""
        return self.mean(states)

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log of the density of each target vector; 0 where there is none."""
        values, mask = torch.from_numpy(target.values), torch.from_numpy(target.mask)
        errors = (values - self(states)).square().sum(-1) / 2 + self.constant
        return -(errors * mask)

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per real target vector; there are no other symbols that smoothing could favour."""
        return -self.log_prob(states, target).sum() / int(target.lengths.sum())

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Float[Tensor, "batch time numbers"], Float[np.ndarray, " batch"]]:
        """The mean at each position, and the log of the density of all."""
        means = self(states)
        return means, -self.constant * lengths.astype(np.float64)

    def chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> None:
        """Numbers have densities, not chances."""


class Decisions(Output):
    """Yes or no for each label by itself, so that any number of them is right.

    p(y | h) = Π_k σ(s_k)^{y_k} (1 - σ(s_k))^{1 - y_k}          s = W h + b
    """

    def __init__(self, width: int, size: int, aims: Aims = PLAIN_AIMS) -> None:
        super().__init__()
        self.scores = limit(nn.Linear(width, size), aims)

    def forward(self, states: Float[Tensor, "*place width"]) -> Float[Tensor, "*place size"]:
        """Log of the odds of each yes."""
        return self.scores(states)

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of the decisions at each place; 0 where there are none."""
        odds = self(states)
        right = torch.from_numpy(target.values).to(odds.dtype)
        surprise = binary_cross_entropy_with_logits(odds, right, reduction="none").sum(-1)
        return -(surprise * torch.from_numpy(target.mask))

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per place; with smoothing ε the right decision counts 1 - ε/2, the other ε/2."""
        right = torch.from_numpy(target.values) * (1 - smoothing) + smoothing / 2
        surprise = binary_cross_entropy_with_logits(self(states), right, reduction="none").sum(-1)
        return (surprise * torch.from_numpy(target.mask)).sum() / int(target.lengths.sum())

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Float[Tensor, "batch time labels"], Float[np.ndarray, " batch"]]:
        """The likelier decision for each label, and the log-probability of all."""
        odds = self(states)
        return (odds > 0).float(), _summed(logsigmoid(odds.abs()).sum(-1), lengths)

    def chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time labels"]:
        """How likely each yes is."""
        return self(states).sigmoid().numpy()

    def log_chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[Tensor, "batch time labels"]:
        """Log of how likely each yes is."""
        return logsigmoid(self(states))


def output_layer(
    space: Space, width: int, ends: Ends = PLAIN_ENDS, aims: Aims = PLAIN_AIMS
) -> Output:
    """The distribution that fits a target space."""
    weights = aims.weights(space)
    if aims != PLAIN_AIMS and (ends.cuts() or ends.chain or isinstance(space, Vectors)):
        raise ModelError(
            "M324",
            "smoothing, balance and max_norm are for answers that are all scored alike: not for"
            " real numbers, and not with adaptive or chain",
            help=["leave them out"],
        )
    match space:
        case Labels() if ends.chain:
            return Chain(width, space)
        case Tokens(size) | Labels(size):
            cuts = ends.cuts()
            if cuts:
                return AdaptiveSymbols(width, size, cuts)
            return Symbols(width, size, aims, weights)
        case Bits(size):
            return Decisions(width, size, aims)
        case Vectors(numbers):
            return Numbers(width, numbers)
        case Columns() | Series():
            raise TypeError(f"{space} can be read, not written")


def _real(
    states: Float[Tensor, "batch time width"], target: Sequences
) -> tuple[Float[Tensor, "rows width"], Int[Tensor, " rows"]]:
    """The states at real places, and what is right there."""
    if (target.lengths == target.values.shape[1]).all():  # nothing is padded: no copy
        return states.flatten(0, 1), torch.from_numpy(target.values).flatten()
    mask = target.mask
    return states[torch.from_numpy(mask)], torch.from_numpy(target.values[mask])


def _summed(
    log_probs: Float[Tensor, "batch time"], lengths: Int[np.ndarray, " batch"]
) -> Float[np.ndarray, " batch"]:
    """What real places come to together."""
    real = mask_of(lengths, log_probs.shape[1])
    return (log_probs.numpy() * real).sum(1).astype(np.float64)


def _placed(found: Float[Tensor, " rows"], target: Sequences) -> Float[Tensor, "batch time"]:
    """Numbers of real places back where they belong; 0 elsewhere."""
    mask = torch.from_numpy(target.mask)
    return found.new_zeros(mask.shape).masked_scatter(mask, found)
