"""Gradients that are integrated sum to the difference they explain."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from seqloom.inspection.attribution import How, gradient
from seqloom.inspection.attribution.scoring import Altered, measured

from ...contracts.cases import SIGNATURES, build, small
from .asking import one

NEURAL = [
    ("recurrent", "NEXT", {"cell": "gru"}),
    (
        "recurrent",
        "EACH-columns",
        {"letters": "convolution", "letters_width": 2, "feature_width": 1},
    ),
    ("transformer", "WHOLE-bits", {}),
    ("transformer", "NEXT", {"context": 4}),
    ("convolutional", "EACH-vectors", {}),
    ("encoder-decoder", "TRANSDUCE", {}),
    ("transformer-encoder-decoder", "TRANSDUCE", {}),
]


@pytest.mark.parametrize(("name", "form", "options"), NEURAL)
def test_integrated_gradients_are_complete(name, form, options):
    """They sum to the difference between these vectors and none."""
    model = build(name, SIGNATURES[form], small(name, options))
    with torch.no_grad():  # at first models hardly look at what they read
        for weight in model.parameters():
            weight.mul_(2)
    asked = one(model, SIGNATURES[form].form)
    asked = replace(asked, rows=asked.rows[:3])
    with model.at_rest():
        found = gradient.find(asked, How(integrated=True))
        whole, nothing = gradient.slopes(asked, [1.0, 0.0])[0]
        assert whole == pytest.approx(measured(asked, [Altered(asked.read)])[0], abs=1e-5)
    strongest = abs(found.values).max()
    assert found.values.sum(1) == pytest.approx(whole - nothing, abs=gradient.EXACT * strongest)
    assert strongest > 1e-4
    plain = gradient.find(asked, How(by="gradient")).values
    assert plain.shape == found.values.shape and abs(plain).max() > 0
    if form == "NEXT":
        assert not np.triu(found.values, 1).any(), "nothing goes by what comes after it"
