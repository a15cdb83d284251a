"""The Transformer against torch's, against explicit masks, and against its own definition."""

import pytest
import torch
from torch import nn

from seqloom.errors import ModelError
from seqloom.nn.transformer.attention import AttentionPattern, SelfAttention
from seqloom.nn.transformer.encoder import TransformerStack
from seqloom.nn.transformer.layers import TransformerLayer, TransformerOptions
from seqloom.trace import watch

KINDS = [
    {},
    {"positions": "rotary"},
    {"positions": "sinusoid", "norm": "after", "activation": "relu"},
    {"attention_window": 3, "positions": "rotary"},
    {"attention_window": 2, "feed_forward": 10, "num_heads": 1},
    {"biases": True, "norm": "after"},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: "-".join(map(str, k.values())))


def stack(context=8, causal=True, layers=2, **kind):
    torch.manual_seed(3)
    made = TransformerStack(
        8,
        num_layers=layers,
        context=context,
        causal=causal,
        transformer_options=TransformerOptions(**{"num_heads": 2} | kind),
    ).double()
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)
    return made


def vectors(batch, time, width=8):
    return torch.randn(batch, time, width, dtype=torch.double)


def lengths(x):
    return torch.full((len(x),), x.shape[1])


def same(one, other, tolerance=1e-9):
    torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("norm", ["before", "after"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("biases", [True, False])
def test_a_layer_is_torchs(norm, activation, causal, biases):
    """With the same weights: outputs, and gradients of the input and of every weight."""
    options = TransformerOptions(num_heads=3, norm=norm, activation=activation, biases=biases)
    ours = TransformerLayer(12, options, 0.0)
    theirs = nn.TransformerEncoderLayer(
        12, 3, 48, 0.0, activation, batch_first=True, norm_first=norm == "before", bias=biases
    )
    pairs = {
        "self_attn.in_proj_weight": ours.attention.read.weight,
        "self_attn.out_proj.weight": ours.attention.join.weight,
        "linear1.weight": ours.widen.weight,
        "linear2.weight": ours.narrow.weight,
        "norm1.weight": ours.attention_norm.weight,
        "norm2.weight": ours.feed_norm.weight,
    }
    if biases:
        pairs |= {
            "self_attn.in_proj_bias": ours.attention.read.bias,
            "self_attn.out_proj.bias": ours.attention.join.bias,
            "linear1.bias": ours.widen.bias,
            "linear2.bias": ours.narrow.bias,
            "norm1.bias": ours.attention_norm.bias,
            "norm2.bias": ours.feed_norm.bias,
        }
    assert {id(weight) for weight in pairs.values()} == {id(weight) for weight in ours.parameters()}
    with torch.no_grad():
        for weight in pairs.values():
            weight.add_(torch.randn_like(weight) * 0.3)
    theirs.load_state_dict({name: weight.detach() for name, weight in pairs.items()})
    x = torch.randn(2, 7, 12, requires_grad=True)
    other = x.detach().clone().requires_grad_()
    mask = nn.Transformer.generate_square_subsequent_mask(7) if causal else None
    found, expected = (
        ours(x, AttentionPattern(causal))[0],
        theirs(other, src_mask=mask, is_causal=causal),
    )
    same(found, expected, 1e-5)
    pull = torch.randn_like(found)
    found.backward(pull)
    expected.backward(pull)
    same(x.grad, other.grad, 1e-5)
    for name, weight in theirs.named_parameters():
        same(pairs[name].grad, weight.grad, 1e-5)


def test_attention_is_torchs():
    ours, theirs = SelfAttention(12, 4), nn.MultiheadAttention(12, 4, bias=False, batch_first=True)
    theirs.in_proj_weight, theirs.out_proj.weight = ours.read.weight, ours.join.weight
    x = torch.randn(3, 6, 12)
    with watch(ours) as trace:
        ours.attend(*ours.products(x, None), AttentionPattern())
    expected, weights = theirs(x, x, x, average_attn_weights=False)
    same(ours.attend(*ours.products(x, None), AttentionPattern()), expected, 1e-6)
    same(torch.from_numpy(trace.of_kind("attention")[0].value), weights, 1e-6)


@every_kind
@pytest.mark.parametrize("causal", [True, False])
def test_watched_or_not_is_the_same(kind, causal):
    """Forward and backward, also where blocks and padding are."""
    made, x = stack(causal=causal, **kind), vectors(2, 11 if causal else 8).requires_grad_()
    sizes = torch.tensor([x.shape[1], 5])
    real = (torch.arange(x.shape[1]) < sizes[:, None])[..., None]
    weights = [x, *made.parameters()]
    fast = made(x, sizes) * real
    pull = torch.randn_like(fast)
    fused = torch.autograd.grad(fast, weights, pull)
    with watch(made) as trace:
        slow = made(x, sizes) * real
    same(fast, slow)
    for one, other in zip(fused, torch.autograd.grad(slow, weights, pull), strict=True):
        same(one, other)
    assert [seen.path for seen in trace.of_kind("attention")] == [
        "layers.0.attention",
        "layers.1.attention",
    ]


@pytest.mark.parametrize("window", [0, 1, 2, 4])
@pytest.mark.parametrize("causal", [True, False])
def test_windows_and_padding_are_an_explicit_mask(window, causal):
    """One position at a time: a softmax over those it may attend to, and no others."""
    made = stack(causal=causal, layers=1, attention_window=window)
    x, sizes = vectors(2, 7), torch.tensor([7, 4])
    with watch(made) as trace:
        made(x, sizes)
    seen = trace.of_kind("attention")[0].value
    layer = made.layers[0]
    queries, keys, _ = layer.attention.products(layer.attention_norm(made.positions(x)), None)
    for b in range(2):
        for t in range(int(sizes[b])):
            places = [
                s
                for s in range(7 if causal else int(sizes[b]))
                if (s <= t or not causal) and (not window or abs(s - t) < window)
            ]
            scores = torch.stack([(queries[b, t] * keys[b, s]).sum(-1) for s in places], dim=-1)
            expected = torch.zeros(2, 7, dtype=torch.double)
            expected[:, places] = (scores / 2).softmax(-1)
            same(torch.from_numpy(seen[b, :, t]), expected)


def by_definition(made, x):
    """Position p attends to max(0, ⌊p/H⌋ - 1)·H … p: each position by a pass of its own."""
    half = made.context // 2
    outputs = []
    for p in range(x.shape[1]):
        begin = max(0, p // half - 1) * half
        outputs.append(made._block(x[:, begin : p + 1])[:, -1])
    return torch.stack(outputs, dim=1)


@every_kind
@pytest.mark.parametrize("context", [2, 6, 8])
def test_long_texts_are_read_as_defined(kind, context):
    made = stack(context, **kind)
    half = context // 2
    for time in {1, context, context + 1, context + half, context + half + 1, 4 * context - 1}:
        x = vectors(2, time)
        same(made(x, lengths(x)), by_definition(made, x))


@every_kind
@pytest.mark.parametrize("context", [2, 6, 8])
def test_segments_and_steps_are_the_whole(kind, context):
    """Any mixture of segments and single steps, as far as several blocks."""
    made = stack(context, **kind)
    x = vectors(2, 21)
    with torch.no_grad():
        whole = made(x, lengths(x))
        for cuts in ([], [5, 6, 19], [8], list(range(1, 21)), [context, 2 * context]):
            edges = [0, *cuts, 21]
            for single in (False, True):
                state, outputs = made.initial(2), []
                for number, (begin, end) in enumerate(zip(edges, edges[1:], strict=False)):
                    if single and number % 2:
                        for t in range(begin, end):
                            output, state = made.step(x[:, t], state)
                            outputs.append(output[:, None])
                    else:
                        output, state = made.carry(x[:, begin:end], state)
                        outputs.append(output)
                    assert all(len(part) == 2 for part in state)
                    assert sum(part.shape[1] for part in state) <= context
                same(torch.cat(outputs, 1), whole)


@every_kind
def test_a_step_leaves_its_state_as_it_was(kind):
    made, x = stack(6, **kind), vectors(2, 12)
    with torch.no_grad():
        state = made.initial(2)
        for t in range(12):
            kept = [part.clone() for part in state]
            once, new = made.step(x[:, t], state)
            snapshot = [part.clone() for part in new]
            made.step(-x[:, t], state)
            again, _ = made.step(x[:, t], state)
            assert torch.equal(once, again)
            assert all(map(torch.equal, kept, state)) and all(map(torch.equal, snapshot, new))
            state = new


@every_kind
def test_it_is_causal(kind):
    made, x = stack(8, **kind), vectors(1, 21).requires_grad_()
    for t in range(21):
        outputs = made(x, lengths(x))[0, t].sum()
        (pull,) = torch.autograd.grad(outputs, x)
        begin = max(0, t // 4 - 1) * 4
        assert not pull[0, t + 1 :].any() and not pull[0, :begin].any() and pull[0, t].any()


def test_not_causal_sees_both_sides_but_no_padding():
    made, x = stack(causal=False), vectors(2, 7).requires_grad_()
    (pull,) = torch.autograd.grad(made(x, torch.tensor([7, 4]))[:, 1].sum(), x)
    assert pull[0].any(-1).all() and pull[1, :4].any(-1).all() and not pull[1, 4:].any()


def test_a_first_segment_costs_one_fused_call_a_layer(monkeypatch):
    calls = []
    kernel = nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        "seqloom.nn.transformer.attention.scaled_dot_product_attention",
        lambda *given, **more: calls.append(given[0].shape[2]) or kernel(*given, **more),
    )
    made, x = stack(8, layers=3), vectors(2, 8)
    made.carry(x, made.initial(2))
    assert calls == [8, 8, 8]


def test_weight_initialisation():
    made = TransformerStack(256, num_layers=8, context=64)
    layer = made.layers[3]
    for weight, std in (
        (layer.attention.read.weight, 0.02),
        (layer.widen.weight, 0.02),
        (made.positions.table, 0.02),
        (layer.attention.join.weight, 0.005),
        (layer.narrow.weight, 0.005),
    ):
        assert weight.std().item() == pytest.approx(std, rel=0.05)


@pytest.mark.parametrize(
    "settings, kind, told",
    [
        ({"width": 8}, {"num_heads": 3}, "num_heads = 3 does not divide hidden_size = 8"),
        ({"width": 8}, {"num_heads": 0}, "num_heads = 0"),
        ({"width": 6}, {"num_heads": 2, "positions": "rotary"}, "a head size of 3"),
        ({"context": 1}, {}, "context = 1: expected an even number"),
        ({"context": 7}, {}, "context = 7: expected an even number"),
        ({"num_layers": 0}, {}, "layers = 0: expected at least 1"),
        ({}, {"attention_window": -1}, "attention_window = -1"),
        ({}, {"feed_forward": -4}, "feed_forward = -4"),
        ({"dropout": 1.0}, {}, r"dropout must be in \[0, 1\)"),
    ],
)
def test_invalid_options_raise_errors(settings, kind, told):
    given = {"width": 8, "num_layers": 1, "context": 8} | settings
    with pytest.raises(ModelError, match=told) as error:
        TransformerStack(
            given.pop("width"), **given, transformer_options=TransformerOptions(**kind)
        )
    assert error.value.code == "M160"


def test_biases_start_at_zero_and_norms_have_them_too():
    plain, made = (
        TransformerStack(
            8,
            num_layers=2,
            context=4,
            transformer_options=TransformerOptions(num_heads=2, biases=biases),
        )
        for biases in (False, True)
    )
    biases = {name: weight for name, weight in made.named_parameters() if name.endswith("bias")}
    assert len(biases) == 2 * 6 + 1 and not any(weight.any() for weight in biases.values())
    assert {*biases, *dict(plain.named_parameters())} == dict(made.named_parameters()).keys()
