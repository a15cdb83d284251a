"""Where learning starts: rows that are alike in groups, found by k-means (Lloyd, 1982)."""

import numpy as np
from jaxtyping import Float, Int

from .kinds import Ground, Rows

ROUNDS = 20


def groups_of(
    rows: Rows, count: int, ground: Ground, chance: np.random.Generator
) -> Int[np.ndarray, " rows"]:
    """To which of so many groups each row belongs; what is missing counts as the middle.

    The first middles are drawn, each far from those before it (Arthur and Vassilvitskii, 2007).
    Groups have the order of their first number.
    """
    flat = np.nan_to_num((rows - ground.centre) / ground.spread)
    middles = flat[chance.integers(len(flat), size=1)]
    while len(middles) < count:
        far = _distances(flat, middles).min(1)
        total = far.sum()
        shares = far / total if total > 0 else np.full(len(flat), 1 / len(flat))
        middles = np.concatenate([middles, flat[chance.choice(len(flat), size=1, p=shares)]])
    which = _distances(flat, middles).argmin(1)
    for _ in range(ROUNDS):
        each = np.eye(count)[which]
        often = each.sum(0)[:, None]
        middles = np.where(often > 0, each.T @ flat / np.maximum(often, 1), middles)
        before, which = which, _distances(flat, middles).argmin(1)
        if np.array_equal(before, which):
            break
    order = np.argsort(np.argsort(middles[:, 0], kind="stable"), kind="stable")
    return order[which]


def _distances(
    flat: Rows, middles: Float[np.ndarray, "groups width"]
) -> Float[np.ndarray, "rows groups"]:
    squares = (flat**2).sum(1)[:, None] + (middles**2).sum(1)
    return np.maximum(squares - 2 * flat @ middles.T, 0.0)
