"""The compiled steps against the equation, at sizes where vectors, tiles and parts do not fit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.nn import kernels
from seqloom.nn.cells import CELLS
from seqloom.nn.cells import lstm as lstm_cells
from seqloom.nn.cells.options import Wiring
from seqloom.nn.kernels.numba import threads as frames
from seqloom.nn.kernels.numba.matmul import COLUMNS, in_panels
from tests.nn.test_unroll import LOSSES, VARIANTS, everything

INPUTS = 3
SIZES = [  # steps, sequences, numbers of a state
    (8, 1, COLUMNS),  # the fewest of each
    (9, 2, COLUMNS + 1),  # an odd number of steps
    (8, 3, COLUMNS + 8),
    (10, 5, 2 * COLUMNS - 1),
    (8, 7, 2 * COLUMNS),
    (11, 13, 2 * COLUMNS + 8),
    (8, 33, 3 * COLUMNS + 2),
]
HIDDEN = COLUMNS + 3
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


class Case:
    """A cell in float32 with inputs and a first state; how often compiled steps were taken."""

    def __init__(self, cell, wiring, time=9, batch=6, hidden=HIDDEN):
        torch.manual_seed(hidden * 100 + batch)
        self.cell = CELLS[cell](INPUTS, hidden, wiring)
        self.x = torch.randn(batch, time, INPUTS, requires_grad=True)
        self.state = tuple(
            torch.randn(batch, hidden, requires_grad=True) for _ in range(self.cell.tensors)
        )

    def found(self, way, loss=everything):
        """Outputs, last states and all gradients."""
        outputs, last = way()
        leaves = [self.x, *self.state, *self.cell.parameters()]
        grads = torch.autograd.grad(loss(outputs, last), leaves, allow_unused=True)
        zeros = [torch.zeros_like(leaf) for leaf in leaves]
        return (
            outputs,
            *last,
            *(zero if grad is None else grad for grad, zero in zip(grads, zeros, strict=True)),
        )

    def stepped(self):
        return self.cell.stepped(self.cell.read(self.x), self.state)

    def unrolled(self):
        return self.cell.unrolled(self.cell.read_all(self.x), self.state)


@pytest.fixture
def ran(monkeypatch):
    """The kernels that ran."""
    names, call = [], frames.Kernel.__call__

    def listened(kernel, batch, **fields):
        names.append(f"{kernel.function.__module__.split('.')[-1]}.{kernel.function.__name__}")
        call(kernel, batch, **fields)

    monkeypatch.setattr(frames.Kernel, "__call__", listened)
    return names


def assert_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        largest = other.detach().abs().max().clamp_min(1e-9)
        torch.testing.assert_close(one / largest, other / largest, **CLOSE)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_as_the_equation(cell, wiring, size, ran):
    case = Case(cell, wiring, *size)
    assert_close(case.found(case.unrolled), case.found(case.stepped))
    assert [name.split(".")[1] for name in ran] == ["forward", "backward"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_gradients_where_little_is_used(cell, wiring, loss):
    case = Case(cell, wiring)
    assert_close(case.found(case.unrolled, LOSSES[loss]), case.found(case.stepped, LOSSES[loss]))


@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_same_where_memory_is_not_in_order(cell, wiring):
    case = Case(cell, wiring)
    case.x = torch.randn(INPUTS, 9, 6).permute(2, 1, 0).requires_grad_()
    case.state = tuple(torch.randn(HIDDEN, 6).t().requires_grad_() for _ in case.state)
    expected = case.found(case.stepped)
    assert_close(case.found(case.unrolled), expected)

    def batch_first():
        return case.cell.unrolled(case.cell.read(case.x), case.state)

    assert_close(case.found(batch_first), expected)


@pytest.mark.parametrize(("cell", "wiring"), VARIANTS)
def test_backward_can_be_taken_twice(cell, wiring):
    case = Case(cell, wiring)
    loss = everything(*case.unrolled())
    first, second = (torch.autograd.grad(loss, case.x, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("openmp", [True, False])
@pytest.mark.parametrize("cell", ["elman", "gru", "lstm", "mingru"])
def test_the_same_numbers_from_any_number_of_threads(cell, openmp, monkeypatch):
    """Threads of torch's, or, where these cannot be had, of Python's."""
    case = Case(cell, Wiring(), batch=23)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    expected = case.found(case.unrolled)
    if not openmp:
        monkeypatch.setattr(frames, "_openmp", lambda: None)
    for threads in (2, 3, 40):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        assert_close(case.found(case.unrolled), expected)


def test_torch_is_asked_for_its_threads():
    if not torch.backends.openmp.is_available():
        pytest.skip("torch was built without OpenMP")
    assert frames._openmp() is not None


def test_what_is_narrow_short_or_double_is_left_to_torch(ran):
    least, single, double = COLUMNS, torch.float, torch.double
    for time, hidden, dtype in ((7, least, single), (8, least - 1, single), (8, least, double)):
        case = Case("gru", Wiring(), time=time, hidden=hidden)
        case.cell.to(dtype)
        case.x = case.x.detach().to(dtype).requires_grad_()
        case.state = tuple(part.detach().to(dtype).requires_grad_() for part in case.state)
        case.found(case.unrolled)
    assert not ran


def test_dropped_numbers_are_left_to_torch(ran):
    case = Case("gru", Wiring())
    case.cell.unrolled(case.cell.read_all(case.x), case.state, torch.ones(6, HIDDEN))
    assert not ran


def test_lstm_is_torch_s_where_that_is_quicker(ran, monkeypatch):
    case = Case("lstm", Wiring())
    expected = case.found(lambda: case.cell.quick(case.x, case.state))
    assert not ran
    monkeypatch.setattr(lstm_cells, "LARGE", 1)
    monkeypatch.setattr(lstm_cells, "MANY", 6)
    assert_close(case.found(lambda: case.cell.quick(case.x, case.state)), expected)
    assert len(ran) == 2
    with torch.no_grad():
        case.cell.quick(case.x, case.state)
    assert len(ran) == 2, "without gradients torch's kernel is the quickest"


@pytest.mark.parametrize("kind", ["tanh", "sigmoid", "relu"])
def test_bends_are_right_to_the_last_bits(kind):
    """Relative to the truth, near 0 and far from it."""
    some = torch.logspace(-20, 1.9, 4000)
    x = torch.cat([some, -some, torch.linspace(-80, 80, 8000)]).view(-1, 8, 40)
    found = bent(x, kind)
    expected = getattr(torch, kind)(x.double())
    torch.testing.assert_close(found.double(), expected, rtol=2.5e-7, atol=0)


@pytest.mark.parametrize("kind", ["tanh", "sigmoid", "relu"])
def test_bends_at_the_ends(kind):
    x = torch.tensor([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30, 89.0]).repeat(8, 8, 4)
    found = bent(x, kind)[:, 0]  # from the second step on 0 · ∞ comes in
    torch.testing.assert_close(
        found, getattr(torch, kind)(x[:, 0]), rtol=2e-7, atol=2e-38, equal_nan=True
    )


def bent(x, kind):
    """φ(x), by an unroll whose matrix is nothing."""
    hidden = x.shape[-1]
    return kernels.unroll_elman(
        x, torch.zeros(hidden, hidden), x.new_zeros(len(x), hidden), None, kind
    )


@pytest.mark.parametrize("columns", [least + COLUMNS for least in (0, 1, 15, 16, 34)])
def test_panels_hold_every_column_once(columns):
    matrix = torch.arange(1.0, 1 + 3 * columns).view(3, columns)
    found = in_panels(matrix)
    assert found.sum() == matrix.sum()
    for number, panel in enumerate(found):
        first = min(number * COLUMNS, columns - COLUMNS)
        inside = matrix[:, first : first + COLUMNS]
        assert torch.equal(panel, torch.where(panel == 0, 0, inside))


def test_numba_is_imported_by_those_who_need_it_alone():
    """It takes a second, which a short or narrow sequence does not."""
    code = (
        "import sys, torch\n"
        "from seqloom.nn.cells import CELLS\n"
        "cell = CELLS['gru'](3, 8)\n"
        "cell.quick(torch.randn(2, 20, 3), cell.initial(2))\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_kept_machine_code_is_not_used_when_any_of_its_sources_has_changed(tmp_path):
    """Numba looks at one file only; the frame's type tells of all."""
    for name, text in (("one.py", "a = 1"), ("two.py", "b = 2")):
        (tmp_path / name).write_text(text)
    before = frames._mark(tmp_path)
    assert frames._mark(tmp_path) == before
    (tmp_path / "two.py").write_text("b = 3")
    assert frames._mark(tmp_path) != before
    assert frames._mark(Path(frames.__file__).parent) in frames.FRAME.names[-1]
