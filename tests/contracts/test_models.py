"""Promises every model keeps, over MODELS × signatures: a new model is tested by being listed."""

from itertools import product

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences, before_the_first
from seqloom.config import options
from seqloom.decoding.state import moved, spread
from seqloom.errors import ModelError
from seqloom.model import Expects, Generator, LearnsByGradient, LearnsFromStatistics, Search, Still
from seqloom.models import MODELS
from seqloom.prediction import Odds
from seqloom.signature import UNKNOWN, Bits, Form, Vectors
from seqloom.trace import watching

from .cases import CASES, IDS, SIGNATURES, batch_for, build, is_drawn, numbers, sequences_in

GENERATED = (Form.NEXT, Form.TRANSDUCE)
every_case = pytest.mark.parametrize("name, signature, settings", CASES, ids=IDS)


def cases_where(is_so):
    found = [(case, i) for case, i in zip(CASES, IDS, strict=True) if is_so(case[1])]
    return pytest.mark.parametrize(
        "name, signature, settings", [case for case, _ in found], ids=[i for _, i in found]
    )


every_generator = cases_where(lambda s: s.form in GENERATED)
every_search = cases_where(lambda s: s.form in GENERATED and not is_drawn(s))
every_drawn = cases_where(is_drawn)


def close(one, other):
    torch.testing.assert_close(numbers(one), numbers(other), rtol=1e-4, atol=1e-5)


def said(model, source, search):
    """What a model answers; of rows of bits, what it expects of each from those before it."""
    if is_drawn(model.signature):
        return [odds.values.tolist() for odds in model.odds(source)]
    return model.predict(source, search).target.rows()


def first_of(signature, rows):
    """What so many sequences begin with."""
    begin = before_the_first(signature.target)
    return np.tile(begin, (rows, 1)) if is_drawn(signature) else np.full(rows, begin)


def agree(found, others):
    """Predictions are the same: symbols exactly, real numbers to what a float can hold."""
    assert [len(row) for row in found] == [len(row) for row in others]
    for row, other in zip(found, others, strict=True):
        close(np.array(row), np.array(other))


@every_case
def test_padding_changes_nothing(name, signature, settings):
    model, batch = build(name, signature, settings), batch_for(signature)

    def wider(sequences, extra):
        values = sequences.values
        more = np.ones((len(sequences), extra, *values.shape[2:]), dtype=values.dtype)
        return Sequences(np.concatenate([values, more], 1), sequences.lengths)

    padded = Batch(
        wider(batch.source, 3), wider(batch.target, 0 if signature.form is Form.WHOLE else 3)
    )
    with model.at_rest():
        close(model.log_prob(batch), model.log_prob(padded))
        found, again = (said(model, b.source, Search(limit=6)) for b in (batch, padded))
    agree(found, again)


@every_case
def test_alone_or_together_is_the_same(name, signature, settings):
    model, batch = build(name, signature, settings), batch_for(signature, (4, 2, 3))

    def alone(s, i):
        return Sequences(s.values[i : i + 1, : s.lengths[i]], s.lengths[i : i + 1])

    with model.at_rest():
        single = [
            model.log_prob(Batch(alone(batch.source, i), alone(batch.target, i))) for i in range(3)
        ]
        close(model.log_prob(batch), np.concatenate([numbers(s).numpy() for s in single]))
        together = said(model, batch.source, Search(beam=2, limit=6))
        one = [said(model, alone(batch.source, i), Search(beam=2, limit=6)) for i in range(3)]
    agree(together, [found[0] for found in one])


