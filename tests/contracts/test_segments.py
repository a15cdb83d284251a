"""Contract of every model that reads a long text segment by segment (truncated BPTT)."""

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences, begin_value
from seqloom.model import GradientTrained, SegmentLoss, Stateful
from seqloom.signature import Bits, Form, Tokens

from .cases import CASES, IDS, build, numbers

NEXT = [
    pytest.param(*case, id=name)
    for case, name in zip(CASES, IDS, strict=True)
    if case[1].form is Form.NEXT
]
CHANCE = np.random.default_rng(3)
TEXTS = {
    Tokens: CHANCE.integers(2, 6, (2, 23)),
    Bits: CHANCE.integers(0, 2, (2, 23, 4)).astype(np.float32),
}


def segment(text, start, end):
    space = Bits(text.shape[2]) if text.ndim > 2 else Tokens(6)
    begin = np.broadcast_to(begin_value(space), text[:, :1].shape)
    whole = np.concatenate([begin, text], axis=1)
    lengths = np.full(len(text), end - start)
    source, target = whole[:, start:end], whole[:, start + 1 : end + 1]
    return Batch(Sequences(source, lengths), Sequences(target, lengths))


def in_segments(model, text, cuts):
    whole = segment(text, 0, text.shape[1])
    state, found = model.begin(whole.source), []
    for start, end in zip([0, *cuts], [*cuts, text.shape[1]], strict=True):
        log_probs, state = model.log_probs_from(segment(text, start, end), state)
        found.append(numbers(log_probs))
    return torch.cat(found, dim=1)


@pytest.mark.parametrize(("name", "signature", "options"), NEXT)
def test_segments_give_the_same_as_the_whole(name, signature, options):
    model = build(name, signature, options)
    assert isinstance(model, Stateful)
    text = TEXTS[type(signature.source)]
    lengths = np.full(len(text), text.shape[1])
    whole = Sequences(text, lengths)
    with model.inference_mode():
        expected = numbers(model.log_prob(Batch(whole, whole)))
        once = in_segments(model, text, [])
        torch.testing.assert_close(once.sum(1), expected, rtol=1e-5, atol=1e-5)
        for cuts in ([1], [7, 14], [5, 6, 22], list(range(1, 23))):
            torch.testing.assert_close(in_segments(model, text, cuts), once, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "signature", "options"), NEXT)
def test_padding_has_log_probability_zero(name, signature, options):
    model = build(name, signature, options)
    full = segment(TEXTS[type(signature.source)], 0, 6)
    lengths = np.array([6, 3])
    padded = Batch(
        Sequences(full.source.values, lengths), Sequences(full.target.values.copy(), lengths)
    )
    with model.inference_mode():
        log_probs = numbers(model.log_probs_from(padded, model.begin(padded.source))[0])
        expected = numbers(model.log_probs_from(full, model.begin(full.source))[0])
    assert (log_probs[1, 3:] == 0).all()
    torch.testing.assert_close(log_probs[0], expected[0])
    torch.testing.assert_close(log_probs[1, :3], expected[1, :3])


@pytest.mark.parametrize(("name", "signature", "options"), NEXT)
def test_the_loss_of_a_segment_is_nats_per_token(name, signature, options):
    model = build(name, signature, options)
    if not isinstance(model, GradientTrained):
        pytest.skip("not trained by gradient descent")
    assert isinstance(model, SegmentLoss)
    batch = segment(TEXTS[type(signature.source)], 0, 7)
    with model.inference_mode():
        log_probs, _ = model.log_probs_from(batch, model.begin(batch.source))
        loss, _ = model.loss_from(batch, model.begin(batch.source))
    torch.testing.assert_close(numbers(loss), -numbers(log_probs).mean(), rtol=1e-5, atol=1e-6)
