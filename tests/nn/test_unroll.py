"""The quick ways over a sequence against the equation step by step, forward and backward."""

import pytest
import torch
from torch import nn

from seqloom.nn.cells import CELLS
from seqloom.nn.cells.base import with_dropout
from seqloom.nn.cells.options import RNNOptions
from seqloom.nn.kernels import autograd
from seqloom.nn.kernels.scan import scan, scan_back

WIRINGS = {cell: {"plain": RNNOptions()} for cell in CELLS}
for cell in ("elman", "context"):
    WIRINGS[cell] |= {kind: RNNOptions(activation=kind) for kind in ("sigmoid", "relu")}
WIRINGS["lstm-peephole"] |= {"diagonal": RNNOptions(peepholes="diagonal")}
WIRINGS["gru"] |= {"before": RNNOptions(reset="before")}
VARIANTS = [
    pytest.param(cell, rnn_options, id=f"{cell}-{name}")
    for cell, found in WIRINGS.items()
    for name, rnn_options in found.items()
]
INPUTS, HIDDEN = 3, 5
CLOSE = {torch.double: 1e-9, torch.float: 1e-5}


class Case:
    """A cell with inputs, a first state and, if it can have one, a mask."""

    def __init__(self, cell, rnn_options, batch=3, time=7, drops=False, dtype=torch.double):
        torch.manual_seed(time * 10 + batch)
        self.cell = CELLS[cell](INPUTS, HIDDEN, rnn_options).to(dtype)
        self.x = torch.randn(batch, time, INPUTS, dtype=dtype, requires_grad=True)
        self.state = tuple(
            torch.randn(batch, HIDDEN, dtype=dtype, requires_grad=True)
            for _ in range(self.cell.tensors)
        )
        kept = torch.rand(batch, HIDDEN) > 0.3
        self.mask = (kept / 0.7).to(dtype) if drops else None

    def unroll_reference(self):
        recur = self.cell.recur
        recur = with_dropout(recur, self.mask) if self.mask is not None else recur
        return self.cell.unroll_reference(self.cell.read(self.x), self.state, recur)

    def unroll_products(self):
        return self.cell.unroll_products(self.cell.read(self.x), self.state, self.mask)

    def unroll(self):
        return self.cell.unroll(self.x, self.state)

    def ways(self):
        """Every fast path: all but the equation."""
        return (
            [self.unroll_products] if self.mask is not None else [self.unroll_products, self.unroll]
        )

    def gradients(self, loss):
        leaves = [self.x, *self.state, *self.cell.parameters()]
        found = torch.autograd.grad(loss, leaves, allow_unused=True)
        return [
            torch.zeros_like(leaf) if grad is None else grad
            for leaf, grad in zip(leaves, found, strict=True)
        ]


def everything(outputs, last):
    """A loss that every output and every last state changes, each by another weight."""
    parts = [outputs, *last]
    return sum(
        (part * torch.linspace(-1, 2, part.numel(), dtype=part.dtype).view_as(part)).sum()
        for part in parts
    )


def hold(case, loss=everything):
    """Every fast path has the outputs, last states and gradients of the equation."""
    close = CLOSE[case.x.dtype]
    outputs, last = case.unroll_reference()
    expected = [outputs, *last], case.gradients(loss(outputs, last))
    for way in case.ways():
        outputs, last = way()
        found = [outputs, *last], case.gradients(loss(outputs, last))
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=close, atol=close)


def drops(cell):
    return "recurrent_dropout" not in CELLS[cell].unsupported


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("cell", "rnn_options"), VARIANTS)
def test_same_as_the_equation(cell, rnn_options, dtype):
    hold(Case(cell, rnn_options, dtype=dtype))


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("cell", "rnn_options"), [v for v in VARIANTS if drops(v.values[0])])
def test_same_as_the_equation_with_recurrent_dropout(cell, rnn_options, dtype):
    hold(Case(cell, rnn_options, drops=True, dtype=dtype))


@pytest.mark.parametrize("time", [1, 2, 3, 5, 16, 17, 100])
@pytest.mark.parametrize("batch", [1, 2, 20])
@pytest.mark.parametrize(("cell", "rnn_options"), VARIANTS)
def test_same_as_the_equation_at_every_size(cell, rnn_options, batch, time):
    hold(Case(cell, rnn_options, batch=batch, time=time))


LOSSES = {
    "last state": lambda outputs, last: last[-1].square().sum(),
    "one output": lambda outputs, last: outputs[:, 2, 1].sum(),
    "one sum": lambda outputs, last: outputs.sum(),  # its gradient is one number, expanded
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("cell", "rnn_options"), VARIANTS)
def test_same_gradients_where_little_is_used(cell, rnn_options, loss):
    hold(Case(cell, rnn_options), LOSSES[loss])
    if drops(cell):
        hold(Case(cell, rnn_options, drops=True), LOSSES[loss])


