"""The CRF in torch against every label sequence, and its compiled fast path against it."""

from itertools import product

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.model import Search
from seqloom.models.recurrent import Recurrent
from seqloom.nn.output import crf
from seqloom.nn.output.crf import CRFOutput
from seqloom.nn.token_options import TokenOptions
from seqloom.signature import Form, Labels, Signature, Tokens, Vectors
from seqloom.statistical.hmm import inference

FORBIDDEN = frozenset({(0, 1), (2, 2), (3, 1), (0, 3)})  # 3 is the beginning and the end
LENGTHS = np.array([4, 1, 3])


def numbers(seed, forbidden):
    torch.manual_seed(seed)
    parts = [torch.randn(3, 4, 3), torch.randn(3), torch.randn(3, 3), torch.randn(3)]
    parts = [part.double().requires_grad_() for part in parts]
    scores, first, transitions, last = parts
    if forbidden:
        mask = torch.zeros(4, 4, dtype=torch.bool)
        mask[tuple(zip(*FORBIDDEN, strict=True))] = True
        first = first.masked_fill(mask[3, :3], -torch.inf)
        transitions = transitions.masked_fill(mask[:3, :3], -torch.inf)
        last = last.masked_fill(mask[:3, 3], -torch.inf)
    return parts, (scores, first, transitions, last)


