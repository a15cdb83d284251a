"""Equal to torch.nn: RNN, LSTM and GRU, stacked, in both directions, packed, with every gradient."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seqloom.errors import ModelError, SeqloomError, UsageError
from seqloom.export.torch_names import (
    fill,
    from_torch,
    module_in,
    module_of,
    prefix_in,
    to_torch,
    torch_names_of,
)
from seqloom.nn.cells.options import RNNOptions
from seqloom.nn.rnn import RNN

INPUTS, HIDDEN = 3, 4
LENGTHS = torch.tensor([5, 2, 4, 1, 5])
MODULES = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "rnn-tanh": nn.RNN,
    "rnn-relu": lambda *given, **more: nn.RNN(*given, nonlinearity="relu", **more),
}
SHAPES = [(layers, both) for layers in (1, 2, 3) for both in (False, True)]
each_module = pytest.mark.parametrize("name", MODULES)
each_shape = pytest.mark.parametrize(("layers", "both"), SHAPES)


def theirs_of(name, layers=1, both=False, bias=True, dtype=torch.float32):
    options = {"bidirectional": both, "bias": bias, "batch_first": True, "dtype": dtype}
    return MODULES[name](INPUTS, HIDDEN, layers, **options)


def ours_of(theirs, name):
    return from_torch(theirs.state_dict(), activation="relu" if name == "rnn-relu" else None)


def packed(module, x):
    """The outputs at real places, zeros elsewhere, and the last hidden states."""
    given = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    outputs, last = module(given)
    return pad_packed_sequence(outputs, batch_first=True)[0], last


def real(x):
    return (torch.arange(x.shape[1]) < LENGTHS[:, None])[..., None]


def differences(ours, theirs, dtype):
    """The largest difference of the outputs, of the ends, and of each gradient by torch's name.

    A gradient is a sum over time and sequences: its difference is a share of it where it is above 1.
    """
    mine = torch.randn(len(LENGTHS), 5, INPUTS, dtype=dtype).requires_grad_()
    reference = mine.detach().clone().requires_grad_()
    outputs, ends = ours.encode(mine, LENGTHS)
    expected, last = packed(theirs, reference)
    last = last[0] if isinstance(last, tuple) else last
    sides = 1 + theirs.bidirectional
    found = {
        "outputs": (outputs * real(outputs) - expected).abs().max(),
        "ends": (ends - torch.cat(list(last[-sides:]), dim=-1)).abs().max(),
    }
    pull = torch.randn_like(expected)
    (outputs * real(outputs) * pull).sum().backward()
    (expected * pull).sum().backward()
    found["x"] = apart(mine.grad, reference.grad)
    named = to_torch(gradients(ours))
    for name, parameter in theirs.named_parameters():
        gradient = named[name]
        if name.startswith("bias_hh"):  # the sum of two biases has one gradient, which both have
            whole = named[name.replace("hh", "ih")].clone()
            if isinstance(theirs, nn.GRU):
                whole[-HIDDEN:] = gradient[-HIDDEN:]
            gradient = whole
        found[name] = apart(gradient, parameter.grad)
    return found


def apart(one, other):
    return (one - other).abs().max() / other.abs().max().clamp(min=1)


def gradients(recurrence):
    """A recurrence that has the gradients of another as its weights."""
    twin = copy.deepcopy(recurrence)
    for mine, other in zip(twin.parameters(), recurrence.parameters(), strict=True):
        mine.data = other.grad
    return twin


@each_module
@each_shape
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_equal_to_torch_packed_with_every_gradient(name, layers, both, bias, dtype, near):
    theirs = theirs_of(name, layers, both, bias, dtype)
    found = differences(ours_of(theirs, name), theirs, dtype)
    assert found.keys() >= dict(theirs.named_parameters()).keys()
    assert max(found["outputs"], found["ends"]) <= near, found
    assert max(found.values()) <= near, found


@each_module
def test_the_comparison_can_fail(name):
    theirs = theirs_of(name, 2, True)
    ours = ours_of(theirs, name)
    with torch.no_grad():
        theirs.bias_hh_l1_reverse[-HIDDEN:] += 1e-3
    assert differences(ours, theirs, torch.float32)["outputs"] > 1e-6


@each_module
@each_shape
@pytest.mark.parametrize("bias", [True, False])
def test_there_and_back(name, layers, both, bias):
    theirs = theirs_of(name, layers, both, bias)
    ours = ours_of(theirs, name)
    weights = to_torch(ours)
    assert list(weights) == list(theirs_of(name, layers, both).state_dict())
    back = theirs_of(name, layers, both)
    back.load_state_dict(weights, strict=True)
    x = torch.randn(len(LENGTHS), 5, INPUTS)
    torch.testing.assert_close(packed(back, x)[0], packed(theirs, x)[0], rtol=0, atol=1e-6)
    again = ours_of(back, name)
    for one, other in zip(ours.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other), "what we wrote comes back bit for bit"
    same = torch_names_of(dict(ours.state_dict()))
    assert same.keys() == weights.keys()
    assert all(torch.equal(same[key], weights[key]) for key in same)


def test_only_the_candidate_of_a_gru_keeps_its_second_bias():
    theirs = theirs_of("gru")
    weights = to_torch(ours_of(theirs, "gru"))
    assert not weights["bias_hh_l0"][: 2 * HIDDEN].any()
    assert torch.equal(weights["bias_hh_l0"][2 * HIDDEN :], theirs.bias_hh_l0[2 * HIDDEN :])
    assert not to_torch(ours_of(theirs_of("lstm"), "lstm"))["bias_hh_l0"].any()


def test_the_module_is_told_from_the_shapes():
    module = module_in(theirs_of("gru", 2, True).state_dict())
    assert str(module) == "nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True)"
    assert module == module_of(RNN("gru", 3, 8, num_layers=2, bidirectional=True))
    relu = module_of(RNN("elman", 3, 8, rnn_options=RNNOptions(activation="relu")))
    assert str(relu) == "nn.RNN(3, 8, nonlinearity='relu', batch_first=True)"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_single(dtype):
    theirs = theirs_of("lstm", dtype=dtype)
    ours = ours_of(theirs, "lstm")
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.float32}
    assert torch.equal(to_torch(ours)["weight_ih_l0"], theirs.weight_ih_l0.float())
    exact = theirs.bias_ih_l0.float() + theirs.bias_hh_l0.float()
    assert torch.equal(to_torch(ours)["bias_ih_l0"], exact)


def spoilt(**changes):
    """The state_dict of an LSTM of two layers, with tensors changed, added or taken out."""
    weights = dict(theirs_of("lstm", 2).state_dict())
    for name, change in changes.items():
        weights[name] = change(weights.get(name))
    return {name: tensor for name, tensor in weights.items() if tensor is not None}


WRONG = {
    "a tensor is missing": (spoilt(weight_hh_l1=lambda old: None), "weight_hh_l1: found None"),
    "the first is missing": (spoilt(weight_ih_l0=lambda old: None), "weight_ih_l0 is missing"),
    "a layer is missing": (
        {name.replace("l1", "l2"): old for name, old in theirs_of("lstm", 2).state_dict().items()},
        "bias_hh_l1: found None",
    ),
    "one bias is missing": (spoilt(bias_hh_l0=lambda old: None), "bias_hh_l0: found None"),
    "half a direction": (
        spoilt(weight_ih_l0_reverse=lambda old: torch.ones(16, 3)),
        "bias_hh_l0_reverse: found None",
    ),
    "projections": (nn.LSTM(3, 4, proj_size=2).state_dict(), "weight_hr_l0 is of an LSTM with"),
    "a key of another": (spoilt(scale=lambda old: torch.ones(1)), "'scale' is not a tensor of"),
    "a layer far away": (spoilt(weight_ih_l99999=lambda old: torch.ones(1)), "is not a tensor of"),
    "other rows": (spoilt(weight_hh_l0=lambda old: torch.ones(10, 5)), "found (10, 5); an LSTM"),
    "no matrix": (spoilt(weight_hh_l0=lambda old: torch.ones(4)), "expected a matrix"),
    "nothing inside": (spoilt(weight_hh_l0=lambda old: torch.ones(0, 0)), "expected a matrix"),
    "another width": (spoilt(weight_ih_l1=lambda old: torch.ones(16, 5)), "expected (16, 4)"),
    "whole numbers": (spoilt(weight_ih_l0=lambda old: old.int()), "torch.int32"),
    "not a number": (spoilt(bias_ih_l1=lambda old: old * torch.nan), "bias_ih_l1 holds NaN"),
    "infinity": (spoilt(bias_ih_l1=lambda old: old + torch.inf), "bias_ih_l1 holds NaN or inf"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_state_dicts_are_refused(case):
    weights, words = WRONG[case]
    with pytest.raises(ModelError) as found:
        from_torch(weights)
    assert found.value.code == "M141" and words in found.value.problem


LACKING = {
    "mingru": (RNN("mingru", 3, 4), "a cell like MinGRU"),
    "peephole": (RNN("lstm-peephole", 3, 4), "a cell like LSTMPeephole"),
    **{
        words: (
            RNN(cell, 3, 4, num_layers=2, bidirectional=True, rnn_options=RNNOptions(**options)),
            words,
        )
        for cell, options, words in (
            ("elman", {"activation": "sigmoid"}, "activation = sigmoid"),
            ("gru", {"reset": "before"}, "reset = before"),
            ("lstm", {"join": "sum"}, "join = sum"),
            ("lstm", {"initial_state": "learned"}, "initial_state = learned"),
            ("lstm", {"first_bias": True}, "first_bias"),
            ("gru", {"skip": 3}, "skip = 3"),
            ("gru", {"residual": True}, "residual"),
            ("lstm", {"zoneout": 0.1}, "zoneout = 0.1"),
            ("lstm", {"layer_norm": True}, "layer_norm"),
        )
    },
}


@pytest.mark.parametrize("case", LACKING)
def test_what_torch_lacks_is_said(case):
    recurrence, words = LACKING[case]
    with pytest.raises(ModelError) as found:
        to_torch(recurrence)
    assert found.value.code == "M140" and f"do not support {words}" in found.value.problem


def test_options_that_change_nothing_in_use_are_no_obstacle():
    only = RNNOptions(forget_bias=1.0, start="orthogonal", recurrent_dropout=0.2, tied=True)
    assert to_torch(RNN("lstm", 3, 4, num_layers=3, rnn_options=only))
    alone = RNNOptions(residual=True, join="sum")
    assert to_torch(RNN("lstm", 3, 4, rnn_options=alone)), "one layer, one direction"


def test_other_shapes_are_refused_with_both():
    ours = RNN("lstm", 3, 8, bidirectional=True)
    before = {name: tensor.clone() for name, tensor in ours.state_dict().items()}
    for theirs, words in (
        (theirs_of("lstm", 2, True), "weight_ih_l1: the file has (16, 8), None is needed"),
        (theirs_of("gru", 1, True), "the file has (12, 3), (16, 3) is needed"),
        (theirs_of("lstm"), "the file has None, (16, 3) is needed"),
    ):
        with pytest.raises(ModelError) as found:
            fill(ours, theirs.state_dict())
        assert found.value.code == "M142" and words in found.value.notes[0]
        assert "nn.LSTM(3, 4, bidirectional=True" in found.value.notes[2]
    assert all(torch.equal(before[name], tensor) for name, tensor in ours.state_dict().items())


def test_layers_that_share_a_cell_take_no_layers_that_differ():
    tied = RNN("lstm", INPUTS, HIDDEN, num_layers=3, rnn_options=RNNOptions(tied=True))
    with pytest.raises(ModelError, match="2 layers of this run share one cell"):
        fill(tied, theirs_of("lstm", 3).state_dict())


def test_a_prefix_is_found_chosen_or_asked_for():
    one = ["encoder.lstm.weight_ih_l0", "encoder.lstm.bias_hh_l0_reverse", "head.weight"]
    assert prefix_in(one) == "encoder.lstm."
    assert prefix_in(["weight_ih_l0", "head.weight"]) == ""
    several = [*one, "decoder.weight_ih_l0", "weight_ih_l0"]
    assert prefix_in(several, "decoder") == prefix_in(several, "decoder.") == "decoder."
    assert prefix_in(several, "") == ""
    with pytest.raises(UsageError, match="3 recurrent modules") as found:
        prefix_in(several)
    assert found.value.help == ("--prefix ''", "--prefix 'decoder'", "--prefix 'encoder.lstm'")
    with pytest.raises(UsageError, match="no recurrent module under 'deco'"):
        prefix_in(several, "deco")
    with pytest.raises(SeqloomError, match="it holds 'head.weight'"):
        prefix_in(["head.weight"])
    with pytest.raises(SeqloomError, match="add _l0"):
        prefix_in(["cell.weight_ih", "cell.weight_hh"])
    with pytest.raises(SeqloomError) as hostile:
        prefix_in(["\033[2J" + "x" * 1000])
    assert "\033" not in str(hostile.value) and len(str(hostile.value)) < 300


def test_an_activation_where_there_is_none_to_choose():
    with pytest.raises(UsageError, match=r"nn\.GRU has no such option"):
        from_torch(theirs_of("gru").state_dict(), activation="relu")