@pytest.mark.parametrize(("cell", "rnn_options"), VARIANTS)
def test_same_for_any_memory_layout(cell, rnn_options):
    case = Case(cell, rnn_options)
    case.x = torch.randn(INPUTS, 7, 3, dtype=torch.double).permute(2, 1, 0).requires_grad_()
    case.state = tuple(
        torch.randn(HIDDEN, 3, dtype=torch.double).t().requires_grad_() for _ in case.state
    )
    hold(case)


@pytest.mark.parametrize(("cell", "rnn_options"), VARIANTS)
def test_same_where_only_some_gradients_are_wanted(cell, rnn_options):
    case = Case(cell, rnn_options)
    whole = case.gradients(everything(*case.unroll_reference()))
    wanted = dict(case.cell.named_parameters())
    name = "recur.weight" if case.cell.recur else "read.weight"
    for other in set(wanted) - {name}:
        wanted[other].requires_grad_(False)
    place = 1 + len(case.state) + list(wanted).index(name)
    case.x, case.state = case.x.detach(), tuple(part.detach() for part in case.state)
    for way in case.ways():
        (found,) = torch.autograd.grad(everything(*way()), [wanted[name]])
        torch.testing.assert_close(found, whole[place], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("batch", [1, 20])
@pytest.mark.parametrize(("cell", "rnn_options"), VARIANTS)
def test_same_without_gradients(cell, rnn_options, batch):
    case = Case(cell, rnn_options, batch=batch)
    with torch.no_grad():
        expected = case.unroll_reference()
        for way in case.ways():
            torch.testing.assert_close(way(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize(("cell", "rnn_options"), VARIANTS)
def test_gradients_by_finite_differences(cell, rnn_options, dropped):
    case = Case(cell, rnn_options, batch=2, time=3, drops=dropped and drops(cell))
    names, weights = zip(*case.cell.named_parameters(), strict=True)

    def run(x, *rest):
        states, values = rest[: len(case.state)], rest[len(case.state) :]
        changed = dict(zip(names, values, strict=True))
        return torch.func.functional_call(Way(case), changed_names(changed), (x, states))

    assert torch.autograd.gradcheck(run, (case.x, *case.state, *weights))


class Way(nn.Module):
    """The quickest way as a module, that finite differences can change its weights."""

    def __init__(self, case):
        super().__init__()
        self.cell, self.mask = case.cell, case.mask

    def forward(self, x, states):
        if self.mask is None:
            outputs, last = self.cell.unroll(x, states)
        else:
            outputs, last = self.cell.unroll_products(self.cell.read(x), states, self.mask)
        return (outputs, *last)


def changed_names(weights):
    return {f"cell.{name}": weight for name, weight in weights.items()}


@pytest.mark.parametrize("hidden", [4, 4096])  # in blocks, and step by step
@pytest.mark.parametrize("time", [1, 2, 3, 5, 16, 17, 100])
def test_the_scan_is_the_loop(time, hidden):
    torch.manual_seed(time)
    keep = torch.rand(time, 2, hidden, dtype=torch.double)
    new = torch.randn(time, 2, hidden, dtype=torch.double, requires_grad=True)
    first = torch.randn(2, hidden, dtype=torch.double)
    h, outputs = first, []
    for t in range(time):
        h = keep[t] * h + new[t]
        outputs.append(h)
    expected = torch.stack(outputs)
    close = {"rtol": 1e-12, "atol": 1e-12}
    torch.testing.assert_close(scan(keep, new.detach().clone(), first), expected, **close)
    grad = torch.randn_like(expected)
    (wanted,) = torch.autograd.grad(expected, new, grad)
    torch.testing.assert_close(scan_back(keep, grad), wanted, **close)


PACKED = ["lstm-simple", "lstm-peephole"]


@pytest.mark.parametrize(("cell", "rnn_options"), [v for v in VARIANTS if v.values[0] in PACKED])
@pytest.mark.parametrize("drops", [False, True])
def test_packed_matrices(cell, rnn_options, drops, monkeypatch):
    """Large matrices are packed for oneDNN; here small ones are, to test it."""
    products, product = [], autograd.PackedMatrix._product
    monkeypatch.setattr(autograd, "MIN_PACKED", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(
        autograd.PackedMatrix, "_product", lambda self, x: products.append(x) or product(self, x)
    )
    case = Case(cell, rnn_options, batch=16, time=16, drops=drops, dtype=torch.float)
    outputs, last = case.unroll_products()
    case.gradients(everything(outputs, last))
    assert len(products) >= 2 * 16, "forward and backward, at every step"
    hold(case)
