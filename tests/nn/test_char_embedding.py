"""Character encoders of words: each by its equation, and each word encoded once."""

import numpy as np
import pytest
import torch

from seqloom.errors import ModelError
from seqloom.nn.char_embedding import CHAR_EMBEDDING_SIZE, CharEncoder
from seqloom.nn.embedding import ConcatenatedEmbedding
from seqloom.nn.token_options import TokenOptions
from seqloom.signature import Columns, Labels, Letters, Tokens

WORDS = torch.tensor([[5, 6, 7, 0], [8, 0, 0, 0], [5, 6, 7, 0], [9, 9, 4, 6], [0, 0, 0, 0]])


def encoder(kind, width=6):
    torch.manual_seed(3)
    return CharEncoder(kind, 10, width)


def test_convolution_is_its_equation():
    model = encoder("convolution")
    weights = model.reader.filters.weight.unflatten(1, (3, CHAR_EMBEDDING_SIZE))
    for word, found in zip(WORDS[:4], model(WORDS[:4]), strict=True):
        vectors = [model.table.weight[i] for i in word if i]
        padded = [torch.zeros(CHAR_EMBEDDING_SIZE), *vectors, torch.zeros(CHAR_EMBEDDING_SIZE)]
        places = [
            sum(weights[:, k] @ padded[t + k] for k in range(3)) + model.reader.filters.bias
            for t in range(len(vectors))
        ]
        torch.testing.assert_close(found, torch.stack(places).max(0).values)


def test_recurrent_is_a_bilstm():
    model = encoder("recurrent")
    for word, found in zip(WORDS[:4], model(WORDS[:4]), strict=True):
        vectors = model.table(word[word > 0])[None]
        padded = []
        for layers, read in ((model.reader.body.layers, vectors),) + (
            (model.reader.body.backward_layers, vectors.flip(1)),
        ):
            (layer,) = layers
            state = layer.initial(1)
            for x in read.unbind(1):
                state = layer.step(x, state)
            padded.append(state[0][0])
        torch.testing.assert_close(found, torch.cat(padded))


@pytest.mark.parametrize("kind", ["convolution", "recurrent"])
def test_a_word_is_encoded_once_and_padding_changes_nothing(kind):
    model = encoder(kind)
    together = model(WORDS[None])[0]
    alone = torch.stack([model(word[None, None])[0, 0] for word in WORDS])
    torch.testing.assert_close(together, alone)
    assert together[0].equal(together[2])
    calls = []
    model.reader.register_forward_hook(lambda module, given, found: calls.append(len(given[0])))
    model(WORDS[None])
    assert calls == [4]  # one of the five comes twice


def test_words_characters_and_features_are_concatenated():
    space = Columns((Tokens(6), Letters(10, 4), Labels(3)))
    options = TokenOptions(letters="convolution", letters_width=5, feature_width=2)
    layer = ConcatenatedEmbedding(space, 12, 0.0, options)
    columns = torch.cat([torch.tensor([[4], [5]]), WORDS[:2], torch.tensor([[0], [2]])], 1)[None]
    found = layer(columns)
    letters, feature = layer.others
    torch.testing.assert_close(found[..., :5], layer.words(columns[..., 0]))
    torch.testing.assert_close(found[..., 5:10], letters(columns[..., 1:5]))
    torch.testing.assert_close(found[..., 10:], feature(columns[..., 5]))


def test_without_characters_the_word_has_the_whole_size():
    layer = ConcatenatedEmbedding(Columns((Tokens(6), Letters(10, 4))), 12, 0.0, TokenOptions())
    assert layer.is_word_only
    assert layer.words.table.weight.shape == (6, 12)


def test_no_room_for_the_word():
    with pytest.raises(ModelError, match="nothing is left for the word itself") as caught:
        space = Columns((Tokens(6), Letters(10, 4)))
        ConcatenatedEmbedding(space, 50, 0.0, TokenOptions(letters="recurrent"))
    assert caught.value.code == "M127"


def test_a_character_of_one_word_changes_that_word_alone():
    model = encoder("convolution")
    changed = WORDS.clone()
    changed[0, 1] = 4
    differs = (model(WORDS) != model(changed)).any(-1)
    assert differs.tolist() == [True, False, False, False, False]
    assert np.isfinite(model(WORDS).detach().numpy()).all()
