"""Filters against direct sums, and the classifier of Kim (2014) against a plain one of torch."""

import numpy as np
import pytest
import torch
from torch.nn.functional import conv1d, pad

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.models.convolutional import Convolutional
from seqloom.nn.text_cnn import Filter, FilterBank, Filters, Stack
from seqloom.signature import Form, Labels, Signature, Tokens

LENGTHS = torch.tensor([7, 5, 2, 1])


def vectors(batch=4, time=7, width=3):
    return torch.randn(batch, time, width, dtype=torch.double)


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    "kernel, apart, stride", [(1, 1, 1), (3, 1, 1), (2, 3, 1), (3, 2, 2), (4, 1, 3)]
)
@pytest.mark.parametrize("separable", [False, True])
def test_a_filter_is_a_sum_over_its_places(padding, both, kernel, apart, stride, separable):
    """Of each sequence by itself, in plain loops; what is beyond its ends counts nothing."""
    made = Filters(filters="1", padding=padding, stride=stride, separable=separable)
    one, x = Filter(3, 4, kernel, apart, made, both=both).double(), vectors()
    found, lengths = one(x, LENGTHS)
    reach = 1 + (kernel - 1) * apart
    for row, length in enumerate(LENGTHS.tolist()):
        if padding == "same":
            before = (reach - 1) // 2 if both else reach - 1
            places = range(0, length, stride)
        else:
            before, places = 0, range(0, max(1, length - reach + 1), stride)
        assert lengths[row] == len(places)
        for number, place in enumerate(places):
            seen = [place + k * apart - before for k in range(kernel)]
            seen = [x[row, t] if 0 <= t < length else torch.zeros(3).double() for t in seen]
            if separable:
                alone = sum(w * v for w, v in zip(one.single.weight[:, 0].T, seen, strict=True))
                expected = one.mix.weight @ alone + one.mix.bias
            else:
                expected = one.mix.weight @ torch.cat(seen) + one.mix.bias
            torch.testing.assert_close(found[row, number], expected.relu())


@pytest.mark.parametrize("pool", ["max", "average"])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_neighbours_are_pooled_between_layers(pool, padding):
    made = Filters(filters="1", pool=pool, pool_size=3, padding=padding)
    stack = Stack(3, 3, 1, made, layers=2, both=False, dropout=0.0)
    x = vectors()
    kept, lengths = stack._kept(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        count = -(-length // 3) if padding == "same" else max(1, length // 3)
        assert lengths[row] == count
        for number in range(count):
            some = x[row, 3 * number : min(length, 3 * number + 3)]
            expected = some.max(0).values if pool == "max" else some.mean(0)
            torch.testing.assert_close(kept[row, number], expected)


def test_layers_reach_further_where_they_are_dilated():
    bank = FilterBank(3, 4, Filters(filters="2", dilation=3), layers=3).double()
    x = vectors(1, 40).requires_grad_()
    bank(x, torch.tensor([40]))[0, 39].sum().backward()
    seen = x.grad[0].abs().sum(1).nonzero().flatten()
    assert 39 - seen.min() <= 1 + 3 + 9 and seen.max() == 39
    assert [one.apart for one in bank.stacks[0].filters] == [1, 3, 9]


@pytest.mark.parametrize("padding", ["same", "valid"])
def test_the_classifier_of_kim(padding):
    """Several widths, the largest answer of each filter, all joined and scored."""
    torch.manual_seed(0)
    signature = Signature(Form.WHOLE, Tokens(20), Labels(3))
    made = Filters(filters="2,3,4", padding=padding)
    model = Convolutional(
        signature, width=6, hidden=10, layers=1, directions="both", pooling="max", convolutions=made
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
        ({"filters": "3,x"}, "WHOLE", "M320", "expected how many places each sees"),
        ({"filters": "0"}, "WHOLE", "M320", "expected how many places"),
        ({"stride": 2}, "WHOLE", "M320", "stride is for filters"),
        ({"filters": "3", "stride": 0}, "WHOLE", "M320", "stride = 0"),
        ({"filters": "3", "dilation": 99}, "WHOLE", "M320", "would see"),
        ({"filters": "3"}, "NEXT", "M321", "filters give labels"),
        ({"filters": "3", "stride": 2}, "EACH", "M321", "leave some out"),
        ({"filters": "3", "pool": "max"}, "EACH", "M321", "leave some out"),
        ({"filters": "3", "padding": "valid"}, "EACH", "M321", "leave some out"),
    ],
)
def test_what_cannot_be_is_refused(options, form, code, told):
    target = Tokens(9) if form == "NEXT" else Labels(3)
    with pytest.raises(ModelError, match=told) as error:
        Convolutional(Signature(Form[form], Tokens(9), target), convolutions=Filters(**options))
    assert error.value.code == code


def test_a_learned_mean_needs_filters_that_end_together():
    signature = Signature(Form.WHOLE, Tokens(9), Labels(3))
    made = Filters(filters="2,3", padding="valid")
    with pytest.raises(ModelError, match="end at different ones"):
        Convolutional(signature, pooling="attentive", convolutions=made)
