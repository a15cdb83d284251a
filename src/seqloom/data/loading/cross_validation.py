"""Cut examples into folds: each is held out once, and what is alike is never on both sides."""

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence

from ...errors import DataError

Names = Sequence[Hashable]
SHOWN = 5  # so many rare labels are told by name


def units_of(keys: Names, groups: Names | None = None) -> list[Hashable]:
    """What must stay together, for each example: those of one key, and those of one group.

    A sequence that stands in two groups makes one of both: it cannot be on two sides.
    """
    if groups is None:
        return list(keys)
    above: dict[Hashable, Hashable] = {}

    def first(name: Hashable) -> Hashable:
        while above.setdefault(name, name) != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    for key, group in zip(keys, groups, strict=True):
        one, other = sorted([first(("key", key)), first(("group", group))], key=repr)
        above[other] = one
    return [first(("group", group)) for group in groups]


def fold_of_each(units: Names, strata: Names | None, folds: int, seed: int) -> list[int]:
    """The fold of each example, from 1 on; examples of one unit share theirs.

    Unit by unit, the large ones first, each goes where its labels are rarest so far:

    argmin over folds f of  Σ_l c(f, l) u(l) / n(l)²

    c(f, l): examples of label l in fold f; u(l): in the unit; n(l): in all. Of equals it is the
    smallest fold, then the first. So where units are single examples, no two folds differ by more
    than one example, nor by more than one of any label. What goes where depends on the seed and on
    the units, not on the order of the file.
    """
    labels = strata or [None] * len(units)
    held: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for unit, label in zip(units, labels, strict=True):
        held[unit][label] += 1
    order = sorted(held, key=repr)
    random.Random(seed).shuffle(order)
    order.sort(key=lambda unit: (-held[unit].total(), _main(held[unit])))
    total, filled = Counter(labels), [Counter[Hashable]() for _ in range(folds)]
    sizes, place = [0] * folds, dict[Hashable, int]()
    for unit in order:
        weights = [_crowd(held[unit], fold, total) for fold in filled]
        best = min(range(folds), key=lambda fold: (weights[fold], sizes[fold], fold))
        place[unit] = best + 1
        filled[best] += held[unit]
        sizes[best] += held[unit].total()
    return [place[unit] for unit in units]


def _main(unit: Counter[Hashable]) -> str:
    """The label that most of a unit has."""
    return min((-count, repr(label)) for label, count in unit.items())[1]


def _crowd(unit: Counter[Hashable], fold: Counter[Hashable], total: Counter[Hashable]) -> float:
    return sum(fold[label] * count / total[label] ** 2 for label, count in unit.items())


def block_of_each(size: int, folds: int) -> list[int]:
    """Examples in the order of time in one block more than there are folds, from 0 on.

    The k-th fold is the k-th block, and what it is trained on are all blocks before it.
    """
    return [place * (folds + 1) // size for place in range(size)]


def must_fill(units: Names, strata: Names | None, folds: int, *, what: str) -> None:
    """Refuse more folds than there are units, or than there are of a label."""
    if (count := len(set(units))) < folds:
        raise too_many_folds(folds, count, what, count)
    if strata is None:
        return
    having: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for unit, label in zip(units, strata, strict=True):
        having[label].add(unit)
    rare = {label: len(found) for label, found in having.items() if len(found) < folds}
    if rare:
        raise _too_rare(rare, folds)


def too_many_folds(folds: int, count: int, what: str, most: int) -> DataError:
    """More folds than can be filled; `most` of them can be."""
    least = f"folds need at least two {what}"
    return DataError(
        "D161",
        f"{folds} folds of {count} {what}: some fold would hold out nothing",
        help=[f"--folds {most}   or fewer" if most > 1 else least],
    )


def _too_rare(rare: Mapping[Hashable, int], folds: int) -> DataError:
    ordered = sorted(rare.items(), key=lambda pair: (pair[1], repr(pair[0])))
    label, count = ordered[0]
    named = ", ".join(f"{str(other)!r} ({number})" for other, number in ordered[:SHOWN])
    more = f" and {len(ordered) - SHOWN:,} more" if len(ordered) > SHOWN else ""
    least = [f"--folds {count}   so that each fold has one"] if count > 1 else []
    examples = "one example" if count == 1 else f"{count} different examples"
    return DataError(
        "D162",
        f"label {str(label)!r} has {examples}, too few for {folds} folds",
        notes=[f"labels with fewer than {folds}: {named}{more}"] if len(ordered) > 1 else [],
        help=[
            *least,
            "--set data.stratified=false   by chance alone: some folds will not have it",
            "leave these rows out, or join the label with another",
        ],
    )
