"""The limit on the length of an output: it follows the data, and no model goes beyond its own."""

import json
from pathlib import Path

import numpy as np
import pytest

from seqloom.batch import Sequences
from seqloom.decoding import Ensemble, Sampling, SamplingDecoder, beam_search, output_limit, sample
from seqloom.inspection.options import InspectionOptions
from seqloom.models.mixture import Mixture
from seqloom.prediction import LEAST_LIMIT, Search
from seqloom.recipe import Recipe
from seqloom.runs.compatibility import have_same_vocabulary
from seqloom.runs.run import Run
from seqloom.signature import END, Form, Signature, Tokens

from ..contracts.cases import build
from .toys import of

SIZE = 9
NEVER = -30.0  # the logit of END


class Endless:
    """A generator whose outputs never end."""

    def begin(self, source):
        return ()

    def step(self, tokens, state):
        log_probs = np.full((len(tokens), SIZE), -np.log(SIZE - 1))
        log_probs[:, END] = NEVER
        return log_probs, state


def endless(name="encoder-decoder", longest=0, seed=3, **settings):
    """A model whose outputs never end, after training on targets of at most this length."""
    signature = Signature(Form.TRANSDUCE, Tokens(SIZE), Tokens(SIZE, longest=longest))
    model = build(name, signature, {"hidden_size": 8, **settings}, seed)
    scores = next(one for path, one in model.named_modules() if path.endswith("scores"))
    scores.bias.data[END] = NEVER
    return model


def learned(seed=3, context=6):
    """A Transformer that has no positions beyond its context."""
    more = {"positions": "learned", "context": context, "num_heads": 2}
    return endless("transformer-encoder-decoder", seed=seed, **more)


def every_search(model, source, **limit):
    """The outputs of greedy search, a beam and sampling."""
    nothing = Sequences.pad([np.zeros(0, np.int64)] * len(source))
    with model.inference_mode():
        for search in (Search(**limit), Search(beam=3, nbest=2, **limit)):
            yield from (one for ranked in model.predict(source, search).ranked for one in ranked)
        decoder = SamplingDecoder(sampling=Sampling(**limit), count=2)
        drawn = decoder.predict(model, source, np.arange(len(source)))
        yield from (one for ranked in drawn.ranked for one in ranked)
        for row in sample(model, source, Sampling(**limit), nothing):
            assert len(row) == output_limit(model, limit.get("limit", 0))


@pytest.mark.parametrize("longest, most", [(0, LEAST_LIMIT), (20, LEAST_LIMIT), (90, 135)])
def test_an_output_is_half_as_long_again_as_the_longest_target(longest, most):
    model = endless(longest=longest)
    for one in every_search(model, of([4, 5])):
        assert len(one.tokens) == most and one.end_reason == "limit" and not one.ended


def test_a_limit_that_is_given_counts():
    assert {len(one.tokens) for one in every_search(endless(longest=90), of([4]), limit=7)} == {7}
    found = beam_search(Endless(), of([4]), Search()).ranked[0][0]
    assert len(found.tokens) == LEAST_LIMIT, "nothing is known of such a generator"


@pytest.mark.parametrize("kind", ["alone", "ensemble", "mixture"])
@pytest.mark.parametrize("limit", [0, 50])
def test_no_output_is_longer_than_the_learned_positions(kind, limit):
    model = learned()
    if kind == "ensemble":
        model = Ensemble([learned(seed=1, context=40), learned(seed=2)])
    if kind == "mixture":
        tables = {"name": "transformer-encoder-decoder", "positions": "learned", "context": 6}
        tables |= {"hidden_size": 8, "num_heads": 2}
        model = Mixture(learned().signature, first={**tables, "context": 40}, second=tables)
        model.first, model.second = learned(seed=1, context=40), learned(seed=2)
    found = list(every_search(model, of([4, 5], [6]), limit=limit))
    assert {len(one.tokens) for one in found} == {6}
    assert {one.end_reason for one in found} == {"limit"}


