"""What the view of a search tree says about the end of a search, against the numbers of the tree."""

import re

import pytest

from seqloom.decoding import beam_search
from seqloom.inspection.beam import _reason, _stop_reason
from seqloom.prediction import Search, SearchNode, SearchTree
from tests.decoding.toys import Sure, of


def tree_of(seed, **settings):
    search = Search(tree=True, **settings)
    return beam_search(Sure(seed), of([3]), search).trees[0], search


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_rule_by_which_a_search_stopped_is_told_with_its_numbers(seed, penalty):
    tree, search = tree_of(seed, beam=3, nbest=3, limit=40, length_penalty=penalty)
    stop = _stop_reason(tree, search, 0)
    last = max(node.step for node in tree.nodes)
    scores = sorted((n.score for n in tree.nodes if n.status == "ended"), reverse=True)
    growing = [n.log_prob / (last + 1) ** penalty for n in tree.nodes if n.status == "cut"]
    assert {n.step for n in tree.nodes if n.status == "cut"} == {last}
    highest, worst = re.fullmatch(
        r"3 outputs have ended, and what still grew had a score of at most (-[\d.]+) at its present"
        r" length, not above the worst of them, (-[\d.]+)",
        stop,
    ).groups()
    assert (float(highest), float(worst)) == pytest.approx((max(growing), scores[2]), abs=0.006)
    for node in tree.nodes:
        told = _reason(node, tree, search, 0, stop)
        if node.status in ("grows", "cut"):
            score = node.log_prob / (node.step + 1) ** penalty
            assert f"score {score:.2f}" in told and (stop in told) == (node.status == "cut")


def test_a_search_that_stops_for_another_reason_says_which():
    tree, search = tree_of(0, beam=3, limit=2)
    assert _stop_reason(tree, search, 0) == "the limit of 2 tokens was reached"
    ended = SearchNode(-1, 0, 2, -0.1, "ended", -0.1)
    tree = SearchTree((ended, SearchNode(-1, 0, 3, -9.0, "cut")), (0,))
    assert _stop_reason(tree, Search(beam=2, length_penalty=0.0, limit=9), 0) == (
        "what still grew cannot reach the score -0.10 at any length"
    )
    tree = SearchTree((SearchNode(-1, 0, 3, -9.0, "cut", -9.0),), (0,))
    assert _stop_reason(tree, Search(beam=2, limit=9), 0) == "no token can follow"
