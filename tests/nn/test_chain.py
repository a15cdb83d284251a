"""The lattice in torch against every path, its compiled twin against it, and what is made of both."""

from itertools import product

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.model import Search
from seqloom.models.recurrent import Recurrent
from seqloom.nn.output import crf
from seqloom.nn.output.crf import Chain
from seqloom.nn.token_options import Ends
from seqloom.signature import Form, Labels, Signature, Tokens, Vectors
from seqloom.statistical.hmm import inference

BARRED = frozenset({(0, 1), (2, 2), (3, 1), (0, 3)})  # 3 stands before the first and after the last
LENGTHS = np.array([4, 1, 3])


def numbers(seed, barred):
    torch.manual_seed(seed)
    parts = [torch.randn(3, 4, 3), torch.randn(3), torch.randn(3, 3), torch.randn(3)]
    parts = [part.double().requires_grad_() for part in parts]
    scores, first, moves, last = parts
    if barred:
        bars = torch.zeros(4, 4, dtype=torch.bool)
        bars[tuple(zip(*BARRED, strict=True))] = True
        first = first.masked_fill(bars[3, :3], -torch.inf)
        moves = moves.masked_fill(bars[:3, :3], -torch.inf)
        last = last.masked_fill(bars[:3, 3], -torch.inf)
    return parts, (scores, first, moves, last)


@pytest.mark.parametrize("barred", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_both_totals_are_those_of_every_path_and_so_are_their_gradients(seed, barred):
    leaves, parts = numbers(seed, barred)
    weights = torch.tensor([1.0, -0.5, 2.0]).double()
    found = crf.totals(*parts, LENGTHS)
    slow = torch.autograd.grad((found * weights).sum(), leaves, retain_graph=True)
    again = crf.QuickTotals.apply(*parts, LENGTHS)
    quick = torch.autograd.grad((again * weights).sum(), leaves)
    torch.testing.assert_close(found, again)
    for one, other in zip(slow, quick, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other)
    made = crf.lattice_of(*parts[1:])
    for row, length in enumerate(LENGTHS):
        right = inference.posteriors(made, parts[0][row, :length].detach().numpy())
        assert found[row].item() == pytest.approx(right.total)
        chances = quick[0][row, :length].numpy() / weights[row].item()
        np.testing.assert_allclose(chances, right.chances, atol=1e-12)


def test_what_cannot_be_at_all_has_no_gradient_and_no_nan():
    scores = torch.zeros(1, 2, 2, requires_grad=True)
    moves = torch.full((2, 2), -torch.inf, requires_grad=True)
    for totals in (crf.totals, crf.QuickTotals.apply):
        found = totals(scores, torch.zeros(2), moves, torch.zeros(2), np.array([2]))
        assert found.tolist() == [-torch.inf]
        for gradient in torch.autograd.grad(found.sum(), [scores, moves]):
            assert not gradient.any()


def made(seed=0, barred=BARRED):
    torch.manual_seed(seed)
    chain = Chain(5, Labels(3, barred))
    for part in (chain.first, chain.moves, chain.last):
        torch.nn.init.normal_(part)
    return chain.double(), torch.randn(1, 4, 5).double()


def every_target(time, size=3):
    rows = np.array(list(product(range(size), repeat=time)))
    return Sequences(rows, np.full(len(rows), time))


@pytest.mark.parametrize("barred", [frozenset(), BARRED])
@pytest.mark.parametrize("seed", range(3))
def test_a_chain_is_a_distribution_over_whole_sequences(seed, barred):
    chain, states = made(seed, barred)
    every = every_target(4)
    many = states.expand(len(every), -1, -1)
    with torch.no_grad():
        whole, each = chain.log_prob(many, every), chain.log_probs(many, every)
        assert whole.exp().sum().item() == pytest.approx(1)
        torch.testing.assert_close(each.sum(1), whole)
        for row, total in zip(every.values, whole.tolist(), strict=True):
            pairs = {*zip([3, *row], [*row, 3], strict=True)}
            assert (total == -np.inf) == bool(pairs & barred)
        # The first two labels are as likely as all sequences that begin with them.
        begun = np.array([every.values[:, :2] == row[:2] for row in every.values]).all(2)
        totals = torch.from_numpy(begun).double() @ whole.exp()
        torch.testing.assert_close(each[:, :2].sum(1).exp(), totals)
        best, log_prob = chain.best(states, np.array([4]))
        assert best[0].tolist() == every.values[whole.argmax()].tolist()
        assert log_prob[0] == pytest.approx(whole.max().item())
        chances = chain.chances(states, np.array([4]))
    for place in range(4):
        right = [whole.exp()[every.values[:, place] == label].sum() for label in range(3)]
        np.testing.assert_allclose(chances[0, place], right, atol=1e-12)


def test_labels_that_are_barred_cannot_be_learned_from():
    chain, states = made()
    with pytest.raises(ModelError, match="label 1 stands right after label 0") as told:
        chain.loss(states, Sequences(np.array([[2, 0, 1, 2]]), np.array([4])))
    assert told.value.code == "M302"
    with pytest.raises(ModelError, match="label 1 stands right after the border"):
        chain.loss(states, Sequences(np.array([[1, 1, 1, 2]]), np.array([4])))


@pytest.mark.parametrize("chain", [False, True])
def test_the_best_few_answers_are_the_best_of_all(chain):
    labels = Labels(3, BARRED if chain else frozenset())
    model = Recurrent(
        Signature(Form.EACH, Tokens(6), labels), width=4, hidden=4, ends=Ends(chain=chain)
    )
    source, every = Sequences(np.array([[4, 5, 3]]), np.array([3])), every_target(3)
    many = Sequences(np.repeat(source.values, len(every), 0), every.lengths)
    with model.at_rest():
        right = model.log_prob(Batch(many, every)).numpy()
        found = model.predict(source, Search(beam=4, nbest=4))
    order = np.argsort(-right)[:4]
    assert [h.symbols.tolist() for h in found.ranked[0]] == every.values[order].tolist()
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
def test_a_chain_needs_a_label_at_each_place(signature):
    with pytest.raises(ModelError, match="no label at each position") as told:
        Recurrent(signature, ends=Ends(chain=True))
    assert told.value.code == "M303"


def test_a_chain_needs_the_whole_sequence_and_all_moves():
    model = Recurrent(Signature(Form.EACH, Tokens(6), Labels(3)), ends=Ends(chain=True))
    with pytest.raises(ModelError, match="must have the whole") as told:
        model.stepper()
    assert told.value.code == "M303"
    with pytest.raises(ModelError, match="exclude each other") as told:
        Ends(chain=True, adaptive="2")
    assert told.value.code == "M303"


@pytest.mark.parametrize("barred", [frozenset(), BARRED])
def test_chances_that_gradients_pass_are_those_of_the_twin(barred):
    torch.manual_seed(5)
    chain = Chain(6, Labels(3, barred)).double()
    for parameter in chain.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
    found = chain.log_chances(states, LENGTHS)
    with torch.no_grad():
        twin = chain.chances(states, LENGTHS)
    real = np.arange(4) < LENGTHS[:, None]
    np.testing.assert_allclose(found.exp().detach().numpy()[real], twin[real], atol=1e-9)
    found[0, 0].exp().sum().backward()
    assert states.grad.isfinite().all()
