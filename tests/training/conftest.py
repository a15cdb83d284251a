"""What the tests of training share: answers that end soon."""

import functools

import pytest

from seqloom.model import Search
from seqloom.training import learning


@pytest.fixture
def short_answers(monkeypatch):
    """A model that has not learned to end goes on to the limit, at every evaluation."""
    monkeypatch.setattr(learning, "Search", functools.partial(Search, limit=12))
