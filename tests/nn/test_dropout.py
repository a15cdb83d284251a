"""Dropout of single numbers: its share, its mean, its gradient, and that chance is torch's."""

import numpy as np
import pytest
import torch

from seqloom.nn.dropout import Dropout, SequenceDropout

SHARES = [0.1, 0.25, 0.3, 0.5, 0.9]


@pytest.mark.parametrize("share", SHARES)
def test_so_many_are_dropped_and_the_rest_makes_up_for_them(share):
    torch.manual_seed(1)
    x = torch.ones(400, 500)
    found = Dropout(share)(x)
    dropped = (found == 0).double().mean().item()
    chance = 5 * (share * (1 - share) / x.numel()) ** 0.5  # five deviations
    assert abs(dropped - share) < chance + 1e-5
    kept = found[found != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - share)), rtol=2e-4, atol=0)


def test_a_share_next_to_one_leaves_a_few():
    found = Dropout(1 - 1e-9)(torch.ones(1000, 1000))
    assert found.isfinite().all() and 0 < (found != 0).sum() < 100


def test_places_are_dropped_independently():
    """Neighbours, and the same place of two masks, know nothing of each other."""
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
    turned = torch.ones(shape).permute(*reversed(range(len(shape))))
    assert layer(turned).shape == turned.shape


def test_the_gradient_goes_where_the_numbers_went():
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


def test_nothing_is_dropped_in_use_or_with_no_share():
    x = torch.randn(100)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x


@pytest.mark.parametrize("kind", [Dropout, SequenceDropout])
@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_that_is_none_is_refused(kind, share):
    with pytest.raises(ValueError, match="in \\[0, 1\\)"):
        kind(share)
