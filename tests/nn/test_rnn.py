"""RNNs with layers and directions against torch's, padding by hand, and every option."""

from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.errors import ModelError
from seqloom.nn.cells import CELLS, CellName
from seqloom.nn.cells.options import RNNOptions
from seqloom.nn.dropout import SequenceDropout
from seqloom.nn.pooling import Pooling
from seqloom.nn.rnn import RNN, reverse_sequences
from seqloom.trace import watch
from tests.contracts.cases import GATES

TORCH = {"elman": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
LENGTHS = torch.tensor([5, 2, 4])
OPTIONS = [
    {"initial_state": "learned"},
    {"first_bias": True},
    {"skip": 2},
    {"recurrent_dropout": 0.4},
    {"zoneout": 0.3},
    {"layer_norm": True},
    {"start": "orthogonal"},
    {"start": "identity"},
    {"activation": "sigmoid"},
    {"activation": "relu"},
    {"forget_bias": 2.0},
    {"span": 9},
    {"peepholes": "diagonal"},
    {"reset": "before"},
    {"residual": True, "tied": True, "join": "sum", "initial_state": "learned", "first_bias": True},
]


def possible(cell, options):
    """Whether a cell has these options."""
    try:
        RNN(cell, 2, 4, rnn_options=RNNOptions(**options))
    except ModelError:
        return False
    return True


EVERY = [(cell, options) for cell in CELLS for options in OPTIONS if possible(cell, options)]
every_option = pytest.mark.parametrize(
    "cell, options", EVERY, ids=[f"{c}-{'-'.join(o)}-{list(o.values())[0]}" for c, o in EVERY]
)


def torch_module(rnn: RNN, cell: str, layers: int, both: bool) -> nn.Module:
    """Torch's module with our weights."""
    hidden = rnn.layers[0].cell.hidden
    theirs = TORCH[cell](3, hidden, layers, batch_first=True, bidirectional=both)
    for layer in range(layers):
        stacks = [("", rnn.layers)] + [("_reverse", rnn.backward_layers)] * both
        for suffix, ours in stacks:
            own = ours[layer].cell
            second = torch.zeros_like(own.read.bias)
            if own.recur.bias is not None:
                second[-hidden:] = own.recur.bias
            for name, value in {
                f"weight_ih_l{layer}{suffix}": own.read.weight,
                f"weight_hh_l{layer}{suffix}": own.recur.weight,
                f"bias_ih_l{layer}{suffix}": own.read.bias,
                f"bias_hh_l{layer}{suffix}": second,
            }.items():
                getattr(theirs, name).data.copy_(value)
    return theirs


@pytest.mark.parametrize("cell", TORCH)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both", [False, True])
def test_same_as_torch_packed(cell, layers, both):
    ours = RNN(cell, 3, 8, num_layers=layers, bidirectional=both)
    theirs = torch_module(ours, cell, layers, both)
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
        for suffix, made in [("", ours.layers), ("_reverse", ours.backward_layers)][: 1 + both]:
            for name, part in (("weight_ih", "read.weight"), ("weight_hh", "recur.weight")):
                grad = made[layer].cell.get_parameter(part).grad
                other = theirs.get_parameter(f"{name}_l{layer}{suffix}").grad
                torch.testing.assert_close(grad, other, rtol=0, atol=1e-5)


@every_option
def test_steps_agree_with_the_whole(cell, options):
    """Single steps, the fast unroll and the recorded reference give the same."""
    torch.manual_seed(1)
    rnn = scrambled(RNN(cell, 3, 6, num_layers=3, rnn_options=RNNOptions(**options))).eval()
    x, state = torch.randn(2, 7, 3, dtype=torch.double), rnn.initial(2)
    whole, last = rnn.carry(x, state)
    again, _ = rnn.carry(x[:, :4], state)
    torch.testing.assert_close(again, whole[:, :4], rtol=0, atol=1e-9)
    with watch(rnn):
        watched = rnn(x, torch.tensor([7, 7]))
    torch.testing.assert_close(whole, watched, rtol=0, atol=1e-9)
    for t in range(7):
        output, state = rnn.step(x[:, t], state)
        torch.testing.assert_close(output, whole[:, t], rtol=0, atol=1e-9)
    for one, other in zip(state, last, strict=True):
        if one.shape[-1] > 1 and one.dim() == 2:
            torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@every_option
def test_a_segment_continues_from_the_one_before(cell, options):
    torch.manual_seed(2)
    rnn = scrambled(RNN(cell, 3, 6, num_layers=2, rnn_options=RNNOptions(**options))).eval()
    x = torch.randn(2, 9, 3, dtype=torch.double)
    whole, _ = rnn.carry(x, rnn.initial(2))
    first, state = rnn.carry(x[:, :4], rnn.initial(2))
    second, _ = rnn.carry(x[:, 4:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=0, atol=1e-9)


@every_option
@pytest.mark.parametrize("both", [False, True])
def test_padding_changes_nothing(cell, options, both):
    torch.manual_seed(3)
    rnn = scrambled(
        RNN(cell, 3, 6, num_layers=2, bidirectional=both, rnn_options=RNNOptions(**options))
    )
    rnn.eval()
    x = torch.randn(3, 5, 3, dtype=torch.double)
    outputs, final = rnn.encode(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        alone, last = rnn.encode(x[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(outputs[row, :length], alone[0], rtol=0, atol=1e-9)
        torch.testing.assert_close(final[row], last[0], rtol=0, atol=1e-9)


@every_option
def test_gradients_by_finite_differences(cell, options):
    """Of the input and of every weight, in training, with a fixed random seed."""
    torch.manual_seed(4)
    rnn = scrambled(RNN(cell, 2, 4, num_layers=2, rnn_options=RNNOptions(**options)))
    x = torch.randn(1, 4, 2, dtype=torch.double, requires_grad=True)

    def run(x, *_):
        torch.manual_seed(5)
        return rnn(x, torch.tensor([4]))

    assert torch.autograd.gradcheck(run, (x, *rnn.parameters()), fast_mode=True)


@every_option
def test_every_weight_learns(cell, options):
    torch.manual_seed(6)
    rnn = RNN(cell, 3, 6, num_layers=2, bidirectional=True, rnn_options=RNNOptions(**options))
    rnn(torch.randn(4, 6, 3) + 1, torch.tensor([6, 5, 6, 4])).square().sum().backward()
    still = [n for n, p in rnn.named_parameters() if p.grad is None or not p.grad.any()]
    assert not still


def scrambled(module: nn.Module) -> nn.Module:
    """Weights that start at zero or one moved away from there, so that leaving them out shows."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "first" in name or "norm" in name:
                parameter.add_(torch.randn_like(parameter) / 2)
    return module.double()  # so that only mistakes show, not rounding


def test_options_name_every_cell():
    assert set(get_args(CellName)) == CELLS.keys()


@pytest.mark.parametrize("cell", GATES)
def test_gates_are_recorded(cell):
    rnn = RNN(cell, 3, 4)
    with watch(rnn) as trace:
        outputs = rnn(torch.randn(2, 5, 3), torch.tensor([5, 5]))
    held = np.stack([record.value for record in trace.of_kind("state.hidden")], axis=1)
    np.testing.assert_array_equal(held, outputs.detach().numpy())
    states = {"state.hidden"} | ({"state.memory"} if CELLS[cell].tensors > 1 else set())
    assert set(trace.kinds()) == states | {f"gate.{gate}" for gate in GATES[cell]}
    assert len(trace.of_kind("gate.*")) == 5 * len(GATES[cell])
    assert {record.path for record in trace.records} <= {"layers.0.cell"}


@pytest.mark.parametrize(
    "cell, options, said",
    [
        ("carousel", {"zoneout": 0.1}, "'carousel' cannot have zoneout = 0.1: it only accumulates"),
        ("mingru", {"skip": 3}, "'mingru' cannot have skip = 3: it is trained by a parallel scan"),
        ("gru", {"peepholes": "diagonal"}, "'gru' cannot have peepholes = diagonal: it has no"),
        ("lstm", {"reset": "before"}, "'lstm' cannot have reset = before: it has no reset"),
        ("lstm", {"skip": 1}, "skip = 1: a skip connection spans two steps or more"),
        ("lstm", {"zoneout": 1.0}, "zoneout must be in [0, 1) (got 1)"),
    ],
)
def test_invalid_options_raise_errors(cell, options, said):
    with pytest.raises(ModelError) as told:
        RNN(cell, 3, 4, rnn_options=RNNOptions(**options))
    assert told.value.code == "M124"
    assert said in str(told.value)


def test_two_concatenated_directions_need_an_even_size():
    with pytest.raises(ModelError, match="even number"):
        RNN("gru", 3, 7, bidirectional=True)
    assert RNN("gru", 3, 7, bidirectional=True, rnn_options=RNNOptions(join="sum"))


def test_reversing_twice_changes_nothing():
    x = torch.randn(3, 5, 2)
    assert torch.equal(reverse_sequences(reverse_sequences(x, LENGTHS), LENGTHS), x)
    assert torch.equal(reverse_sequences(x, LENGTHS)[1, :2], x[1, :2].flip(0))
    assert torch.equal(reverse_sequences(x, LENGTHS)[1, 2:], x[1, 2:])


def test_final_states_of_each_direction():
    rnn = RNN("gru", 3, 8, bidirectional=True)
    outputs, final = rnn.encode(torch.randn(3, 5, 3), LENGTHS)
    assert torch.equal(final[1, :4], outputs[1, 1, :4])
    assert torch.equal(final[1, 4:], outputs[1, 0, 4:])


@pytest.mark.parametrize("kind", ["mean", "max", "last", "ends", "attentive"])
def test_pooling(kind):
    body = RNN("gru", 3, 8, bidirectional=True)
    pooling, x = Pooling(kind, 8), torch.randn(3, 5, 3)
    pooled = pooling(body, x, LENGTHS)
    outputs, final = body.encode(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        real = outputs[row, :length]
        if kind == "attentive":
            scores = [pooling.attention.score(pooling.attention.hide(h).tanh()) for h in real]
            expected = (torch.cat(scores).softmax(0)[:, None] * real).sum(0)
        else:
            expected = {
                "mean": real.mean(0),
                "max": real.max(0).values,
                "last": real[-1],
                "ends": final[row],
            }[kind]
        torch.testing.assert_close(pooled[row], expected)


def test_tied_layers_share_their_cell():
    tied = RNN("lstm", 6, 6, num_layers=3, rnn_options=RNNOptions(tied=True))
    assert len({id(layer) for layer in tied.layers}) == 1
    other = RNN("lstm", 4, 6, num_layers=3, rnn_options=RNNOptions(tied=True))
    assert [other.layers[0] is layer for layer in other.layers] == [True, False, False]
    assert other.layers[1] is other.layers[2]


def test_initialisation():
    eye = RNN("gru", 4, 5, rnn_options=RNNOptions(start="identity")).layers[0].cell
    assert all(torch.equal(block, torch.eye(5)) for block in eye.recur.weight.split(5))
    assert not eye.read.bias.any()
    assert eye.read.weight.abs().max() < 0.01
    orthogonal = RNN("lstm", 4, 5, rnn_options=RNNOptions(start="orthogonal")).layers[0].cell
    for block in orthogonal.recur.weight.split(5):
        torch.testing.assert_close(block @ block.t(), torch.eye(5))
    high = RNN("lstm", 4, 5, rnn_options=RNNOptions(forget_bias=3.0)).layers[0].cell
    assert (high.read.bias[5:10] == 3).all()
    assert (high.read.bias[:5].abs() < 1).all()


def test_chrono_initialisation_spreads_over_the_span():
    """The biases alone keep (n - 1) / n of a cell state: n steps, from 2 to the span."""
    cell = CELLS["lstm"](3, 500, RNNOptions(span=50))
    i, f, _, _ = cell.read.bias.detach().sigmoid().split(500)
    steps = 1 / (1 - f)
    assert 2 <= steps.min() < 4 and 45 < steps.max() <= 50
    torch.testing.assert_close(i, 1 - f)
    for impossible in ({"span": 2}, {"span": 9, "forget_bias": 1.0}):
        with pytest.raises(ModelError, match="3 or more, with forget_bias = 0"):
            RNNOptions(**impossible)
    with pytest.raises(ModelError, match="it has no span"):
        RNN("elman", 3, 5, rnn_options=RNNOptions(span=9))


@pytest.mark.parametrize(
    "cell", [name for name, kind in CELLS.items() if kind.forget_block is not None]
)
def test_a_high_forget_bias_keeps_the_state(cell):
    """With the forget gate wide open, a state of h or c passes a step almost unchanged."""
    kind = CELLS[cell](3, 5, RNNOptions(forget_bias=12.0))
    assert (kind.read.bias.view(-1, 5)[kind.forget_block] == 12).all()
    with torch.no_grad():  # no input, so that only the forget gate acts
        kind.read.weight.zero_()
        kind.read.bias.fill_(-12).view(-1, 5)[kind.forget_block] = 12
    now = state = tuple(torch.rand(2, 5) / 4 for _ in range(kind.tensors))
    for _ in range(20):
        now = kind(torch.randn(2, 3), now)
    torch.testing.assert_close(now[-1], state[-1], rtol=0, atol=2e-3)


def test_zoneout_keeps_some_units_of_the_state():
    layer = RNN("elman", 3, 400, rnn_options=RNNOptions(zoneout=0.25)).layers[0]
    old = (torch.randn(1, 400),)
    new = layer.step(torch.randn(1, 3), old)
    assert 0.15 < (new[0] == old[0]).float().mean() < 0.35
    layer.eval()
    x = torch.randn(1, 3)
    expected = 0.25 * old[0] + 0.75 * layer.cell(x, old)[0]
    torch.testing.assert_close(layer.step(x, old)[0], expected)


def test_recurrent_dropout_drops_the_same_units_at_every_step():
    """With U the identity and no input, what is dropped at the first step stays dropped."""
    rnn = RNN(
        "elman",
        1,
        300,
        rnn_options=RNNOptions(recurrent_dropout=0.5, start="identity", activation="relu"),
    )
    outputs, _ = rnn.carry(torch.zeros(1, 4, 1), (torch.ones(1, 300),))
    kept = outputs[0, 0] > 0
    assert 0.35 < kept.float().mean() < 0.65
    assert set(outputs[0, 2].unique().tolist()) == {0.0, 8.0}
    assert torch.equal(outputs[0, 2] > 0, kept)


def test_variational_dropout_drops_the_same_units_at_every_step():
    drop = SequenceDropout(0.5)
    x = torch.ones(4, 6, 50)
    dropped = drop(x)
    assert torch.equal(dropped[:, :1].expand_as(dropped), dropped)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert 0.35 < (dropped == 0).float().mean() < 0.65
    assert torch.equal(drop.eval()(x), x)
    with pytest.raises(ValueError, match="must be in"):
        SequenceDropout(1.0)
