"""Convolutions against direct sums, and the TextCNN of Kim (2014) against a plain one of torch."""

import numpy as np
import pytest
import torch
from torch.nn.functional import conv1d, pad

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.models.convolutional import Convolutional
from seqloom.nn.text_cnn import ConvolutionLayer, ConvolutionStack, TextCNN, TextCNNOptions
from seqloom.signature import Form, Labels, Signature, Tokens

LENGTHS = torch.tensor([7, 5, 2, 1])


def vectors(batch=4, time=7, width=3):
    return torch.randn(batch, time, width, dtype=torch.double)


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    "kernel, dilation, stride", [(1, 1, 1), (3, 1, 1), (2, 3, 1), (3, 2, 2), (4, 1, 3)]
)
@pytest.mark.parametrize("separable", [False, True])
def test_a_convolution_is_a_sum_over_its_kernel(padding, both, kernel, dilation, stride, separable):
    """Of each sequence by itself, in plain loops; positions beyond its ends are 0."""
    made = TextCNNOptions(filters=(1,), padding=padding, stride=stride, separable=separable)
    one, x = ConvolutionLayer(3, 4, kernel, dilation, made, bidirectional=both).double(), vectors()
    found, lengths = one(x, LENGTHS)
    reach = 1 + (kernel - 1) * dilation
    for row, length in enumerate(LENGTHS.tolist()):
        if padding == "same":
            before = (reach - 1) // 2 if both else reach - 1
            places = range(0, length, stride)
        else:
            before, places = 0, range(0, max(1, length - reach + 1), stride)
        assert lengths[row] == len(places)
        for number, place in enumerate(places):
            seen = [place + k * dilation - before for k in range(kernel)]
            seen = [x[row, t] if 0 <= t < length else torch.zeros(3).double() for t in seen]
            if separable:
                alone = sum(w * v for w, v in zip(one.single.weight[:, 0].T, seen, strict=True))
                expected = one.mix.weight @ alone + one.mix.bias
            else:
                expected = one.mix.weight @ torch.cat(seen) + one.mix.bias
            torch.testing.assert_close(found[row, number], expected.relu())


@pytest.mark.parametrize("pool", ["max", "average"])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_pooling_between_layers(pool, padding):
    made = TextCNNOptions(filters=(1,), pool=pool, pool_size=3, padding=padding)
    stack = ConvolutionStack(3, 3, 1, made, num_layers=2, bidirectional=False, dropout=0.0)
    x = vectors()
    kept, lengths = stack.pooled(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        count = -(-length // 3) if padding == "same" else max(1, length // 3)
        assert lengths[row] == count
        for number in range(count):
            some = x[row, 3 * number : min(length, 3 * number + 3)]
            expected = some.max(0).values if pool == "max" else some.mean(0)
            torch.testing.assert_close(kept[row, number], expected)


def test_dilation_widens_the_receptive_field():
    bank = TextCNN(3, 4, TextCNNOptions(filters=(2,), dilation=3), num_layers=3).double()
    x = vectors(1, 40).requires_grad_()
    bank(x, torch.tensor([40]))[0, 39].sum().backward()
    seen = x.grad[0].abs().sum(1).nonzero().flatten()
    assert 39 - seen.min() <= 1 + 3 + 9 and seen.max() == 39
    assert [one.dilation for one in bank.stacks[0].filters] == [1, 3, 9]


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_the_textcnn_of_kim(padding):
    """Several kernel sizes, max pooling over time, all concatenated, softmax."""
    torch.manual_seed(0)
    signature = Signature(Form.WHOLE, Tokens(20), Labels(3))
    made = TextCNNOptions(filters=(2, 3, 4), padding=padding)
    model = Convolutional(
        signature,
        embedding_size=6,
        hidden_size=10,
        num_layers=1,
        bidirectional=True,
        pooling="max",
        text_cnn_options=made,
    )
    rows = [np.random.default_rng(n).integers(4, 20, n) for n in (9, 5, 4)]
    batch = Batch(Sequences.pad(rows), Sequences.pad([np.array([k]) for k in (0, 2, 1)]))
    expected = []
    for row, label in zip(rows, (0, 2, 1), strict=True):
        x, parts = model.input.table(torch.from_numpy(row)).T[None], []
        for stack, size in zip(model.body.stacks, (2, 3, 4), strict=True):
            one = stack.filters[0]
            weight = one.mix.weight.unflatten(1, (size, 6)).permute(0, 2, 1)
            around = ((size - 1) // 2, size // 2) if padding == "same" else (0, 0)
            parts.append(conv1d(pad(x, around), weight, one.mix.bias).relu().amax(2))
        scores = model.output.scores(torch.cat(parts, 1))
        expected.append(scores.log_softmax(1)[0, label])
    assert [part.shape[1] for part in parts] == [4, 3, 3]
    torch.testing.assert_close(model.log_prob(batch), torch.stack(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options, form, code, told",
    [
        ({"filters": (0,)}, "WHOLE", "M320", "expected kernel sizes"),
        ({"stride": 2}, "WHOLE", "M320", "stride is an option of a TextCNN"),
        ({"filters": (3,), "stride": 0}, "WHOLE", "M320", "stride = 0"),
        ({"filters": (3,), "dilation": 99}, "WHOLE", "M320", "receptive field of"),
        ({"filters": (3,)}, "NEXT", "M321", "filters"),
        ({"filters": (3,), "stride": 2}, "EACH", "M321", "shorten the sequence"),
        ({"filters": (3,), "pool": "max"}, "EACH", "M321", "shorten the sequence"),
        ({"filters": (3,), "padding": "valid"}, "EACH", "M321", "shorten the sequence"),
    ],
)
def test_invalid_options_raise_errors(options, form, code, told):
    target = Tokens(9) if form == "NEXT" else Labels(3)
    with pytest.raises(ModelError, match=told) as error:
        Convolutional(
            Signature(Form[form], Tokens(9), target), text_cnn_options=TextCNNOptions(**options)
        )
    assert error.value.code == code


def test_attention_pooling_needs_aligned_branches():
    signature = Signature(Form.WHOLE, Tokens(9), Labels(3))
    made = TextCNNOptions(filters=(2, 3), padding="valid")
    with pytest.raises(ModelError, match="outputs of the same length"):
        Convolutional(signature, pooling="attentive", text_cnn_options=made)
