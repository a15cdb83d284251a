"""Cut examples into parts so that the same sequence never stands in two of them."""

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from ...errors import DataError
from .lazy import Lazy, picked

Key = Callable[[Any], Hashable]


def split(
    examples: Sequence[Any], fractions: Sequence[float], seed: int, key: Key
) -> list[Sequence[Any]]:
    """The examples in as many parts as there are fractions, and the rest last.

    Examples with the same key stay together. Which part a key goes to depends on the seed and on
    the keys alone, not on the order of the file; within a part the file's order is kept.
    """
    if isinstance(examples, Lazy):
        return _split_large(examples, fractions, seed, key)
    keys = sorted({key(example) for example in examples}, key=repr)
    random.Random(seed).shuffle(keys)
    place: dict[Hashable, int] = {}
    start = 0
    for number, fraction in enumerate(fractions):
        count = max(1, round(fraction * len(keys))) if fraction > 0 else 0
        place.update(dict.fromkeys(keys[start : start + count], number))
        start += count
    if start >= len(keys):
        raise _too_few(len(keys), len(fractions) + 1)
    parts: list[list[Any]] = [[] for _ in range(len(fractions) + 1)]
    for example in examples:
        parts[place.get(key(example), len(fractions))].append(example)
    return [*parts]


def _split_large(
    examples: Lazy[Any], fractions: Sequence[float], seed: int, key: Key
) -> list[Sequence[Any]]:
    """The same of examples that are not held, by digests of their keys: 16 bytes for each."""
    digests = np.empty(len(examples), dtype="V16")
    for number, example in enumerate(examples):
        digests[number] = blake2b(repr(key(example)).encode(), digest_size=16).digest()
    kinds, which = np.unique(digests, return_inverse=True)
    counts = [max(1, round(share * len(kinds))) if share > 0 else 0 for share in fractions]
    if sum(counts) >= len(kinds):
        raise _too_few(len(kinds), len(fractions) + 1)
    part_of = np.full(len(kinds), len(fractions))
    order = np.random.default_rng(seed).permutation(len(kinds))
    part_of[order[: sum(counts)]] = np.repeat(np.arange(len(fractions)), counts)
    places = part_of[which]
    return [examples.picked(np.flatnonzero(places == part)) for part in range(len(fractions) + 1)]


def _too_few(kinds: int, parts: int) -> DataError:
    return DataError(
        "D042",
        f"{kinds} different sequences are too few to cut into {parts} parts",
        help=["--set data.valid_fraction=0.2 --set data.test_fraction=0, or add examples"],
    )


def split_in_order(
    examples: Sequence[Any],
    fractions: Sequence[float],
    extent: Callable[[Any], int],
    divided: Callable[[Any, int], tuple[Any, Any]],
) -> list[Sequence[Any]]:
    """A long text in parts by place: the first is the rest, and the fractions follow from the end.

    The parts are given as by `split`, the rest last. The cuts are exact to the character, so that
    texts are cut at the same places whatever their symbols; only a word is never cut in two.
    """
    left: Sequence[Any] = examples
    parts: list[Sequence[Any]] = []
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
    examples: Sequence[Any],
    place: int,
    extent: Callable[[Any], int],
    divided: Callable[[Any, int], tuple[Any, Any]],
) -> tuple[Sequence[Any], Sequence[Any]]:
    """The examples with the first `place` characters, and the others."""
    for number, example in enumerate(examples):
        size = extent(example)
        if place < size:
            if place == 0:
                return examples[:number], examples[number:]
            before, after = divided(example, place)
            first, rest = examples[: number + 1], examples[number:]
            return _but(first, number, before), _but(rest, 0, after)
        place -= size
    return examples, []


def _but(examples: Sequence[Any], number: int, example: Any) -> Sequence[Any]:
    """The examples, with another one at this number."""
    if isinstance(examples, Lazy):
        return examples.but(number, example)
    return [*examples[:number], example, *examples[number + 1 :]]


def without(examples: Sequence[Any], others: Iterable[Any], key: Key) -> Sequence[Any]:
    """The examples whose key is not among the others."""
    taken = {key(example) for example in others}
    fresh = np.fromiter((key(example) not in taken for example in examples), bool, len(examples))
    return picked(examples, np.flatnonzero(fresh))
