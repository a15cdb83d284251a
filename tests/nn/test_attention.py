"""Attention against its equation, one pair at a time."""

import torch

from seqloom.nn.attention import AdditiveAttention
from seqloom.trace import watching


def test_the_equation():
    """e_ts = v · tanh(W₁ m_s + W₂ h_t), written as loops."""
    attention = AdditiveAttention(memory=3, query=4, hidden=5)
    memory, queries = torch.randn(2, 6, 3), torch.randn(2, 4, 4)
    allowed = torch.tensor([[True] * 6, [True] * 2 + [False] * 4])
    with watching(attention) as trace:
        found = attention(queries, attention.keys(memory), memory, allowed)
    (record,) = trace.of_kind("attention")
    for b in range(2):
        for t in range(4):
            places = [s for s in range(6) if allowed[b, s]]
            scores = torch.stack(
                [
                    attention.score(
                        torch.tanh(attention.key(memory[b, s]) + attention.query(queries[b, t]))
                    )[0]
                    for s in places
                ]
            )
            weights = scores.softmax(0)
            context = sum(w * memory[b, s] for w, s in zip(weights, places, strict=True))
            torch.testing.assert_close(found[b, t], context)
            shown = torch.from_numpy(record.value)[b, t]
            torch.testing.assert_close(shown[places], weights)
            assert abs(shown.sum().item() - 1) < 1e-6, "nothing outside the real places"


def test_gradients_reach_everything():
    attention = AdditiveAttention(3, 4, 5).double()
    memory = torch.randn(1, 3, 3, dtype=torch.double, requires_grad=True)
    queries = torch.randn(1, 2, 4, dtype=torch.double, requires_grad=True)
    allowed = torch.ones(1, 3, dtype=torch.bool)

    def run(memory, queries):
        return attention(queries, attention.keys(memory), memory, allowed)

    assert torch.autograd.gradcheck(run, (memory, queries))
