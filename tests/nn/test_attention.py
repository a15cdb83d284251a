"""Every attention mechanism against its equation, one pair of positions at a time."""

import math

import pytest
import torch
from torch import nn

from seqloom.batch import Sequences
from seqloom.errors import ModelError
from seqloom.nn.attention import (
    ATTENTIONS,
    AttentionOptions,
    KeyValues,
    coverage_loss,
    mean_over_heads,
)
from seqloom.trace import watch

WIDTH, WINDOW, HEADS = 4, 2, 2
SEEDS = range(3)
every_kind = pytest.mark.parametrize("kind", ATTENTIONS)


def made(kind, seed=0, width=WIDTH):
    torch.manual_seed(seed)
    options = AttentionOptions(
        attention=kind, attention_width=5, attention_window=WINDOW, num_heads=HEADS
    )
    attention = ATTENTIONS[kind].from_options(width, width, options)
    for parameter in attention.parameters():
        nn.init.normal_(parameter)  # large enough for attention weights that differ
    return attention.double()


def numbers(seed, sources=2, places=6, time=3):
    chance = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=chance, dtype=torch.double)  # noqa: E731
    real = torch.arange(places) < torch.tensor([[places], [2]])[:sources]
    return draw(sources, places, WIDTH), draw(sources, time, WIDTH), real


def key_values(attention, outputs, real):
    return KeyValues(outputs, attention.keys(outputs), real)


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


def by_hand(kind, attention, outputs, queries, real):
    """Contexts and weights in loops, over the real positions alone."""
    sources, time, _ = queries.shape
    contexts, weights = [], torch.zeros(sources, time, outputs.shape[1], dtype=torch.double)
    for b in range(sources):
        places = int(real[b].sum())
        for t in range(time):
            before = weights[b, t - 1, :places] if t else torch.zeros(places, dtype=torch.double)
            scores = [
                SCORES[kind](attention, queries[b, t], outputs[b], s, places, before)
                for s in range(places)
            ]
            powers = torch.stack(scores).exp()
            weights[b, t, :places] = powers / powers.sum()
            contexts.append(sum(weights[b, t, s] * outputs[b, s] for s in range(places)))
    return torch.stack(contexts).unflatten(0, (sources, time)), weights


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_equation(kind, seed):
    attention, (outputs, queries, real) = made(kind, seed), numbers(seed)
    with torch.no_grad():
        found = attention(queries, key_values(attention, outputs, real))
        context, weights = by_hand(kind, attention, outputs, queries, real)
    torch.testing.assert_close(found.weights, weights)
    torch.testing.assert_close(found.context, context)


@pytest.mark.parametrize("seed", SEEDS)
def test_multi_head_attention_is_torchs(seed):
    """Against nn.MultiheadAttention, each head's weights too."""
    ours, (outputs, queries, real) = made("multi-head", seed), numbers(seed)
    theirs = nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True).double()
    theirs.in_proj_weight.data = torch.cat([ours.query.weight, ours.key.weight]).detach()
    theirs.out_proj.weight.data = ours.join.weight.detach()
    expected, weights = theirs(
        queries, outputs, outputs, key_padding_mask=~real, average_attn_weights=False
    )
    found = ours(queries, key_values(ours, outputs, real))
    torch.testing.assert_close(found.context, expected)
    torch.testing.assert_close(found.weights, weights)
    torch.testing.assert_close(mean_over_heads(found.weights), weights.mean(1))


def test_the_fused_kernel_gives_the_same(monkeypatch):
    attention, (outputs, queries, real) = made("multi-head"), numbers(0)
    source, calls = key_values(attention, outputs, real), []
    kernel = nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        "seqloom.nn.attention.multi_head.scaled_dot_product_attention",
        lambda *args, **more: calls.append(1) or kernel(*args, **more),
    )
    slow, fused = attention(queries, source), attention(queries, source, need_weights=False)
    torch.testing.assert_close(slow.context, fused.context)
    assert calls == [1] and fused.weights is None
    with watch(attention):
        assert attention(queries, source, need_weights=False).weights is not None, "watch records"


