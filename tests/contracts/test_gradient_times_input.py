"""Contract of every model that gives gradient × input of its embeddings."""

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.model import InputGradients, Search
from seqloom.signature import Form, Vectors

from .cases import CASES, IDS, batch_for, build, numbers, small

LABELLED = [case for case in CASES if case[1].form in (Form.EACH, Form.WHOLE)]
PLAIN = [
    case for case in CASES if case[2] == small(case[0], {}) or {"letters", "crf"} & set(case[2])
]
NAMED = {id(case): name for case, name in zip(CASES, IDS, strict=True)}


def named(case):
    return NAMED[id(case)]


def followed(case):
    """The model of a case, if it makes vectors of what it reads."""
    model = build(*case)
    if not isinstance(model, InputGradients) or model.embedding_layer() is None:
        pytest.skip("it makes no vectors of what it reads")
    return model


@pytest.fixture(params=PLAIN, ids=named)
def model(request):
    return followed(request.param)


@pytest.mark.parametrize("case", LABELLED, ids=named)
def test_class_log_probs_are_the_log_of_probabilities(case):
    """Also of outputs in which places depend on each other."""
    model, signature = followed(case), case[1]
    source = batch_for(signature).source
    with model.inference_mode():
        found = model.class_log_probs(source).numpy()
        prediction = model.predict(source, Search(probabilities=True))
    real = prediction.target.mask
    if isinstance(signature.target, Vectors):
        assert found[real] == pytest.approx(prediction.target.values[real], abs=1e-5)
    else:
        assert np.exp(found)[real] == pytest.approx(prediction.probabilities[real], abs=1e-5)


def test_gradients_are_those_of_finite_differences(model):
    """Σ_d x_d ∂L/∂x_d is how fast L changes when the vector of a place alone is stretched."""
    model.double()
    batch, places = asked(model.signature)
    value, slope = model.gradient_times_input(batch, places)
    assert slope.shape[0] == len(batch)
    step = 1e-5
    for place in (0, slope.shape[1] - 1):
        more, less = (stretched(model, batch, places, place, 1 + s) for s in (step, -step))
        truth = (more - less) / (2 * step)
        real = np.arange(len(batch))[place < batch.source.lengths]
        assert slope[real, place] == pytest.approx(truth[real], abs=1e-6, rel=1e-4)
    assert value == pytest.approx(stretched(model, batch, places, 0, 1.0))
    assert all(weight.grad is None for weight in model.parameters()), "nothing is learned by it"


def test_shares_belong_to_rows(model):
    batch, places = asked(model.signature)
    whole, half = (model.gradient_times_input(batch, places, scale=share) for share in (1.0, 0.5))
    mixed = model.gradient_times_input(batch, places, scale=np.array([1.0, 0.5]))
    for found, first, second in zip(mixed, whole, half, strict=True):
        assert found[0] == pytest.approx(first[0], abs=1e-5)
        assert found[1] == pytest.approx(second[1], abs=1e-5)


def asked(signature):
    """A batch of two, and where one label of each is asked for, its place."""
    batch = batch_for(signature)
    if signature.form in (Form.NEXT, Form.TRANSDUCE):
        return batch, None
    if isinstance(signature.target, Vectors):
        target = np.zeros((2, 1, 1), dtype=np.float32)
    else:
        target = np.array([[1], [0]])
    places = np.array([0, 1 if signature.form is Form.EACH else 0])
    return Batch(batch.source, Sequences(target, np.array([1, 1]))), places


def stretched(model, batch, places, place, factor):
    """L by other means, with the vector at one place multiplied."""

    def stretch(layer, given, vectors):
        vectors = vectors.clone()
        vectors[:, place] *= factor
        return vectors

    heard = model.embedding_layer().register_forward_hook(stretch)
    with model.inference_mode():
        if places is None:
            found = numbers(model.log_prob(batch)).numpy()
        else:
            known = model.class_log_probs(batch.source)[torch.arange(2), torch.from_numpy(places)]
            is_real = isinstance(model.signature.target, Vectors)
            label = batch.target.values[:, 0]
            found = known.sum(-1) if is_real else known[torch.arange(2), torch.from_numpy(label)]
            found = numbers(found).numpy()
    heard.remove()
    return found
