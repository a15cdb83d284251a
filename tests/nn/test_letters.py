"""Letters of words: each kind by its equation, and each word read once."""

import numpy as np
import pytest
import torch

from seqloom.errors import ModelError
from seqloom.nn.char_embedding import LETTER, LetterReader
from seqloom.nn.embedding import Beside
from seqloom.nn.token_options import Ends
from seqloom.signature import Columns, Labels, Letters, Tokens

WORDS = torch.tensor([[5, 6, 7, 0], [8, 0, 0, 0], [5, 6, 7, 0], [9, 9, 4, 6], [0, 0, 0, 0]])


def reader(kind, width=6):
    torch.manual_seed(3)
    return LetterReader(kind, 10, width)


def test_convolution_is_its_equation():
    model = reader("convolution")
    weights = model.reader.filters.weight.unflatten(1, (3, LETTER))
    for word, found in zip(WORDS[:4], model(WORDS[:4]), strict=True):
        vectors = [model.table.weight[i] for i in word if i]
        ends = [torch.zeros(LETTER), *vectors, torch.zeros(LETTER)]
        places = [
            sum(weights[:, k] @ ends[t + k] for k in range(3)) + model.reader.filters.bias
            for t in range(len(vectors))
        ]
        torch.testing.assert_close(found, torch.stack(places).max(0).values)


def test_recurrent_is_an_lstm_from_either_side():
    model = reader("recurrent")
    for word, found in zip(WORDS[:4], model(WORDS[:4]), strict=True):
        vectors = model.table(word[word > 0])[None]
        ends = []
        for layers, read in ((model.reader.body.layers, vectors),) + (
            (model.reader.body.backward_layers, vectors.flip(1)),
        ):
            (layer,) = layers
            state = layer.initial(1)
            for x in read.unbind(1):
                state = layer.step(x, state)
            ends.append(state[0][0])
        torch.testing.assert_close(found, torch.cat(ends))


@pytest.mark.parametrize("kind", ["convolution", "recurrent"])
def test_a_word_is_read_once_and_padding_is_nothing(kind):
    model = reader(kind)
    together = model(WORDS[None])[0]
    alone = torch.stack([model(word[None, None])[0, 0] for word in WORDS])
    torch.testing.assert_close(together, alone)
    assert together[0].equal(together[2])
    calls = []
    model.reader.register_forward_hook(lambda module, given, found: calls.append(len(given[0])))
    model(WORDS[None])
    assert calls == [4]  # one of the five comes twice


def test_words_letters_and_features_stand_side_by_side():
    space = Columns((Tokens(6), Letters(10, 4), Labels(3)))
    layer = Beside(space, 12, 0.0, Ends(letters="convolution", letters_width=5, feature_width=2))
    columns = torch.cat([torch.tensor([[4], [5]]), WORDS[:2], torch.tensor([[0], [2]])], 1)[None]
    found = layer(columns)
    letters, feature = layer.others
    torch.testing.assert_close(found[..., :5], layer.words(columns[..., 0]))
    torch.testing.assert_close(found[..., 5:10], letters(columns[..., 1:5]))
    torch.testing.assert_close(found[..., 10:], feature(columns[..., 5]))


def test_without_letters_the_word_has_the_whole_width():
    layer = Beside(Columns((Tokens(6), Letters(10, 4))), 12, 0.0, Ends())
    assert layer.has_words_alone
    assert layer.words.table.weight.shape == (6, 12)


def test_no_room_for_the_word():
    with pytest.raises(ModelError, match="the word itself needs some") as caught:
        Beside(Columns((Tokens(6), Letters(10, 4))), 50, 0.0, Ends(letters="recurrent"))
    assert caught.value.code == "M127"


def test_a_letter_of_one_word_moves_that_word_alone():
    model = reader("convolution")
    changed = WORDS.clone()
    changed[0, 1] = 4
    differs = (model(WORDS) != model(changed)).any(-1)
    assert differs.tolist() == [True, False, False, False, False]
    assert np.isfinite(model(WORDS).detach().numpy()).all()
