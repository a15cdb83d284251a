"""The cross-entropy in chunks against torch's of all logits at once."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from seqloom.nn.output import cross_entropy as chunked
from seqloom.nn.output.cross_entropy import chunked_cross_entropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("rows", "size"), [(1, 2), (7, 5), (70, 33), (64, 33)])
def test_it_equals_the_plain_loss_with_all_gradients(rows, size, smoothing, monkeypatch):
    monkeypatch.setattr(chunked, "MAX_CHUNK_SIZE", 40)  # chunks of 32 rows
    torch.manual_seed(rows)
    states = torch.randn(rows, 4, dtype=torch.double, requires_grad=True)
    weight = torch.randn(size, 4, dtype=torch.double, requires_grad=True)
    bias = torch.randn(size, dtype=torch.double, requires_grad=True)
    right = torch.randint(size, (rows,))
    ours = 3 * chunked_cross_entropy(states, weight, bias, right, smoothing)
    plain = 3 * cross_entropy(states @ weight.t() + bias, right, label_smoothing=smoothing)
    torch.testing.assert_close(ours, plain)
    leaves = [states, weight, bias]
    found = torch.autograd.grad(ours, leaves)
    torch.testing.assert_close(found, torch.autograd.grad(plain, leaves))


def test_large_logits_do_not_overflow():
    states = torch.full((2, 1), 1000.0)
    weight = torch.tensor([[1.0], [0.0]])
    loss = chunked_cross_entropy(states, weight, torch.zeros(2), torch.tensor([0, 1]))
    assert loss.item() == pytest.approx(500.0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("far", [80.0, 90.0, 100.0, 110.0, 500.0])
def test_probabilities_that_underflow(far, smoothing):
    """-log p is right where p has few digits left, or none."""
    states, weight = torch.ones(3, 1), torch.tensor([[far], [0.0], [far / 2]])
    bias, right = torch.zeros(3), torch.tensor([1, 0, 2])
    found = chunked_cross_entropy(states, weight, bias, right, smoothing)
    logits = states.double() @ weight.double().t()
    expected = cross_entropy(logits, right, label_smoothing=smoothing)
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_without_gradients_none_are_computed():
    with torch.no_grad():
        loss = chunked_cross_entropy(
            torch.zeros(3, 2), torch.zeros(4, 2), torch.zeros(4), torch.tensor([0, 1, 2])
        )
    assert loss.item() == pytest.approx(torch.tensor(4.0).log().item())


def test_without_a_word_there_is_no_smoothing():
    torch.manual_seed(1)
    parts = torch.randn(5, 4), torch.randn(7, 4), torch.randn(7), torch.randint(7, (5,))
    torch.testing.assert_close(
        chunked_cross_entropy(*parts), cross_entropy(parts[0] @ parts[1].t() + parts[2], parts[3])
    )
