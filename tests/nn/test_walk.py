"""A recurrence step by step, its inputs in two parts, against the same all at once."""

import pytest
import torch

from seqloom.nn.cells import CELLS
from seqloom.nn.cells.options import Wiring
from seqloom.nn.rnn import Recurrence
from seqloom.nn.seq2seq import Walk

KNOWN, FED, HIDDEN, ROWS, TIME = 3, 2, 4, 2, 5
LENGTHS = torch.full((ROWS,), TIME)


def made(cell="lstm", layers=1, dropout=0.0, **wiring):
    torch.manual_seed(0)
    return Recurrence(
        cell, KNOWN + FED, HIDDEN, layers=layers, dropout=dropout, wiring=Wiring(**wiring)
    ).double()


def walked(recurrence, known, fed, state):
    walk = Walk(recurrence, ROWS, KNOWN)
    products, outputs = walk.products(known), []
    for t in range(TIME):
        h, state = walk.step(products[:, t], [fed[:, t]], state)
        outputs.append(h)
    return torch.stack(outputs, dim=1)


def compare(recurrence, seed=1):
    """Outputs and all gradients; both draw the same masks from the same seed."""
    torch.manual_seed(seed)
    known = torch.randn(ROWS, TIME, KNOWN, dtype=torch.double, requires_grad=True)
    fed = torch.randn(ROWS, TIME, FED, dtype=torch.double, requires_grad=True)
    pull = torch.randn(ROWS, TIME, HIDDEN, dtype=torch.double)
    start = tuple(part.double() for part in recurrence.initial(ROWS))
    wanted, found = [], []
    for gradients, run in (
        (wanted, lambda: recurrence(torch.cat([known, fed], dim=-1), LENGTHS, start)),
        (found, lambda: walked(recurrence, known, fed, start)),
    ):
        torch.manual_seed(seed + 1)
        outputs = run()
        inputs = [known, fed, *recurrence.parameters()]
        gradients += [outputs, *torch.autograd.grad((outputs * pull).sum(), inputs)]
    for one, other in zip(wanted, found, strict=True):
        torch.testing.assert_close(one, other)
    with torch.no_grad():
        torch.manual_seed(seed + 1)
        torch.testing.assert_close(walked(recurrence, known, fed, start), wanted[0])


@pytest.mark.parametrize("cell", CELLS)
def test_every_cell(cell):
    compare(made(cell, layers=2))


@pytest.mark.parametrize(
    "wiring",
    [
        {"layer_norm": True},
        {"skip": 2, "first_bias": True, "initial_state": "learned"},
        {"residual": True, "tied": True},
    ],
)
def test_every_wiring(wiring):
    compare(made(layers=2, **wiring))


def test_what_is_dropped_is_drawn_once():
    compare(made(recurrent_dropout=0.5))
    compare(made(layers=2, dropout=0.5))
