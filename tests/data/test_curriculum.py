"""Curriculum learning: levels follow their schedule, and every example is used."""

from collections import Counter

import numpy as np
import pytest

from seqloom.batch import Item
from seqloom.data.loading.batching import BucketLoader
from seqloom.data.loading.curriculum import CurriculumLoader, CurriculumSchedule

SIZES = (30, 50, 400)
LEVELS = np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1])


def items(seed=0):
    lengths = np.random.default_rng(seed).integers(1, 30, (sum(SIZES), 2))
    return [Item(np.arange(a), np.arange(b)) for a, b in lengths]


def loader_of(curriculum, share=0.5, levels=LEVELS, tokens=0, seed=3):
    return CurriculumLoader(
        items(), 16, tokens, seed, levels, CurriculumSchedule(curriculum, share)
    )


def found(loader, epoch=0):
    """How often each example comes in an epoch, and how many of each level."""
    counts = Counter(np.concatenate(loader.epoch(epoch)).tolist())
    return counts, [sum(counts[place] for place in level.tolist()) for level in LEVELS]


def test_naive_has_one_level_at_a_time():
    loader = loader_of("naive")
    for level, (places, times) in enumerate(zip(LEVELS, (13.3, 8, 1), strict=True)):
        assert loader.level == level
        counts, shares = found(loader)
        assert shares == [SIZES[-1] * (n == level) for n in range(3)]
        assert set(counts) == set(places.tolist())
        assert set(counts.values()) <= {int(times), -(-times // 1)}, "each as often as the others"
        assert loader.advance((level + 1) / 6) == (level < 2)


def test_levels_take_equal_time_of_their_share_and_never_fall():
    for share in (0.3, 1.0):
        loader = loader_of("naive", share)
        seen = []
        for progress in np.linspace(0, 0.999, 1000):
            loader.advance(progress)
            seen.append(loader.level)
        assert seen == sorted(seen)
        times = [seen.count(level) for level in range(3)]
        assert times[:2] == pytest.approx([1000 * share / 3] * 2, abs=2)
        assert not loader.advance(0.0) and loader.level == 2


def test_mixed_draws_every_level_alike_from_the_first_day_on():
    loader = loader_of("mixed")
    shares = np.sum([found(loader, epoch)[1] for epoch in range(20)], axis=0)
    assert shares.sum() == 20 * SIZES[-1]
    assert shares / shares.sum() == pytest.approx([1 / 3] * 3, abs=0.03)
    assert not loader.advance(0.9) and loader.level == loader.last_level


def test_combined_is_naive_with_a_fifth_of_mixed():
    loader = loader_of("combined")
    for level in range(3):
        shares = np.sum([found(loader, epoch)[1] for epoch in range(20)], axis=0)
        right = np.full(3, 0.2 / 3) + 0.8 * (np.arange(3) == level)
        assert shares / shares.sum() == pytest.approx(right, abs=0.02)
        loader.advance((level + 1) / 6)


def test_the_last_level_of_naive_is_an_ordinary_epoch():
    """Where the last level is all there is: every example once, in buckets of like lengths."""
    made = items()
    everything = np.arange(len(made))
    loader = loader_of("naive", levels=[everything[:50], everything])
    loader.advance(1.0)
    assert sorted(np.concatenate(loader.epoch(4))) == everything.tolist()
    padded = sum(len(w) * max(len(made[i].source) for i in w) for w in loader.epoch(4))
    assert padded < 1.2 * sum(len(item.source) for item in made)
    assert len(loader.epoch(4)) == len(BucketLoader(made, 16, 0, 3).epoch(4))


@pytest.mark.parametrize("curriculum", ["naive", "mixed", "combined"])
@pytest.mark.parametrize("tokens", [0, 90])
def test_batches_follow_from_seed_epoch_and_level(curriculum, tokens):
    one, other = (loader_of(curriculum, tokens=tokens) for _ in range(2))
    one.advance(0.2)
    other.epoch(5)
    other.restore(one.level)
    for epoch in (2, 0, 1):
        ours, theirs = ([b.tolist() for b in c.epoch(epoch)] for c in (one, other))
        assert ours == theirs
    assert [b.tolist() for b in one.epoch(0)] != [b.tolist() for b in one.epoch(1)]
    elsewhere = loader_of(curriculum, tokens=tokens, seed=4)
    elsewhere.restore(one.level)
    assert [b.tolist() for b in one.epoch(0)] != [b.tolist() for b in elsewhere.epoch(0)]
    if tokens:
        made = items()
        for which in one.epoch(0):
            assert len(which) * max(len(made[i].target) for i in which) <= 90 or len(which) == 1
