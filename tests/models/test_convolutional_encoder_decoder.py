"""ConvS2S against torch's own convolutions, one sequence at a time, without padding."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import conv1d, glu, pad

from seqloom.config import constructor_arguments
from seqloom.errors import ModelError
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.signature import BEGIN
from tests.contracts.cases import SIGNATURES, batch_for

KIND, SIGNATURE = MODELS["convolutional-encoder-decoder"], SIGNATURES["TRANSDUCE"]
HALF = math.sqrt(0.5)


def build(seed=0, **options):
    torch.manual_seed(seed)
    model = KIND(
        SIGNATURE, **constructor_arguments(KIND, {"embedding_size": 5, "hidden_size": 6, **options})
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))  # biases are zero at first
    return model


def gated(layer, x, left, right):
    """glu(conv1d) of x, (time, hidden), with so many zeros before and after it."""
    one = layer.convolution
    weight = one.direction * one.size / one.direction.norm(dim=1, keepdim=True)
    weight = weight.view(len(weight), one.kernel, -1).transpose(1, 2)
    return glu(conv1d(pad(x.t()[None], (left, right)), weight, one.bias), dim=1)[0].t()


def by_the_book(model, source, target):
    kernel = model.decoder.shape[0] + 1
    last = len(model.source_places.table) - 1
    places = [[min(t, last) for t in range(len(read))] for read in (source, target)]
    e = model.source_input(torch.tensor(source)) + model.source_places.table[places[0]]
    x = model.encoder.enter(e)
    for layer in model.encoder.layers:
        behind = (kernel - 1) // 2
        x = HALF * (gated(layer, x, kernel - 1 - behind, behind) + x)
    z = model.encoder.leave(x)
    memory = HALF * (z + e)
    g = model.target_input(torch.tensor([BEGIN, *target[:-1]]))
    g = g + model.target_places.table[places[1]]
    x = model.decoder.enter(g)
    for layer in model.decoder.layers:
        h = gated(layer.gated, x, kernel - 1, 0)
        found = []
        for t in range(len(target)):
            d = HALF * (layer.ask(h[t]) + g[t])
            alpha = torch.stack([d @ z[s] for s in range(len(source))]).softmax(0)
            c = sum(alpha[s] * memory[s] for s in range(len(source)))
            found.append(layer.take(math.sqrt(len(source)) * c))
        x = HALF * (HALF * (h + torch.stack(found)) + x)
    log_probs = model.output.scores(model.decoder.leave(x)).log_softmax(-1)
    return log_probs[torch.arange(len(target)), torch.tensor(target)].sum()


@pytest.mark.parametrize("options", [{}, {"kernel": 2, "positions": 3}, {"kernel": 5}], ids=str)
def test_the_equations(options):
    for seed in range(3):
        model, batch = build(seed, **options), batch_for(SIGNATURE, (5, 2, 4), seed)
        with model.inference_mode():
            rows = zip(batch.source.rows(), batch.target.rows(), strict=True)
            wanted = torch.stack([by_the_book(model, x, y) for x, y in rows])
            torch.testing.assert_close(model.log_prob(batch), wanted, rtol=1e-4, atol=1e-5)


def test_a_state_holds_the_last_inputs_of_every_layer():
    model, batch = build(kernel=4, decoder_layers=2), batch_for(SIGNATURE, (3, 4))
    with model.inference_mode():
        state = model.begin(batch.source)
        for t in range(6):
            _, state = model.step(np.full(2, 4), state)
            _, _, _, place, *past = state
            assert place.tolist() == [t + 1, t + 1]
            assert [tuple(part.shape) for part in past] == [(2, 3, 6)] * 2


def test_sequences_longer_than_the_positions_are_read():
    model, batch = build(positions=2), batch_for(SIGNATURE, (9, 7))
    with model.inference_mode():
        assert model.log_prob(batch).isfinite().all()
        assert len(model.predict(batch.source, Search(limit=5)).target) == 2


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"kernel": 1}, "2 positions or more"),
        ({"encoder_layers": 0}, "encoder_layers = 0"),
        ({"decoder_layers": 0}, "decoder_layers = 0"),
        ({"positions": 0}, "positions = 0"),
    ],
)
def test_what_cannot_be_is_refused(options, sentence):
    with pytest.raises(ModelError) as told:
        KIND(SIGNATURE, **constructor_arguments(KIND, options))
    assert told.value.code == "M205" and sentence in told.value.problem and told.value.help
