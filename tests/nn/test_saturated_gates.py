"""minLSTM where both gates underflow: every way over a sequence has the share of the equation."""

from itertools import product

import numpy as np
import pytest
import torch

from seqloom.nn.cells import CELLS
from seqloom.nn.kernels.autograd import MinimalUnroll
from seqloom.nn.kernels.compiled import CompiledMinimal
from seqloom.nn.kernels.numba.matmul import COLUMNS
from seqloom.nn.numpy_steps.cells import NumpyMinLSTM

LOGITS = (-300.0, -120.0, -119.0, -89.0, -88.0, -20.0, -1.0, 0.0, 3.0, 40.0, 90.0, 300.0)
PAIRS = torch.tensor(list(product(LOGITS, LOGITS)), dtype=torch.double)  # logits of f and i
TIME = 8
HIDDEN = -(-max(COLUMNS, len(PAIRS)) // COLUMNS) * COLUMNS


def products(dtype):
    """W x + b of one sequence whose components have all pairs of logits, and a first state."""
    pairs = PAIRS.repeat(-(-HIDDEN // len(PAIRS)), 1)[:HIDDEN]
    candidates = torch.linspace(-1, 1, TIME * HIDDEN, dtype=torch.double).view(TIME, HIDDEN)
    blocks = [pairs[:, 0].expand(TIME, -1), pairs[:, 1].expand(TIME, -1), candidates]
    a = torch.cat(blocks, dim=-1)[None].to(dtype)
    return a.requires_grad_(), torch.full((1, HIDDEN), 0.5, dtype=dtype, requires_grad=True)


def equation(a, first):
    """f / (f + i) and i / (f + i), as they are written: in float64 300 is no extreme."""
    h, states = first, []
    for at in a.unbind(1):
        f, i, n = at.chunk(3, dim=-1)
        f, i = f.sigmoid(), i.sigmoid()
        h = f / (f + i) * h + i / (f + i) * n
        states.append(h)
    return torch.stack(states, dim=1)


def step_by_step(a, first):
    cell = CELLS["minlstm"](3, HIDDEN)
    state, states = (first,), []
    for at in a.unbind(1):
        state = cell.step(at, state, lambda h: h)
        states.append(state[0])
    return torch.stack(states, dim=1)


def gradients(way, dtype):
    a, first = products(dtype)
    outputs = way(a, first)
    weights = torch.linspace(-1, 2, outputs.numel(), dtype=dtype).view_as(outputs)
    return outputs, *torch.autograd.grad((outputs * weights).sum(), (a, first))


@pytest.mark.parametrize(
    ("way", "dtype"),
    [
        pytest.param(step_by_step, torch.float, id="step-float32"),
        pytest.param(step_by_step, torch.double, id="step-float64"),
        pytest.param(MinimalUnroll.apply, torch.float, id="scan-float32"),
        pytest.param(MinimalUnroll.apply, torch.double, id="scan-float64"),
        pytest.param(CompiledMinimal.apply, torch.float, id="compiled"),  # these read float32
    ],
)
def test_the_share_where_gates_underflow(way, dtype):
    near = {"rtol": 1e-5, "atol": 2e-6} if dtype == torch.float else {"rtol": 1e-9, "atol": 1e-12}
    expected = gradients(equation, torch.double)
    for found, right in zip(gradients(way, dtype), expected, strict=True):
        torch.testing.assert_close(found.double(), right, **near)


def test_the_share_where_gates_underflow_in_numpy():
    a, first = products(torch.float)
    step = NumpyMinLSTM(CELLS["minlstm"](3, HIDDEN))
    state = (first.detach().numpy()[0],)
    with np.errstate(all="raise", under="ignore"):
        for row, expected in zip(
            a.detach().numpy()[0], equation(*products(torch.double))[0], strict=True
        ):
            state = step.step(row, state)
            np.testing.assert_allclose(state[0], expected.detach().numpy(), rtol=1e-5, atol=2e-6)
