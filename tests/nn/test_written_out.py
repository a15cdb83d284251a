"""Stacks of recurrent layers beside loops in NumPy, with every option that stacks have."""

import numpy as np
import pytest
import torch

from seqloom.nn.cells.options import RNNOptions
from seqloom.nn.dropout import Dropout, SequenceDropout
from seqloom.nn.rnn import RNN, GateLayerNorm

INPUTS, HIDDEN, TIME = 3, 4, 6
LENGTHS = [6, 2, 5]
X = np.random.default_rng(0).normal(size=(3, TIME, INPUTS))
OPTIONS = {
    "plain": {},
    "residual": {"residual": True},
    "norm": {"layer_norm": True},
    "first": {"first_bias": True, "initial_state": "learned"},
    "skip": {"skip": 2},
    "skip-3": {"skip": 3, "residual": True},
    "zoneout": {"zoneout": 0.3},
    "sum": {"join": "sum", "residual": True},
    "tied": {"tied": True, "residual": True},
    "all": {"residual": True, "layer_norm": True, "first_bias": True, "skip": 2, "zoneout": 0.2}
    | {"initial_state": "learned", "join": "sum"},
}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numpy(tensor):
    return tensor.detach().numpy()


def normalised(module, v, first=0, last=None):
    """Each gate by itself: its mean 0, its mean square 1, times what was learned."""
    if module is None:
        return v
    scale = numpy(module.scale)[first:last]
    parts = v.reshape(len(scale), -1)
    rows = [
        s * (p - p.mean()) / np.sqrt(((p - p.mean()) ** 2).mean() + 1e-5)
        for s, p in zip(scale, parts, strict=True)
    ]
    return np.concatenate(rows)


