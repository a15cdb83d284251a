"""The compiled kernels against the equation, at sizes where vectors, tiles and parts do not fit."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.nn import kernels
from seqloom.nn.cells import CELLS
from seqloom.nn.cells import lstm as lstm_cells
from seqloom.nn.cells.base import Cell
from seqloom.nn.cells.options import RNNOptions
from seqloom.nn.kernels.numba import threads as frames
from seqloom.nn.kernels.numba.matmul import COLUMNS, pack_panels
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
COMPILED = {  # none of these may lose its compiled unroll
    *("elman", "context", "carousel", "lstm-simple", "lstm", "lstm-peephole"),
    *("gru-simple", "gru", "mingru", "minlstm"),
}


def has_unroll(cell):
    """Whether a cell has a fast unroll of its own; one without is stepped by its equation."""
    return CELLS[cell].unroll_products is not Cell.unroll_products


# Those that say they are compiled, and those that must be: a cell that lost its unroll fails.
COMPILED_VARIANTS = [v for v in VARIANTS if has_unroll(v.values[0]) or v.values[0] in COMPILED]
compiled_variants = pytest.mark.parametrize(("cell", "rnn_options"), COMPILED_VARIANTS)


class Case:
    """A cell in float32 with inputs and an initial state."""

    def __init__(self, cell, rnn_options, time=9, batch=6, hidden=HIDDEN):
        torch.manual_seed(hidden * 100 + batch)
        self.cell = CELLS[cell](INPUTS, hidden, rnn_options)
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

    def unroll_reference(self):
        return self.cell.unroll_reference(self.cell.read(self.x), self.state)

    def unroll_products(self):
        return self.cell.unroll_products(self.cell.input_products(self.x), self.state)


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
@compiled_variants
def test_same_as_the_equation(cell, rnn_options, size, ran):
    case = Case(cell, rnn_options, *size)
    assert_close(case.found(case.unroll_products), case.found(case.unroll_reference))
    assert [name.split(".")[1] for name in ran] == ["forward", "backward"]


@pytest.mark.parametrize("loss", LOSSES)
@compiled_variants
def test_same_gradients_where_little_is_used(cell, rnn_options, loss):
    case = Case(cell, rnn_options)
    assert_close(
        case.found(case.unroll_products, LOSSES[loss]),
        case.found(case.unroll_reference, LOSSES[loss]),
    )


@compiled_variants
def test_same_for_any_memory_layout(cell, rnn_options):
    case = Case(cell, rnn_options)
    case.x = torch.randn(INPUTS, 9, 6).permute(2, 1, 0).requires_grad_()
    case.state = tuple(torch.randn(HIDDEN, 6).t().requires_grad_() for _ in case.state)
    expected = case.found(case.unroll_reference)
    assert_close(case.found(case.unroll_products), expected)

    def batch_first():
        return case.cell.unroll_products(case.cell.read(case.x), case.state)

    assert_close(case.found(batch_first), expected)


@compiled_variants
def test_backward_can_be_taken_twice(cell, rnn_options):
    case = Case(cell, rnn_options)
    loss = everything(*case.unroll_products())
    first, second = (torch.autograd.grad(loss, case.x, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


@pytest.mark.parametrize("openmp", [True, False])
@pytest.mark.parametrize("cell", ["elman", "gru", "lstm", "mingru"])
def test_the_same_result_with_any_number_of_threads(cell, openmp, monkeypatch):
    """Threads of torch's, or, where these cannot be had, of Python's."""
    case = Case(cell, RNNOptions(), batch=23)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    expected = case.found(case.unroll_products)
    if not openmp:
        monkeypatch.setattr(frames, "_openmp", lambda: None)
    for threads in (2, 3, 40):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        assert_close(case.found(case.unroll_products), expected)


def test_torch_is_asked_for_its_threads():
    if not torch.backends.openmp.is_available():
        pytest.skip("torch was built without OpenMP")
    assert frames._openmp() is not None


def test_narrow_short_or_double_is_left_to_torch(ran):
    least, single, double = COLUMNS, torch.float, torch.double
    for time, hidden, dtype in ((7, least, single), (8, least - 1, single), (8, least, double)):
        case = Case("gru", RNNOptions(), time=time, hidden=hidden)
        case.cell.to(dtype)
        case.x = case.x.detach().to(dtype).requires_grad_()
        case.state = tuple(part.detach().to(dtype).requires_grad_() for part in case.state)
        case.found(case.unroll_products)
    assert not ran


def test_recurrent_dropout_is_left_to_torch(ran):
    case = Case("gru", RNNOptions())
    case.cell.unroll_products(case.cell.input_products(case.x), case.state, torch.ones(6, HIDDEN))
    assert not ran


def test_lstm_is_torch_s_where_that_is_faster(ran, monkeypatch):
    case = Case("lstm", RNNOptions())
    expected = case.found(lambda: case.cell.unroll(case.x, case.state))
    assert not ran
    monkeypatch.setattr(lstm_cells, "MIN_OUTPUTS", 1)
    monkeypatch.setattr(lstm_cells, "MIN_SEQUENCES", 6)
    assert_close(case.found(lambda: case.cell.unroll(case.x, case.state)), expected)
    assert len(ran) == 2
    with torch.no_grad():
        case.cell.unroll(case.x, case.state)
    assert len(ran) == 2, "without gradients torch's kernel is the fastest"


@pytest.mark.parametrize("kind", ["tanh", "sigmoid", "relu"])
def test_activations_are_right_to_the_last_bits(kind):
    """Relative error, near 0 and far from it."""
    some = torch.logspace(-20, 1.9, 4000)
    x = torch.cat([some, -some, torch.linspace(-80, 80, 8000)]).view(-1, 8, 40)
    found = activated(x, kind)
    expected = getattr(torch, kind)(x.double())
    torch.testing.assert_close(found.double(), expected, rtol=2.5e-7, atol=0)


@pytest.mark.parametrize("kind", ["tanh", "sigmoid", "relu"])
def test_activations_of_infinity_and_nan(kind):
    x = torch.tensor([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30, 89.0]).repeat(8, 8, 4)
    found = activated(x, kind)[:, 0]  # from the second step on 0 · ∞ comes in
    torch.testing.assert_close(
        found, getattr(torch, kind)(x[:, 0]), rtol=2e-7, atol=2e-38, equal_nan=True
    )


def activated(x, kind):
    """φ(x), by an unroll whose matrix is zero."""
    hidden = x.shape[-1]
    return kernels.unroll_elman(
        x, torch.zeros(hidden, hidden), x.new_zeros(len(x), hidden), None, kind
    )


@pytest.mark.parametrize("columns", [least + COLUMNS for least in (0, 1, 15, 16, 34)])
def test_panels_hold_every_column_once(columns):
    matrix = torch.arange(1.0, 1 + 3 * columns).view(3, columns)
    found = pack_panels(matrix)
    assert found.sum() == matrix.sum()
    for number, panel in enumerate(found):
        first = min(number * COLUMNS, columns - COLUMNS)
        inside = matrix[:, first : first + COLUMNS]
        assert torch.equal(panel, torch.where(panel == 0, 0, inside))


def test_numba_is_imported_only_where_it_is_used():
    """Its import takes a second, longer than a short or narrow sequence."""
    code = (
        "import sys, torch\n"
        "from seqloom.nn.cells import CELLS\n"
        "cell = CELLS['gru'](3, 8)\n"
        "cell.unroll(torch.randn(2, 20, 3), cell.initial(2))\n"
        "sys.exit('numba' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_cached_machine_code_is_not_used_after_any_source_has_changed(tmp_path):
    """Numba looks at one file only; the argument's type names a digest of all."""
    for name, text in (("one.py", "a = 1"), ("two.py", "b = 2")):
        (tmp_path / name).write_text(text)
    before = frames._source_digest(tmp_path)
    assert frames._source_digest(tmp_path) == before
    (tmp_path / "two.py").write_text("b = 3")
    assert frames._source_digest(tmp_path) != before
    assert frames._source_digest(Path(frames.__file__).parent) in frames.FRAME.names[-1]
