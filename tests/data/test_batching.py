"""Length-bucketed batches: every example once, little padding, from seed and epoch alone."""

import numpy as np
import pytest

from seqloom.batch import Item, Sequences
from seqloom.data.loading.batching import BucketLoader, batches_by_length
from seqloom.data.loading.splitting import exclude, split
from seqloom.errors import DataError


def items(count=500, seed=0):
    chance = np.random.default_rng(seed)
    lengths = chance.integers(1, 30, (count, 2))
    return [Item(np.arange(a), np.arange(b)) for a, b in lengths]


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([[0.5], [0.25, -1.5]], np.float64),
        ([[3], [0.5]], np.float64),
        ([[], [7, 8]], np.int64),
        ([[], []], np.int64),
        ([[[0.5, 1.0]], [[2.0, 3.0], [4.0, 5.0]]], np.float32),
        ([[[1, 0]], [[2, 3], [4, 5]]], np.int64),
    ],
)
def test_padding_keeps_every_number(rows, kind):
    """Real numbers stay real, also one a position, and what is empty makes no ids of ids real."""
    made = [np.array(row, np.float32 if kind is np.float32 else None) for row in rows]
    padded = Sequences.pad(made)
    assert padded.values.dtype == kind and padded.rows() == rows


@pytest.mark.parametrize("size, tokens", [(32, 0), (7, 0), (32, 200), (1000, 0)])
def test_every_example_once(size, tokens):
    made = BucketLoader(items(), size, tokens, seed=3)
    for epoch in range(3):
        found = np.concatenate(made.epoch(epoch))
        assert sorted(found) == list(range(500))


def test_batches_follow_from_seed_and_epoch():
    one, other = BucketLoader(items(), 32, 0, seed=3), BucketLoader(items(), 32, 0, seed=3)
    other.epoch(7)
    for epoch in (2, 0, 1):
        assert [b.tolist() for b in one.epoch(epoch)] == [b.tolist() for b in other.epoch(epoch)]
    assert [b.tolist() for b in one.epoch(0)] != [b.tolist() for b in one.epoch(1)]
    changed = BucketLoader(items(), 32, 0, seed=4)
    assert [b.tolist() for b in one.epoch(0)] != [b.tolist() for b in changed.epoch(0)]


def test_buckets_waste_little():
    made = items(5000)
    batches = BucketLoader(made, 32, 0, seed=1)
    padded = sum(len(w) * max(len(made[i].source) for i in w) for w in batches.epoch(0))
    assert padded < 1.05 * sum(len(item.source) for item in made)


def test_a_batch_by_tokens_holds_at_most_so_many():
    """Sources and targets together, each as wide as its longest; as full as order allows."""
    made = items()

    def padded(which):
        longest = [max(len(getattr(made[i], side)) for i in which) for side in ("source", "target")]
        return len(which) * sum(longest)

    batches = BucketLoader(made, 1, 400, seed=1)
    sizes = [padded(which) for which in batches.epoch(0) if len(which) > 1]
    assert max(sizes) <= 400 and np.mean(sizes) > 300
    for which in BucketLoader(made, 1, 20, seed=1).epoch(0):  # one that is longer stands alone
        assert padded(which) <= 20 or len(which) == 1


def test_padding():
    made = Sequences.pad([np.array([1, 2, 3]), np.array([], dtype=np.int64), np.array([4])])
    assert made.values.tolist() == [[1, 2, 3], [0, 0, 0], [4, 0, 0]]
    assert made.rows() == [[1, 2, 3], [], [4]]
    assert made.shift_right(9).values.tolist() == [[9, 1, 2], [9, 0, 0], [9, 4, 0]]
    assert made.mask.sum() == 4
    assert Sequences.pad([]).values.shape == (0, 0)


def test_batches_by_length():
    found = batches_by_length([5, 1, 3, 2, 4], 2)
    assert [w.tolist() for w in found] == [[1, 3], [2, 4], [0]]
    assert batches_by_length([], 2) == []


def test_the_same_sequence_is_never_in_two_parts():
    examples = [("same" if n % 3 == 0 else f"x{n}", n) for n in range(90)]
    parts = split(examples, [0.2, 0.1], seed=1, key=lambda example: example[0])
    keys = [{example[0] for example in part} for part in parts]
    assert not (keys[0] & keys[1] or keys[0] & keys[2] or keys[1] & keys[2])
    assert sorted(n for part in parts for _, n in part) == list(range(90))
    again = split(examples[::-1], [0.2, 0.1], seed=1, key=lambda example: example[0])
    assert [{e[0] for e in part} for part in again] == keys, "the order of the file does not matter"
    assert split(examples, [0.2, 0.1], 2, lambda example: example[0]) != parts
    assert exclude(examples, parts[0], lambda e: e[0]) == [
        e for e in examples if e[0] not in keys[0]
    ]


def test_too_few_to_split():
    with pytest.raises(DataError) as told:
        split([1, 1, 1], [0.1, 0.1], 1, lambda example: example)
    assert told.value.code == "D042" and "1 different sequences are too few" in str(told.value)
