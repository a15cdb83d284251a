"""Every rule and penalty of a search, against a search in lists and against trying everything."""

import numpy as np
import pytest

from seqloom.decoding import beam_search
from seqloom.decoding.beam import FinishedHypotheses, _Beam, greedy_search, is_greedy
from seqloom.errors import ModelError, UsageError
from seqloom.prediction import Search
from seqloom.signature import BEGIN, END, PAD, Form, Labels, Signature, Tokens

from .toys import Sure, Toy, every_answer, of, plain_search

ROWS = [[3, 5, 2], [4, 2], [6, 6, 6, 2], [5]]
WAYS = {
    "plain": {},
    "n-best": {"nbest": 3},
    "short is good": {"length_penalty": 0.0, "nbest": 2},
    "long is good": {"length_penalty": 2.0, "nbest": 2},
    "long is bad": {"length_penalty": -0.5, "nbest": 2},
    "coverage": {"coverage_penalty": 0.4, "nbest": 3},
    "no symbol twice": {"block_ngrams": 1, "nbest": 2},
    "no pair twice": {"block_ngrams": 2},
    "no three twice": {"block_ngrams": 3},
    "allowed": {"allow": frozenset({3, 5}), "nbest": 2},
    "begun": {"prefix": (4, 4), "nbest": 2},
    "long": {"shortest": 3},
    "all": {"allow": frozenset({3, 4, 6}), "prefix": (4, 3), "block_ngrams": 2, "shortest": 3}
    | {"coverage_penalty": 0.2, "length_penalty": 0.6, "nbest": 3},
}


