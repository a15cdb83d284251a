"""Answers that are drawn: as likely as the model says, and each the same beside others as alone."""

import numpy as np
import pytest

from seqloom.batch import Batch
from seqloom.decoding import Sampling, SamplingDecoder, beam_search, sampled_answers
from seqloom.errors import UsageError
from seqloom.prediction import Search
from seqloom.signature import END, Form, Labels, Signature, Tokens

from .test_sampling import SOURCES, TRANSDUCE, TRANSLATORS, of, translator_of

NUMBERS = np.arange(len(SOURCES))


def drawn(model, numbers, **how):
    """The answers to sources by their numbers."""
    with model.inference_mode():
        found = SamplingDecoder(**how).predict(
            model, of(*(SOURCES[i] for i in numbers)), np.array(numbers)
        )
    return found.ranked


@pytest.mark.parametrize("name", TRANSLATORS)
def test_answers_have_the_chance_that_the_model_gives_them(name):
    """Not that of what was drawn from, which temperature and cuts have changed."""
    model, settings = translator_of(name), Sampling(limit=6, seed=2, temperature=0.5, top_k=4)
    found = drawn(model, NUMBERS, sampling=settings, count=3, prefix=(5, 4))
    for source, answers in zip(SOURCES, found, strict=True):
        assert len(answers) == 3
        for one in answers:
            assert one.tokens[:2].tolist() == [5, 4] and len(one.tokens) <= 2 + 6
            assert one.ended == (one.tokens[-1] == END) and END not in one.tokens[:-1]
            with model.inference_mode():
                alone = model.log_prob(Batch(of(source), of(one.tokens)))[0]
            assert one.log_prob == pytest.approx(float(alone), rel=1e-5, abs=1e-4)
            assert one.score == one.log_prob
    assert len({tuple(one.tokens) for answers in found for one in answers}) > len(SOURCES)


@pytest.mark.parametrize("name", TRANSLATORS)
def test_an_answer_follows_from_the_number_of_its_source(name):
    model, settings = translator_of(name), Sampling(limit=8, seed=4)
    together = drawn(model, NUMBERS, sampling=settings, count=2)
    for number in NUMBERS:
        (alone,) = drawn(model, [number], sampling=settings, count=2)
        assert [one.tokens.tolist() for one in alone] == [
            one.tokens.tolist() for one in together[number]
        ]
    with model.inference_mode():
        how = SamplingDecoder(sampling=settings, count=2, first=3)
        (later,) = how.predict(model, of(SOURCES[3]), np.array([0])).ranked
    assert [one.tokens.tolist() for one in later] == [one.tokens.tolist() for one in together[3]]


@pytest.mark.parametrize("name", TRANSLATORS)
def test_many_answers_are_drawn_in_pieces(name, monkeypatch):
    model, settings = translator_of(name), Sampling(limit=8, seed=4)
    together = drawn(model, NUMBERS, sampling=settings, count=5)
    begun, begin = [], model.begin
    monkeypatch.setattr(model, "begin", lambda source: begun.append(len(source)) or begin(source))
    monkeypatch.setattr(sampled_answers, "SEQUENCES_AT_ONCE", 3)
    pieces = drawn(model, NUMBERS, sampling=settings, count=5)
    assert max(begun) == 3 and sum(begun) == 5 * len(SOURCES)
    for one, other in zip(pieces, together, strict=True):
        assert [a.tokens.tolist() for a in one] == [b.tokens.tolist() for b in other]
        assert [a.log_prob for a in one] == pytest.approx([b.log_prob for b in other], abs=1e-4)


def test_without_warmth_it_is_greedy_search():
    model = translator_of("encoder-decoder")
    cold = drawn(model, NUMBERS, sampling=Sampling(temperature=0, limit=20))
    with model.inference_mode():
        greedy = beam_search(model, of(*SOURCES), Search(limit=20)).ranked
    for (one,), (other,) in zip(cold, greedy, strict=True):
        assert one.tokens.tolist() == other.tokens.tolist()
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)


def test_only_what_is_allowed_is_drawn():
    found = drawn(translator_of("encoder-decoder"), NUMBERS, count=20, allow=frozenset({4, 6}))
    symbols = {symbol for answers in found for one in answers for symbol in one.tokens.tolist()}
    assert symbols == {4, 6, END}


@pytest.mark.parametrize(
    ("signature", "code"),
    [
        (Signature(Form.NEXT, Tokens(9), Tokens(9)), "U066"),
        (Signature(Form.WHOLE, Tokens(9), Labels(3)), "U062"),
    ],
)
def test_models_whose_answers_cannot_be_drawn(signature, code):
    with pytest.raises(UsageError) as error:
        SamplingDecoder().validate_for(signature)
    assert error.value.code == code
    SamplingDecoder().validate_for(TRANSDUCE)


def test_at_least_one_is_drawn():
    with pytest.raises(UsageError, match="sample 0: expected a whole number of at least 1"):
        SamplingDecoder(count=0)
