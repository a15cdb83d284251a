"""Every attention against its equation, one pair at a time."""

import math

import pytest
import torch
from torch import nn

from seqloom.batch import Sequences
from seqloom.errors import ModelError
from seqloom.nn.attention import ATTENTIONS, Attending, Seen, coverage, shares
from seqloom.trace import watching

WIDTH, WINDOW, HEADS = 4, 2, 2
SEEDS = range(3)
every_kind = pytest.mark.parametrize("kind", ATTENTIONS)


def made(kind, seed=0, width=WIDTH):
    torch.manual_seed(seed)
    attending = Attending(attention=kind, attention_width=5, attention_window=WINDOW, heads=HEADS)
    attention = ATTENTIONS[kind].made(width, width, attending)
    for parameter in attention.parameters():
        nn.init.normal_(parameter)  # large enough for weights that differ
    return attention.double()


def numbers(seed, sources=2, places=6, time=3):
    chance = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=chance, dtype=torch.double)  # noqa: E731
    real = torch.arange(places) < torch.tensor([[places], [2]])[:sources]
    return draw(sources, places, WIDTH), draw(sources, time, WIDTH), real


def seen_by(attention, memory, real):
    return Seen(memory, attention.keys(memory), real)


def dot(attention, h, m, s, places, before):
    return sum(h[i] * m[s, i] for i in range(WIDTH))


def scaled(attention, h, m, s, places, before):
    return dot(attention, h, m, s, places, before) / math.sqrt(WIDTH)


def general(attention, h, m, s, places, before):
    w = attention.key.weight
    return sum(h[i] * w[i, j] * m[s, j] for i in range(WIDTH) for j in range(WIDTH))


def additive(attention, h, m, s, places, before):
    inside = attention.key(m[s]) + attention.query(h)
    return attention.score.weight[0] @ torch.tanh(inside)


def location(attention, h, m, s, places, before):
    f = sum(
        attention.around.weight[:, i + WINDOW] * before[s + i]
        for i in range(-WINDOW, WINDOW + 1)
        if 0 <= s + i < len(before)
    )
    inside = attention.key(m[s]) + attention.query(h) + attention.located.weight @ f
    return attention.score.weight[0] @ torch.tanh(inside)


def local(attention, h, m, s, places, before):
    expected = torch.sigmoid(attention.place.weight[0] @ torch.tanh(attention.hide.weight @ h))
    away = s - (places - 1) * expected
    if abs(away) > WINDOW:
        return torch.tensor(-torch.inf, dtype=torch.double)
    return general(attention, h, m, s, places, before) - away**2 / (2 * (WINDOW / 2) ** 2)


SCORES = {"dot": dot, "scaled": scaled, "general": general, "additive": additive} | {
    "location": location,
    "local": local,
}


def by_hand(kind, attention, memory, queries, real):
    """Contexts and weights in loops, over the real places alone."""
    sources, time, _ = queries.shape
    contexts, weights = [], torch.zeros(sources, time, memory.shape[1], dtype=torch.double)
    for b in range(sources):
        places = int(real[b].sum())
        for t in range(time):
            before = weights[b, t - 1, :places] if t else torch.zeros(places, dtype=torch.double)
            scores = [
                SCORES[kind](attention, queries[b, t], memory[b], s, places, before)
                for s in range(places)
            ]
            chances = torch.stack(scores).exp()
            weights[b, t, :places] = chances / chances.sum()
            contexts.append(sum(weights[b, t, s] * memory[b, s] for s in range(places)))
    return torch.stack(contexts).unflatten(0, (sources, time)), weights


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_equation(kind, seed):
    attention, (memory, queries, real) = made(kind, seed), numbers(seed)
    with torch.no_grad():
        found = attention(queries, seen_by(attention, memory, real))
        context, weights = by_hand(kind, attention, memory, queries, real)
    torch.testing.assert_close(found.weights, weights)
    torch.testing.assert_close(found.context, context)


@pytest.mark.parametrize("seed", SEEDS)
def test_many_heads_are_torchs(seed):
    """Against nn.MultiheadAttention, each head's weights too."""
    ours, (memory, queries, real) = made("multi-head", seed), numbers(seed)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True).double()
    theirs.in_proj_weight.data = torch.cat([ours.query.weight, ours.key.weight]).detach()
    theirs.out_proj.weight.data = ours.join.weight.detach()
    wanted, weights = theirs(
        queries, memory, memory, key_padding_mask=~real, average_attn_weights=False
    )
    found = ours(queries, seen_by(ours, memory, real))
    torch.testing.assert_close(found.context, wanted)
    torch.testing.assert_close(found.weights, weights)
    torch.testing.assert_close(shares(found.weights), weights.mean(1))


