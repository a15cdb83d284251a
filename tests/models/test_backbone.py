"""The feed-forward, convolutional and Transformer models: receptive fields, steps and errors."""

import math

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.config import constructor_arguments
from seqloom.errors import ModelError
from seqloom.inference.stream import Stream, StreamState
from seqloom.inspection import inspect_model
from seqloom.models import MODELS
from seqloom.nn.token_options import TokenOptions
from seqloom.nn.transformer.layers import TransformerOptions
from seqloom.recipe import simplest_model
from seqloom.signature import BEGIN, PAD, Form, Labels, Signature, Tokens, Vectors
from seqloom.tasks.language import Language
from seqloom.trace import watch

NEXT = Signature(Form.NEXT, Tokens(9), Tokens(9))
EACH = Signature(Form.EACH, Tokens(9), Labels(3))


def made(name, signature=NEXT, **options):
    torch.manual_seed(0)
    return MODELS[name](signature, **constructor_arguments(MODELS[name], options))


def rows(batch, time, seed=0):
    values = np.random.default_rng(seed).integers(4, 9, (batch, time))
    return Sequences(values, np.full(batch, time))


def test_labels_are_still_given_by_a_recurrent_network():
    for task, model in (("language", "ngram"), ("tag", "recurrent"), ("classify", "recurrent")):
        assert simplest_model({"name": task}) == model


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("positions", ["learned", "rotary", "sinusoid"])
def test_at_first_all_symbols_are_about_as_likely(tied, positions):
    model = made(
        "transformer", hidden_size=64, context=16, positions=positions, tie_embeddings=tied
    )
    text = rows(4, 40)
    with model.inference_mode():
        loss = model.loss(Batch(text, text)).item()
    assert loss == pytest.approx(math.log(9), abs=0.15)
    table = model.input.table.weight
    assert not table[PAD].any() and (table is model.output.scores.weight) == tied
    spread = 0.02 if tied or positions != "sinusoid" else 64**-0.5
    assert table[1:].std().item() == pytest.approx(spread, rel=0.15)


def test_dropout_is_in_the_transformer_and_nowhere_twice():
    model, text = made("transformer", hidden_size=8, num_heads=2, dropout=0.5), rows(2, 6)
    batch = Batch(text, text)
    once, again = model.loss(batch).item(), model.loss(batch).item()
    assert once != again and not model.dropout.rate and not model.input.dropout.rate
    with model.inference_mode():
        assert model.loss(batch).item() == model.loss(batch).item()


def test_a_stream_longer_than_the_context_goes_on_from_a_file(tmp_path):
    task = Language()
    task.prepare([task.question("abcab cabba")])
    model = made(
        "transformer", task.signature(), hidden_size=8, num_heads=2, num_layers=2, context=4
    )
    stream, text = Stream(model, task), "abca bcab cab"
    whole = [stream.step(symbol).log_probs for symbol in text]
    for place in range(1, len(text)):
        first, second = Stream(model, task), Stream(model, task)
        for symbol in text[:place]:
            first.step(symbol)
        first.state.save(tmp_path / "here.safetensors")
        second.state = StreamState.load(tmp_path / "here.safetensors")
        np.testing.assert_allclose(second.step(text[place]).log_probs, whole[place], atol=1e-6)


@pytest.mark.parametrize("context, block", [(16, 8), (4, 4)])
def test_a_picture_of_where_it_looks(context, block):
    """The last layer, the mean of its heads; a long text is put together from its blocks."""
    task = Language()
    task.prepare([task.question("abcab cabba")])
    model = made(
        "transformer", task.signature(), hidden_size=8, num_heads=2, num_layers=2, context=context
    )
    question = task.question("abcabca")
    view = inspect_model(model, task, question, "", "mine")
    batch = task.batch([task.with_target(question, "")])
    with model.inference_mode(), watch(model) as trace:
        model.log_prob(batch)
    wanted = trace.of_kind("attention")[1].value[0].mean(0)
    np.testing.assert_allclose(view.weights[:block, :block], wanted, atol=1e-6)
    np.testing.assert_allclose(view.weights.sum(1), 1, atol=1e-6)
    assert view.source == view.target == ["<s>", *"abcabca"]
    assert "body.layers.1.attention, the mean of its 2 heads" in view.notes
    assert any("read in blocks" in note for note in view.notes) == (context == 4)


