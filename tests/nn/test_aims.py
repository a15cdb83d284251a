"""Smoothing, balance and limits change what is learned, never what is reported."""

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.models.convolutional import Convolutional
from seqloom.models.recurrent import Recurrent
from seqloom.nn.output.options import Aims, Limited
from seqloom.nn.token_options import Ends
from seqloom.signature import Bits, Columns, Form, Labels, Letters, Signature, Tokens, Vectors

COUNTS = (60, 30, 10)
EACH = Signature(Form.EACH, Tokens(9), Labels(3, counts=COUNTS))
SOURCE = Sequences.pad([np.array([4, 5, 6, 7]), np.array([8, 4])])
BATCH = Batch(SOURCE, Sequences.pad([np.array([0, 1, 2, 0]), np.array([1, 1])]))


def made(signature=EACH, **aims):
    torch.manual_seed(0)
    return Recurrent(signature, width=6, hidden=8, aims=Aims(**aims))


def of_each(model):
    """The log-probabilities of all labels at the six real places, and what is right there."""
    states = model._states(SOURCE)
    found = model.output(states)[torch.from_numpy(SOURCE.mask)]
    return found, torch.from_numpy(BATCH.target.values[SOURCE.mask])


def test_smoothing_spreads_a_share_of_each_right_answer():
    plain, model = made(), made(smoothing=0.3)
    log_probs, right = of_each(model)
    chosen = log_probs[torch.arange(6), right]
    expected = -(0.7 * chosen + 0.3 * log_probs.mean(1)).mean()
    torch.testing.assert_close(model.loss(BATCH), expected)
    torch.testing.assert_close(model.log_prob(BATCH), plain.log_prob(BATCH))
    assert model.loss(BATCH) != plain.loss(BATCH)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_balance_weighs_examples_and_leaves_probabilities_alone(smoothing):
    plain, model = made(), made(balance=1.0, smoothing=smoothing)
    weights = torch.tensor([100 / (3 * n) for n in COUNTS])
    torch.testing.assert_close(model.output.weights, weights)
    log_probs, right = of_each(model)
    nats = -((1 - smoothing) * log_probs[torch.arange(6), right] + smoothing * log_probs.mean(1))
    torch.testing.assert_close(model.loss(BATCH), (weights[right] * nats).mean())
    torch.testing.assert_close(model.log_prob(BATCH), plain.log_prob(BATCH))


@pytest.mark.parametrize("balance", [0.25, 1.0])
def test_all_examples_together_weigh_as_much_as_without(balance):
    weights = Aims(balance=balance).weights(EACH.target)
    shares = weights * torch.tensor(COUNTS)
    assert shares.sum().item() == pytest.approx(100)
    assert (shares[0] / shares[2]).item() == pytest.approx(6 ** (1 - balance))


@pytest.mark.parametrize("target", [Bits(3), Labels(3), Tokens(9)], ids=str)
def test_balance_needs_counts(target):
    with pytest.raises(ModelError, match="nobody counted") as told:
        made(Signature(Form.WHOLE, Tokens(9), target), balance=1.0)
    assert told.value.code == "M325"


def test_rows_are_never_longer_than_their_limit():
    model = made(max_norm=0.2)
    before = model.output.scores.weight
    assert before.norm(dim=1).max().item() == pytest.approx(0.2, rel=1e-5)
    small = torch.tensor([[0.01, 0.02], [3.0, 4.0]])
    torch.testing.assert_close(Limited(1.0)(small), torch.tensor([[0.01, 0.02], [0.6, 0.8]]))
    optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
    for _ in range(3):
        optimizer.zero_grad()
        model.loss(BATCH).backward()
        optimizer.step()
    assert model.output.scores.weight.norm(dim=1).max() < 0.2001
    again = made(max_norm=0.2)
    again.restore(model.weights())
    torch.testing.assert_close(again.log_prob(BATCH), model.log_prob(BATCH))


@pytest.mark.parametrize(
    "aims, told",
    [
        ({"smoothing": 1.0}, "below 1"),
        ({"balance": 2.0}, "0 to 1"),
        ({"max_norm": -1.0}, "negative"),
    ],
)
def test_impossible_aims_are_refused(aims, told):
    with pytest.raises(ModelError, match=told) as error:
        Aims(**aims)
    assert error.value.code == "M324"


@pytest.mark.parametrize("target, ends", [(Vectors(2), Ends()), (Tokens(9), Ends(adaptive="4"))])
def test_aims_are_for_answers_that_are_scored_alike(target, ends):
    with pytest.raises(ModelError, match="scored alike"):
        Recurrent(Signature(Form.WHOLE, Tokens(9), target), ends=ends, aims=Aims(smoothing=0.1))


def test_tied_vectors_cannot_be_limited():
    signature = Signature(Form.NEXT, Tokens(9), Tokens(9))
    with pytest.raises(ModelError, match="exclude each other"):
        Convolutional(
            signature, width=8, hidden=8, ends=Ends(tie_vectors=True), aims=Aims(max_norm=3.0)
        )


def test_a_word_that_is_dropped_is_still_spelled():
    """Word dropout makes a tagger rely on letters: they stay when the word is read as nothing."""
    signature = Signature(Form.EACH, Columns((Tokens(30), Letters(9, 4))), Labels(3))
    ends = Ends(letters="convolution", letters_width=4, symbol_dropout=0.5)
    model = Recurrent(signature, width=10, hidden=8, ends=ends)
    chance = np.random.default_rng(0)
    columns = np.concatenate([np.arange(4, 30)[:, None], chance.integers(4, 9, (26, 4))], 1)
    vectors = model.input(torch.from_numpy(np.stack([columns, columns])))
    words, letters = vectors[..., :6], vectors[..., 6:]
    dropped = (words == 0).all(-1)
    assert 4 < dropped[0].sum() < 22 and torch.equal(dropped[0], dropped[1])
    assert not (letters == 0).all(-1).any()
    kept = model.input.words.table.weight[4:][~dropped[0]]
    torch.testing.assert_close(words[0][~dropped[0]], 2 * kept)
