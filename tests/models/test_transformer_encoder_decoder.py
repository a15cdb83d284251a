"""The Transformer encoder-decoder: against torch's, by brute force, recorded, and in NumPy."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from seqloom.batch import Batch, Sequences
from seqloom.config import constructor_arguments, options
from seqloom.errors import ModelError
from seqloom.inspection import inspect_model
from seqloom.model import Search
from seqloom.models.transformer_encoder_decoder import TransformerEncoderDecoder as Model
from seqloom.nn.transformer.decoder import TransformerDecoder
from seqloom.nn.transformer.encoder import TransformerStack
from seqloom.nn.transformer.layers import TransformerOptions
from seqloom.signature import BEGIN, END, Form, Signature, Tokens, Vectors
from seqloom.tasks.translate import Translate
from seqloom.trace import watch
from seqloom.training.optimizers import OPTIMIZERS
from seqloom.training.options import Training

SPACE = Tokens(9)
SIGNATURE = Signature(Form.TRANSDUCE, SPACE, SPACE)
KINDS = [
    {},
    {"norm": "before", "positions": "rotary", "activation": "gelu"},
    {"positions": "learned", "num_heads": 1, "tie_embeddings": False},
    {"attention_window": 2, "feed_forward": 10, "norm": "before", "share_embeddings": True},
    {"biases": True},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda k: "-".join(map(str, k.values())))


def made(signature=SIGNATURE, seed=0, **settings):
    torch.manual_seed(seed)
    given = {
        "hidden_size": 8,
        "num_heads": 2,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "context": 16,
    }
    model = Model(signature, **constructor_arguments(Model, given | settings))
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.3)
    return model.eval()


def rows(*lengths, seed=0):
    chance = np.random.default_rng(seed)
    return Sequences.pad([chance.integers(4, 9, n) for n in lengths])


def same(one, other, tolerance=1e-5):
    torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def pairs_of(own, theirs, crosses):
    """Which part is which, layer by layer; torch keeps three products of attention in one."""
    for ours, other in zip(own, theirs, strict=True):
        yield other.self_attn, [ours.attention.read]
        yield other.self_attn.out_proj, [ours.attention.join]
        yield other.linear1, [ours.widen]
        yield other.linear2, [ours.narrow]
        yield other.norm1, [ours.attention_norm]
        last = other.norm2
        if crosses:
            look = ours.cross_attention
            yield other.multihead_attn, [look.ask, look.read]
            yield other.multihead_attn.out_proj, [look.join]
            yield other.norm2, [ours.cross_norm]
            last = other.norm3
        yield last, [ours.feed_norm]


def weights_of(parts, what):
    """The same for their weights, or their biases."""
    for theirs, ours in parts:
        its = getattr(theirs, f"in_proj_{what}" if hasattr(theirs, "in_proj_weight") else what)
        yield its, [getattr(part, what) for part in ours]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch's, of a way of its own
@pytest.mark.parametrize("norm", ["before", "after"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("biases", [True, False])
def test_encoder_and_decoder_are_torchs(norm, activation, biases):
    """With the same weights and padding: outputs, gradients of both inputs and of every weight."""
    torch.manual_seed(0)
    transformer_options = TransformerOptions(
        num_heads=3, norm=norm, activation=activation, positions="rotary", biases=biases
    )
    shape = {
        "num_layers": 2,
        "context": 8,
        "dropout": 0.0,
        "transformer_options": transformer_options,
    }
    encoder = TransformerStack(12, causal=False, **shape)
    decoder = TransformerDecoder(12, **shape)
    encoder.rotary = decoder.rotary = None  # torch's has no positions
    theirs = nn.Transformer(
        12, 3, 2, 2, 48, 0.0, activation, batch_first=True, norm_first=norm == "before", bias=biases
    )
    parts = [
        *pairs_of(encoder.layers, theirs.encoder.layers, False),
        *pairs_of(decoder.layers, theirs.decoder.layers, True),
    ]
    if norm == "before":
        parts += [(theirs.encoder.norm, [encoder.norm]), (theirs.decoder.norm, [decoder.norm])]
    else:
        theirs.encoder.norm = theirs.decoder.norm = None
    kinds = ("weight", "bias") if biases else ("weight",)
    pairs = [pair for what in kinds for pair in weights_of(parts, what)]
    assert len(pairs) == len(list(theirs.parameters())), "every weight has its place"
    with torch.no_grad():
        for other, ours in pairs:
            for weight in ours:
                weight.add_(torch.randn_like(weight) * 0.2)
            other.copy_(torch.cat(ours))
    lengths = torch.tensor([6, 4])
    real = torch.arange(6) < lengths[:, None]
    inputs = [torch.randn(2, n, 12) for n in (6, 5)]
    own, other = ([x.clone().requires_grad_() for x in inputs] for _ in range(2))
    found = decoder(own[1], decoder.cross_keys_values(encoder(own[0], lengths)), real)
    wanted = theirs(
        *other,
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(5),
        src_key_padding_mask=~real,
        memory_key_padding_mask=~real,
        tgt_is_causal=True,
    )
    same(found, wanted)
    pull = torch.randn_like(found)
    found.backward(pull)
    wanted.backward(pull)
    for one, its in zip(own, other, strict=True):
        same(one.grad, its.grad)
    for weight, ours in pairs:
        same(torch.cat([part.grad for part in ours]), weight.grad)


@every_kind
def test_steps_are_the_whole_for_every_symbol(kind):
    """Teacher-forced log-probabilities of all symbols, by single steps; fused, watched, NumPy."""
    model, source, target = made(**kind), rows(5, 3, 7), rows(6, 6, 6, seed=1)
    with model.inference_mode():
        whole = model.output(model._states(Batch(source, target))).numpy()

        def stepped():
            state, symbols, found = model.begin(source), np.full(3, BEGIN), []
            for place in range(6):
                log_probs, state = model.step(symbols, state)
                found.append(log_probs)
                symbols = target.values[:, place]
            return np.stack(found, axis=1), state

        quick, state = stepped()
        assert isinstance(state[2], np.ndarray)
        with watch(model):
            slow, other = stepped()
        assert isinstance(other[2], torch.Tensor)
    np.testing.assert_allclose(quick, whole, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(slow, whole, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(state[2]), other[2].numpy(), rtol=1e-4, atol=1e-5)


@every_kind
def test_candidates_of_a_source_are_further_queries(kind):
    """Two sources with three candidates each, reordered as a beam does; states stay values."""
    model, source = made(**kind), rows(5, 3)
    alone = [
        Sequences(source.values[i : i + 1, :n], source.lengths[i : i + 1])
        for i, n in enumerate(source.lengths)
    ]
    chance, written = np.random.default_rng(0), np.full((6, 1), BEGIN)
    with model.inference_mode():
        state = model.begin(source)
        state = (*state[:2], state[2][np.array([0, 0, 0, 1, 1, 1])])
        for place in range(5):
            log_probs, new = model.step(written[:, -1], state)
            assert model.step(written[:, -1], state)[0].tolist() == log_probs.tolist()
            for row in range(6):
                single = model.begin(alone[row // 3])
                for symbol in written[row]:
                    wanted, single = model.step(np.array([symbol]), single)
                np.testing.assert_allclose(log_probs[row], wanted[0], rtol=1e-5, atol=1e-5)
            order = np.concatenate([chance.integers(0, 3, 3), chance.integers(3, 6, 3)])
            drawn = chance.integers(2, 9, (6, 1))
            written = np.concatenate([written[order], drawn], axis=1)
            state = (*new[:2], new[2][order])
            assert state[2].shape == (6, place + 1, 4, 8)


def test_a_state_goes_on_in_either_way():
    """Begun in NumPy and gone on with while somebody watches, and the other way round."""
    model, source = made(), rows(5, 3)
    first, second = np.full(2, BEGIN), np.array([5, 6])
    with model.inference_mode():
        _, state = model.step(first, model.begin(source))
        wanted, _ = model.step(second, state)
        with watch(model):
            found, _ = model.step(second, state)
            _, state = model.step(first, model.begin(source))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(model.step(second, state)[0], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_follow_what_is_learned(optimizer):
    """The arranged weights are never those of before a step of learning."""
    model, batch = made(), Batch(rows(5, 3), rows(4, 4, seed=1))
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    descent = OPTIMIZERS[optimizer](weights, Training(optimizer=optimizer))
    for _ in range(3):
        with model.inference_mode():
            state, symbols, total = model.begin(batch.source), np.full(2, BEGIN), 0.0
            for place in range(4):
                log_probs, state = model.step(symbols, state)
                symbols = batch.target.values[:, place]
                total = total + log_probs[np.arange(2), symbols]
            np.testing.assert_allclose(total, model.log_prob(batch), rtol=1e-4)
        model.loss(batch).backward()
        descent.step(0.05)
        descent.forget_gradients()


def test_a_copy_and_restored_weights_are_followed():
    model, other, source = made(), made(seed=1), rows(4)
    symbols = np.array([BEGIN])

    def said(some):
        with some.inference_mode():
            return some.step(symbols, some.begin(source))[0]

    before, wanted = said(model), said(other)
    twin = copy.deepcopy(model).double()
    np.testing.assert_allclose(said(twin), before, rtol=1e-5, atol=1e-5)
    assert said(twin).dtype == np.float64
    model.restore({name: np.array(array) for name, array in other.weights().items()})
    assert said(model).tolist() == wanted.tolist() != before.tolist()


def test_every_attention_is_recorded():
    model, source, target = made(attention_window=3), rows(5, 3), rows(6, 4, seed=1)
    with model.inference_mode(), watch(model) as trace:
        model.log_prob(Batch(source, target))
    seen = {record.path: record.value for record in trace.of_kind("attention")}
    shapes = {path: value.shape for path, value in seen.items()}
    assert shapes == {
        **{f"encoder.layers.{n}.attention": (2, 2, 5, 5) for n in range(2)},
        **{f"decoder.layers.{n}.attention": (2, 2, 6, 6) for n in range(2)},
        **{f"decoder.layers.{n}.cross_attention": (2, 2, 6, 5) for n in range(2)},
    }
    apart = np.arange(6)[:, None] - np.arange(6)
    for path, weights in seen.items():
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        if path.startswith("decoder") and "cross" not in path:
            hidden = (apart < 0) | (apart >= 3)
            assert not weights[..., hidden].any() and (weights[..., ~hidden] > 0).all()
        else:
            assert not weights[1, :, :3, 3:].any() and (weights[1, :, :3, :3].sum(-1) > 0.99).all()


@pytest.mark.parametrize("source, answer", [("ab ba", "x y z"), ("a", "z"), ("a b a", "q")])
def test_what_is_shown_is_where_the_target_looks_in_the_source(source, answer):
    task = Translate()
    task.prepare([task.with_target(task.question("a b ab ba"), "x y z")])
    model = made(task.signature())
    view = inspect_model(model, task, task.question(source), answer, "run")
    assert view.source == [*source.split(), "</s>"] and view.target == [*answer.split(), "</s>"]
    np.testing.assert_allclose(np.array(view.weights).sum(1), 1, atol=1e-4)
    assert "decoder.layers.1.cross_attention, the mean of its 2 heads" in view.notes


@every_kind
def test_nothing_comes_from_later(kind):
    model, batch = made(**kind), Batch(rows(5), rows(6, seed=1))
    vectors = {}
    model.target_input.register_forward_hook(
        lambda module, read, found: vectors.update(target=found) or found.retain_grad()
    )
    for place in range(6):
        states = model._states(batch)
        states[0, place].sum().backward()
        pull = vectors["target"].grad[0]
        assert not pull[place + 1 :].any() and pull[place].any()


def test_three_tables_can_be_one():
    model = made(share_embeddings=True)
    table = model.source_input.table.weight
    assert table is model.target_input.table.weight is model.output.scores.weight
    model = made(share_embeddings=True, tie_embeddings=False)
    assert model.source_input.table.weight is not model.output.scores.weight
    model = made()
    assert model.target_input.table.weight is model.output.scores.weight
    assert model.source_input.table.weight is not model.target_input.table.weight


@pytest.mark.parametrize(
    "signature, told",
    [
        (Signature(Form.TRANSDUCE, Tokens(7), SPACE), "7 tokens and the target 9"),
        (Signature(Form.TRANSDUCE, Vectors(3), SPACE), "token input, not numbers"),
    ],
)
def test_what_differs_cannot_be_shared(signature, told):
    with pytest.raises(ModelError, match=told) as error:
        made(signature, share_embeddings=True)
    assert error.value.code == "M180"


@pytest.mark.parametrize("positions", ["sinusoid", "rotary"])
def test_there_is_no_longest_sequence(positions):
    """Far beyond the context on both sides, steps still agree with the whole."""
    model, source, target = made(positions=positions, context=4), rows(19), rows(11, seed=1)
    with model.inference_mode():
        state, symbols, total = model.begin(source), np.array([BEGIN]), 0.0
        for place in range(11):
            log_probs, state = model.step(symbols, state)
            symbols = target.values[:, place]
            total += log_probs[0, symbols[0]]
        assert total == pytest.approx(model.log_prob(Batch(source, target)).item(), rel=1e-5)


def test_learned_positions_have_an_end():
    model = made(positions="learned", context=6)
    with (
        model.inference_mode(),
        pytest.raises(ModelError, match="7 tokens.*6 learned positions") as told,
    ):
        model.predict(rows(7), Search())
    assert told.value.code == "M163"
    with torch.no_grad():
        model.output.scores.bias[END] = -100
    with model.inference_mode():
        found = model.predict(rows(6), Search(limit=50))
    assert found.target.lengths.tolist() == [6]  # no answer can be longer


def test_its_defaults_are_the_papers():
    found = {option.name: option.default for option in options(Model)}
    wanted = {
        "norm": "after",
        "positions": "sinusoid",
        "activation": "relu",
        "tie_embeddings": True,
    }
    assert wanted.items() <= found.items()
    assert constructor_arguments(Model, {"num_heads": 2})[
        "transformer_options"
    ] == TransformerOptions(num_heads=2, norm="after", positions="sinusoid", activation="relu")


@every_kind
def test_where_a_step_looked_is_what_the_whole_records(kind):
    """The mean of the last layer's heads; two candidates of a source look side by side."""
    model, batch = made(**kind), Batch(rows(4, 3), rows(3, 3, seed=1))
    with model.inference_mode(), watch(model) as trace:
        model.log_prob(batch)
    whole = trace.of_kind("attention")[-1].value.mean(1)
    with model.inference_mode():
        still, real, known = model.begin(batch.source)
        state = (still, real, known[[0, 0, 1, 1]])
        for t, read in enumerate(batch.target.shift_right(BEGIN).values.T):
            log_probs, after, looked = model.step_with_attention(read.repeat(2), state)
            np.testing.assert_allclose(looked, whole[:, t].repeat(2, axis=0), atol=1e-5)
            np.testing.assert_allclose(log_probs, model.step(read.repeat(2), state)[0], atol=1e-5)
            state = after