@pytest.mark.parametrize("name", ["feedforward", "convolutional", "transformer"])
def test_writing_is_drawn_from_what_was_read(name):
    """A step in a batch whose rows are picked anew, as a beam does, is each row's own."""
    model = made(
        name, **({"hidden_size": 8, "context": 4} if name == "transformer" else {"hidden_size": 6})
    )
    text = rows(3, 9).values
    order = np.array([2, 0, 0, 1])
    with model.inference_mode():
        state, symbols = model.begin(rows(3, 1)), np.full(3, BEGIN)
        for t in range(9):
            _, state = model.step(symbols, state)
            symbols = text[:, t]
        picked, _ = model.step(symbols[order], tuple(part[order] for part in state))
        straight, _ = model.step(symbols, state)
    np.testing.assert_allclose(picked, straight[order], atol=1e-6)


def test_learned_positions_end_where_labels_are_given():
    model = made("transformer", EACH, hidden_size=8, context=4)
    with pytest.raises(ModelError, match="6 tokens, and there are 4 learned positions") as told:
        model.log_prob(Batch(rows(1, 6), rows(1, 6)))
    assert told.value.code == "M163"
    for positions in ("rotary", "sinusoid"):
        model = made("transformer", EACH, hidden_size=8, context=4, positions=positions)
        labels = Sequences(np.zeros((1, 6), dtype=np.int64), np.array([6]))
        assert model.log_prob(Batch(rows(1, 6), labels)).isfinite().all()


def test_a_window_of_numbers_without_layers_is_a_sum_over_taps():
    """ŷ_t = Σ_k W_k x_{t-k}: linear in what was read."""
    signature = Signature(Form.EACH, Vectors(2), Vectors(3))
    model = made("feedforward", signature, context=3, embedding_size=4, num_layers=0)
    x = np.random.default_rng(0).normal(size=(3, 5, 2)).astype(np.float32)
    x[2] = x[0] + x[1]
    zero = np.zeros((1, 5, 2), dtype=np.float32)
    values = np.concatenate([x, zero])
    with model.inference_mode():
        means = model.output(model._states(Sequences(values, np.full(4, 5)))).numpy()
    np.testing.assert_allclose(means[2] + means[3], means[0] + means[1], atol=1e-5)


@pytest.mark.parametrize(
    "name, options, code, told",
    [
        (
            "transformer",
            {"num_heads": 5},
            "M160",
            "num_heads = 5 does not divide hidden_size = 128",
        ),
        ("transformer", {"context": 0}, "M160", "context = 0"),
        ("feedforward", {"context": 0}, "M161", "context = 0"),
        ("convolutional", {"kernel": 1}, "M162", "kernel = 1"),
        ("convolutional", {"bidirectional": True}, "M121", "cannot be bidirectional"),
        ("feedforward", {"direct": True, "tie_embeddings": True}, "M124", "tie_embeddings"),
    ],
)
def test_what_cannot_be_is_refused(name, options, code, told):
    with pytest.raises(ModelError, match=told) as error:
        made(name, **options)
    assert error.value.code == code


def test_the_groups_of_options_are_what_recipes_give():
    model = made("transformer", num_heads=2, positions="rotary", tie_embeddings=True, hidden_size=8)
    assert model.token_options == TokenOptions(tie_embeddings=True) and model.body.positions is None
    assert TransformerOptions(num_heads=2, positions="rotary") != TransformerOptions()