def cell_step(kind, cell, a, state, recur):
    """The textbook's equations of one step."""
    h = state[0]
    if kind == "elman":
        return (np.tanh(a + recur(h)),)
    if kind == "lstm":
        i, f, g, o = (a + recur(h)).reshape(4, -1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    gates, n = a[: 2 * len(h)], a[2 * len(h) :]
    r, z = sigmoid(gates + recur(h, 0, 2)).reshape(2, -1)
    new = np.tanh(n + r * (recur(h, 2, 3) + numpy(cell.recur.bias)))
    return ((1 - z) * new + z * h,)


def layer_by_loop(kind, layer, xs, options):
    """The outputs of one layer in one direction, step by step for one sequence."""
    cell, hidden = layer.cell, layer.cell.hidden
    weight, bias, u = numpy(cell.read.weight), numpy(cell.read.bias), numpy(cell.recur.weight)
    state = tuple(np.zeros(hidden) for _ in range(2 if kind == "lstm" else 1))
    if options.get("initial_state") == "learned":
        state = tuple(numpy(row) for row in layer.first_state)
    outputs = []
    for t, x in enumerate(xs):
        a = normalised(layer.read_norm, weight @ x) + bias
        if options.get("first_bias") and t == 0:
            a = a + numpy(layer.first_bias)
        if (k := options.get("skip", 0)) and t >= k:
            a = a + numpy(layer.shortcut.weight) @ outputs[t - k]

        def recur(h, first=0, last=None):
            blocks = u.reshape(-1, hidden, hidden)[first:last].reshape(-1, hidden)
            return normalised(layer.recur_norm, blocks @ h, first, last)

        new, z = cell_step(kind, cell, a, state, recur), options.get("zoneout", 0.0)
        state = tuple(z * old + (1 - z) * one for old, one in zip(state, new, strict=True))
        outputs.append(state[0])
    return np.array(outputs)


def stack_by_loop(kind, rnn, xs, options, *, both):
    """The outputs of a stack for one sequence, and the final states of the top layer."""
    for number, layer in enumerate(rnn.layers):
        out = layer_by_loop(kind, layer, xs, options)
        final = out[-1]
        if both:
            back = layer_by_loop(kind, rnn.backward_layers[number], xs[::-1], options)
            if options.get("join") == "sum":
                final, out = final + back[-1], out + back[::-1]
            else:
                final = np.concatenate([final, back[-1]])
                out = np.concatenate([out, back[::-1]], axis=1)
        xs = xs + out if options.get("residual") and number else out
    return xs, final


def made(kind, options, **more):
    torch.manual_seed(1)
    rnn = RNN(kind, INPUTS, HIDDEN, num_layers=3, rnn_options=RNNOptions(**options), **more)
    with torch.no_grad():
        for name, weight in rnn.named_parameters():
            if "first" in name or "norm" in name:
                weight.add_(torch.randn_like(weight) / 2)
    return rnn.double().eval()


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("kind", ["elman", "lstm", "gru"])
def test_a_stack_is_a_loop(kind, name, both):
    options = OPTIONS[name]
    rnn = made(kind, options, bidirectional=both)
    with torch.no_grad():
        found, final = rnn.encode(torch.from_numpy(X), torch.tensor(LENGTHS))
        carried, _ = (found, None) if both else rnn.carry(torch.from_numpy(X), rnn.initial(3))
        state, steps = rnn.initial(3), []
        for t in range(TIME if not both else 0):
            output, state = rnn.step(torch.from_numpy(X[:, t]), state)
            steps.append(output)
    for row, length in enumerate(LENGTHS):
        wanted, last = stack_by_loop(kind, rnn, X[row, :length], options, both=both)
        np.testing.assert_allclose(found[row, :length], wanted, atol=1e-9)
        np.testing.assert_allclose(final[row], last, atol=1e-9)
        np.testing.assert_allclose(carried[row, :length], wanted, atol=1e-9)
        if not both:
            stepped = torch.stack(steps, 1)[row, :length]
            np.testing.assert_allclose(stepped, wanted, atol=1e-9)
            whole, top = stack_by_loop(kind, rnn, X[row], options, both=False)
            np.testing.assert_allclose(rnn.final_output(state)[row].detach(), top, atol=1e-9)


@pytest.mark.parametrize("kind", ["elman", "lstm", "gru"])
def test_in_training_dropout_lies_between_layers_alone(kind, monkeypatch):
    """The first layer reads its input whole, the others one mask for all steps of a sequence."""
    rnn = made(kind, {"residual": True}, dropout=0.5).train()
    masks, drop = [], SequenceDropout.sample_mask

    def sampled(self, *shape):
        masks.append(drop(self, *shape))
        return masks[-1]

    monkeypatch.setattr(SequenceDropout, "sample_mask", sampled)
    found = rnn(torch.from_numpy(X), torch.tensor([TIME] * 3))
    assert [mask.shape for mask in masks] == [(3, 1, HIDDEN)] * 2
    assert {0.0, 2.0} == {value for mask in masks for value in mask.unique().tolist()}
    for row in range(3):
        xs = X[row]
        for number, layer in enumerate(rnn.layers):
            below = xs * numpy(masks[number - 1][row]) if number else xs
            out = layer_by_loop(kind, layer, below, {})
            xs = xs + out if number else out
        np.testing.assert_allclose(numpy(found)[row], xs, atol=1e-9)


@pytest.mark.parametrize("kind", ["elman", "lstm", "gru"])
def test_recurrent_dropout_masks_what_the_product_reads(kind):
    """What is kept is scaled by 1 / (1 - rate); a GRU carries its state past the mask."""
    layer = made(kind, {"recurrent_dropout": 0.25}).layers[0].train()
    mask = layer.recurrent_mask(2000)
    assert sorted(mask.unique().tolist()) == pytest.approx([0, 1 / 0.75])
    assert (mask == 0).double().mean().item() == pytest.approx(0.25, abs=0.02)
    assert layer.eval().recurrent_mask(3) is None
    chosen = mask[(mask == 0).sum(1) == 2][:1].double()  # half of the units
    state = tuple(torch.randn(part.shape).double() for part in layer.initial(1))
    _, found = layer.unroll_products(layer.products(torch.from_numpy(X[:1, :1])), state, chosen)
    cell, u = layer.cell, numpy(layer.cell.recur.weight)

    def recur(h, first=0, last=None):
        blocks = u.reshape(-1, HIDDEN, HIDDEN)[first:last].reshape(-1, HIDDEN)
        return blocks @ (chosen[0].numpy() * h)

    a = numpy(cell.read.weight) @ X[0, 0] + numpy(cell.read.bias)
    wanted = cell_step(kind, cell, a, tuple(numpy(part)[0] for part in state), recur)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(numpy(one)[0], other, atol=1e-9)


@pytest.mark.parametrize("blocks", [1, 3])
def test_layer_norm_is_torchs_for_every_gate(blocks):
    norm = GateLayerNorm(blocks, 5).double()
    torch.nn.init.normal_(norm.scale)
    v = torch.randn(2, 7, blocks * 5).double()
    for n, part in enumerate(v.split(5, dim=-1)):
        wanted = torch.nn.functional.layer_norm(part, (5,), norm.scale[n])
        torch.testing.assert_close(norm(v)[..., 5 * n : 5 * n + 5], wanted)
    if blocks > 1:
        torch.testing.assert_close(norm(v[..., 5:], 1, blocks), norm(v)[..., 5:])


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_keeps_its_mean_and_its_rate(rate):
    torch.manual_seed(2)
    drop, x = Dropout(rate), torch.full((301, 331), 3.0)
    dropped = drop(x)
    assert (dropped == 0).double().mean().item() == pytest.approx(rate, abs=0.006)
    kept = dropped[dropped != 0].unique()
    assert len(kept) == 1 and kept.item() == pytest.approx(3 / (1 - rate), rel=1e-4)
    assert not torch.equal(drop(x), dropped)
    # Each component by itself: neighbours are dropped together as often as chance has it.
    gone = (dropped == 0).double()
    for one, other in ((gone[:, 1:], gone[:, :-1]), (gone[1:], gone[:-1])):
        assert (one * other).mean().item() == pytest.approx(rate**2, abs=0.01)
    assert torch.equal(drop.eval()(x), x)
    assert torch.equal(Dropout(0.0)(x), x)
    for wrong in (-0.1, 1.0):
        with pytest.raises(ValueError, match="must be in"):
            Dropout(wrong)
