"""The quick ways over a sequence against the equation step by step, forward and backward."""

import pytest
import torch
from torch import nn

from seqloom.nn.cells import CELLS
from seqloom.nn.cells.base import masked
from seqloom.nn.cells.options import Wiring
from seqloom.nn.kernels import autograd
from seqloom.nn.kernels.scan import scan, scan_back

WIRINGS = {cell: {"plain": Wiring()} for cell in CELLS}
for cell in ("elman", "context"):
    WIRINGS[cell] |= {kind: Wiring(activation=kind) for kind in ("sigmoid", "relu")}
WIRINGS["lstm-peephole"] |= {"diagonal": Wiring(peepholes="diagonal")}
WIRINGS["gru"] |= {"before": Wiring(reset="before")}
VARIANTS = [
    pytest.param(cell, wiring, id=f"{cell}-{name}")
    for cell, found in WIRINGS.items()
    for name, wiring in found.items()
]
INPUTS, HIDDEN = 3, 5
CLOSE = {torch.double: 1e-9, torch.float: 1e-5}


class Case:
    """A cell with inputs, a first state and, if it can have one, a mask."""

    def __init__(self, cell, wiring, batch=3, time=7, drops=False, dtype=torch.double):
        torch.manual_seed(time * 10 + batch)
        self.cell = CELLS[cell](INPUTS, HIDDEN, wiring).to(dtype)
        self.x = torch.randn(batch, time, INPUTS, dtype=dtype, requires_grad=True)
        self.state = tuple(
            torch.randn(batch, HIDDEN, dtype=dtype, requires_grad=True)
            for _ in range(self.cell.tensors)
        )
        kept = torch.rand(batch, HIDDEN) > 0.3
        self.mask = (kept / 0.7).to(dtype) if drops else None

    def stepped(self):
        recur = self.cell.recur
        recur = masked(recur, self.mask) if self.mask is not None else recur
        return self.cell.stepped(self.cell.read(self.x), self.state, recur)

    def unrolled(self):
        return self.cell.unrolled(self.cell.read(self.x), self.state, self.mask)

    def quick(self):
        return self.cell.quick(self.x, self.state)

    def ways(self):
        """Every way that is not the equation."""
        return [self.unrolled] if self.mask is not None else [self.unrolled, self.quick]

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
    """Every quick way has the outputs, last states and gradients of the equation."""
    close = CLOSE[case.x.dtype]
    outputs, last = case.stepped()
    expected = [outputs, *last], case.gradients(loss(outputs, last))
    for way in case.ways():
        outputs, last = way()
        found = [outputs, *last], case.gradients(loss(outputs, last))
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=close, atol=close)


def drops(cell):
    return "recurrent_dropout" not in CELLS[cell].refuses


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_as_the_equation(cell, wiring, dtype):
    hold(Case(cell, wiring, dtype=dtype))


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("cell", "wiring"), [v for v in VARIANTS if drops(v.values[0])])
def test_same_as_the_equation_where_numbers_are_dropped(cell, wiring, dtype):
    hold(Case(cell, wiring, drops=True, dtype=dtype))


@pytest.mark.parametrize("time", [1, 2, 3, 5, 16, 17, 100])
@pytest.mark.parametrize("batch", [1, 2, 20])
@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_as_the_equation_at_every_size(cell, wiring, batch, time):
    hold(Case(cell, wiring, batch=batch, time=time))


LOSSES = {
    "last state": lambda outputs, last: last[-1].square().sum(),
    "one output": lambda outputs, last: outputs[:, 2, 1].sum(),
    "one sum": lambda outputs, last: outputs.sum(),  # its gradient is one number, expanded
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_gradients_where_little_is_used(cell, wiring, loss):
    hold(Case(cell, wiring), LOSSES[loss])
    if drops(cell):
        hold(Case(cell, wiring, drops=True), LOSSES[loss])


@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_where_memory_is_not_in_order(cell, wiring):
    case = Case(cell, wiring)
    case.x = torch.randn(INPUTS, 7, 3, dtype=torch.double).permute(2, 1, 0).requires_grad_()
    case.state = tuple(
        torch.randn(HIDDEN, 3, dtype=torch.double).t().requires_grad_() for _ in case.state
    )
    hold(case)


@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_where_only_some_gradients_are_wanted(cell, wiring):
    case = Case(cell, wiring)
    whole = case.gradients(everything(*case.stepped()))
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
@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_without_gradients(cell, wiring, batch):
    case = Case(cell, wiring, batch=batch)
    with torch.no_grad():
        expected = case.stepped()
        for way in case.ways():
            torch.testing.assert_close(way(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_gradients_by_finite_differences(cell, wiring, dropped):
    case = Case(cell, wiring, batch=2, time=3, drops=dropped and drops(cell))
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
            outputs, last = self.cell.quick(x, states)
        else:
            outputs, last = self.cell.unrolled(self.cell.read(x), states, self.mask)
        return (outputs, *last)


def changed_names(weights):
    return {f"cell.{name}": weight for name, weight in weights.items()}


@pytest.mark.parametrize("hidden", [4, 4096])  # by pieces, and step by step
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


ORDERED = ["lstm-simple", "lstm-peephole"]


@pytest.mark.parametrize(("cell", "wiring"), [v for v in VARIANTS if v.values[0] in ORDERED])
@pytest.mark.parametrize("drops", [False, True])
def test_matrices_in_order(cell, wiring, drops, monkeypatch):
    """Large matrices are brought into oneDNN's order; here small ones are, to see it hold."""
    products, product = [], autograd.Matrix._product
    monkeypatch.setattr(autograd, "LARGE_MATRIX", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(
        autograd.Matrix, "_product", lambda self, x: products.append(x) or product(self, x)
    )
    case = Case(cell, wiring, batch=16, time=16, drops=drops, dtype=torch.float)
    outputs, last = case.unrolled()
    case.gradients(everything(outputs, last))
    assert len(products) >= 2 * 16, "forward and backward, at every step"
    hold(case)
