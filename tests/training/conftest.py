"""What the tests of training share: answers that end soon."""

import functools

import pytest

from seqloom.inspection import options
from seqloom.model import Search
from seqloom.training import loop


@pytest.fixture
def short_answers(monkeypatch):
    """A model that has not learned to end goes on to the limit, at every evaluation.

    It is then asked again for what is kept of its inside, which with checked shapes takes seconds.
    """
    for module in (loop, options):
        monkeypatch.setattr(module, "Search", functools.partial(Search, limit=12))