@pytest.mark.parametrize("forbidden", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_both_log_partitions_have_the_same_value_and_gradients(seed, forbidden):
    leaves, parts = numbers(seed, forbidden)
    weights = torch.tensor([1.0, -0.5, 2.0]).double()
    found = crf.log_partition(*parts, LENGTHS)
    slow = torch.autograd.grad((found * weights).sum(), leaves, retain_graph=True)
    again = crf.CompiledLogPartition.apply(*parts, LENGTHS)
    fast = torch.autograd.grad((again * weights).sum(), leaves)
    torch.testing.assert_close(found, again)
    for one, other in zip(slow, fast, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other)
    chain = crf.chain_of(*parts[1:])
    for row, length in enumerate(LENGTHS):
        right = inference.posteriors(chain, parts[0][row, :length].detach().numpy())
        assert found[row].item() == pytest.approx(right.log_partition)
        marginals = fast[0][row, :length].numpy() / weights[row].item()
        np.testing.assert_allclose(marginals, right.marginals, atol=1e-12)


def test_an_impossible_sequence_has_gradient_zero_and_no_nan():
    scores = torch.zeros(1, 2, 2, requires_grad=True)
    transitions = torch.full((2, 2), -torch.inf, requires_grad=True)
    for log_partition in (crf.log_partition, crf.CompiledLogPartition.apply):
        found = log_partition(scores, torch.zeros(2), transitions, torch.zeros(2), np.array([2]))
        assert found.tolist() == [-torch.inf]
        for gradient in torch.autograd.grad(found.sum(), [scores, transitions]):
            assert not gradient.any()


@pytest.mark.parametrize("forbidden", [False, True])
def test_an_empty_sequence_has_one_labelling_and_no_gradient(forbidden):
    leaves, parts = numbers(0, forbidden)
    lengths = np.array([0, 4, 0])
    for log_partition in (crf.log_partition, crf.CompiledLogPartition.apply):
        found = log_partition(*parts, lengths)
        assert found[[0, 2]].tolist() == [0, 0] and found[1] != 0
        (gradient,) = torch.autograd.grad(found.sum(), leaves[:1], retain_graph=True)
        assert not gradient[[0, 2]].any() and gradient[1].any()


def made(seed=0, forbidden=FORBIDDEN):
    torch.manual_seed(seed)
    chain = CRFOutput(5, Labels(3, forbidden))
    for part in (chain.first, chain.moves, chain.last):
        torch.nn.init.normal_(part)
    return chain.double(), torch.randn(1, 4, 5).double()


def every_target(time, size=3):
    rows = np.array(list(product(range(size), repeat=time)))
    return Sequences(rows, np.full(len(rows), time))


@pytest.mark.parametrize("forbidden", [frozenset(), FORBIDDEN])
@pytest.mark.parametrize("seed", range(3))
def test_a_crf_is_a_distribution_over_label_sequences(seed, forbidden):
    chain, states = made(seed, forbidden)
    every = every_target(4)
    many = states.expand(len(every), -1, -1)
    with torch.no_grad():
        whole, each = chain.log_prob(many, every), chain.log_probs(many, every)
        assert whole.exp().sum().item() == pytest.approx(1)
        torch.testing.assert_close(each.sum(1), whole)
        for row, total in zip(every.values, whole.tolist(), strict=True):
            pairs = {*zip([3, *row], [*row, 3], strict=True)}
            assert (total == -np.inf) == bool(pairs & forbidden)
        # The probability of the first two labels is that of all sequences that begin with them.
        begun = np.array([every.values[:, :2] == row[:2] for row in every.values]).all(2)
        totals = torch.from_numpy(begun).double() @ whole.exp()
        torch.testing.assert_close(each[:, :2].sum(1).exp(), totals)
        best, log_prob = chain.best(states, np.array([4]))
        assert best[0].tolist() == every.values[whole.argmax()].tolist()
        assert log_prob[0] == pytest.approx(whole.max().item())
        marginals = chain.probabilities(states, np.array([4]))
    for place in range(4):
        right = [whole.exp()[every.values[:, place] == label].sum() for label in range(3)]
        np.testing.assert_allclose(marginals[0, place], right, atol=1e-12)


def test_forbidden_labels_in_training_raise_an_error():
    chain, states = made()
    with pytest.raises(ModelError, match="label 1 comes right after label 0") as told:
        chain.loss(states, Sequences(np.array([[2, 0, 1, 2]]), np.array([4])))
    assert told.value.code == "M302"
    with pytest.raises(ModelError, match="label 1 comes right after the border"):
        chain.loss(states, Sequences(np.array([[1, 1, 1, 2]]), np.array([4])))


@pytest.mark.parametrize("chain", [False, True])
def test_n_best_sequences_are_the_best_of_all(chain):
    labels = Labels(3, FORBIDDEN if chain else frozenset())
    model = Recurrent(
        Signature(Form.EACH, Tokens(6), labels),
        embedding_size=4,
        hidden_size=4,
        token_options=TokenOptions(crf=chain),
    )
    source, every = Sequences(np.array([[4, 5, 3]]), np.array([3])), every_target(3)
    many = Sequences(np.repeat(source.values, len(every), 0), every.lengths)
    with model.inference_mode():
        right = model.log_prob(Batch(many, every)).numpy()
        found = model.predict(source, Search(beam=4, nbest=4))
    order = np.argsort(-right)[:4]
    assert [h.tokens.tolist() for h in found.ranked[0]] == every.values[order].tolist()
    assert [h.log_prob for h in found.ranked[0]] == pytest.approx(right[order].tolist(), abs=1e-5)


@pytest.mark.parametrize(
    "signature",
    [
        Signature(Form.NEXT, Tokens(6), Tokens(6)),
        Signature(Form.WHOLE, Tokens(6), Labels(3)),
        Signature(Form.EACH, Vectors(3), Vectors(2)),
    ],
    ids=["next", "whole", "vectors"],
)
def test_a_crf_needs_a_label_at_each_position(signature):
    with pytest.raises(ModelError, match="needs a label at each position") as told:
        Recurrent(signature, token_options=TokenOptions(crf=True))
    assert told.value.code == "M303"


def test_a_crf_cannot_stream_or_have_an_adaptive_softmax():
    model = Recurrent(
        Signature(Form.EACH, Tokens(6), Labels(3)), token_options=TokenOptions(crf=True)
    )
    with pytest.raises(ModelError, match="cannot stream") as told:
        model.stepper()
    assert told.value.code == "M303"
    with pytest.raises(ModelError, match="exclude each other") as told:
        TokenOptions(crf=True, adaptive_softmax=(2,))
    assert told.value.code == "M303"


@pytest.mark.parametrize("forbidden", [frozenset(), FORBIDDEN])
def test_marginals_with_gradients_are_those_without(forbidden):
    torch.manual_seed(5)
    chain = CRFOutput(6, Labels(3, forbidden)).double()
    for parameter in chain.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
    found = chain.class_log_probs(states, LENGTHS)
    with torch.no_grad():
        compiled = chain.probabilities(states, LENGTHS)
    real = np.arange(4) < LENGTHS[:, None]
    np.testing.assert_allclose(found.exp().detach().numpy()[real], compiled[real], atol=1e-9)
    found[0, 0].exp().sum().backward()
    assert states.grad.isfinite().all()
