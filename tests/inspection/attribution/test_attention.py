"""Attention weights and rollout: they sum to one, over what each position may attend to."""

import numpy as np
import pytest

from seqloom.batch import Sequences
from seqloom.inspection.attribution import AttributionOptions, attention
from seqloom.model import Search
from seqloom.signature import Form
from seqloom.trace import watch

from ...contracts.cases import SIGNATURES, build, small
from .problems import problem

LOOKING = [
    ("transformer", "EACH", {}),
    ("transformer", "WHOLE", {}),
    ("transformer", "NEXT", {}),
    ("transformer", "NEXT", {"context": 4}),
    ("recurrent", "WHOLE", {"pooling": "attentive"}),
    ("encoder-decoder", "TRANSDUCE", {}),
    ("encoder-decoder", "TRANSDUCE", {"attention": "multi-head", "num_heads": 2}),
    ("transformer-encoder-decoder", "TRANSDUCE", {}),
    ("convolutional-encoder-decoder", "TRANSDUCE", {}),
]


@pytest.mark.parametrize(("name", "form", "options"), LOOKING)
def test_attention_is_shares_of_one(name, form, options):
    model = build(name, SIGNATURES[form], small(name, options))
    given = problem(model, SIGNATURES[form].form)
    with model.inference_mode():
        assert attention.applies(given)
        hows = [AttributionOptions(by="attention")] + [AttributionOptions(rollout=True)] * (
            "transformer" in name
        )
        for how in hows:
            found = attention.attribute(given, how)
            assert found.values.shape == (len(given.parts), len(given.inputs))
            assert found.values.sum(1) == pytest.approx(1, abs=1e-5)
            assert found.values.min() >= 0 and found.unit == "share"
            assert any("do not explain what caused" in note for note in found.notes)
            if form == "NEXT":
                assert not np.triu(found.values, 1).any()


def test_a_text_in_blocks_looks_as_far_as_each_place_sees():
    """A context of 4: place p sees from max(0, ⌊p/2⌋ - 1) · 2 on."""
    model = build("transformer", SIGNATURES["NEXT"], small("transformer", {"context": 4}))
    with model.inference_mode():
        found = attention.attribute(
            problem(model, Form.NEXT), AttributionOptions(by="attention")
        ).values
    for place, row in enumerate(found):
        first = max(0, place // 2 - 1) * 2
        assert np.flatnonzero(row).tolist() == list(range(first, place + 1))


def test_rollout_goes_through_every_layer():
    """By hand: each layer's mean of heads, half of it the place itself."""
    model = build("transformer", SIGNATURES["EACH"], small("transformer", {}))
    given = problem(model, Form.EACH)
    with model.inference_mode():
        found = attention.attribute(given, AttributionOptions(rollout=True)).values
        with watch(model) as trace:
            model.predict(Sequences.pad([given.inputs]), Search())
    first, second = (record.value[0].mean(0) for record in trace.of_kind("attention"))
    same = np.eye(len(first))
    assert found == pytest.approx((second + same) / 2 @ (first + same) / 2, abs=1e-6)