@pytest.mark.parametrize("prefix", [(5, 4), (5,) * 6, (5,) * 9])
def test_a_prefix_counts_where_positions_end(prefix):
    model = learned()
    with model.inference_mode():
        how = SamplingDecoder(sampling=Sampling(limit=5), prefix=prefix)
        (one,) = how.predict(model, of([4]), np.array([0])).ranked[0]
        (searched,) = model.predict(of([4]), Search(beam=2, prefix=prefix)).ranked[0]
    assert len(one.tokens) == len(searched.tokens) == 6
    assert tuple(one.tokens[: len(prefix)]) == prefix[:6]


def test_why_an_output_has_ended():
    class Stuck(Endless):
        def step(self, tokens, state):
            return np.full((len(tokens), SIZE), -np.inf), state

    class Short(Endless):
        def step(self, tokens, state):
            log_probs, state = super().step(tokens, state)
            log_probs[:, END] = 0.0
            return log_probs, state

    for model, reason in ((Stuck(), "stuck"), (Short(), "end"), (Endless(), "limit")):
        for search in (Search(limit=4), Search(beam=2, limit=4)):
            (one,) = beam_search(model, of([4]), search).ranked[0]
            assert one.end_reason == reason and one.ended == (reason == "end")


def tasks():
    """A task of each kind that searches, with the length of its longest training target."""
    pairs = Recipe(task={"name": "translate"}).build_task()
    texts = [("a b", "x y z"), ("a", "x"), ("a b c d", "y")]
    pairs.prepare([pairs.with_target(pairs.question(a), b) for a, b in texts])
    words = Recipe(task={"name": "language", "tokens": "words"}).build_task()
    words.prepare([words.question(text) for text in ("a b c", "a", "b b")])
    signs = Recipe(task={"name": "language"}).build_task()
    signs.prepare([signs.question(text) for text in ("a b c", "a", "b b")])
    sums = Recipe(task={"name": "algorithms", "problem": "addition"}).build_task()
    made = sums.generator().draw("train")[:50]
    sums.prepare(made)
    return [(pairs, 4), (words, 4), (signs, 6), (sums, max(len(one.answer) for one in made))]


@pytest.mark.parametrize("task, longest", tasks(), ids=["pairs", "words", "signs", "sums"])
def test_a_run_keeps_the_length_of_its_longest_target(task, longest):
    assert task.signature().target.longest == longest
    kept = json.loads(json.dumps(task.state()))
    task.restore({**kept, "lengths": [0, 0]})
    assert task.signature().target.longest == 0
    task.restore(kept)
    assert task.signature().target.longest == longest
    task.restore({name: value for name, value in kept.items() if name != "lengths"})  # as of old


def test_a_text_without_ends_has_no_longest_target():
    task = Recipe(task={"name": "language", "layout": "stream"}).build_task()
    task.prepare([task.question("a long, long text")])
    assert task.signature().target.longest == 0


def test_earlier_versions_kept_the_longest_source_alone():
    task = tasks()[0][0]
    task.restore({**task.state(), "lengths": 70})
    assert task.max_source_length() == 70 and task.signature().target.longest == 140


def test_runs_of_one_vocabulary_may_have_other_lengths():
    def made(lengths):
        task = tasks()[0][0]
        task.restore({**task.state(), "lengths": lengths})
        return Run(Path("run"), Recipe(task={"name": "translate"}), task, endless())

    assert have_same_vocabulary([made(70), made([4, 4])])
    other = made([4, 4])
    other.task.restore({**other.task.state(), "target": [*other.task.target.tokens, "new"]})
    assert not have_same_vocabulary([made([4, 4]), other])


def test_views_search_as_far_as_they_are_told():
    assert InspectionOptions().search().limit == 0
    assert InspectionOptions(limit=9).search().limit == 9
