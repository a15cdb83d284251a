"""From smoothed levels to a back-off model: grams that are not kept go, the rest is linked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from .backoff import UNSEEN, BackOff, Table
from .levels import Level
from .looking_up import Index
from .smoothing import Smoothed


def linked(levels: Sequence[Level], smoothed: Sequence[Smoothed], is_flat: bool) -> BackOff:
    """The model of some smoothed levels."""
    kept = [_Kept.of(level, one) for level, one in zip(levels, smoothed, strict=True)]
    tables = [
        _table(level, one, some)
        for level, one, some in list(zip(levels, smoothed, kept, strict=True))[1:]
    ]
    links = _links(levels, kept)
    return BackOff(_logs(smoothed[0].chance), tuple(tables), tuple(links), is_flat)


@dataclass(frozen=True)
class _Kept:
    """What is left of a level once grams have gone: the new numbers of grams and contexts."""

    grams: Int[np.ndarray, " grams"]  # UNSEEN where one has gone
    contexts: Int[np.ndarray, " contexts"]

    @classmethod
    def of(cls, level: Level, smoothed: Smoothed) -> "_Kept":
        has_any = np.zeros(level.contexts, dtype=bool)
        has_any[level.context[smoothed.kept]] = True
        return cls(_numbered(smoothed.kept), _numbered(has_any))


def _numbered(kept: np.ndarray) -> Int[np.ndarray, " _"]:
    return np.where(kept, np.cumsum(kept) - 1, UNSEEN)


def _table(level: Level, smoothed: Smoothed, kept: _Kept) -> Table:
    context = kept.contexts[level.context[smoothed.kept]]
    some = kept.contexts >= 0
    return Table(
        level.word[smoothed.kept].astype(np.int32),
        np.searchsorted(context, np.arange(some.sum() + 1)),
        _logs(smoothed.chance[smoothed.kept]),
        _logs(smoothed.weight[some]),
    )


def _links(levels: Sequence[Level], kept: Sequence[_Kept]) -> list[Int[np.ndarray, " _"]]:
    """For the grams of each length but the longest, which context each of them is.

    A context is found from the contexts one shorter: without its nearest symbol it is the one its
    parent is without it, and the farthest symbol before that.
    """
    size = len(levels[0].word)
    links = []
    without = nearest = np.zeros(1, dtype=np.int64)  # of each context: without its nearest; that
    for depth in range(1, len(levels)):
        level, shorter = levels[depth], levels[depth - 1]
        if depth == 1:
            without, nearest = np.zeros(level.contexts, dtype=np.int64), level.farthest
        else:
            parents = Index(shorter.parent * size + shorter.farthest)
            without = parents.find(without[level.parent] * size + level.farthest)
            nearest = nearest[level.parent]
        some = np.flatnonzero(kept[depth].contexts >= 0)
        every = Index(shorter.context * size + shorter.word)
        grams = every.find(without[some] * size + nearest[some])
        link = np.full(int(kept[depth - 1].grams.max(initial=-1)) + 1, UNSEEN, dtype=np.int32)
        new = np.where(grams >= 0, kept[depth - 1].grams[grams], UNSEEN)
        link[new[new >= 0]] = kept[depth].contexts[some[new >= 0]]
        links.append(link)
    return links


def _logs(chances: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(chances).astype(np.float32)
