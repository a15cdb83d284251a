"""An RNN step by step, its inputs in two parts, against the same all at once."""

import pytest
import torch

from seqloom.nn.cells import CELLS
from seqloom.nn.cells.options import RNNOptions
from seqloom.nn.rnn import RNN
from seqloom.nn.seq2seq import StepwiseRNN

KNOWN, FED, HIDDEN, ROWS, TIME = 3, 2, 4, 2, 5
LENGTHS = torch.full((ROWS,), TIME)


def made(cell="lstm", layers=1, dropout=0.0, **rnn_options):
    torch.manual_seed(0)
    return RNN(
        cell,
        KNOWN + FED,
        HIDDEN,
        num_layers=layers,
        dropout=dropout,
        rnn_options=RNNOptions(**rnn_options),
    ).double()


def unrolled(rnn, known, fed, state):
    stepwise = StepwiseRNN(rnn, ROWS, KNOWN)
    products, outputs = stepwise.products(known), []
    for t in range(TIME):
        h, state = stepwise.step(products[:, t], [fed[:, t]], state)
        outputs.append(h)
    return torch.stack(outputs, dim=1)


def compare(rnn, seed=1):
    """Outputs and all gradients; both sample the same masks from the same seed."""
    torch.manual_seed(seed)
    known = torch.randn(ROWS, TIME, KNOWN, dtype=torch.double, requires_grad=True)
    fed = torch.randn(ROWS, TIME, FED, dtype=torch.double, requires_grad=True)
    pull = torch.randn(ROWS, TIME, HIDDEN, dtype=torch.double)
    start = tuple(part.double() for part in rnn.initial(ROWS))
    expected, found = [], []
    for gradients, run in (
        (expected, lambda: rnn(torch.cat([known, fed], dim=-1), LENGTHS, start)),
        (found, lambda: unrolled(rnn, known, fed, start)),
    ):
        torch.manual_seed(seed + 1)
        outputs = run()
        inputs = [known, fed, *rnn.parameters()]
        gradients += [outputs, *torch.autograd.grad((outputs * pull).sum(), inputs)]
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(one, other)
    with torch.no_grad():
        torch.manual_seed(seed + 1)
        torch.testing.assert_close(unrolled(rnn, known, fed, start), expected[0])


@pytest.mark.parametrize("cell", CELLS)
def test_every_cell(cell):
    compare(made(cell, layers=2))


@pytest.mark.parametrize(
    "rnn_options",
    [
        {"layer_norm": True},
        {"skip": 2, "first_bias": True, "initial_state": "learned"},
        {"residual": True, "tied": True},
    ],
)
def test_every_option(rnn_options):
    compare(made(layers=2, **rnn_options))


def test_dropout_masks_are_sampled_once():
    compare(made(recurrent_dropout=0.5))
    compare(made(layers=2, dropout=0.5))
