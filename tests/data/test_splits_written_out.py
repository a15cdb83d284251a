"""Splits, folds and their weights, beside what their docstrings say, written out."""

import random
from collections import Counter

import numpy as np
import pytest

from seqloom.data.loading.batching import batches_by_length
from seqloom.data.loading.cross_validation import (
    assign_folds,
    check_folds,
    indivisible_groups,
    numbered_keys,
    time_blocks,
)
from seqloom.data.loading.lazy import LazySequence
from seqloom.data.loading.splitting import exclude, key_hash, split, split_in_order
from seqloom.data.options import Data
from seqloom.data.series.windows import RollingOrigin
from seqloom.errors import DataError
from seqloom.experiments.cross_validate import CrossValidationPlan
from seqloom.experiments.queue import RunQueue
from seqloom.tasks.forecast_splits import Steps, _Cutter

SEEDS = range(6)


def greedy(groups, labels, folds, seed):
    """Group by group, the largest first, each to the fold where its labels are rarest."""
    members = {
        group: [lab for g, lab in zip(groups, labels, strict=True) if g == group]
        for group in groups
    }
    order = sorted(members, key=repr)
    random.Random(seed).shuffle(order)

    def commonest(group):
        counts = Counter(members[group])
        return sorted(counts, key=lambda label: (-counts[label], repr(label)))[0]

    order.sort(key=lambda group: (-len(members[group]), repr(commonest(group))))
    total, held = Counter(labels), [[] for _ in range(folds)]
    where = {}
    for group in order:
        costs = []
        for fold, inside in enumerate(held):
            cost = 0.0
            for label in set(members[group]):
                share = inside.count(label) / total[label]
                cost += share * members[group].count(label) / total[label]
            costs.append((round(cost, 12), len(inside), fold))
        best = min(costs)[2]
        where[group] = best + 1
        held[best] += members[group]
    return [where[group] for group in groups]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("folds", [2, 3, 5])
def test_each_group_goes_where_its_labels_are_rarest(seed, folds):
    """Groups of one to nine, labels of which some are rare, and groups with several labels."""
    chance = random.Random(seed)
    groups = [f"g{min(chance.randrange(25), chance.randrange(25))}" for _ in range(120)]
    labels = [chance.choice("aaaaaabbbc") for _ in groups]
    found = assign_folds(groups, labels, folds, seed)
    assert found == greedy(groups, labels, folds, seed)
    unlabelled = assign_folds(groups, None, folds, seed)
    assert unlabelled == greedy(groups, [None] * 120, folds, seed)
    sizes = Counter(unlabelled)
    assert max(sizes.values()) - min(sizes.values()) <= max(Counter(groups).values())


def test_numbered_keys_count_equal_ones_of_one_label():
    assert numbered_keys("aaba", "xyxx") == [
        ("a", "x", 1),
        ("a", "y", 1),
        ("b", "x", 1),
        ("a", "x", 2),
    ]
    assert numbered_keys("aa", None) == [("a", None, 1), ("a", None, 2)]
    assert indivisible_groups("aab") == ["a", "a", "b"]


@pytest.mark.parametrize("size", [2, 7, 30])
@pytest.mark.parametrize("folds", [1, 4, 6])
def test_blocks_of_time_follow_their_definition(size, folds):
    found = time_blocks(size, folds)
    assert len(found) == size and found == sorted(found)
    for index, block in enumerate(found):
        assert block <= index * (folds + 1) / size < block + 1


