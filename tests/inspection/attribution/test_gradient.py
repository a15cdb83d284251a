"""Integrated gradients are complete: they sum to the difference they explain."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from seqloom.inspection.attribution import AttributionOptions, gradient
from seqloom.inspection.attribution.scoring import PerturbedInput, score_perturbed

from ...contracts.cases import SIGNATURES, build, small
from .problems import problem

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
    given = problem(model, SIGNATURES[form].form)
    given = replace(given, parts=given.parts[:3])
    with model.inference_mode():
        found = gradient.attribute(given, AttributionOptions(integrated=True))
        whole, nothing = gradient.scaled_gradients(given, [1.0, 0.0])[0]
        assert whole == pytest.approx(
            score_perturbed(given, [PerturbedInput(given.inputs)])[0], abs=1e-5
        )
    strongest = abs(found.values).max()
    assert found.values.sum(1) == pytest.approx(whole - nothing, abs=gradient.TOLERANCE * strongest)
    assert strongest > 1e-4
    plain = gradient.attribute(given, AttributionOptions(by="gradient")).values
    assert plain.shape == found.values.shape and abs(plain).max() > 0
    if form == "NEXT":
        assert not np.triu(found.values, 1).any(), "nothing goes by what comes after it"
