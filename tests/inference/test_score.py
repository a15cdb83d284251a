"""Scores, symbol by symbol, sum up to what the model says of the whole."""

import math

import numpy as np
import pytest

import seqloom
from seqloom.errors import DataError
from seqloom.inference import score as scoring
from seqloom.inference.score import token_log_probs
from seqloom.signature import Bits, Form

from ..conftest import write_data
from ..contracts.cases import CASES, IDS, batch_for, build, numbers

NEXT = [
    (case, name)
    for case, name in zip(CASES, IDS, strict=True)
    if case[1].form is Form.NEXT and not isinstance(case[1].target, Bits)
]


@pytest.mark.parametrize("case", [c for c, _ in NEXT], ids=[i for _, i in NEXT])
def test_symbols_sum_up_to_the_whole(case):
    name, signature, options = case
    model, batch = build(name, signature, options), batch_for(signature, (6, 1, 4, 9))
    with model.inference_mode():
        found = token_log_probs(model, batch)
        whole = numbers(model.log_prob(batch)).numpy()
    np.testing.assert_allclose(found.sum(1), whole, rtol=1e-5, atol=1e-5)
    assert not found[~batch.target.mask].any() and (found[batch.target.mask] < 0).all()


@pytest.mark.parametrize("case", [c for c, _ in NEXT], ids=[i for _, i in NEXT])
def test_each_symbol_is_what_a_longer_text_adds(case):
    """log p(y_t | y_<t) is the difference of two wholes."""
    name, signature, options = case
    model, batch = build(name, signature, options), batch_for(signature, (5,))
    with model.inference_mode():
        found = token_log_probs(model, batch)[0]
        symbols = batch.target.values[0]
        rows = [symbols[:length] for length in range(1, 6)]
        padded = scoring.Sequences.pad(rows)
        wholes = numbers(model.log_prob(scoring.Batch(padded, padded))).numpy()
    np.testing.assert_allclose(np.cumsum(found), wholes, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    write_data(folder)
    recipe = seqloom.Recipe({"train": str(folder / "text.txt")}, {"name": "language"})
    settings = {"model.name": "ngram", "data.valid_fraction": 0.2}
    return {
        unit: seqloom.train(
            recipe.with_settings({**settings, "task.tokens": unit}), runs=folder / "runs"
        )
        for unit in ("characters", "words")
    }


@pytest.mark.parametrize("unit", ["characters", "words"])
def test_a_score_says_what_evaluate_says(runs, unit, tmp_path):
    run, texts = runs[unit], ["the cat sees a dog", "a dog", "the dog hears a cat"]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    found = run.score(texts)
    nats = -sum(score.log_prob for score in found)
    count = sum(len(score.tokens) for score in found)
    values = run.evaluate(tmp_path / "texts.txt").values()
    assert math.exp(nats / count) == pytest.approx(values["perplexity"])
    assert [score.text for score in found] == texts
    for score, text in zip(found, texts, strict=True):
        assert len(score.tokens) == (len(text) if unit == "characters" else len(text.split())) + 1
        assert score.bits == pytest.approx(-score.log_prob / math.log(2))
        assert score.bits_per_token == pytest.approx(score.bits / len(score.tokens))
        assert score.perplexity == pytest.approx(2**score.bits_per_token)
        assert sum(bits for _, bits in score.surprisal()) == pytest.approx(score.bits)


def test_symbols_are_named_as_typed_and_unknown_ones_are_told(runs):
    (score,) = runs["words"].score(["the zebra sees"])
    assert score.tokens == ["the", "zebra", "sees", "</s>"]
    assert score.unknown == ["zebra"]
    assert max(score.surprisal(), key=lambda pair: pair[1])[0] == "zebra"


def test_many_texts_keep_their_order(runs, monkeypatch):
    texts = ["a dog hears the cat"[:length] for length in (9, 3, 19, 1, 7, 12)]
    run = runs["characters"]
    alone = [run.score([text])[0].log_prob for text in texts]
    monkeypatch.setattr(scoring, "AT_ONCE", 2)
    assert [score.log_prob for score in run.score(texts)] == pytest.approx(alone)
    assert run.score([]) == []


def test_what_no_model_can_surprise_by_more_than():
    score = scoring.Score("x", ["x", "</s>"], np.array([-np.inf, -1.0]), [])
    assert score.bits == score.perplexity == math.inf


@pytest.mark.parametrize("kind", ["ngram", "recurrent"])
def test_nothing_at_all_cannot_be_scored(tmp_path, kind):
    """In a stream an empty sentence has no symbol, not even its end; nor is there a validation."""
    (tmp_path / "text.txt").write_text("to be or not to be\n" * 9)
    settings = {"task.layout": "stream", "data.valid_fraction": 0.0, "training.batch_size": 1}
    settings |= {"training.epochs": 1} if kind == "recurrent" else {}
    run = seqloom.train(
        "language", tmp_path / "text.txt", model=kind, runs=tmp_path, settings=settings
    )
    with pytest.raises(DataError, match="sentence 2 is empty"):
        run.score(["to be", ""])
    assert len(run.score(["to be"])) == 1
