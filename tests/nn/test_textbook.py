"""What every course on recurrent networks says of them, as assertions."""

import numpy as np
import pytest
import torch
from torch.func import jacrev

from seqloom.inspection.gradient_flow.cells import gradient_flow_of_cells
from seqloom.inspection.gradient_flow.jacobians import (
    EXACT,
    jacobians,
    spectral_norm,
    state_norms,
    states_of,
    truncated_gradient,
)
from seqloom.nn.cells import CELLS
from seqloom.nn.cells.options import DEFAULT_RNN_OPTIONS, RNNOptions
from seqloom.nn.rnn import RNN, RNNLayer
from seqloom.trace import watch

OPEN, SHUT = 1000.0, -1000.0  # σ of these is exactly 1 and 0 in double precision


def made(
    cell: str, inputs: int, hidden: int, rnn_options: RNNOptions = DEFAULT_RNN_OPTIONS
) -> RNNLayer:
    return RNNLayer(cell, inputs, hidden, rnn_options).double().eval()


def lstm_with_gates(input_gate: float, forget: float, output: float, hidden: int = 3) -> RNNLayer:
    """An LSTM with constant gates, whatever its input; its candidate is not constant."""
    layer = made("lstm", 2, hidden)
    with torch.no_grad():
        for block, value in ((0, input_gate), (1, forget), (3, output)):
            layer.cell.read.bias[block * hidden : (block + 1) * hidden] = value
    return layer


def linear_unit(weight: float) -> RNNLayer:
    """One ReLU unit that only ever sees positive numbers: h' = w h + x."""
    layer = made("elman", 1, 1, RNNOptions(activation="relu"))
    with torch.no_grad():
        layer.cell.read.weight.fill_(1.0)
        layer.cell.read.bias.zero_()
        layer.cell.recur.weight.fill_(weight)
    return layer


@pytest.mark.parametrize("weight, after", [(1.1, 117.4), (0.9, 0.00515), (1.0, 1.0)])
def test_one_linear_unit_over_fifty_steps(weight, after):
    norms = state_norms(linear_unit(weight), torch.ones(51, 1).double())
    assert len(norms) == 51 and norms[0] == 1
    assert norms[50] == pytest.approx(after, rel=1e-3)
    assert norms[50] == pytest.approx(weight**50, rel=1e-12)


def test_a_closed_cell_state_passes_its_gradient_unchanged():
    """Forget gate 1, input gate 0, output gate 0: ∂c_T/∂c_k is the identity, to the last bit."""
    layer = lstm_with_gates(SHUT, OPEN, SHUT)
    for lag, jacobian in enumerate(jacobians(layer, torch.randn(40, 2).double())):
        assert torch.equal(jacobian[3:, 3:], torch.eye(3).double())
        if lag:
            assert not jacobian[:3].any() and not jacobian[:, :3].any()


@pytest.mark.parametrize(
    "input_gate, forget, expected",
    [
        (SHUT, OPEN, lambda c, g: c),  # remember
        (OPEN, OPEN, lambda c, g: c + g),  # add
        (SHUT, SHUT, lambda c, g: 0 * c),  # erase
        (OPEN, SHUT, lambda c, g: g),  # overwrite
    ],
    ids=["remember", "add", "erase", "overwrite"],
)
def test_the_four_regimes_of_the_gates(input_gate, forget, expected):
    layer = lstm_with_gates(input_gate, forget, OPEN)
    x, h, c = torch.randn(1, 2).double(), torch.randn(1, 3).double(), torch.randn(1, 3).double()
    candidate = (layer.cell.read(x) + layer.cell.recur(h))[:, 6:9].tanh()
    new_h, new_c = layer.step(x, (h, c))
    torch.testing.assert_close(new_c, expected(c, candidate), rtol=0, atol=1e-15)
    torch.testing.assert_close(new_h, new_c.tanh(), rtol=0, atol=1e-15)