@every_case
def test_probabilities_sum_to_one(name, signature, settings):
    """Over every possible target: of one length, or for generators all prefixes of that length.

    Real numbers have a density, whose sum over a grid is nearly its integral.
    """
    seed = CASES.index((name, signature, settings))  # every case is another random model
    if signature.form is Form.FORECAST:
        pytest.skip("densities of series are summed in test_forecasts, after a past")
    model = build(name, signature, settings, seed)
    if isinstance(signature.target, Vectors):
        time, cell = 1, 0.5**signature.target.width
        grid = np.arange(-8, 8, 0.5, dtype=np.float32)
        targets = np.array(list(product(grid, repeat=signature.target.width)))[:, None]
    elif isinstance(signature.target, Bits):
        size, decisions = signature.target.size, np.array([0, 1], dtype=np.float32)
        time, cell = 2 if signature.form is Form.NEXT else 1, 1
        every_one = list(product(decisions, repeat=time * size))
        targets = np.array(every_one).reshape(-1, time, size)
    else:
        time, cell = 1 if signature.form is Form.WHOLE else 3, 1
        copied = signature.target.unknowns if settings.get("copy") else 0
        targets = np.array(list(product(range(signature.target.size + copied), repeat=time)))
    every = Sequences(targets, np.full(len(targets), time))
    read = sequences_in(signature.source, [time], np.random.default_rng(seed)).values
    read = Sequences(np.repeat(read, len(targets), 0), np.full(len(targets), time))
    source = every if signature.form is Form.NEXT else read
    with model.at_rest():
        total = numbers(model.log_prob(Batch(source, every))).exp().sum().item()
    assert total * cell == pytest.approx(1, abs=1e-4)


@every_generator
def test_steps_agree_with_the_whole(name, signature, settings):
    """One symbol at a time gives the log-probability that `log_prob` gives at once."""
    model, batch = build(name, signature, settings), batch_for(signature, (4, 4, 4))
    assert isinstance(model, Generator)
    with model.at_rest():
        state, symbols, total = model.begin(batch.source), first_of(signature, 3), np.zeros(3)
        for t in range(4):
            log_probs, state = model.step(symbols, state)
            symbols = batch.target.values[:, t]
            if is_drawn(signature):
                total = total + Odds(log_probs).log_probs(symbols)
                continue
            said = np.where(symbols < log_probs.shape[1], symbols, UNKNOWN)
            total = total + log_probs[np.arange(3), said]
        close(total, model.log_prob(batch))


def walked(model, source, moves, change):
    """Log-probabilities of some steps, the rows being moved between them by `change`."""
    state, seen = spread(model.begin(source), 2), []
    symbols = first_of(model.signature, 2 * len(source))
    for sources, order in moves:
        log_probs, state = model.step(symbols, state)
        seen.append(np.array(log_probs))
        state = change(state, sources, order)
        symbols = seen[-1].argsort(1)[order, -1 - np.arange(len(order)) % 2]
        if is_drawn(model.signature):  # neighbours go on with different rows
            symbols = np.eye(seen[-1].shape[1], dtype=np.float32)[symbols]
    return seen


@every_generator
def test_rows_moved_in_place_are_as_good_as_copies(name, signature, settings):
    """What a search does to a state: candidates swap, spread and vanish, sources leave."""
    model, source = build(name, signature, settings), batch_for(signature, (4, 2, 3)).source
    moves = [([0, 1, 2], [1, 0, 2, 2, 4, 5]), ([0, 1, 2], [0, 0, 3, 2, 5, 5])]
    moves += [([2, 1], [5, 4, 2, 2]), ([0, 1], [1, 1, 3, 3]), ([1], [3, 2]), ([0], [0, 1])]
    moves = [tuple(map(np.array, move)) for move in moves]
    first = [True]

    def copied(state, sources, order):
        return tuple(p[sources] if isinstance(p, Still) else p[order] for p in state)

    def in_place(state, sources, order):
        is_first, first[0] = first[0], first[0] and len(sources) == 3
        return moved(state, sources, order, is_first=is_first)

    with model.at_rest():
        right = walked(model, source, moves, copied)
        found = walked(model, source, moves, in_place)
        again = walked(model, source, moves, copied)
    for one, other, third in zip(right, found, again, strict=True):
        close(one, other)
        assert np.array_equal(one, third), "what was moved was the model's own"


@every_drawn
def test_what_is_expected_is_as_likely_as_the_model_says(name, signature, settings):
    """The odds of every row, from those before it, come to the log-probability of all."""
    model, batch = build(name, signature, settings), batch_for(signature, (4, 2, 3))
    assert isinstance(model, Expects)
    with model.at_rest():
        odds = model.odds(batch.source)
        rows = [np.array(row) for row in batch.target.rows()]
        close(
            [one.log_probs(row).sum() for one, row in zip(odds, rows, strict=True)],
            model.log_prob(batch),
        )
    assert {len(one.values) for one in odds} == {4, 2, 3}


