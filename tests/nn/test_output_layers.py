"""Output layers beside their definitions: every set of labels, every token, densities of SciPy."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy.stats import norm

from seqloom.batch import Sequences
from seqloom.errors import ModelError
from seqloom.nn.output.heads import (
    AdaptiveSoftmaxOutput,
    GaussianOutput,
    SigmoidOutput,
    SoftmaxOutput,
    output_layer,
)
from seqloom.nn.output.options import LossOptions
from seqloom.nn.token_options import TokenOptions
from seqloom.signature import UNKNOWN, Bits, Labels, Tokens, Vectors

LENGTHS = np.array([4, 1, 3])
MASK = np.arange(4) < LENGTHS[:, None]
WIDTH = 5


def states(seed=0):
    return torch.randn(3, 4, WIDTH, generator=torch.Generator().manual_seed(seed)).double()


def target_of(seed, *, size=0, width=0, bits=0):
    chance = np.random.default_rng(seed)
    if bits:
        return Sequences(chance.integers(0, 2, (3, 4, bits)).astype(np.float64), LENGTHS)
    if width:
        return Sequences(chance.normal(size=(3, 4, width)), LENGTHS)
    return Sequences(chance.integers(0, size, (3, 4)), LENGTHS)


def made(kind, *arguments, seed=1):
    torch.manual_seed(seed)
    return kind(WIDTH, *arguments).double()


def affine(layer, states):
    """W h + b in NumPy."""
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    return states.numpy() @ weight.T + bias


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("seed", range(3))
def test_labels_by_themselves_are_a_distribution_over_all_sets(seed):
    """Of three labels there are eight sets: their probabilities, the best of them, and padding."""
    layer, h = made(SigmoidOutput, 3, seed=seed), states(seed)
    chance = sigmoid(affine(layer.scores, h))
    total, best = np.zeros((3, 4)), np.full((3, 4), -np.inf)
    with torch.no_grad():
        for labels in product((0.0, 1.0), repeat=3):
            target = Sequences(np.tile(np.array(labels), (3, 4, 1)), LENGTHS)
            found = layer.log_probs(h, target).numpy()
            each = np.where(np.array(labels) == 1, chance, 1 - chance).prod(-1)
            np.testing.assert_allclose(found[MASK], np.log(each)[MASK])
            assert not found[~MASK].any()
            total, best = total + np.exp(found), np.maximum(best, np.log(each))
        np.testing.assert_allclose(total[MASK], 1)
        chosen, log_prob = layer.best(h, LENGTHS)
        np.testing.assert_array_equal(chosen.numpy(), chance > 0.5)
        np.testing.assert_allclose(log_prob, (best * MASK).sum(1))
        np.testing.assert_allclose(layer.probabilities(h, LENGTHS), chance)
        np.testing.assert_allclose(layer.class_log_probs(h, LENGTHS).numpy(), np.log(chance))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_smoothed_labels_are_half_of_it_from_their_ends(smoothing):
    """Each label is yes with 1 - ε/2 where it is yes, with ε/2 where not; a mean over positions."""
    layer, h, target = made(SigmoidOutput, 3), states(), target_of(2, bits=3)
    chance, nats, count = sigmoid(affine(layer.scores, h)), 0.0, 0
    for row, t in zip(*np.nonzero(MASK), strict=True):
        count += 1
        for label in range(3):
            p, yes = chance[row, t, label], target.values[row, t, label]
            share = 1 - smoothing / 2 if yes else smoothing / 2
            nats -= share * np.log(p) + (1 - share) * np.log(1 - p)
    with torch.no_grad():
        assert layer.loss(h, target, smoothing).item() == pytest.approx(nats / count)
    assert count == 8


def test_labels_that_are_certain_have_finite_losses():
    layer = made(SigmoidOutput, 1)
    torch.nn.init.constant_(layer.scores.weight, 1000.0)
    target = Sequences(np.zeros((1, 1, 1)), np.array([1]))
    loss = layer.loss(torch.ones(1, 1, WIDTH).double(), target)
    assert loss.item() == pytest.approx(5000 + layer.scores.bias.item())


@pytest.mark.parametrize("seed", range(3))
def test_a_softmax_is_a_distribution_over_tokens(seed):
    layer, h, target = made(SoftmaxOutput, 7, seed=seed), states(seed), target_of(seed, size=7)
    logits = affine(layer.scores, h)
    chance = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    right = np.take_along_axis(chance, target.values[..., None], -1)[..., 0]
    with torch.no_grad():
        np.testing.assert_allclose(layer.probabilities(h, LENGTHS), chance)
        np.testing.assert_allclose(layer.class_log_probs(h, LENGTHS).exp().numpy(), chance)
        found = layer.log_probs(h, target).numpy()
        np.testing.assert_allclose(found[MASK], np.log(right[MASK]))
        assert not found[~MASK].any()
        whole = layer.log_prob(h, target).numpy()
        np.testing.assert_allclose(whole, np.log(np.where(MASK, right, 1)).sum(1))
        best, log_prob = layer.best(h, LENGTHS)
        np.testing.assert_array_equal(best.numpy(), chance.argmax(-1))
        highest = np.where(MASK, chance.max(-1), 1)
        np.testing.assert_allclose(log_prob, np.log(highest).sum(1))
        for smoothing in (0.0, 0.2):
            nats = -(1 - smoothing) * np.log(right) - smoothing * np.log(chance).mean(-1)
            loss = layer.loss(h, target, smoothing).item()
            assert loss == pytest.approx(nats[MASK].mean())


def test_the_best_sequences_of_a_softmax_are_the_best_of_all():
    layer, h = made(SoftmaxOutput, 3, seed=4), states(4)
    with torch.no_grad():
        log_probs = layer(h).numpy()
        found = layer.n_best(h, LENGTHS, 5)
    for row, length in enumerate(LENGTHS.tolist()):
        every = {
            labels: sum(log_probs[row, t, label] for t, label in enumerate(labels))
            for labels in product(range(3), repeat=length)
        }
        wanted = sorted(every, key=every.__getitem__, reverse=True)[:5]
        assert [tuple(path.tolist()) for path, _ in found[row]] == wanted
        scores = [score for _, score in found[row]]
        assert scores == pytest.approx([every[labels] for labels in wanted])


@pytest.mark.parametrize("cuts", [[3], [2, 5]])
def test_an_adaptive_softmax_is_a_distribution_over_tokens(cuts):
    torch.manual_seed(3)
    layer = AdaptiveSoftmaxOutput(16, 9, cuts).double()
    h, target = torch.randn(3, 4, 16).double(), target_of(5, size=9)
    with torch.no_grad():
        log_probs = layer(h).numpy()
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1)
        assert log_probs.shape == (3, 4, 9)
        right = np.take_along_axis(log_probs, target.values[..., None], -1)[..., 0]
        found = layer.log_probs(h, target).numpy()
        np.testing.assert_allclose(found[MASK], right[MASK])
        assert not found[~MASK].any()
        assert layer.loss(h, target).item() == pytest.approx(-right[MASK].mean())
        best, log_prob = layer.best(h, LENGTHS)
        np.testing.assert_array_equal(best.numpy(), log_probs.argmax(-1))
        np.testing.assert_allclose(log_prob, (log_probs.max(-1) * MASK).sum(1))
        np.testing.assert_allclose(layer.probabilities(h, LENGTHS), np.exp(log_probs))


@pytest.mark.parametrize("cuts", [[], [3]])
def test_numbered_unknown_tokens_of_the_source_count_as_unknown(cuts):
    layer = made(SoftmaxOutput, 9) if not cuts else made(AdaptiveSoftmaxOutput, 9, cuts)
    values = np.array([[4, 9, 12, 8], [11, 0, 0, 0], [5, 6, 9, 0]])
    plain = np.where(values >= 9, UNKNOWN, values)
    numbered, unknown = Sequences(values, LENGTHS), Sequences(plain, LENGTHS)
    with torch.no_grad():
        h = states()
        for each in (layer.log_probs, layer.loss):
            torch.testing.assert_close(each(h, numbered), each(h, unknown))


@pytest.mark.parametrize("width", [1, 3])
def test_real_values_have_the_density_of_normal_ones(width):
    layer, h, target = made(GaussianOutput, width), states(), target_of(3, width=width)
    means = affine(layer.mean, h)
    density = norm.logpdf(target.values, means, 1).sum(-1)
    with torch.no_grad():
        found = layer.log_probs(h, target).numpy()
        np.testing.assert_allclose(found[MASK], density[MASK])
        assert not found[~MASK].any()
        assert layer.loss(h, target).item() == pytest.approx(-density[MASK].mean())
        best, log_prob = layer.best(h, LENGTHS)
        np.testing.assert_allclose(best.numpy(), means)
        np.testing.assert_allclose(log_prob, norm.logpdf(0) * width * LENGTHS)
        assert layer.probabilities(h, LENGTHS) is None


def test_each_target_has_its_layer():
    smoothed = LossOptions(label_smoothing=0.1)
    cases = {
        Tokens(9): (SoftmaxOutput, 9),
        Labels(3): (SoftmaxOutput, 3),
        Bits(4): (SigmoidOutput, 4),
        Vectors(2): (GaussianOutput, 2),
    }
    for space, (kind, size) in cases.items():
        layer = output_layer(space, WIDTH)
        assert type(layer) is kind and layer(torch.zeros(1, 1, WIDTH)).shape[-1] == size
    few = TokenOptions(adaptive_softmax=(4,))
    assert isinstance(output_layer(Tokens(9), WIDTH, few), AdaptiveSoftmaxOutput)
    for space, options in ((Tokens(9), few), (Labels(3), TokenOptions(crf=True))):
        output_layer(space, WIDTH, options)
        with pytest.raises(ModelError, match="plain softmax or sigmoid"):
            output_layer(space, WIDTH, options, smoothed)
    with pytest.raises(ModelError, match="plain softmax or sigmoid"):
        output_layer(Vectors(2), WIDTH, loss_options=smoothed)
    norms = LossOptions(max_norm=0.3)
    for space in (Tokens(9), Bits(4)):
        weight = output_layer(space, WIDTH, loss_options=norms).scores.weight
        assert weight.norm(dim=1).max().item() == pytest.approx(0.3, rel=1e-5)


@pytest.mark.parametrize(
    ("cuts", "size", "width"), [([8], 9, 16), ([3, 9], 10, 16), ([2, 5], 9, 15)]
)
def test_cutoffs_that_leave_nothing_are_refused(cuts, size, width):
    """A last cluster without a token beyond the frequent ones, or without a dimension."""
    with pytest.raises(ModelError, match="adaptive_softmax") as told:
        AdaptiveSoftmaxOutput(width, size, cuts)
    assert told.value.code == "M124"


def test_the_least_that_cutoffs_need_is_enough():
    layer = AdaptiveSoftmaxOutput(16, 9, [3, 7])
    assert layer(torch.zeros(1, 16)).exp().sum().item() == pytest.approx(1)
