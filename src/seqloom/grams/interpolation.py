"""How likely a label is after others: shares of all lengths of context, joined by weights."""

import numpy as np
from jaxtyping import Float

NEVER_SEEN = 0.1  # what is added to how often a label was seen, so that none is impossible


def interpolated(
    counts: Float[np.ndarray, "*labels"],
) -> tuple[Float[np.ndarray, "*labels"], Float[np.ndarray, " depths"]]:
    """p(t | u v) from counts of labels in a row, t the last, and the weights (Brants, 2000).

    p(t | u v) = λ₁ p̂(t) + λ₂ p̂(t | v) + λ₃ p̂(t | u v)          p̂(t | c) = f(c t) / f(c)

    The weights come by deleted interpolation: each run of labels votes, as often as it was seen,
    for the depth at which it would be likeliest had it been seen once less, (f - 1) / (f(c) - 1).
    A context that was never seen leaves its weight to the others. Each depth has one vote more.
    """
    depths = counts.ndim
    shares, left, known = [], [], []
    for depth in range(depths):
        some = counts.sum(axis=tuple(range(depths - 1 - depth)))
        whole = some.sum(-1, keepdims=True)
        if depth == 0:
            sure = (some + NEVER_SEEN) / (whole + NEVER_SEEN * some.size)
        else:
            sure = some / np.maximum(whole, 1)
        shares.append(np.broadcast_to(sure, counts.shape))
        left.append(np.broadcast_to((some - 1) / np.maximum(whole - 1, 1), counts.shape))
        known.append(np.broadcast_to((whole > 0) | (depth == 0), counts.shape))
    votes = np.bincount(np.argmax(left, axis=0).ravel(), counts.ravel(), depths) + 1
    weights = votes / votes.sum()
    told = sum(weight * has for weight, has in zip(weights, known, strict=True))
    joined = sum(weight * share for weight, share in zip(weights, shares, strict=True))
    return np.asarray(joined / told), weights