def test_more_folds_than_groups_or_than_groups_of_a_label_are_refused():
    check_folds(list("abc"), list("xxx"), 3, what="texts")
    with pytest.raises(DataError, match="4 folds of 3 texts") as told:
        check_folds(list("abc"), None, 4, what="texts")
    assert told.value.code == "D161"
    groups, labels = list("aabcd"), list("xxxyx")
    check_folds(groups, None, 4, what="texts")
    with pytest.raises(DataError, match="label 'y' has one example, too few for 2 folds") as told:
        check_folds(groups, labels, 2, what="texts")
    assert told.value.code == "D162" and not told.value.notes
    with pytest.raises(DataError) as told:
        check_folds(groups, labels, 4, what="texts")
    assert "labels with fewer than 4: 'y' (1), 'x' (3)" in told.value.notes[0]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("fractions", [(0.2, 0.1), (0.0, 0.3), (0.001, 0.0), (0.45, 0.45)])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_split_has_the_shares_it_was_asked_for(seed, fractions, large):
    """Of different keys, at least one where anything is wanted; in the order of the file."""
    chance = random.Random(seed)
    examples = [chance.randrange(80) for _ in range(150)]
    count = len(set(examples))
    given = LazySequence(examples.__getitem__, np.arange(150)) if large else examples
    parts = [list(part) for part in split(given, fractions, seed, key=lambda example: example)]
    wanted = [max(1, round(part * count)) if part else 0 for part in fractions]
    assert [len(set(part)) for part in parts] == [*wanted, count - sum(wanted)]
    assert sorted(number for part in parts for number in part) == sorted(examples)
    for part in parts:
        assert part == [example for example in examples if example in set(part)]


