"""Cut examples into parts so that the same sequence never stands in two of them."""

import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..errors import DataError

Key = Callable[[Any], Hashable]


def split(
    examples: Sequence[Any], fractions: Sequence[float], seed: int, key: Key
) -> list[list[Any]]:
    """The examples in as many parts as there are fractions, and the rest last.

    Examples with the same key stay together. Which part a key goes to depends on the seed and on
    the keys alone, not on the order of the file; within a part the file's order is kept.
    """
    keys = sorted({key(example) for example in examples}, key=repr)
    random.Random(seed).shuffle(keys)
    place: dict[Hashable, int] = {}
    start = 0
    for number, fraction in enumerate(fractions):
        count = max(1, round(fraction * len(keys))) if fraction > 0 else 0
        place.update(dict.fromkeys(keys[start : start + count], number))
        start += count
    if start >= len(keys):
        raise DataError(
            "D042",
            f"{len(keys)} different sequences are too few to cut into {len(fractions) + 1} parts",
            help=["--set data.valid_fraction=0.2 --set data.test_fraction=0, or add examples"],
        )
    parts: list[list[Any]] = [[] for _ in range(len(fractions) + 1)]
    for example in examples:
        parts[place.get(key(example), len(fractions))].append(example)
    return parts


def split_in_order(
    examples: Sequence[Any],
    fractions: Sequence[float],
    extent: Callable[[Any], int],
    divided: Callable[[Any, int], tuple[Any, Any]],
) -> list[list[Any]]:
    """A long text in parts by place: the first is the rest, and the fractions follow from the end.

    The parts are given as by `split`, the rest last. The cuts are exact to the character, so that
    texts are cut at the same places whatever their symbols; only a word is never cut in two.
    """
    left, parts = list(examples), []
    total = sum(map(extent, examples))
    keep = 1.0
    for fraction in reversed(fractions):
        keep -= fraction
        left, part = _cut(left, int(total * keep + 1e-9), extent, divided)
        parts.append(part)
    found = [*reversed(parts), left]
    if any(not part for part, share in zip(found, [*fractions, 1.0], strict=True) if share > 0):
        raise DataError(
            "D042",
            f"{total:,} characters are too few to cut into {len(fractions) + 1} parts",
            help=["--set data.valid_fraction=0.2 --set data.test_fraction=0, or a longer text"],
        )
    return found


def _cut(
    examples: list[Any],
    place: int,
    extent: Callable[[Any], int],
    divided: Callable[[Any, int], tuple[Any, Any]],
) -> tuple[list[Any], list[Any]]:
    """The examples with the first `place` characters, and the others."""
    for number, example in enumerate(examples):
        size = extent(example)
        if place < size:
            if place == 0:
                return examples[:number], examples[number:]
            before, after = divided(example, place)
            return [*examples[:number], before], [after, *examples[number + 1 :]]
        place -= size
    return examples, []


def without(examples: Sequence[Any], others: Sequence[Any], key: Key) -> list[Any]:
    """The examples whose key is not among the others."""
    taken = {key(example) for example in others}
    return [example for example in examples if key(example) not in taken]
