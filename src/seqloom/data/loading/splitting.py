"""Train/validation/test splits in which no sequence occurs twice.

Short examples are split at random, continuous texts by position.
"""

import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from ...errors import DataError
from .lazy import LazySequence, select

Key = Callable[[Any], Hashable]


def split(
    examples: Sequence[Any], fractions: Sequence[float], seed: int, key: Key
) -> list[Sequence[Any]]:
    """Random split by key: one part for each fraction, and the rest last.

    Examples with the same key stay together. The part of a key depends on the seed and the keys
    alone, not on the order of the file; within a part, the order of the file is kept.
    """
    if isinstance(examples, LazySequence):
        return _split_large(examples, fractions, seed, key)
    keys = sorted({key(example) for example in examples}, key=repr)
    random.Random(seed).shuffle(keys)
    part_of: dict[Hashable, int] = {}
    start = 0
    for number, fraction in enumerate(fractions):
        count = max(1, round(fraction * len(keys))) if fraction > 0 else 0
        part_of.update(dict.fromkeys(keys[start : start + count], number))
        start += count
    if start >= len(keys):
        raise _too_few(len(keys), len(fractions) + 1)
    parts: list[list[Any]] = [[] for _ in range(len(fractions) + 1)]
    for example in examples:
        parts[part_of.get(key(example), len(fractions))].append(example)
    return [*parts]


def _split_large(
    examples: LazySequence[Any], fractions: Sequence[float], seed: int, key: Key
) -> list[Sequence[Any]]:
    """The same for lazy examples: hashes of their keys are held, 16 bytes for each."""
    digests = np.empty(len(examples), dtype="V16")
    for number, example in enumerate(examples):
        digests[number] = blake2b(repr(key(example)).encode(), digest_size=16).digest()
    keys, key_of = np.unique(digests, return_inverse=True)
    counts = [max(1, round(part * len(keys))) if part > 0 else 0 for part in fractions]
    if sum(counts) >= len(keys):
        raise _too_few(len(keys), len(fractions) + 1)
    part_of_key = np.full(len(keys), len(fractions))
    order = np.random.default_rng(seed).permutation(len(keys))
    part_of_key[order[: sum(counts)]] = np.repeat(np.arange(len(fractions)), counts)
    part_of = part_of_key[key_of]
    return [examples.select(np.flatnonzero(part_of == part)) for part in range(len(fractions) + 1)]


def _too_few(keys: int, parts: int) -> DataError:
    return DataError(
        "D042",
        f"{keys} different sequences are too few to cut into {parts} parts",
        help=["--set data.valid_fraction=0.2 --set data.test_fraction=0, or add examples"],
    )


def split_in_order(
    examples: Sequence[Any],
    fractions: Sequence[float],
    extent: Callable[[Any], int],
    divided: Callable[[Any, int], tuple[Any, Any]],
) -> list[Sequence[Any]]:
    """Split a continuous text by position: training first, then one part for each fraction.

    The parts are returned as by `split`, the rest (training) last. Texts are cut at the same
    character whatever the tokens are, so that runs with other tokens compare; only words are not
    cut in two.
    """
    left: Sequence[Any] = examples
    parts: list[Sequence[Any]] = []
    total = sum(map(extent, examples))
    keep = 1.0
    for fraction in reversed(fractions):
        keep -= fraction
        # 1e-9: 0.9 + 0.1 may be a little below 1, and int() rounds down.
        left, part = _cut(left, int(total * keep + 1e-9), extent, divided)
        parts.append(part)
    found = [*reversed(parts), left]
    if any(not part for part, size in zip(found, [*fractions, 1.0], strict=True) if size > 0):
        raise DataError(
            "D042",
            f"{total:,} characters are too few to cut into {len(fractions) + 1} parts",
            help=["--set data.valid_fraction=0.2 --set data.test_fraction=0, or a longer text"],
        )
    return found


def _cut(
    examples: Sequence[Any],
    position: int,
    extent: Callable[[Any], int],
    divided: Callable[[Any, int], tuple[Any, Any]],
) -> tuple[Sequence[Any], Sequence[Any]]:
    """The examples with the first `position` characters, and the others."""
    for number, example in enumerate(examples):
        size = extent(example)
        if position < size:
            if position == 0:
                return examples[:number], examples[number:]
            before, after = divided(example, position)
            first, rest = examples[: number + 1], examples[number:]
            return _replaced(first, number, before), _replaced(rest, 0, after)
        position -= size
    return examples, []


def _replaced(examples: Sequence[Any], number: int, example: Any) -> Sequence[Any]:
    """The examples, with another one at this position."""
    if isinstance(examples, LazySequence):
        return examples.replace(number, example)
    return [*examples[:number], example, *examples[number + 1 :]]


def key_hash(key: Hashable) -> int:
    """A hash of a key, in 64 bits, that is the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "little")


def exclude(examples: Sequence[Any], others: Iterable[Any], key: Key) -> Sequence[Any]:
    """The examples whose key is not the key of one of the others."""
    keys = {key(example) for example in others}
    kept = np.fromiter((key(example) not in keys for example in examples), bool, len(examples))
    return select(examples, np.flatnonzero(kept))
