"""K-fold cross-validation: even, stratified, and never the same group on both sides."""

import random
from collections import Counter

import pytest

from seqloom.data.loading.cross_validation import (
    assign_folds,
    indivisible_groups,
    numbered_keys,
    time_blocks,
)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("folds", [2, 5, 7])
def test_folds_of_single_examples_differ_by_one_at_most(seed, folds):
    chance = random.Random(seed)
    labels = [chance.choice("aaaaabbc") for _ in range(chance.randrange(60, 120))]
    found = assign_folds(range(len(labels)), labels, folds, seed)
    assert set(found) == set(range(1, folds + 1))
    sizes = Counter(found)
    assert max(sizes.values()) - min(sizes.values()) <= 1
    for label in "abc":
        held = Counter(fold for fold, other in zip(found, labels, strict=True) if other == label)
        counts = [held[fold] for fold in range(1, folds + 1)]
        assert max(counts) - min(counts) <= 1, label


def test_a_fold_depends_on_the_seed_and_not_on_the_order_of_the_file():
    names = [f"text {number % 40}" for number in range(50)]  # ten stand there twice
    labels = [random.Random(name).choice("ab") for name in names]
    order = random.Random(3).sample(range(50), 50)
    found = assign_folds(names, labels, 4, 1)
    again = assign_folds([names[n] for n in order], [labels[n] for n in order], 4, 1)
    assert [found[n] for n in order] == again
    assert found != assign_folds(names, labels, 4, 2)
    assert all(a == b for a, b in zip(found[:10], found[40:], strict=True)), "equal texts together"


def test_folds_of_numbered_texts_do_not_depend_on_the_order_of_the_file():
    names = [f"text {number % 9}" for number in range(50)]
    labels = ["ab"[number % 2] for number in range(50)]
    order = random.Random(3).sample(range(50), 50)
    folds = assign_folds(numbered_keys(names, labels), labels, 4, 1)
    found = Counter(zip(names, labels, folds, strict=True))
    names, labels = [names[n] for n in order], [labels[n] for n in order]
    units = numbered_keys(names, labels)
    again = assign_folds(units, labels, 4, 1)
    assert len(set(units)) == 50 and found == Counter(zip(names, labels, again, strict=True))
    sizes = Counter(again).values()
    assert max(sizes) - min(sizes) <= 1, "equal texts are examples like all others"


def joined_by_brute_force(keys, groups):
    """Examples together that share a key or a group, again and again until nothing changes."""
    sets = [{n} for n in range(len(keys))]
    while True:
        for a, b in ((a, b) for a in sets for b in sets if a is not b):
            if any(keys[i] == keys[j] or groups[i] == groups[j] for i in a for j in b):
                sets = [s for s in sets if s is not a and s is not b] + [a | b]
                break
        else:
            return {frozenset(s) for s in sets}


@pytest.mark.parametrize("seed", range(8))
def test_a_text_in_two_groups_makes_one_of_both(seed):
    chance = random.Random(seed)
    keys = [chance.randrange(9) for _ in range(14)]
    groups = [chance.choice("uvwxyz") for _ in range(14)]
    units = indivisible_groups(keys, groups)
    found = {frozenset(n for n in range(14) if units[n] == unit) for unit in units}
    assert found == joined_by_brute_force(keys, groups)
    order = chance.sample(range(14), 14)
    assert indivisible_groups([keys[n] for n in order], [groups[n] for n in order]) == [
        units[n] for n in order
    ]


@pytest.mark.parametrize("seed", range(5))
def test_groups_stay_whole_and_labels_in_proportion(seed):
    chance = random.Random(seed)
    groups = [f"g{chance.randrange(30)}" for _ in range(600)]
    labels = [chance.choice("aaab") for _ in groups]
    found = assign_folds(indivisible_groups(range(600), groups), labels, 5, seed)
    for group in set(groups):
        assert len({fold for fold, other in zip(found, groups, strict=True) if other == group}) == 1
    whole = labels.count("b") / 600
    for fold in range(1, 6):
        here = [label for label, other in zip(labels, found, strict=True) if other == fold]
        assert 90 <= len(here) <= 150
        assert here.count("b") / len(here) == pytest.approx(whole, abs=0.08)


@pytest.mark.parametrize("size, folds", [(4, 3), (10, 3), (101, 5)])
def test_blocks_of_time_are_even_and_in_order(size, folds):
    found = time_blocks(size, folds)
    assert found == sorted(found) and set(found) == set(range(folds + 1))
    sizes = Counter(found).values()
    assert max(sizes) - min(sizes) <= 1