@every_kind
def test_step_by_step_or_all_at_once(kind):
    """Each step with two equal candidates: keys and values stay one row for a source."""
    attention, (outputs, queries, real) = made(kind, 1), numbers(1)
    source = key_values(attention, outputs, real)
    whole = attention(queries, source)
    before = torch.zeros(2, 2, 6, dtype=torch.double)
    for t in range(queries.shape[1]):
        one = attention(queries[:, t : t + 1].expand(-1, 2, -1), source, before)
        before = mean_over_heads(one.weights)
        for candidate in range(2):
            torch.testing.assert_close(one.context[:, candidate], whole.context[:, t])
            torch.testing.assert_close(before[:, candidate], mean_over_heads(whole.weights)[:, t])


@every_kind
def test_gradients_by_finite_differences(kind):
    attention, (outputs, queries, real) = made(kind, 2), numbers(2)
    weights = list(attention.parameters())

    def run(outputs, queries, *_):
        found = attention(queries, key_values(attention, outputs, real))
        return found.context, found.weights

    inputs = (outputs.requires_grad_(), queries.requires_grad_(), *weights)
    assert torch.autograd.gradcheck(run, inputs)


@every_kind
def test_padding_changes_nothing(kind):
    attention, (outputs, queries, _) = made(kind, 3), numbers(3, sources=1)
    real = torch.ones(1, 6, dtype=torch.bool)
    alone = attention(queries, key_values(attention, outputs, real))
    padded = torch.cat([outputs, torch.full((1, 4, WIDTH), 9.0, dtype=torch.double)], dim=1)
    wide = torch.cat([real, torch.zeros(1, 4, dtype=torch.bool)], dim=1)
    found = attention(queries, key_values(attention, padded, wide))
    torch.testing.assert_close(found.context, alone.context)
    torch.testing.assert_close(found.weights[..., :6], alone.weights)
    assert not found.weights[..., 6:].any()


def test_one_position_has_weight_one():
    for kind in ATTENTIONS:
        attention, (outputs, queries, _) = made(kind), numbers(0)
        found = attention(
            queries, key_values(attention, outputs[:, :1], torch.ones(2, 1, dtype=torch.bool))
        )
        torch.testing.assert_close(found.weights, torch.ones_like(found.weights))


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_loss_counts_repeated_attention(seed):
    """Σ_s min(α_ts, Σ_{t' < t} α_t's) in loops; padded targets cost nothing."""
    alpha = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(seed)).softmax(-1)
    target = Sequences.pad([torch.ones(n, dtype=torch.int64).numpy() for n in (4, 2)])
    expected = 0.0
    for b, length in enumerate((4, 2)):
        for t in range(length):
            for s in range(3):
                expected += min(alpha[b, t, s].item(), alpha[b, :t, s].sum().item())
    assert coverage_loss(alpha, target).item() == pytest.approx(expected / 6, rel=1e-5)
    heads = torch.stack([alpha, alpha], dim=1)
    assert coverage_loss(heads, target).item() == pytest.approx(expected / 6, rel=1e-5)


@pytest.mark.parametrize(
    "options, code, sentence",
    [
        ({"num_heads": 0}, "M200", "num_heads = 0: expected 1 or more"),
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
def test_invalid_options_raise_errors(options, code, sentence):
    with pytest.raises(ModelError) as told:
        AttentionOptions(**options)
    assert told.value.code == code and sentence in told.value.problem and told.value.help


def test_sizes_that_do_not_fit_raise_errors():
    with pytest.raises(ModelError, match="num_heads = 3 does not divide hidden_size = 8") as told:
        ATTENTIONS["multi-head"].from_options(8, 8, AttentionOptions(num_heads=3))
    assert told.value.help == ("--set model.num_heads=2",)
    with pytest.raises(ModelError, match="the decoder has 6, the encoder 8"):
        ATTENTIONS["dot"].from_options(8, 6, AttentionOptions(attention="dot"))
