"""Our cells and recurrence against torch's, forward and backward, and padding by hand."""

from typing import get_args

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.nn.cells import CELLS, CellName
from seqloom.nn.dropout import SequenceDropout
from seqloom.nn.recurrence import Recurrence, turn
from seqloom.trace import watching

TORCH = {"elman": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
LENGTHS = torch.tensor([5, 2, 4])


def twin(recurrence: Recurrence, cell: str, layers: int, both: bool) -> nn.Module:
    """Torch's module with our weights."""
    hidden = recurrence.cells[0].hidden
    theirs = TORCH[cell](3, hidden, layers, batch_first=True, bidirectional=both)
    for layer in range(layers):
        stacks = [("", recurrence.cells)] + [("_reverse", recurrence.backward_cells)] * both
        for suffix, cells in stacks:
            ours = cells[layer]
            for name, value in {
                f"weight_ih_l{layer}{suffix}": ours.read.weight,
                f"weight_hh_l{layer}{suffix}": ours.recur.weight,
                f"bias_ih_l{layer}{suffix}": ours.read.bias,
                f"bias_hh_l{layer}{suffix}": torch.zeros_like(ours.read.bias),
            }.items():
                getattr(theirs, name).data.copy_(value)
    return theirs


@pytest.mark.parametrize("cell", TORCH)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both", [False, True])
def test_same_as_torch_packed(cell, layers, both):
    ours = Recurrence(cell, 3, 8, layers=layers, both=both)
    theirs = twin(ours, cell, layers, both)
    x = torch.randn(3, 5, 3)
    mine, reference = x.clone().requires_grad_(), x.clone().requires_grad_()
    real = (torch.arange(5) < LENGTHS[:, None])[..., None]
    outputs = ours(mine, LENGTHS) * real
    packed = pack_padded_sequence(reference, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(theirs(packed)[0], batch_first=True)
    torch.testing.assert_close(outputs, expected, rtol=0, atol=1e-6)
    weight = torch.randn_like(outputs)
    (outputs * weight).sum().backward()
    (expected * weight).sum().backward()
    torch.testing.assert_close(mine.grad, reference.grad, rtol=0, atol=1e-5)
    for layer in range(layers):
        for suffix, cells in [("", ours.cells), ("_reverse", ours.backward_cells)][: 1 + both]:
            for name, part in (("weight_ih", "read.weight"), ("weight_hh", "recur.weight")):
                grad = cells[layer].get_parameter(part).grad
                other = theirs.get_parameter(f"{name}_l{layer}{suffix}").grad
                torch.testing.assert_close(grad, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
def test_fused_and_stepped_agree_forward_and_backward(cell):
    kind = CELLS[cell](3, 6)
    state = tuple(torch.randn(2, 6) for _ in range(kind.tensors))
    x = torch.randn(2, 7, 3)
    found = []
    for run in (kind.fused, kind.stepped):
        kind.zero_grad()
        outputs = run(x, state)
        (outputs * torch.arange(outputs.numel()).view_as(outputs)).sum().backward()
        found.append((outputs, [p.grad.clone() for p in kind.parameters()]))
    (one, grads), (other, others) = found
    torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
    for a, b in zip(grads, others, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_by_finite_differences(cell):
    kind = CELLS[cell](2, 3).double()
    x = torch.randn(1, 4, 2, dtype=torch.double, requires_grad=True)
    state = tuple(torch.randn(1, 3, dtype=torch.double) for _ in range(kind.tensors))
    assert torch.autograd.gradcheck(lambda x: kind.stepped(x, state), (x,))


def test_options_name_every_cell():
    assert set(get_args(CellName)) == CELLS.keys()


def test_gates_are_seen():
    for cell, gates in {"lstm": {"input", "forget", "output"}, "gru": {"reset", "update"}}.items():
        recurrence = Recurrence(cell, 3, 4)
        with watching(recurrence) as trace:
            recurrence(torch.randn(2, 5, 3), torch.tensor([5, 5]))
        assert set(trace.kinds()) == {f"gate.{gate}" for gate in gates}
        assert len(trace.of_kind("gate.*")) == 5 * len(gates)
        assert {record.path for record in trace.records} == {"cells.0"}


def test_turning_twice_changes_nothing():
    x = torch.randn(3, 5, 2)
    assert torch.equal(turn(turn(x, LENGTHS), LENGTHS), x)
    assert torch.equal(turn(x, LENGTHS)[1, :2], x[1, :2].flip(0))
    assert torch.equal(turn(x, LENGTHS)[1, 2:], x[1, 2:])


def test_ends_are_the_last_states_of_each_direction():
    recurrence = Recurrence("gru", 3, 8, both=True)
    outputs = recurrence(torch.randn(3, 5, 3), LENGTHS)
    ends = recurrence.ends(outputs, LENGTHS)
    assert torch.equal(ends[1, :4], outputs[1, 1, :4])
    assert torch.equal(ends[1, 4:], outputs[1, 0, 4:])


def test_dropout_drops_the_same_numbers_at_every_step():
    drop = SequenceDropout(0.5)
    x = torch.ones(4, 6, 50)
    dropped = drop(x)
    assert torch.equal(dropped[:, :1].expand_as(dropped), dropped)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert 0.35 < (dropped == 0).float().mean() < 0.65
    assert torch.equal(drop.eval()(x), x)
    with pytest.raises(ValueError, match="must be in"):
        SequenceDropout(1.0)
