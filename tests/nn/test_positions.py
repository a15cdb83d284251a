"""Positional encodings against their equations, one component at a time."""

import math

import pytest
import torch

from seqloom.errors import ModelError
from seqloom.nn.transformer.positions import (
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    rotate,
)


@pytest.mark.parametrize("width", [6, 7])
def test_sinusoid_is_the_equation(width):
    x = torch.randn(2, 5, width)
    found = SinusoidalPositions(4, width)(x, first=3)  # goes on beyond the table
    for t in range(5):
        for i in range(width):
            angle = (3 + t) / 10000 ** ((i - i % 2) / width)
            wave = math.cos(angle) if i % 2 else math.sin(angle)
            expected = math.sqrt(width) * x[:, t, i] + wave
            torch.testing.assert_close(found[:, t, i], expected, rtol=1e-6, atol=1e-6)


def test_learned_positions_are_added_and_end():
    positions, x = LearnedPositions(4, 3), torch.randn(2, 2, 3)
    torch.testing.assert_close(positions(x, first=2), x + positions.table[2:])
    with pytest.raises(ModelError, match="5 tokens, and there are 4 learned positions") as told:
        positions(x, first=3)
    assert told.value.code == "M163" and "model.context=6" in told.value.text()


def test_rotary_rotates_each_pair_by_its_angle():
    x = torch.randn(2, 5, 3, 6)
    found = rotate(x, RotaryPositions(4, 6)(2, 5))  # goes on beyond the table
    for t in range(5):
        for i in range(3):
            angle = (2 + t) / 10000 ** (2 * i / 6)
            turn = torch.tensor(
                [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
            )
            pair = slice(2 * i, 2 * i + 2)
            torch.testing.assert_close(found[:, t, :, pair], x[:, t, :, pair] @ turn.t())


def test_rotary_products_depend_on_the_distance_only():
    rotary, q, k = RotaryPositions(20, 8).double(), *torch.randn(2, 1, 1, 8, dtype=torch.double)
    products = [
        (rotate(q[None], rotary(t, 1)) * rotate(k[None], rotary(t - 3, 1))).sum()
        for t in range(3, 20)
    ]
    torch.testing.assert_close(torch.stack(products), products[0].expand(17), rtol=0, atol=1e-6)