def same(found, right):
    assert [h.tokens.tolist() for h in found] == [h.tokens.tolist() for h in right]
    for one, other in zip(found, right, strict=True):
        assert one.ended == other.ended
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)
        assert one.score == pytest.approx(other.score, abs=1e-5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", [-3.0, 0.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_is_a_search_in_lists(way, end, seed):
    """Batched, moved in place, stopped early: the same answers as none of that."""
    for width in (3, 5):
        model, settings = Toy(seed, end=end), Search(beam=width, limit=9, **WAYS[way])
        found = beam_search(model, of(*ROWS), settings)
        for place, row in enumerate(ROWS):
            same(found.ranked[place], plain_search(model, row, settings))
        assert found.target.rows() == [list(ranked[0].tokens) for ranked in found.ranked]
        assert found.log_prob.tolist() == [ranked[0].log_prob for ranked in found.ranked]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_of_all(way, seed):
    model, settings = Toy(seed), Search(beam=5**4, limit=4, **WAYS[way])
    found = beam_search(model, of(*ROWS), settings)
    for place, row in enumerate(ROWS):
        right = every_answer(model, row, settings)[: settings.nbest]
        best = [h for h in found.ranked[place] if h.ended]
        assert [h.tokens.tolist() for h in best] == [history for _, history in right]
        assert [h.score for h in best] == pytest.approx([score for score, _ in right], abs=1e-5)


@pytest.mark.parametrize("penalty", [-1.0, 0.0, 0.5, 1.0, 3.0])
def test_it_stops_when_nothing_better_can_come_and_not_before(penalty, monkeypatch):
    """Stopping early changes no answer and spares steps; a bound a little too low would change some."""
    answers, steps = {}, {}
    bounds = {"exact": 1.0, "never": None, "too soon": 0.6}
    right = FinishedHypotheses._cannot_improve

    def with_bound(share):
        def cannot_improve(self, sources, growing, lengths):
            if share is None:
                return growing == -np.inf
            return right(self, sources, growing / share, lengths)

        return cannot_improve

    for name, share in bounds.items():
        monkeypatch.setattr(FinishedHypotheses, "_cannot_improve", with_bound(share))
        answers[name], steps[name] = [], 0
        for seed in range(40):
            model = Toy(seed, sharpness=3.0, end=1.0)
            settings = Search(beam=6, nbest=1 + seed % 2, length_penalty=penalty, limit=6)
            found = beam_search(model, of(*ROWS), settings)
            answers[name] += [[h.tokens.tolist() for h in ranked] for ranked in found.ranked]
            steps[name] += model.rows
    assert answers["exact"] == answers["never"]
    assert steps["exact"] <= steps["never"]
    if penalty <= 1:  # where length counts more, hope lasts to the limit
        assert steps["exact"] < steps["never"]
        assert answers["too soon"] != answers["exact"], "the test can fail"


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
def test_a_wider_beam_is_almost_never_worse_than_greedy(penalty):
    """Where a model is sure, improbable ends must not stop a search whose right answer grows.

    Almost: a beam may lose the path of greedy search to others that are better for a while. To stop
    as soon as `beam` have ended made a third of these answers worse.
    """
    worse, sources = {3: 0, 5: 0}, of(*[[x] for x in range(8)])
    total = right = 0
    for seed in range(8):
        model = Sure(seed)
        greedy = beam_search(model, sources, Search(length_penalty=penalty, limit=30)).ranked
        total += len(greedy)
        right += sum(one.tokens.tolist() in model.right for (one,) in greedy)
        for width in worse:
            settings = Search(beam=width, length_penalty=penalty, limit=30)
            for one, other in zip(
                greedy, beam_search(model, sources, settings).ranked, strict=True
            ):
                is_worse = other[0].score < one[0].score - 1e-9 or not other[0].ended
                worse[width] += one[0].ended and is_worse
    assert max(worse.values()) <= 0.02 * total, "a beam is worse than greedy search"
    assert right > 0.5 * total, "the models are peaked"


class Wide(Toy):
    """Many symbols, every one of them exactly as likely as some others."""

    def __init__(self, seed, size):
        super().__init__(seed)
        self.columns = np.concatenate([[0, 1], 2 + np.arange(size - 2) % 5])

    def step(self, symbols, state):
        log_probs, state = super().step(self.columns[symbols], state)
        return log_probs[:, self.columns], state


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size, limit", [(7, 12), (700, 5)])
def test_greedy_is_a_beam_of_one(seed, size, limit):
    """The direct path and the general one: symbols, numbers and what is given before them."""
    model = Toy(seed, end=-1.0) if size == 7 else Wide(seed, size)
    rows, given = ROWS, of([4, 4], [], [3], [5, 2, 6])
    settings = Search(limit=limit)
    assert is_greedy(settings)
    for prefix in (of([], [], [], []), given):
        one = greedy_search(model, of(*rows), settings, prefix)
        other = _Beam(model, of(*rows), settings, prefix).search()
        for found, right in zip(one.ranked, other.ranked, strict=True):
            same(found, right)


def test_what_is_given_costs_nothing_and_counts_for_nothing():
    """Each row has the limit to itself, whatever stands beside it."""
    model, given = Toy(1, end=-4.0), of([4, 4, 5, 3], [], [3], [2, 6])
    for settings in (Search(limit=5), Search(beam=3, nbest=2, limit=5, block_ngrams=2)):
        found = beam_search(model, of(*ROWS), settings, given)
        for place, row in enumerate(ROWS):
            alone = beam_search(model, of(row), settings, of(given.rows()[place]))
            same(found.ranked[place], alone.ranked[0])
            same(found.ranked[place], plain_search(model, row, settings, given.rows()[place]))
            assert all(len(h.tokens) <= 5 for h in found.ranked[place])


def test_where_nothing_can_follow_the_answer_is_what_there_is():
    model = Toy(0)
    model.less, model.table[...] = None, -np.inf
    model.table[:, BEGIN, BEGIN, 4] = 0.0
    for settings in (Search(), Search(beam=3), Search(beam=2, tree=True)):
        found = beam_search(model, of(*ROWS), settings)
        assert found.target.rows() == [[4]] * 4 and found.log_prob.tolist() == [0.0] * 4
        assert not found.ranked[0][0].ended
    model.table[...] = np.nan
    for settings in (Search(limit=3), Search(beam=3, limit=3)):
        assert len(beam_search(model, of(*ROWS), settings).target.rows()) == 4


def test_padding_and_a_second_beginning_are_never_written():
    model = Toy(0)
    model.table[..., [PAD, BEGIN]] = 5.0
    for settings in (Search(limit=5), Search(beam=4, nbest=4, limit=5)):
        for ranked in beam_search(model, of(*ROWS), settings).ranked:
            for hypothesis in ranked:
                assert not {PAD, BEGIN} & set(hypothesis.tokens.tolist())


def test_rules_leave_what_the_model_says_alone():
    """A model may hand out an array of its own: only a copy is changed."""
    model = Toy(0)
    kept = model.table.copy()
    settings = Search(beam=3, block_ngrams=1, shortest=2, allow=frozenset({3, 4}), limit=5)
    beam_search(model, of(*ROWS), settings)
    assert np.array_equal(model.table, kept)


def test_sources_that_are_done_leave_the_batch():
    model = Toy(3)
    beam_search(model, of(*ROWS), Search(beam=3, limit=20))
    assert model.rows < model.steps * 3 * len(ROWS)


def test_a_model_that_does_not_look_has_no_coverage():
    class Blind:
        begin, step = Toy.begin, Toy.step
        __init__ = Toy.__init__

    with pytest.raises(ModelError) as told:
        beam_search(Blind(0), of(*ROWS), Search(beam=2, coverage_penalty=0.1))
    assert told.value.code == "M190" and "the model Blind has no attention" in told.value.problem


@pytest.mark.parametrize(
    ("wrong", "code", "text"),
    [
        ({"beam": 0}, "U060", "beam 0: expected a whole number of at least 1"),
        ({"nbest": 0}, "U060", "nbest 0: expected"),
        ({"beam": 2, "nbest": 3}, "U061", "a beam of 2 cannot give the 3 best answers"),
        ({"length_penalty": float("nan")}, "U060", "length_penalty nan: expected a number"),
        ({"coverage_penalty": -1.0}, "U060", "coverage_penalty -1: expected 0 or more"),
        ({"block_ngrams": -1}, "U060", "block_ngrams -1"),
        ({"limit": -1}, "U060", "limit -1"),
        ({"shortest": -1}, "U060", "shortest -1"),
    ],
)
def test_searches_that_mean_nothing(wrong, code, text):
    with pytest.raises(UsageError) as told:
        Search(**wrong)
    assert told.value.code == code and text in told.value.problem


def test_searches_that_do_not_fit_a_model():
    words = Signature(Form.TRANSDUCE, Tokens(9), Tokens(9))
    Search(beam=7).validate_for(words)
    with pytest.raises(UsageError) as told:
        Search(beam=8).validate_for(words)
    assert told.value.code == "U063" and "there are 7 tokens" in told.value.problem
    tags = Signature(Form.EACH, Tokens(9), Labels(3))
    Search(beam=8).validate_for(tags)
    with pytest.raises(UsageError) as told:
        Search(beam=8, block_ngrams=2).validate_for(tags)
    assert told.value.code == "U062" and told.value.problem.startswith("block ngrams: this model")


def test_an_end_that_is_given_does_not_end():
    model, given = Toy(2), of([4, END, 3], [END], [5, END], [])
    for settings in (Search(limit=4), Search(beam=3, limit=4)):
        found = beam_search(model, of(*ROWS), settings, given)
        for place, row in enumerate(ROWS):
            same(found.ranked[place], plain_search(model, row, settings, given.rows()[place]))
