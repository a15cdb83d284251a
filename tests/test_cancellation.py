"""Cancellation: what long computations call in their loops."""

import numpy as np
import pytest

from seqloom.batch import Sequences
from seqloom.cancellation import cancel_by, check_cancelled
from seqloom.decoding import Sampling, beam_search, sample
from seqloom.model import Search

from .contracts.cases import SIGNATURES, build, small


class Gone(Exception):
    """Nobody waits."""


def leave_after(turns):
    left = [turns]

    def check():
        left[0] -= 1
        if left[0] <= 0:
            raise Gone

    return check


def test_nothing_happens_without_a_check():
    check_cancelled()


def test_checks_hold_inside_their_block_alone_and_outer_ones_inside_of_inner_ones():
    seen = []
    with cancel_by(lambda: seen.append("outer")):
        with cancel_by(lambda: seen.append("inner")):
            check_cancelled()
        check_cancelled()
    check_cancelled()
    assert seen == ["outer", "inner", "outer"]


def test_a_check_that_raised_is_gone_after_its_block():
    with pytest.raises(Gone), cancel_by(leave_after(1)):
        check_cancelled()
    check_cancelled()


SEARCHES = {
    "greedy": lambda *given: beam_search(*given, Search(limit=50, shortest=20)),
    "beam": lambda *given: beam_search(*given, Search(beam=3, limit=50, shortest=20)),
    "sampling": lambda model, source: sample(
        model, source, Sampling(limit=50, shortest=20), Sequences.pad([np.zeros(0, np.int64)] * 2)
    ),
}


@pytest.mark.parametrize("how", SEARCHES)
def test_a_search_ends_at_its_next_step(how):
    model = build("recurrent", SIGNATURES["NEXT"], small("recurrent", {}))
    steps, own = [], model.step
    model.step = lambda tokens, state: steps.append(1) or own(tokens, state)
    source = Sequences.pad([np.array([4, 5])] * 2)  # one alone would be sampled by a stepper
    with model.inference_mode(), pytest.raises(Gone), cancel_by(leave_after(3)):
        SEARCHES[how](model, source)
    assert len(steps) == 2
