"""Patterns of attention heads, their entropies and what is pooled, beside loops that are written out."""

import math

import numpy as np
import pytest

from seqloom.views.heads import (
    CLEAR,
    MAX_HEADS,
    MAX_POSITIONS,
    AttentionHead,
    AttentionLayer,
    HeadsView,
)


def share_at(weights, column_of, rows):
    """The mean weight of one column for each of some rows."""
    return sum(weights[row][column_of(row)] for row in rows) / len(rows)


def fractions(weights, *, is_same):
    """What part of the weight follows each pattern, by its definition."""
    rows, columns = weights.shape
    found = {}
    if is_same and rows > 2:
        later = range(2, rows)
        found["same position"] = share_at(weights, lambda row: row, later)
        found["previous token"] = share_at(weights, lambda row: row - 1, later)
        found["next token"] = share_at(weights, lambda row: row + 1, range(rows - 1))
        found["first token"] = share_at(weights, lambda row: 0, later)
    else:
        found["first token"] = share_at(weights, lambda row: 0, range(rows)) if columns > 1 else 0
        near = 0.0
        for row in range(rows if rows > 2 and columns > 2 else 0):
            middle = row * (columns - 1) / (rows - 1)
            reach = max(1.0, columns / 12)
            near += sum(weights[row][c] for c in range(columns) if abs(c - middle) <= reach)
        found["diagonal"] = near / rows
    found["last token"] = share_at(weights, lambda row: -1, range(rows)) if columns > 2 else 0
    inner = [share_at(weights, lambda row, c=c: c, range(rows)) for c in range(1, columns - 1)]
    found["one token"] = max(inner, default=0)
    return found


def drawn(rng, rows, columns, *, sharp):
    return rng.dirichlet(np.full(columns, sharp), rows)


@pytest.mark.parametrize("is_same", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (6, 6), (5, 9), (9, 5), (30, 30)])
@pytest.mark.parametrize("seed", range(4))
def test_a_head_is_named_after_the_pattern_of_most_of_its_weight(seed, shape, is_same):
    rng = np.random.default_rng(seed)
    rows, columns = shape
    if is_same and rows != columns:
        return
    kinds = {
        "even": np.full(shape, 1 / columns),
        "peaked": drawn(rng, rows, columns, sharp=0.1),
        "eye": np.eye(rows, columns)
        if rows == columns
        else np.eye(columns)[np.round(np.linspace(0, columns - 1, rows)).astype(int)],
        "first": np.eye(columns)[np.zeros(rows, int)],
        "last": np.eye(columns)[np.full(rows, columns - 1)],
        "before": np.eye(columns)[np.maximum(np.arange(rows) - 1, 0) % columns],
        "after": np.eye(columns)[(np.arange(rows) + 1) % columns],
        "mixed": 0.6 * np.eye(columns)[np.full(rows, columns // 2)]
        + 0.4 * drawn(rng, rows, columns, sharp=1.0),
    }
    for name, weights in kinds.items():
        head = AttentionHead.of(weights, is_same=is_same)
        wanted = fractions(weights, is_same=is_same)
        most = max(wanted.values())
        entropies = [-sum(w * math.log2(w) for w in row if w > 0) for row in weights]
        assert head.entropy == pytest.approx(np.mean(entropies), abs=1e-9), name
        if most >= CLEAR:
            assert wanted[head.pattern] == pytest.approx(most), name
            assert head.fraction == pytest.approx(most)
            continue
        shares = [
            bits / math.log2(sum(row > 0))
            for bits, row in zip(entropies, weights, strict=True)
            if sum(row > 0) > 1
        ]
        evenness = np.mean(shares) if shares else 0.0
        assert head.pattern == ("spread out" if evenness >= 0.8 else "several positions"), name
        assert head.fraction == pytest.approx(evenness if evenness >= 0.8 else most)


def test_a_head_without_weights_says_so():
    assert AttentionHead.of(np.zeros((0, 3)), is_same=False).pattern == "no weights"
    mute = AttentionHead.of(np.zeros((3, 3)), is_same=True)
    assert (mute.pattern, mute.fraction, mute.entropy) == ("mute", 1, 0)


def view_of(layers, heads, size=4):
    names = [f"t{n}" for n in range(size)]
    made = [
        AttentionLayer(
            f"layer {n}", names, names, [AttentionHead.of(np.eye(size), is_same=True)] * heads
        )
        for n in range(layers)
    ]
    return HeadsView(made, names, names, "m")


@pytest.mark.parametrize(
    ("layers", "heads", "kept"),
    [(4, 16, [16] * 4), (1, MAX_HEADS, [64]), (1, 65, [64]), (4, 17, [16] * 4), (70, 1, [1] * 64)],
)
def test_of_many_heads_the_first_are_drawn_and_that_is_said(layers, heads, kept):
    view = view_of(layers, heads)
    assert [len(layer.heads) for layer in view.layers] == kept
    said = f"the first {sum(kept)} of {layers * heads} heads"
    assert (said in view.notes) == (layers * heads > MAX_HEADS)
    assert view.count == layers * heads and len(view.to_table()) == 1 + sum(kept)


@pytest.mark.parametrize("size", [MAX_POSITIONS, MAX_POSITIONS + 1, 100])
def test_neighbours_are_pooled_where_there_are_too_many(size):
    """Rows are averaged, columns summed: every row still sums to one."""
    view = view_of(1, 1, size)
    (layer,) = view.layers
    assert len(layer.rows) == len(layer.columns) == min(size, MAX_POSITIONS)
    weights = layer.heads[0].weights
    np.testing.assert_allclose(weights.sum(1), 1)
    assert any("pooled" in note for note in view.notes) == (size > MAX_POSITIONS)
    if size > MAX_POSITIONS:
        parts = np.array_split(np.arange(size), MAX_POSITIONS)
        assert layer.columns[0] == f"t0…t{parts[0][-1]}"
        wanted = [[len(set(a) & set(b)) / len(a) for b in parts] for a in parts]
        np.testing.assert_allclose(weights, wanted)