@pytest.mark.parametrize("large", [False, True])
def test_a_split_leaves_something_for_the_rest(large):
    for size, fits in ((2, True), (1, False)):
        examples = list(range(size))
        given = LazySequence(examples.__getitem__, np.arange(size)) if large else examples
        if fits:
            first, rest = split(given, [0.5], 1, key=lambda example: example)
            assert (len(first), len(rest)) == (1, 1)
            continue
        with pytest.raises(DataError, match="too few"):
            split(given, [0.5], 1, key=lambda example: example)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("fractions", [(0.1, 0.2), (0.0, 0.25), (0.5, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("lengths", [(100,), (10,) * 10, (1, 0, 50, 49), (60, 40)])
def test_a_text_is_split_at_characters(lengths, fractions, large):
    """Training first, then the parts in their order; together they are the text."""
    whole = "".join(chr(32 + n % 90) for n in range(100))
    ends = np.cumsum([0, *lengths])
    examples = [whole[a:b] for a, b in zip(ends, ends[1:], strict=False)]
    given = LazySequence(examples.__getitem__, np.arange(len(examples))) if large else examples
    found = split_in_order(given, fractions, len, lambda text, at: (text[:at], text[at:]))
    *parts, learned = ["".join(part) for part in found]
    rest = round(100 * (1 - sum(fractions)))
    assert (learned, "".join(parts)) == (whole[:rest], whole[rest:])
    assert [len(part) for part in parts] == [round(100 * fraction) for fraction in fractions]


def test_a_text_too_short_to_split_is_refused():
    with pytest.raises(DataError, match="3 characters are too few"):
        split_in_order(["abc"], [0.1, 0.1], len, lambda text, at: (text[:at], text[at:]))


def test_what_one_part_has_is_left_out_of_another():
    assert list(exclude(["a", "b", "A"], ["B", "c"], str.lower)) == ["a", "A"]
    assert key_hash(("a", 1)) == key_hash(("a", 1)) != key_hash(("a", 2))
    assert 0 <= key_hash("x") < 2**64


@pytest.mark.parametrize("size", [4, 18, 20, 37, 100])
@pytest.mark.parametrize("horizon", [1, 6])
@pytest.mark.parametrize(("valid", "test"), [(0.1, 0.2), (0.0, 0.3), (0.25, 0.0), (0.0, 0.0)])
def test_parts_of_a_series_by_shares(size, horizon, valid, test):
    """A part has room for a forecast, and training for more; else it is left out."""
    data = Data(valid_fraction=valid, test_fraction=test)
    learned, valid_end, end = _Cutter(
        data, RollingOrigin(horizon, 0, 0), Steps(), frozenset()
    ).ends(size)
    of_test = max(horizon, round(test * size)) if test else 0
    of_valid = max(horizon, round(valid * size)) if valid else 0
    if size - of_test < 1:
        assert (learned, valid_end, end) == (size, size, size)
    elif size - of_test - of_valid > horizon:
        assert (learned, valid_end, end) == (size - of_test - of_valid, size - of_test, size)
    else:
        assert (learned, valid_end, end) == (size - of_test, size - of_test, size)


def test_parts_of_a_series_with_files_of_their_own_or_in_steps():
    data, reach = Data(valid_fraction=0.1, test_fraction=0.2), RollingOrigin(2, 0, 0)

    def ends(*given, steps=Steps(), data=data):  # noqa: B008
        return _Cutter(data, reach, steps, frozenset(given)).ends(50)

    assert ends() == (35, 40, 50)
    assert ends("test") == (45, 50, 50)
    assert ends("valid") == (40, 40, 50)
    assert ends("valid", "test") == (50, 50, 50)
    assert ends(steps=Steps(20, 5, 7)) == (20, 25, 32)
    assert ends(steps=Steps(0, 5, 7)) == (38, 43, 50)
    assert ends(steps=Steps(38, 5, 7)) == (38, 43, 50)
    with pytest.raises(DataError, match="50"):
        ends(steps=Steps(39, 5, 7))
    folds = [ends(data=Data(folds=4, fold=fold, valid_fraction=0.1)) for fold in (1, 2, 3, 4)]
    assert folds == [(8, 10, 20), (17, 20, 30), (26, 30, 40), (35, 40, 50)]
    wanted = [_Cutter(data, reach, Steps(), frozenset(one)) for one in ((), ("test",))]
    assert [one.wants_test for one in wanted] == [True, False]
    assert all(one.wants_valid for one in wanted)
    none = _Cutter(Data(valid_fraction=0, test_fraction=0), reach, Steps(), frozenset())
    assert not none.wants_valid and not none.wants_test
    by_steps = _Cutter(none.data, reach, Steps(0, 3, 4), frozenset())
    assert by_steps.wants_valid and by_steps.wants_test
    assert _Cutter(Data(folds=3, fold=1), reach, Steps(), frozenset()).wants_test


def test_a_fold_before_which_nothing_lies_learns_nothing():
    cutter = _Cutter(Data(folds=5, fold=1), RollingOrigin(1, 0, 0), Steps(), frozenset())
    assert cutter.ends(3) == (0, 0, 0)


@pytest.mark.parametrize("tokens", [0, 7, 30, 1000])
@pytest.mark.parametrize("seed", SEEDS)
def test_batches_are_as_full_as_their_order_allows(seed, tokens):
    """Sorted by length: a batch ends where one more sequence, with its padding, is too much."""
    lengths = np.random.default_rng(seed).integers(0, 12, 40).tolist()
    wanted, held = [], []
    for index in sorted(range(40), key=lambda n: lengths[n]):
        longest = max(lengths[n] for n in [*held, index])
        full = longest * (len(held) + 1) > tokens if tokens else len(held) == 6
        if held and full:
            wanted.append(held)
            held = []
        held.append(index)
    found = [which.tolist() for which in batches_by_length(lengths, 6, tokens)]
    assert found == [*wanted, held]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_progress_of_a_queue_goes_by_the_weights_of_its_runs(tmp_path, seed):
    chance = random.Random(seed)
    weights = {name: chance.choice([0.5, 1.0, 4.0]) for name in "abcde"}
    queue = RunQueue(tmp_path, "recipes", "loss", weights)
    done, total = ["a", "d"], sum(weights.values())
    wanted = (weights["a"] + weights["d"] + 0.25 * weights["c"]) / total
    assert queue.progress(done, "c", 0.25) == pytest.approx(wanted)
    assert queue.progress([]) == 0 and queue.progress("abcde") == 1
    assert queue.done() == {}


def test_folds_have_equal_weights(tmp_path):
    plan = CrossValidationPlan("t", "m", "loss", 4, 2, ["a", "b", "c", "d"])
    assert plan.queue(tmp_path).progress(["a"]) == 0.25
    assert plan.queue(tmp_path).progress(["a", "c"], "b", 0.5) == 0.625
