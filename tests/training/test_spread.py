"""An evaluation during training looks at examples from all over the validation part."""

import pytest

from seqloom.evaluation.evaluate import evenly_spaced
from seqloom.tasks.language import Language
from seqloom.tasks.translate import Translate


@pytest.mark.parametrize(("many", "most"), [(10, 4), (1465, 500), (501, 500), (7, 6), (9, 1)])
def test_examples_are_taken_evenly_and_in_order(many, most):
    found = evenly_spaced(Translate(), range(many), most)
    steps = [later - one for one, later in zip(found, found[1:], strict=False)]
    assert len(found) == most and found[0] == 0 and many - found[-1] <= -(-many // most)
    assert set(steps) <= {many // most, -(-many // most)}


@pytest.mark.parametrize("most", [5, 6, 2000])
def test_few_examples_are_all_looked_at(most):
    assert evenly_spaced(Translate(), range(5), most) == list(range(5))


def test_a_continuous_text_is_read_from_its_beginning():
    assert evenly_spaced(Language(layout="stream"), range(10), 4) == [0, 1, 2, 3]
