"""Contract of every model that gives label posteriors with some positions not observed."""

import numpy as np
import pytest

from seqloom.batch import Sequences
from seqloom.model import MaskedPosteriors, Search
from seqloom.models import MODELS
from seqloom.signature import Form

from .cases import CASES, IDS, batch_for, build

WEIGHING = [
    pytest.param(case, id=name)
    for case, name in zip(CASES, IDS, strict=True)
    if case[1].form is Form.EACH and hasattr(MODELS[case[0]], "posteriors")
]


@pytest.mark.parametrize("case", WEIGHING)
def test_all_that_is_heard_gives_the_chances(case):
    model, source = build(*case), batch_for(case[1]).source
    assert isinstance(model, MaskedPosteriors)
    with model.inference_mode():
        found = model.posteriors(source, source.mask)
        chances = model.predict(source, Search(probabilities=True)).probabilities
    assert found[source.mask] == pytest.approx(chances[source.mask], abs=1e-9)


@pytest.mark.parametrize("case", WEIGHING)
def test_what_is_not_heard_could_be_anything(case):
    """Another symbol there changes nothing; and one that is heard does."""
    model, source = build(*case), batch_for(case[1]).source
    heard = source.mask.copy()
    heard[:, 0] = False
    other = Sequences(source.values.copy(), source.lengths)
    other.values[:, 0] = source.values[::-1, 1]
    with model.inference_mode():
        found, same = (model.posteriors(read, heard) for read in (source, other))
        all_heard = model.posteriors(source, source.mask)
    assert found[source.mask] == pytest.approx(same[source.mask], abs=1e-9)
    assert found[source.mask].sum(-1) == pytest.approx(1, abs=1e-9)
    assert not np.allclose(found[source.mask], all_heard[source.mask])
