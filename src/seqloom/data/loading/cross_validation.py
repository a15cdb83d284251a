"""K-fold cross-validation: stratified folds of groups, and forward folds in time.

Sequences of one group are never on both sides of a split, nor equal ones, unless that is allowed.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence

from ...errors import DataError

Keys = Sequence[Hashable]
MAX_SHOWN = 5  # rare labels in an error message


def indivisible_groups(keys: Keys, groups: Keys | None = None) -> list[Hashable]:
    """Group of each example: examples with the same key or in the same group share theirs.

    A sequence that is in two groups joins them (connected components, by union-find).
    """
    if groups is None:
        return list(keys)
    parents: dict[Hashable, Hashable] = {}

    def root(name: Hashable) -> Hashable:
        while parents.setdefault(name, name) != name:
            parents[name] = parents[parents[name]]  # path halving
            name = parents[name]
        return name

    for key, group in zip(keys, groups, strict=True):
        # Sorted, so that the root does not depend on the order of the file.
        one, other = sorted([root(("key", key)), root(("group", group))], key=repr)
        parents[other] = one
    return [root(("group", group)) for group in groups]


def numbered_keys(keys: Keys, strata: Keys | None) -> list[Hashable]:
    """Keys that are all different: equal ones of one label are numbered.

    So the folds of equal sequences depend on how many there are, not on the order of the file.
    """
    seen = Counter[Hashable]()
    found: list[Hashable] = []
    for pair in zip(keys, strata or [None] * len(keys), strict=True):
        seen[pair] += 1
        found.append((*pair, seen[pair]))
    return found


def assign_folds(groups: Keys, strata: Keys | None, folds: int, seed: int) -> list[int]:
    """Stratified group k-fold: the fold of each example, from 1 on; groups stay together.

    Greedy: group by group, the largest first, each goes to the fold where its labels are rarest:

    argmin over folds f of  Σ_l c(f, l) u(l) / n(l)²

    c(f, l): examples of label l in fold f; u(l): in the group; n(l): in all. Ties go to the
    smallest fold, then to the first. If groups are single examples, the sizes of two folds differ
    by one at most, and so do their counts of each label. The folds depend on the seed and on the
    groups, not on the order of the file.
    """
    labels = strata or [None] * len(groups)
    counts: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for group, label in zip(groups, labels, strict=True):
        counts[group][label] += 1
    order = sorted(counts, key=repr)
    random.Random(seed).shuffle(order)
    # The sort is stable: the random order decides among groups of one size and label.
    order.sort(key=lambda group: (-counts[group].total(), _majority(counts[group])))
    total, filled = Counter(labels), [Counter[Hashable]() for _ in range(folds)]
    sizes, fold_of = [0] * folds, dict[Hashable, int]()
    for group in order:
        costs = [_cost(counts[group], fold, total) for fold in filled]
        best = min(range(folds), key=lambda fold: (costs[fold], sizes[fold], fold))
        fold_of[group] = best + 1
        filled[best] += counts[group]
        sizes[best] += counts[group].total()
    return [fold_of[group] for group in groups]


def _majority(group: Counter[Hashable]) -> str:
    """The most frequent label of a group."""
    return min((-count, repr(label)) for label, count in group.items())[1]


def _cost(group: Counter[Hashable], fold: Counter[Hashable], total: Counter[Hashable]) -> float:
    """Σ_l c(f, l) u(l) / n(l)²: how full a fold is of the labels of a group."""
    return sum(fold[label] * count / total[label] ** 2 for label, count in group.items())


def time_blocks(size: int, folds: int) -> list[int]:
    """Forward folds (time series split): the block of each example, of `folds` + 1 equal blocks.

    Examples are in order of time and blocks count from 0. Fold k holds out block k, and trains on
    all blocks before it.
    """
    return [index * (folds + 1) // size for index in range(size)]


def check_folds(groups: Keys, strata: Keys | None, folds: int, *, what: str) -> None:
    """Refuse more folds than there are groups, or than there are groups with some label."""
    if (count := len(set(groups))) < folds:
        raise too_many_folds(folds, count, what, count)
    if strata is None:
        return
    groups_of: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for group, label in zip(groups, strata, strict=True):
        groups_of[label].add(group)
    rare = {label: len(found) for label, found in groups_of.items() if len(found) < folds}
    if rare:
        raise _too_rare(rare, folds)


def too_many_folds(folds: int, count: int, what: str, most: int) -> DataError:
    """An error for more folds than can be filled; `most` folds can be."""
    least = f"folds need at least two {what}"
    return DataError(
        "D161",
        f"{folds} folds of {count} {what}: some fold would hold out nothing",
        help=[f"--folds {most}   or fewer" if most > 1 else least],
    )


def _too_rare(rare: Mapping[Hashable, int], folds: int) -> DataError:
    ordered = sorted(rare.items(), key=lambda pair: (pair[1], repr(pair[0])))
    label, count = ordered[0]
    named = ", ".join(f"{str(other)!r} ({number})" for other, number in ordered[:MAX_SHOWN])
    more = f" and {len(ordered) - MAX_SHOWN:,} more" if len(ordered) > MAX_SHOWN else ""
    least = [f"--folds {count}   so that each fold has one"] if count > 1 else []
    examples = "one example" if count == 1 else f"{count} different examples"
    return DataError(
        "D162",
        f"label {str(label)!r} has {examples}, too few for {folds} folds",
        notes=[f"labels with fewer than {folds}: {named}{more}"] if len(ordered) > 1 else [],
        help=[
            *least,
            "--set data.stratified=false   random folds: some will not have this label",
            "leave these rows out, or join the label with another",
        ],
    )