def test_the_fused_kernel_says_the_same(monkeypatch):
    attention, (memory, queries, real) = made("multi-head"), numbers(0)
    seen, calls = seen_by(attention, memory, real), []
    kernel = nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        "seqloom.nn.attention.multi_head.scaled_dot_product_attention",
        lambda *args, **more: calls.append(1) or kernel(*args, **more),
    )
    slow, quick = attention(queries, seen), attention(queries, seen, weighed=False)
    torch.testing.assert_close(slow.context, quick.context)
    assert calls == [1] and quick.weights is None
    with watching(attention):
        assert attention(queries, seen, weighed=False).weights is not None, "whoever watches sees"


@every_kind
def test_step_by_step_or_all_at_once(kind):
    """Each step with two candidates that are the same: memory stays one row for a source."""
    attention, (memory, queries, real) = made(kind, 1), numbers(1)
    seen = seen_by(attention, memory, real)
    whole = attention(queries, seen)
    before = torch.zeros(2, 2, 6, dtype=torch.double)
    for t in range(queries.shape[1]):
        one = attention(queries[:, t : t + 1].expand(-1, 2, -1), seen, before)
        before = shares(one.weights)
        for candidate in range(2):
            torch.testing.assert_close(one.context[:, candidate], whole.context[:, t])
            torch.testing.assert_close(before[:, candidate], shares(whole.weights)[:, t])


@every_kind
def test_gradients_by_finite_differences(kind):
    attention, (memory, queries, real) = made(kind, 2), numbers(2)
    weights = list(attention.parameters())

    def run(memory, queries, *_):
        found = attention(queries, seen_by(attention, memory, real))
        return found.context, found.weights

    inputs = (memory.requires_grad_(), queries.requires_grad_(), *weights)
    assert torch.autograd.gradcheck(run, inputs)


@every_kind
def test_padding_changes_nothing(kind):
    attention, (memory, queries, _) = made(kind, 3), numbers(3, sources=1)
    real = torch.ones(1, 6, dtype=torch.bool)
    alone = attention(queries, seen_by(attention, memory, real))
    padded = torch.cat([memory, torch.full((1, 4, WIDTH), 9.0, dtype=torch.double)], dim=1)
    wide = torch.cat([real, torch.zeros(1, 4, dtype=torch.bool)], dim=1)
    found = attention(queries, seen_by(attention, padded, wide))
    torch.testing.assert_close(found.context, alone.context)
    torch.testing.assert_close(found.weights[..., :6], alone.weights)
    assert not found.weights[..., 6:].any()


def test_one_place_gets_all_the_weight():
    for kind in ATTENTIONS:
        attention, (memory, queries, _) = made(kind), numbers(0)
        found = attention(
            queries, seen_by(attention, memory[:, :1], torch.ones(2, 1, dtype=torch.bool))
        )
        torch.testing.assert_close(found.weights, torch.ones_like(found.weights))


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_counts_what_is_seen_again(seed):
    """Σ_s min(α_ts, Σ_{t' < t} α_t's) in loops; padded targets cost nothing."""
    alpha = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(seed)).softmax(-1)
    target = Sequences.pad([torch.ones(n, dtype=torch.int64).numpy() for n in (4, 2)])
    wanted = 0.0
    for b, length in enumerate((4, 2)):
        for t in range(length):
            for s in range(3):
                wanted += min(alpha[b, t, s].item(), alpha[b, :t, s].sum().item())
    assert coverage(alpha, target).item() == pytest.approx(wanted / 6, rel=1e-5)
    heads = torch.stack([alpha, alpha], dim=1)
    assert coverage(heads, target).item() == pytest.approx(wanted / 6, rel=1e-5)


@pytest.mark.parametrize(
    "options, code, sentence",
    [
        ({"heads": 0}, "M200", "heads = 0: expected 1 or more"),
        ({"attention_window": 0}, "M200", "attention_window = 0"),
        ({"coverage": -1.0}, "M200", "coverage = -1"),
        ({"attention": "none", "copy": True}, "M201", "copy cannot be had without attention"),
        (
            {"attention": "none", "query": "previous", "coverage": 1.0},
            "M201",
            "query and coverage cannot be had",
        ),
        ({"attention": "none", "input_feeding": True}, "M201", "input_feeding cannot be had"),
        ({"input_feeding": True, "attentional": False}, "M201", "attentional is false"),
    ],
)
def test_what_cannot_be_is_refused(options, code, sentence):
    with pytest.raises(ModelError) as told:
        Attending(**options)
    assert told.value.code == code and sentence in told.value.problem and told.value.help


def test_widths_that_do_not_fit_are_refused():
    with pytest.raises(ModelError, match="3 heads cannot share 8 numbers") as told:
        ATTENTIONS["multi-head"].made(8, 8, Attending(heads=3))
    assert told.value.help == ("--set model.heads=2",)
    with pytest.raises(ModelError, match="states 6 wide with places 8 wide"):
        ATTENTIONS["dot"].made(8, 6, Attending(attention="dot"))