def test_the_gradient_of_the_cell_state_is_the_forget_gate():
    layer = made("lstm", 2, 5)
    x, h, c = torch.randn(1, 2).double(), torch.randn(1, 5).double(), torch.randn(1, 5).double()
    with watch(layer) as trace:
        layer.step(x, (h, c))
    (forget,) = trace.of_kind("gate.forget")
    found = jacrev(lambda cells: layer.step(x, (h, cells))[1][0])(c)[:, 0]
    torch.testing.assert_close(found, torch.diag(torch.tensor(forget.value[0])))


@pytest.mark.parametrize("cell, options", [("carousel", {}), ("elman", {"activation": "relu"})])
def test_hand_set_weights_sum_their_inputs_exactly(cell, options):
    layer = made(cell, 1, 1, RNNOptions(**options))
    with torch.no_grad():
        layer.cell.read.weight.fill_(1.0)
        layer.cell.read.bias.zero_()
        if layer.cell.recur is not None:
            layer.cell.recur.weight.fill_(1.0)
    numbers = torch.randint(0, 100, (4, 30, 1)).double()
    outputs, _ = layer.run(numbers, layer.initial(4))
    assert torch.equal(outputs, numbers.cumsum(1))


def test_hand_set_weights_tell_which_input_has_the_larger_total():
    """One linear unit that adds the first and subtracts the second; its sign is the answer."""
    network = RNN("carousel", 2, 1).double()
    with torch.no_grad():
        network.layers[0].cell.read.weight.copy_(torch.tensor([[1.0, -1.0]]))
        network.layers[0].cell.read.bias.zero_()
    numbers = torch.randint(-50, 50, (64, 20, 2)).double()
    answers = network(numbers, torch.full((64,), 20))[:, -1, 0].sign()
    totals = numbers.sum(1)
    assert torch.equal(answers, (totals[:, 0] - totals[:, 1]).sign())
    assert len(answers.unique()) > 1


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
@pytest.mark.parametrize("cell", ["elman", "context"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("zoneout", [0.0, 0.4])
def test_the_bound_holds(cell, activation, scale, zoneout):
    layer = made(cell, 3, 12, RNNOptions(activation=activation, zoneout=zoneout))
    with torch.no_grad():
        layer.cell.recur.weight.mul_(scale)
    norms = state_norms(layer, 0.1 * torch.randn(25, 3).double())
    bounds = layer.jacobian_bound() ** np.arange(25)
    assert all(size <= bound * (1 + 1e-9) for size, bound in zip(norms, bounds, strict=True))
    assert norms[1] > 0.01 * bounds[1], "a bound of the right size, not any large number"


def test_the_bound_is_the_spectral_norm_times_the_slope():
    layer = made("elman", 2, 6, RNNOptions(activation="sigmoid"))
    largest = np.linalg.svd(layer.cell.recur.weight.detach().numpy())[1][0]
    assert layer.jacobian_bound() == pytest.approx(largest / 4, rel=1e-12)
    assert made("carousel", 2, 6).jacobian_bound() == 1
    for cell in set(CELLS) - {"elman", "context", "carousel"}:
        assert made(cell, 2, 6).jacobian_bound() is None, "gates depend on the input"
    assert made("elman", 2, 6, RNNOptions(skip=3)).jacobian_bound() is None
    assert made("elman", 2, 6, RNNOptions(layer_norm=True)).jacobian_bound() is None


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(
    "options", [{}, {"layer_norm": True}, {"first_bias": True, "initial_state": "learned"}], ids=str
)
def test_the_product_of_jacobians_is_autograd_s(cell, options):
    """Against the derivative of the fast unroll from s_k to s_T, for every k."""
    layer = made(cell, 3, 4, RNNOptions(**options))
    skipped, tensors = layer.cell.output_only, layer.cell.tensors
    x = torch.randn(7, 3).double()
    states = states_of(layer, x)
    for lag, jacobian in enumerate(jacobians(layer, x)):
        place = len(x) - lag
        own, rest = states[place][:tensors], states[place][tensors:]

        def last(carried, place=place, own=own, rest=rest):
            state = (*own[:skipped], *carried.chunk(tensors - skipped, dim=-1), *rest)
            if place < len(x):
                _, state = layer.run(x[None, place:], state)
            return torch.cat(state[skipped:tensors], dim=-1)[0]

        carried = torch.cat(own[skipped:], dim=-1)
        expected = torch.autograd.functional.jacobian(last, carried)[:, 0]
        torch.testing.assert_close(jacobian, expected, rtol=1e-8, atol=1e-12)


def test_a_skip_connection_through_time_adds_its_paths():
    """h_t = u h_{t-1} + s h_{t-2}: the paths from k to t are counted by d_n = u d_{n-1} + s d_{n-2}."""
    layer = made("elman", 1, 1, RNNOptions(activation="relu", skip=2))
    with torch.no_grad():
        layer.cell.read.weight.fill_(1.0)
        layer.cell.read.bias.zero_()
        layer.cell.recur.weight.fill_(0.5)
        layer.shortcut.weight.fill_(0.3)
    found = [float(one) for one in jacobians(layer, torch.ones(8, 1).double())]
    expected = [1.0, 0.5]
    while len(expected) < 8:
        expected.append(0.5 * expected[-1] + 0.3 * expected[-2])
    assert found == pytest.approx(expected, rel=1e-12)


def test_what_the_remedies_do():
    """ReLU with identity start, skip connections and gates: each has a longer reach than tanh."""
    view = gradient_flow_of_cells(
        ["elman", "elman:activation=relu,start=identity", "elman:skip=5", "lstm:forget_bias=2"],
        hidden=24,
        length=60,
    )
    plain, identity, skip, gated = view.flows
    for other in (identity, skip, gated):
        assert other.reach is None or other.reach > 1.5 * plain.reach
    assert plain.reach < 15


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
def test_truncation_after_all_steps_is_none(cell):
    layer = made(cell, 3, 4)
    x, pull = torch.randn(9, 3).double(), torch.randn(9, 4).double()
    outputs, _ = layer.run(x[None], layer.initial(1))
    expected = torch.autograd.grad((outputs[0] * pull).sum(), list(layer.parameters()))
    whole = torch.cat([one.flatten() for one in expected])
    torch.testing.assert_close(truncated_gradient(layer, x, pull, 9), whole)
    torch.testing.assert_close(truncated_gradient(layer, x, pull, 100), whole)
    assert not torch.allclose(truncated_gradient(layer, x, pull, 3), whole, rtol=1e-3)


def test_truncation_cuts_the_linear_unit_where_it_should():
    """dL/dw of h_T = Σ_k w^(T-k) over the last n steps, with the state carried on."""
    layer, steps, window = linear_unit(0.5), 6, 3
    x, pull = torch.ones(steps, 1).double(), torch.zeros(steps, 1).double()
    pull[-1] = 1.0
    h = [0.0]
    for _ in range(steps):
        h.append(0.5 * h[-1] + 1)
    expected = sum(0.5 ** (steps - k) * h[k - 1] for k in range(steps - window + 1, steps + 1))
    names = [name for name, _ in layer.named_parameters()]
    found = truncated_gradient(layer, x, pull, window)[names.index("cell.recur.weight")]
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_norms_of_matrices_large_tiny_and_broken():
    large = torch.randn(EXACT + 20, EXACT + 20).double()
    expected = float(torch.linalg.matrix_norm(large, 2))
    assert spectral_norm(large) == pytest.approx(expected, rel=0.005)
    tiny = 1e-200 * torch.randn(9, 9).double()
    assert spectral_norm(tiny) == pytest.approx(float(torch.linalg.matrix_norm(tiny, 2)), rel=1e-9)
    assert spectral_norm(torch.zeros(3, 3)) == 0
    assert spectral_norm(torch.tensor([[1.0, float("nan")], [0.0, 1.0]])) == float("inf")
