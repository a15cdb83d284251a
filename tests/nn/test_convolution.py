"""The feed-forward n-gram network and convolutions against direct sums."""

import pytest
import torch

from seqloom.errors import ModelError
from seqloom.nn.convolution import DilatedConvolution, TemporalConvolution, unfold_time
from seqloom.nn.feedforward import NGramMLP

BODIES = [
    lambda: NGramMLP(5, 7, context=4),
    lambda: NGramMLP(5, 7, context=1),
    lambda: NGramMLP(5, 7, context=3, num_layers=2, direct=True),
    lambda: NGramMLP(5, 7, context=6, num_layers=0),
    lambda: TemporalConvolution(5, 7, num_layers=3, kernel=2),
    lambda: TemporalConvolution(7, 7, num_layers=2, kernel=3),
]
every_body = pytest.mark.parametrize("make", BODIES, ids=map(str, range(len(BODIES))))


def same(one, other):
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def vectors(batch, time, width):
    return torch.randn(batch, time, width, dtype=torch.double)


def width_of(body):
    return body.initial(1)[0].shape[-1]


@pytest.mark.parametrize("kernel, dilation", [(1, 1), (3, 1), (2, 3), (4, 2)])
@pytest.mark.parametrize("time", [1, 5])
def test_unfold_concatenates_windows(kernel, dilation, time):
    x = vectors(2, time + (kernel - 1) * dilation, 3).requires_grad_()
    z = unfold_time(x, kernel, dilation)
    for t in range(time):
        same(z[:, t], torch.cat([x[:, t + k * dilation] for k in range(kernel)], dim=-1))
    assert torch.autograd.gradcheck(lambda x: unfold_time(x, kernel, dilation), (x,))


def test_a_convolution_is_a_sum():
    one = DilatedConvolution(3, 4, kernel=3, dilation=2).double()
    with torch.no_grad():
        one.size.mul_(torch.rand_like(one.size) + 0.5)
    x = vectors(2, 9, 3)
    found = one(x)
    for t in range(5):
        for o in range(4):
            v = one.direction[o]
            w = (one.size[o] * v / (v * v).sum().sqrt()).view(3, 3)
            total = one.bias[o] + sum((x[:, t + 2 * k] * w[k]).sum(-1) for k in range(3))
            same(found[:, t, o], total)


def test_weights_start_as_those_of_nn_linear():
    one = DilatedConvolution(3, 4, kernel=2, dilation=1)
    torch.testing.assert_close(one.size[:, 0], one.direction.norm(dim=1))


def test_the_tcn_is_its_equations():
    """Two blocks, position by position, with zeros before the first."""
    body = TemporalConvolution(3, 4, num_layers=2, kernel=2).double()
    x = vectors(1, 6, 3)

    def convolved(one, values):
        at = lambda t: values[t] if t >= 0 else torch.zeros_like(values[0])  # noqa: E731
        weight = one.direction * one.size / one.direction.norm(dim=1, keepdim=True)
        return [
            torch.relu(weight @ torch.cat([at(t - one.dilation), at(t)]) + one.bias)
            for t in range(len(values))
        ]

    values = list(x[0])
    for block in body.blocks:
        inside = convolved(block.second, convolved(block.first, values))
        around = values if block.around is None else [block.around(value) for value in values]
        values = [torch.relu(a + b) for a, b in zip(inside, around, strict=True)]
    same(body(x, torch.tensor([6]))[0], torch.stack(values))


def test_the_ngram_network_is_its_equation():
    body = NGramMLP(3, 4, context=3, num_layers=2, direct=True).double()
    x = vectors(1, 5, 3)
    found = body(x, torch.tensor([5]))[0]
    before = torch.cat([torch.zeros(2, 3, dtype=torch.double), x[0]])
    for t in range(5):
        z = torch.cat([before[t], before[t + 1], before[t + 2]])
        h = torch.tanh(body.layers[1](torch.tanh(body.layers[0](z))))
        same(found[t], torch.cat([h, z]))
    assert body.outputs == 4 + 9 and NGramMLP(3, 4, context=3).outputs == 4
    assert NGramMLP(3, 4, context=3, num_layers=0).outputs == 9


@every_body
def test_segments_and_steps_are_the_whole(make):
    body = make().double()
    x = vectors(2, 23, width_of(body))
    whole = body(x, torch.tensor([23, 23]))
    for edges in ([0, 23], [0, 1, 2, 3, 23], [0, 9, 10, 23]):
        state, outputs = body.initial(2), []
        for begin, end in zip(edges, edges[1:], strict=False):
            output, state = body.carry(x[:, begin:end], state)
            outputs.append(output)
        same(torch.cat(outputs, 1), whole)
        assert [part.shape for part in state] == [part.shape for part in body.initial(2)]
    state, outputs = body.initial(2), []
    for t in range(23):
        output, state = body.step(x[:, t], state)
        outputs.append(output)
    same(torch.stack(outputs, 1), whole)


@every_body
def test_it_is_causal(make):
    body = make().double()
    x = vectors(1, 12, width_of(body)).requires_grad_()
    for t in range(12):
        (pull,) = torch.autograd.grad(body(x, torch.tensor([12]))[0, t].sum(), x)
        assert not pull[0, t + 1 :].any() and pull[0, t].any()


def test_the_receptive_field():
    """1 + 2 (K-1) (2ᴸ - 1) positions."""
    body = TemporalConvolution(3, 16, num_layers=2, kernel=3).double()
    x = vectors(1, 30, 3).requires_grad_()
    (pull,) = torch.autograd.grad(body(x, torch.tensor([30]))[0, 29].sum(), x)
    assert pull[0].any(-1).nonzero()[:, 0].tolist() == list(range(29 - 12, 30))


@pytest.mark.parametrize("kernel", [2, 3])
def test_bidirectional_sees_both_sides_but_no_padding(kernel):
    body = TemporalConvolution(3, 16, num_layers=2, kernel=kernel, bidirectional=True).double()
    x = vectors(2, 9, 3).requires_grad_()
    outputs = body(x, torch.tensor([9, 6]))
    (pull,) = torch.autograd.grad(outputs[:, 5].sum(), x)
    assert pull[0, 3:8].any(-1).all() and not pull[1, 6:].any()
    same(outputs[1, :6], body(x[1:, :6], torch.tensor([6]))[0])


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: NGramMLP(3, 4, context=0), "context = 0"),
        (lambda: NGramMLP(3, 4, context=2, num_layers=-1), "num_layers = -1"),
        (lambda: TemporalConvolution(3, 4, num_layers=1, kernel=1), "kernel = 1"),
        (lambda: TemporalConvolution(3, 4, num_layers=0, kernel=2), "layers = 0"),
        (lambda: TemporalConvolution(3, 4, num_layers=99, kernel=2), "layers = 99"),
    ],
)
def test_invalid_options_raise_errors(make, told):
    with pytest.raises(ModelError, match=told) as error:
        make()
    assert error.value.code in ("M161", "M162")
