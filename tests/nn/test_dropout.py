"""Dropout: its rate, its mean, its gradient, and that it follows torch's random seed."""

import numpy as np
import pytest
import torch

from seqloom.nn.dropout import Dropout, SequenceDropout

RATES = [0.1, 0.25, 0.3, 0.5, 0.9]


@pytest.mark.parametrize("rate", RATES)
def test_the_rate_and_the_scale(rate):
    torch.manual_seed(1)
    x = torch.ones(400, 500)
    found = Dropout(rate)(x)
    dropped = (found == 0).double().mean().item()
    chance = 5 * (rate * (1 - rate) / x.numel()) ** 0.5  # five deviations
    assert abs(dropped - rate) < chance + 1e-5
    kept = found[found != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)), rtol=2e-4, atol=0)


def test_a_rate_next_to_one_keeps_a_few():
    found = Dropout(1 - 1e-9)(torch.ones(1000, 1000))
    assert found.isfinite().all() and 0 < (found != 0).sum() < 100


def test_components_are_dropped_independently():
    """Neighbours, and the same component in two masks, are uncorrelated."""
    torch.manual_seed(2)
    layer, x = Dropout(0.3), torch.ones(400_000)
    one, other = ((layer(x) == 0).numpy() for _ in range(2))
    pairs = {"two masks": (one, other)} | {
        f"{far} apart": (one[:-far], one[far:]) for far in (1, 2, 3, 4, 8, 64, 128)
    }
    for name, (first, second) in pairs.items():
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / len(x) ** 0.5, name


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 3, 5), (7, 4, 8), (0, 4)])
def test_any_shape_and_memory_in_any_order(shape):
    layer = Dropout(0.5)
    assert layer(torch.ones(shape)).shape == shape
    transposed = torch.ones(shape).permute(*reversed(range(len(shape))))
    assert layer(transposed).shape == transposed.shape


def test_the_gradient_has_the_same_mask():
    torch.manual_seed(3)
    x = torch.randn(50, 60, dtype=torch.double, requires_grad=True)
    found = Dropout(0.3)(x)
    (grad,) = torch.autograd.grad(found.sum(), x)
    torch.testing.assert_close(grad * x, found)
    assert 0 < (grad == 0).sum() < x.numel()


def test_the_same_again_from_the_same_state_of_torch():
    layer, x = Dropout(0.3), torch.ones(1000)
    state = torch.get_rng_state()
    first, then = layer(x), layer(x)
    torch.set_rng_state(state)
    assert torch.equal(layer(x), first)
    assert torch.equal(layer(x), then)
    assert not torch.equal(first, then)


def test_nothing_is_dropped_in_evaluation_or_at_rate_zero():
    x = torch.randn(100)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x


@pytest.mark.parametrize("kind", [Dropout, SequenceDropout])
@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_an_invalid_rate_raises_an_error(kind, rate):
    with pytest.raises(ValueError, match="in \\[0, 1\\)"):
        kind(rate)
