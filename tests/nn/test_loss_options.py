"""Label smoothing, class weights and max norm change the training loss, not reported losses."""

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.models.convolutional import Convolutional
from seqloom.models.recurrent import Recurrent
from seqloom.nn.output.options import LossOptions, MaxNorm
from seqloom.nn.token_options import TokenOptions
from seqloom.signature import Bits, Columns, Form, Labels, Letters, Signature, Tokens, Vectors

COUNTS = (60, 30, 10)
EACH = Signature(Form.EACH, Tokens(9), Labels(3, counts=COUNTS))
SOURCE = Sequences.pad([np.array([4, 5, 6, 7]), np.array([8, 4])])
BATCH = Batch(SOURCE, Sequences.pad([np.array([0, 1, 2, 0]), np.array([1, 1])]))


def made(signature=EACH, **loss_options):
    torch.manual_seed(0)
    return Recurrent(
        signature, embedding_size=6, hidden_size=8, loss_options=LossOptions(**loss_options)
    )


def of_each(model):
    """The log-probabilities of all labels at the six real positions, and the right ones."""
    states = model._states(SOURCE)
    found = model.output(states)[torch.from_numpy(SOURCE.mask)]
    return found, torch.from_numpy(BATCH.target.values[SOURCE.mask])


def test_label_smoothing_spreads_over_all_classes():
    plain, model = made(), made(label_smoothing=0.3)
    log_probs, right = of_each(model)
    chosen = log_probs[torch.arange(6), right]
    expected = -(0.7 * chosen + 0.3 * log_probs.mean(1)).mean()
    torch.testing.assert_close(model.loss(BATCH), expected)
    torch.testing.assert_close(model.log_prob(BATCH), plain.log_prob(BATCH))
    assert model.loss(BATCH) != plain.loss(BATCH)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_class_weights_are_in_the_loss_alone(smoothing):
    plain, model = made(), made(balance=1.0, label_smoothing=smoothing)
    weights = torch.tensor([100 / (3 * n) for n in COUNTS])
    torch.testing.assert_close(model.output.weights, weights)
    log_probs, right = of_each(model)
    nats = -((1 - smoothing) * log_probs[torch.arange(6), right] + smoothing * log_probs.mean(1))
    torch.testing.assert_close(model.loss(BATCH), (weights[right] * nats).mean())
    torch.testing.assert_close(model.log_prob(BATCH), plain.log_prob(BATCH))


@pytest.mark.parametrize("balance", [0.25, 1.0])
def test_the_mean_weight_of_an_example_is_one(balance):
    weights = LossOptions(balance=balance).class_weights(EACH.target)
    totals = weights * torch.tensor(COUNTS)
    assert totals.sum().item() == pytest.approx(100)
    assert (totals[0] / totals[2]).item() == pytest.approx(6 ** (1 - balance))


@pytest.mark.parametrize("target", [Bits(3), Labels(3), Tokens(9)], ids=str)
def test_balance_needs_counts(target):
    with pytest.raises(ModelError, match="needs the frequency of each label") as told:
        made(Signature(Form.WHOLE, Tokens(9), target), balance=1.0)
    assert told.value.code == "M325"


def test_rows_are_never_longer_than_max_norm():
    model = made(max_norm=0.2)
    before = model.output.scores.weight
    assert before.norm(dim=1).max().item() == pytest.approx(0.2, rel=1e-5)
    small = torch.tensor([[0.01, 0.02], [3.0, 4.0]])
    torch.testing.assert_close(MaxNorm(1.0)(small), torch.tensor([[0.01, 0.02], [0.6, 0.8]]))
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
    "loss_options, told",
    [
        ({"label_smoothing": 1.0}, r"in \[0, 1\)"),
        ({"balance": 2.0}, r"in \[0, 1\]"),
        ({"max_norm": -1.0}, "negative"),
    ],
)
def test_invalid_options_raise_errors(loss_options, told):
    with pytest.raises(ModelError, match=told) as error:
        LossOptions(**loss_options)
    assert error.value.code == "M324"


@pytest.mark.parametrize(
    "target, token_options",
    [(Vectors(2), TokenOptions()), (Tokens(9), TokenOptions(adaptive_softmax=(4,)))],
)
def test_loss_options_are_for_a_plain_softmax(target, token_options):
    with pytest.raises(ModelError, match="plain softmax"):
        Recurrent(
            Signature(Form.WHOLE, Tokens(9), target),
            token_options=token_options,
            loss_options=LossOptions(label_smoothing=0.1),
        )


def test_tied_embeddings_cannot_have_a_max_norm():
    signature = Signature(Form.NEXT, Tokens(9), Tokens(9))
    with pytest.raises(ModelError, match="exclude each other"):
        Convolutional(
            signature,
            embedding_size=8,
            hidden_size=8,
            token_options=TokenOptions(tie_embeddings=True),
            loss_options=LossOptions(max_norm=3.0),
        )


def test_a_dropped_word_keeps_its_characters():
    """Word dropout makes a tagger rely on characters: they stay when the word is dropped."""
    signature = Signature(Form.EACH, Columns((Tokens(30), Letters(9, 4))), Labels(3))
    token_options = TokenOptions(letters="convolution", letters_width=4, word_dropout=0.5)
    model = Recurrent(signature, embedding_size=10, hidden_size=8, token_options=token_options)
    chance = np.random.default_rng(0)
    columns = np.concatenate([np.arange(4, 30)[:, None], chance.integers(4, 9, (26, 4))], 1)
    vectors = model.input(torch.from_numpy(np.stack([columns, columns])))
    words, letters = vectors[..., :6], vectors[..., 6:]
    dropped = (words == 0).all(-1)
    assert 4 < dropped[0].sum() < 22 and torch.equal(dropped[0], dropped[1])
    assert not (letters == 0).all(-1).any()
    kept = model.input.words.table.weight[4:][~dropped[0]]
    torch.testing.assert_close(words[0][~dropped[0]], 2 * kept)
