"""A linear-chain CRF (conditional random field) output layer, with its forward-backward algorithm.

Forward, backward and the log-partition function in torch, for gradients of all kinds, and the
log-partition function compiled, for training. The equations are those of
`seqloom/statistical/hmm/inference.py`; every state has an emission score of its own. What is
impossible has the score -inf, and no gradient.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ...batch import Sequences, length_mask
from ...errors import ModelError
from ...signature import Labels
from ...statistical.hmm import compiled
from ...statistical.hmm.chain import EmissionScores, LinearChain
from .base import OutputLayer

Scores = Float[Tensor, "batch time labels"]
Lengths = Int[np.ndarray, " batch"]


def log_sum_exp(scores: Float[Tensor, "*any"], dim: int) -> Float[Tensor, "*rest"]:
    """log Σ exp, stable; where all scores are -inf the result is -inf, with gradient 0 and not NaN.

    torch.logsumexp has NaN gradients there: exp(-inf - -inf).
    """
    top = scores.detach().amax(dim, keepdim=True)
    top = torch.where(top == -torch.inf, 0.0, top)  # -inf - -inf would be NaN
    total = (scores - top).exp().sum(dim)
    is_possible = total > 0
    result = torch.where(is_possible, total, 1.0).log() + top.squeeze(dim)
    return torch.where(is_possible, result, -torch.inf)


def forward(
    scores: Scores, first: Float[Tensor, " labels"], transitions: Float[Tensor, "labels labels"]
) -> Scores:
    """Forward scores α_t(i): log-sum-exp over all paths that end in label i at position t."""
    alpha = [first + scores[:, 0]]
    for emission in scores.unbind(1)[1:]:
        alpha.append(log_sum_exp(alpha[-1][..., None] + transitions, dim=-2) + emission)
    return torch.stack(alpha, dim=1)


def backward(
    scores: Scores,
    transitions: Float[Tensor, "labels labels"],
    last: Float[Tensor, " labels"],
    lengths: Lengths,
) -> Scores:
    """Backward scores β_t(i): log-sum-exp over all paths that continue from label i at position t.

    `last` at the last position and beyond it, so that padding needs no mask elsewhere.
    """
    beta, ends = [last.expand(len(scores), -1)], torch.from_numpy(lengths)
    for t in range(scores.shape[1] - 1, 0, -1):
        going = log_sum_exp(transitions + (scores[:, t] + beta[-1])[:, None], dim=-1)
        beta.append(torch.where((ends > t)[:, None], going, last))
    return torch.stack(beta[::-1], dim=1)


def log_partition(
    scores: Scores,
    first: Float[Tensor, " labels"],
    transitions: Float[Tensor, "labels labels"],
    last: Float[Tensor, " labels"],
    lengths: Lengths,
) -> Float[Tensor, " batch"]:
    """The log-partition function log Z of each sequence; 0 of an empty one."""
    beta = backward(scores, transitions, last, lengths)
    log_z = log_sum_exp(first + scores[:, 0] + beta[:, 0], dim=-1)
    return torch.where(torch.from_numpy(lengths) > 0, log_z, 0.0)


class CompiledLogPartition(torch.autograd.Function):
    """`log_partition` compiled: sequence by sequence, in double precision.

    ∂ log Z / ∂ s_t(i) = p(y_t = i) and ∂ log Z / ∂ transitions(i, j) = the expected number of such
    transitions: the gradient is the posterior marginals of one forward-backward pass, and nothing
    of the forward pass is kept.
    """

    @staticmethod
    def forward(
        context: Any,
        scores: Tensor,
        first: Tensor,
        transitions: Tensor,
        last: Tensor,
        lengths: Lengths,
    ) -> Tensor:
        context.save_for_backward(scores, first, transitions, last)
        context.lengths = lengths
        chain, emissions = chain_of(first, transitions, last), emission_scores_of(scores, lengths)
        return torch.from_numpy(compiled.log_partitions(chain, emissions)).to(scores.dtype)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        scores, first, transitions, last = context.saved_tensors
        weights = gradients[0].double().numpy()
        emissions = emission_scores_of(scores, context.lengths)
        posteriors = compiled.posteriors(chain_of(first, transitions, last), emissions, weights)
        mask = np.arange(scores.shape[1]) < context.lengths[:, None]
        each = np.repeat(weights, context.lengths)
        marginals = torch.from_numpy(posteriors.marginals * each[:, None])
        d_scores = torch.zeros_like(scores)
        d_scores[torch.from_numpy(mask)] = marginals.to(scores.dtype)
        counts = (posteriors.initial, posteriors.transitions, posteriors.final)
        return d_scores, *(torch.from_numpy(part).to(scores.dtype) for part in counts), None


def chain_of(first: Tensor, transitions: Tensor, last: Tensor) -> LinearChain:
    """The transition scores as a linear chain in NumPy."""
    return LinearChain.first_order(
        *(part.detach().double().numpy() for part in (first, transitions, last))
    )


def emission_scores_of(scores: Tensor, lengths: Lengths) -> EmissionScores:
    """The scores of all real positions in NumPy."""
    return EmissionScores.from_padded(scores.detach().double().numpy(), lengths)


class CRFOutput(OutputLayer):
    """A linear-chain CRF: scores of labels and of transitions between them (Lafferty et al., 2001).

    S(y) = first(y₁) + Σ_t s_t(y_t) + Σ_{t>1} moves(y_{t-1}, y_t) + last(y_T)      s_t = W h_t + b
    log p(y | x) = S(y) - log Z,  log Z = log Σ_y' exp S(y')              over all label sequences
    log p(y_t | y₁ … y_{t-1}, x) = s_t(y_t) + moves(y_{t-1}, y_t) + β_t(y_t) - β_{t-1}(y_{t-1})

    `moves` is the transition matrix, β are the backward scores. Transitions that the tag scheme
    forbids, as from O to I-PER, have the score -inf.
    """

    forbidden: Tensor

    def __init__(self, width: int, labels: Labels) -> None:
        super().__init__()
        size = labels.size
        self.scores = nn.Linear(width, size)
        self.first, self.last = nn.Parameter(torch.zeros(size)), nn.Parameter(torch.zeros(size))
        self.moves = nn.Parameter(torch.zeros(size, size))
        # The last row and column stand for the beginning and the end of a sequence.
        forbidden = torch.zeros(size + 1, size + 1, dtype=torch.bool)
        for before, after in labels.forbidden:
            forbidden[before, after] = True
        self.register_buffer("forbidden", forbidden, persistent=False)

    def forward(self, states: Float[Tensor, "*shape width"]) -> Float[Tensor, "*shape labels"]:
        """The emission score of each label."""
        return self.scores(states)

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each label given the labels before it and the source; 0 at padding."""
        scores, (first, transitions, last) = self(states), self._allowed_scores()
        labels = torch.from_numpy(target.values)
        beta = backward(scores, transitions, last, target.lengths)
        onward = _at(scores + beta, labels)
        log_z = log_sum_exp(first + scores[:, 0] + beta[:, 0], dim=-1)[:, None]
        begins = onward[:, :1] + first[labels[:, :1]] - log_z
        moves = transitions[labels[:, :-1], labels[:, 1:]]
        log_probs = torch.cat([begins, onward[:, 1:] + moves - _at(beta, labels)[:, :-1]], dim=1)
        impossible = log_probs.isnan()  # -inf - -inf: after a label that was impossible itself
        log_probs = log_probs.masked_fill(impossible, -torch.inf)
        return log_probs.masked_fill(~torch.from_numpy(target.mask), 0.0)

    def log_prob(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, " batch"]:
        """Log-probability of each label sequence: S(y) - log Z, compiled."""
        scores, (first, transitions, last) = self(states), self._allowed_scores()
        labels, mask = torch.from_numpy(target.values), torch.from_numpy(target.mask)
        path = _at(scores, labels).masked_fill(~mask, 0.0).sum(1)
        moves = transitions[labels[:, :-1], labels[:, 1:]]
        path = path + moves.masked_fill(~mask[:, 1:], 0.0).sum(1)
        ends = torch.from_numpy(np.maximum(target.lengths - 1, 0))[:, None]
        borders = first[labels[:, 0]] + last[labels.gather(1, ends)[:, 0]]
        path = path + borders.masked_fill(~mask[:, 0], 0.0)
        log_z = CompiledLogPartition.apply(scores, first, transitions, last, target.lengths)
        return path - log_z

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per label; label smoothing is not defined for whole label sequences."""
        nats = -self.log_prob(states, target).sum() / int(target.lengths.sum())
        if nats.isinf():
            raise _forbidden_labels(target, self.forbidden.numpy())
        return nats

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Int[Tensor, "batch time"], Float[np.ndarray, " batch"]]:
        """The most probable label sequence (Viterbi), and its log-probability."""
        chain, emissions = self._lattice(states, lengths)
        path, scores = compiled.viterbi(chain, emissions)
        labels = np.zeros(states.shape[:2], dtype=np.int64)
        labels[length_mask(lengths, states.shape[1])] = path
        return torch.from_numpy(labels), scores - compiled.log_partitions(chain, emissions)

    def probabilities(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time labels"]:
        """Posterior marginals p(y_t = i | x), by forward-backward."""
        marginals = compiled.posteriors(*self._lattice(states, lengths)).marginals
        padded = np.zeros((*states.shape[:2], len(self.first)))
        padded[length_mask(lengths, states.shape[1])] = marginals
        return padded

    def class_log_probs(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[Tensor, "batch time labels"]:
        """log p(y_t = i | x) = α_t(i) + β_t(i) - log Σ_j exp(α_t(j) + β_t(j))."""
        scores, (first, transitions, last) = self(states), self._allowed_scores()
        beta = backward(scores, transitions, last, lengths)
        paths = forward(scores, first, transitions) + beta
        return paths - log_sum_exp(paths, dim=-1)[..., None]

    def n_best(
        self,
        states: Float[Tensor, "batch time width"],
        lengths: Int[np.ndarray, " batch"],
        count: int,
    ) -> list[list[tuple[Int[np.ndarray, " _"], float]]]:
        """The n most probable label sequences with their log-probabilities, the best first."""
        chain, emissions = self._lattice(states, lengths)
        log_z = compiled.log_partitions(chain, emissions).tolist()
        several = zip(compiled.best_paths(chain, emissions, count), log_z, strict=True)
        return [[(path, score - total) for path, score in paths] for paths, total in several]

    def _lattice(self, states: Tensor, lengths: Lengths) -> tuple[LinearChain, EmissionScores]:
        return chain_of(*self._allowed_scores()), emission_scores_of(self(states), lengths)

    def _allowed_scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of beginning, of transitions and of ending; -inf where they are forbidden."""
        forbidden = self.forbidden
        return (
            self.first.masked_fill(forbidden[-1, :-1], -torch.inf),
            self.moves.masked_fill(forbidden[:-1, :-1], -torch.inf),
            self.last.masked_fill(forbidden[:-1, -1], -torch.inf),
        )


def _at(
    scores: Float[Tensor, "batch time labels"], labels: Int[Tensor, "batch time"]
) -> Float[Tensor, "batch time"]:
    """The score of one label at each position."""
    return scores.gather(-1, labels[..., None])[..., 0]


def _forbidden_labels(
    target: Sequences, forbidden: Bool[np.ndarray, "labels labels"]
) -> ModelError:
    """An error that names the labels of the first forbidden transition."""
    border = len(forbidden) - 1
    for row in target.rows():
        whole = [border, *row, border]
        for before, after in zip(whole[:-1], whole[1:], strict=True):
            if forbidden[before, after]:
                names = ["the border" if n == border else f"label {n}" for n in (before, after)]
                return ModelError(
                    "M302",
                    f"{names[1]} comes right after {names[0]}, which the tag scheme forbids",
                    help=["repair the labels of that sequence", "--set model.crf=false"],
                )
    return ModelError("M302", "the labels of a sequence are impossible for this model")
