"""Labels of neighbours scored together: a linear-chain conditional random field.

The lattice for gradients: sums over all paths of a batch in torch, and their compiled twin.

The equations are those of `seqloom/statistical/hmm/inference.py`; every state has a column of its
own. What cannot be has the score -inf, and no gradient.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ...batch import Sequences, mask_of
from ...errors import ModelError
from ...signature import Labels
from ...statistical.hmm import compiled
from ...statistical.hmm.chain import Lattice, Places
from .base import Output

Scores = Float[Tensor, "batch time labels"]
Lengths = Int[np.ndarray, " batch"]


def add(scores: Float[Tensor, "*any"], dim: int) -> Float[Tensor, "*rest"]:
    """log Σ exp; where all is -inf the sum is, too, and the gradient is 0 and not NaN."""
    top = scores.detach().amax(dim, keepdim=True)
    top = torch.where(top == -torch.inf, 0.0, top)
    total = (scores - top).exp().sum(dim)
    is_some = total > 0
    found = torch.where(is_some, total, 1.0).log() + top.squeeze(dim)
    return torch.where(is_some, found, -torch.inf)


def forward(
    scores: Scores, first: Float[Tensor, " labels"], moves: Float[Tensor, "labels labels"]
) -> Scores:
    """a_t(i): all ways to come to each label at each place, its own score being one part."""
    sums = [first + scores[:, 0]]
    for here in scores.unbind(1)[1:]:
        sums.append(add(sums[-1][..., None] + moves, dim=-2) + here)
    return torch.stack(sums, dim=1)


def backward(
    scores: Scores,
    moves: Float[Tensor, "labels labels"],
    last: Float[Tensor, " labels"],
    lengths: Lengths,
) -> Scores:
    """b_t(i): all ways to go on from each label at each place; `last` at and beyond the last."""
    sums, ends = [last.expand(len(scores), -1)], torch.from_numpy(lengths)
    for t in range(scores.shape[1] - 1, 0, -1):
        going = add(moves + (scores[:, t] + sums[-1])[:, None], dim=-1)
        sums.append(torch.where((ends > t)[:, None], going, last))
    return torch.stack(sums[::-1], dim=1)


def totals(
    scores: Scores,
    first: Float[Tensor, " labels"],
    moves: Float[Tensor, "labels labels"],
    last: Float[Tensor, " labels"],
    lengths: Lengths,
) -> Float[Tensor, " batch"]:
    """Z of each sequence: all paths together; 0 of one that has no places."""
    after = backward(scores, moves, last, lengths)
    found = add(first + scores[:, 0] + after[:, 0], dim=-1)
    return torch.where(torch.from_numpy(lengths) > 0, found, 0.0)


class QuickTotals(torch.autograd.Function):
    """The twin of `totals`: compiled, sequence by sequence, in double precision.

    ∂Z / ∂e_t(i) = p(y_t = i), ∂Z / ∂moves(i, j) = how often the move is made, on average: so the
    gradient is the chances, which come from the backward sums.
    """

    @staticmethod
    def forward(
        context: Any, scores: Tensor, first: Tensor, moves: Tensor, last: Tensor, lengths: Lengths
    ) -> Tensor:
        context.save_for_backward(scores, first, moves, last)
        context.lengths = lengths
        found = compiled.totals(lattice_of(first, moves, last), places_of(scores, lengths))
        return torch.from_numpy(found).to(scores.dtype)

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        scores, first, moves, last = context.saved_tensors
        (weights,) = gradients
        places = places_of(scores, context.lengths)
        found = compiled.posteriors(
            lattice_of(first, moves, last), places, weights.double().numpy()
        )
        each = np.repeat(weights.double().numpy(), context.lengths)
        of_scores = torch.zeros_like(scores)
        mask = np.arange(scores.shape[1]) < context.lengths[:, None]
        chances = torch.from_numpy(found.chances * each[:, None])
        of_scores[torch.from_numpy(mask)] = chances.to(scores.dtype)
        sums = (found.first, found.moves, found.last)
        return of_scores, *(torch.from_numpy(part).to(scores.dtype) for part in sums), None


def lattice_of(first: Tensor, moves: Tensor, last: Tensor) -> Lattice:
    """The same in NumPy."""
    return Lattice.of(*(part.detach().double().numpy() for part in (first, moves, last)))


def places_of(scores: Tensor, lengths: Lengths) -> Places:
    """Scores of real places, in NumPy."""
    return Places.of(scores.detach().double().numpy(), lengths)


class Chain(Output):
    """All labels of a sequence at once, by scores of labels and of moves (Lafferty et al., 2001).

    S(y) = first(y₁) + Σ_t s_t(y_t) + Σ_{t>1} moves(y_{t-1}, y_t) + last(y_T)      s_t = W h_t + b
    log p(y | x) = S(y) - log Σ_y' exp S(y')                              summed over all paths
    log p(y_t | y₁ … y_{t-1}, x) = s_t(y_t) + moves(y_{t-1}, y_t) + b_t(y_t) - b_{t-1}(y_{t-1})

    b are the backward sums of the lattice. Labels that are barred side by side have a move of -inf.
    """

    barred: Tensor

    def __init__(self, width: int, labels: Labels) -> None:
        super().__init__()
        size = labels.size
        self.scores = nn.Linear(width, size)
        self.first, self.last = nn.Parameter(torch.zeros(size)), nn.Parameter(torch.zeros(size))
        self.moves = nn.Parameter(torch.zeros(size, size))
        barred = torch.zeros(size + 1, size + 1, dtype=torch.bool)
        for before, after in labels.barred:
            barred[before, after] = True
        self.register_buffer("barred", barred, persistent=False)

    def forward(self, states: Float[Tensor, "*place width"]) -> Float[Tensor, "*place labels"]:
        """The score of each label by itself."""
        return self.scores(states)

    def log_probs(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, "batch time"]:
        """Log-probability of each label given those before it and the whole source; 0 if none."""
        scores, (first, moves, last) = self(states), self._moves()
        labels = torch.from_numpy(target.values)
        after = backward(scores, moves, last, target.lengths)
        ahead = _at(scores + after, labels)
        begun = (
            ahead[:, :1]
            + first[labels[:, :1]]
            - add(first + scores[:, 0] + after[:, 0], dim=-1)[:, None]
        )
        gone = ahead[:, 1:] + moves[labels[:, :-1], labels[:, 1:]] - _at(after, labels)[:, :-1]
        found = torch.cat([begun, gone], dim=1)
        impossible = found.isnan()  # after a label that could not be
        return found.masked_fill(impossible, -torch.inf).masked_fill(
            ~torch.from_numpy(target.mask), 0.0
        )

    def log_prob(
        self, states: Float[Tensor, "batch time width"], target: Sequences
    ) -> Float[Tensor, " batch"]:
        """Log-probability of each sequence of labels, by the quick twin."""
        scores, (first, moves, last) = self(states), self._moves()
        labels, mask = torch.from_numpy(target.values), torch.from_numpy(target.mask)
        path = _at(scores, labels).masked_fill(~mask, 0.0).sum(1)
        path = path + moves[labels[:, :-1], labels[:, 1:]].masked_fill(~mask[:, 1:], 0.0).sum(1)
        ends = torch.from_numpy(np.maximum(target.lengths - 1, 0))[:, None]
        borders = first[labels[:, 0]] + last[labels.gather(1, ends)[:, 0]]
        path = path + borders.masked_fill(~mask[:, 0], 0.0)
        total = QuickTotals.apply(scores, first, moves, last, target.lengths)
        return path - total

    def loss(
        self, states: Float[Tensor, "batch time width"], target: Sequences, smoothing: float = 0.0
    ) -> Float[Tensor, ""]:
        """Nats per label; a path is right or wrong as a whole, so nothing is smoothed."""
        found = -self.log_prob(states, target).sum() / int(target.lengths.sum())
        if found.isinf():
            raise _impossible(target, self.barred.numpy())
        return found

    def best(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> tuple[Int[Tensor, "batch time"], Float[np.ndarray, " batch"]]:
        """The likeliest labels together, and their log-probability."""
        made = lattice_of(*self._moves())
        places = places_of(self(states), lengths)
        path, scores = compiled.viterbi(made, places)
        found = np.zeros(states.shape[:2], dtype=np.int64)
        found[mask_of(lengths, states.shape[1])] = path
        return torch.from_numpy(found), scores - compiled.totals(made, places)

    def chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[np.ndarray, "batch time labels"]:
        """How likely each label is at each position, whatever labels others have."""
        made, places = lattice_of(*self._moves()), places_of(self(states), lengths)
        found = np.zeros((*states.shape[:2], len(self.first)))
        found[mask_of(lengths, states.shape[1])] = compiled.posteriors(made, places).chances
        return found

    def log_chances(
        self, states: Float[Tensor, "batch time width"], lengths: Int[np.ndarray, " batch"]
    ) -> Float[Tensor, "batch time labels"]:
        """log p(y_t = i | x) = a_t(i) + b_t(i) - log Σ_j exp(a_t(j) + b_t(j))."""
        scores, (first, moves, last) = self(states), self._moves()
        ahead = backward(scores, moves, last, lengths)
        paths = forward(scores, first, moves) + ahead
        return paths - add(paths, dim=-1)[..., None]

    def ranked(
        self,
        states: Float[Tensor, "batch time width"],
        lengths: Int[np.ndarray, " batch"],
        count: int,
    ) -> list[list[tuple[Int[np.ndarray, " _"], float]]]:
        """The likeliest few sequences of labels with their log-probabilities, the best first."""
        made, places = lattice_of(*self._moves()), places_of(self(states), lengths)
        totals = compiled.totals(made, places)
        several = zip(compiled.best_paths(made, places, count), totals.tolist(), strict=True)
        return [[(path, score - total) for path, score in paths] for paths, total in several]

    def _moves(self) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of beginning, of moving and of ending; -inf where that is barred."""
        barred = self.barred
        return (
            self.first.masked_fill(barred[-1, :-1], -torch.inf),
            self.moves.masked_fill(barred[:-1, :-1], -torch.inf),
            self.last.masked_fill(barred[:-1, -1], -torch.inf),
        )


def _at(
    scores: Float[Tensor, "batch time labels"], labels: Int[Tensor, "batch time"]
) -> Float[Tensor, "batch time"]:
    """The score of one label at each place."""
    return scores.gather(-1, labels[..., None])[..., 0]


def _impossible(target: Sequences, barred: Bool[np.ndarray, "labels labels"]) -> ModelError:
    """Says which labels stand side by side."""
    border = len(barred) - 1
    for row in target.rows():
        whole = [border, *row, border]
        for before, after in zip(whole[:-1], whole[1:], strict=True):
            if barred[before, after]:
                told = ["the border" if n == border else f"label {n}" for n in (before, after)]
                return ModelError(
                    "M302",
                    f"{told[1]} stands right after {told[0]}, which the labels' scheme bars",
                    help=["repair the labels of that sequence", "--set model.chain=false"],
                )
    return ModelError("M302", "the labels of a sequence are impossible to this model")
