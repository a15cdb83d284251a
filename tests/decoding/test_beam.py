"""Beam search against trying everything, on small random models."""

from itertools import product

import numpy as np
import pytest

from seqloom.batch import Batch, Sequences
from seqloom.decoding import beam_search
from seqloom.errors import ModelError
from seqloom.model import Search
from seqloom.signature import BEGIN, END, PAD
from seqloom.trace import watch
from tests.contracts.cases import SIGNATURES, SIZE, build, numbers

LIMIT = 4
ALLOWED = [symbol for symbol in range(SIZE) if symbol not in (PAD, BEGIN, END)]
NEXT, TRANSDUCE = SIGNATURES["NEXT"], SIGNATURES["TRANSDUCE"]
MODELS = [
    ("ngram", NEXT, {"order": 2}),
    ("recurrent", NEXT, {"embedding_size": 6, "hidden_size": 8}),
]
MODELS += [
    ("encoder-decoder", TRANSDUCE, {"embedding_size": 6, "hidden_size": 8, "attention": "additive"})
]


def source_of(rows):
    return Sequences.pad([np.array(row, dtype=np.int64) for row in rows])


def every_target():
    """All that may be said in at most LIMIT symbols, the last one END."""
    return [[*body, END] for length in range(LIMIT) for body in product(ALLOWED, repeat=length)]


def sharpened(model):
    """Random weights are almost even; larger ones make a search worth the name."""
    if hasattr(model, "parameters"):
        for weight in model.parameters():
            weight.data.mul_(3)
    return model


def best_by_trying(model, signature, row, penalty):
    targets = every_target()
    target = source_of(targets)
    source = target if signature is NEXT else source_of([row] * len(targets))
    with model.inference_mode():
        scores = numbers(model.log_prob(Batch(source, target))).numpy()
    ranked = scores / np.array([len(t) for t in targets]) ** penalty
    return targets[int(ranked.argmax())], scores[int(ranked.argmax())]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("name, signature, options", MODELS, ids=[m[0] for m in MODELS])
def test_a_wide_beam_finds_the_best_of_all(name, signature, options, seed, penalty):
    model = sharpened(build(name, signature, options, seed))
    rows = [[3, 5, 2], [4, 2]]
    width = len(ALLOWED) ** LIMIT
    settings = Search(beam=width, length_penalty=penalty, limit=LIMIT)
    start = source_of([[], []]) if signature is NEXT else source_of(rows)
    with model.inference_mode():
        found = beam_search(model, start, settings)
    for place, row in enumerate(rows):
        right, score = best_by_trying(model, signature, row, penalty)
        assert found.target.rows()[place] == right
        assert found.log_prob[place] == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("name, signature, options", MODELS, ids=[m[0] for m in MODELS])
def test_greedy_takes_the_likeliest_symbol_each_time(name, signature, options):
    model = sharpened(build(name, signature, options, 3))
    source = source_of([[] if signature is NEXT else [3, 5, 2]])
    with model.inference_mode():
        found = beam_search(model, source, Search(limit=6)).target.rows()[0]
        state, symbol, expected = model.begin(source), np.array([BEGIN]), []
        while len(expected) < 6 and END not in expected:
            log_probs, state = model.step(symbol, state)
            log_probs[:, [PAD, BEGIN]] = -np.inf
            symbol = log_probs.argmax(1)
            expected.append(int(symbol[0]))
    assert found == expected


def test_a_prefix_is_forced_and_costs_nothing():
    model = build("ngram", NEXT, {"order": 3}, 1)
    prefix = source_of([[4, 5], [3]])
    found = beam_search(model, prefix, Search(limit=5), prefix)
    for row, answer, log_prob in zip(
        prefix.rows(), found.target.rows(), found.log_prob, strict=True
    ):
        whole = source_of([[*row, *answer]])
        before = source_of([row])
        cost = numbers(model.log_prob(Batch(whole, whole))) - numbers(
            model.log_prob(Batch(before, before))
        )
        assert log_prob == pytest.approx(cost.item(), abs=1e-9)


def test_the_limit_cuts_off():
    model = build("ngram", NEXT, {"order": 1}, 1)
    empty = source_of([[]])
    assert len(beam_search(model, empty, Search(limit=1)).target.rows()[0]) == 1


@pytest.mark.parametrize("seed", range(3))
def test_coverage_counts_where_attention_looked(seed):
    """The penalty, from the weights that are recorded when the whole answer is read at once."""
    model = sharpened(
        build("encoder-decoder", TRANSDUCE, {"embedding_size": 6, "hidden_size": 8}, seed)
    )
    rows, settings = [[3, 5, 4, 2], [4, 2]], Search(beam=3, nbest=3, coverage_penalty=0.7, limit=6)
    with model.inference_mode():
        found = beam_search(model, source_of(rows), settings)
        for row, ranked in zip(rows, found.ranked, strict=True):
            for hypothesis in ranked:
                with watch(model) as trace:
                    batch = Batch(source_of([row]), source_of([hypothesis.tokens]))
                    total = model.log_prob(batch).item()
                looked = trace.of_kind("attention")[-1].value[0].sum(0)
                covered = np.log(np.minimum(looked, 1)).sum()
                right = total / len(hypothesis.tokens) + 0.7 * covered
                assert hypothesis.score == pytest.approx(right, abs=1e-4)


def test_without_attention_there_is_no_coverage():
    model = build(
        "encoder-decoder",
        TRANSDUCE,
        {"embedding_size": 6, "hidden_size": 8, "attention": "none"},
        0,
    )
    with model.inference_mode(), pytest.raises(ModelError) as told:
        beam_search(model, source_of([[3, 2]]), Search(beam=2, coverage_penalty=0.1))
    assert told.value.code.startswith("M")