@every_drawn
def test_rows_of_bits_are_not_searched_for(name, signature, settings):
    model = build(name, signature, settings)
    with pytest.raises(ModelError, match="drawn, not searched for") as told:
        model.predict(batch_for(signature).source, Search())
    assert told.value.code == "M480"


@every_search
@pytest.mark.parametrize("beam", [1, 3])
def test_what_a_search_finds_is_as_likely_as_the_model_says(name, signature, settings, beam):
    """Every answer of every list, also those cut off by the limit."""
    model, source = build(name, signature, settings), batch_for(signature, (4, 2, 3)).source
    given = [len(row) if signature.form is Form.NEXT else 0 for row in source.rows()]
    with model.at_rest():
        found = model.predict(source, Search(beam=beam, nbest=beam, limit=5, length_penalty=0.5))
        for place, ranked in enumerate(found.ranked):
            assert [h.score for h in ranked] == [
                pytest.approx(h.log_prob / len(h.symbols) ** 0.5) for h in ranked
            ]
            read = source.values[place : place + 1, : source.lengths[place]]
            for hypothesis in ranked:
                before = [*read[0, : given[place]].tolist()] if given[place] else []
                whole = Sequences.pad([np.array([*before, *hypothesis.symbols], dtype=np.int64)])
                asked = whole if given[place] else Sequences(read, source.lengths[[place]])
                total = numbers(model.log_prob(Batch(asked, whole)))
                if given[place]:
                    start = Sequences(read, source.lengths[[place]])
                    total = total - numbers(model.log_prob(Batch(start, start)))
                close([hypothesis.log_prob], total)


@every_case
def test_every_parameter_learns(name, signature, settings):
    model = build(name, signature, settings)
    if isinstance(model, LearnsFromStatistics):
        before = {k: v.copy() for k, v in model.weights().items()}
        model.update(model.statistics(batch_for(signature, (7, 7, 7), seed=9)))
        after = model.weights()
        assert any(not np.array_equal(before[k], after[k]) for k in before)
        return
    assert isinstance(model, LearnsByGradient)
    model.loss(batch_for(signature, (4, 5))).backward()
    still = [
        n
        for n, p in model.named_parameters()
        if p.grad is None or not p.grad.isfinite().all() or not p.grad.any()
    ]
    assert not still


@every_case
def test_loss_is_surprise_per_symbol(name, signature, settings):
    model, batch = build(name, signature, settings), batch_for(signature)
    if not isinstance(model, LearnsByGradient):
        pytest.skip("learns by counting")
    if signature.form is Form.FORECAST:
        pytest.skip("the past is learned, too, and quantiles have an aim of their own")
    model.smoothing = 0.0
    with model.at_rest():
        surprise = -numbers(model.log_prob(batch)).sum() / batch.target.lengths.sum()
        close(model.loss(batch), surprise)


@every_case
def test_watching_changes_nothing(name, signature, settings):
    """The fused kernels and the readable steps agree; what is recorded is what it is called."""
    model, batch = build(name, signature, settings), batch_for(signature)
    with model.at_rest():
        before = model.log_prob(batch)
        with watching(model) as trace:
            after = model.log_prob(batch)
    close(before, after)
    for seen in trace.of_kind("attention"):
        np.testing.assert_allclose(seen.value.sum(-1), 1, atol=1e-5)
        assert seen.path.endswith("attention")
    for seen in trace.of_kind("gate.*"):
        assert ((seen.value > 0) & (seen.value < 1)).all()


@every_case
def test_weights_bring_back_the_same_model(name, signature, settings):
    model, other = build(name, signature, settings), build(name, signature, settings, seed=5)
    batch = batch_for(signature)
    other.restore({name: np.array(array) for name, array in model.weights().items()})
    with model.at_rest(), other.at_rest():
        assert numbers(model.log_prob(batch)).tolist() == numbers(other.log_prob(batch)).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_weights_of_another_model_are_refused(name):
    kind = MODELS[name]
    model = kind(next(s for s in SIGNATURES.values() if kind.can_do(s)))
    with pytest.raises(ModelError) as told:
        model.restore({"something": np.zeros(3)})
    assert told.value.code == "M111"


@pytest.mark.parametrize("name", MODELS)
def test_every_option_is_explained(name):
    assert all(option.help and option.expects for option in options(MODELS[name]))
