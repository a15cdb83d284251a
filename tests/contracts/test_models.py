"""Contract of every model, over MODELS × signatures: a new model is tested once it is registered."""

from itertools import product

import numpy as np
import pytest
import torch

from seqloom.batch import Batch, Sequences, begin_value
from seqloom.config import options
from seqloom.decoding.state import reorder_state, repeat_rows
from seqloom.errors import ModelError
from seqloom.model import (
    BernoulliOutputs,
    Constant,
    EMTrained,
    Generator,
    GradientTrained,
    Search,
    StatisticsTrained,
)
from seqloom.models import MODELS
from seqloom.prediction import BernoulliLogits
from seqloom.signature import UNKNOWN, Bits, Form, Vectors
from seqloom.trace import watch

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
    """The predictions of a model; for rows of bits, their logits."""
    if is_drawn(model.signature):
        return [logits.values.tolist() for logits in model.bit_logits(source)]
    return model.predict(source, search).target.rows()


def first_of(signature, rows):
    """The input before the first position of so many sequences."""
    begin = begin_value(signature.target)
    return np.tile(begin, (rows, 1)) if is_drawn(signature) else np.full(rows, begin)


def agree(found, others):
    """Predictions are the same: tokens exactly, real numbers up to rounding."""
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
    with model.inference_mode():
        close(model.log_prob(batch), model.log_prob(padded))
        found, again = (said(model, b.source, Search(limit=6)) for b in (batch, padded))
    agree(found, again)


@every_case
def test_alone_or_together_is_the_same(name, signature, settings):
    model, batch = build(name, signature, settings), batch_for(signature, (4, 2, 3))

    def alone(s, i):
        return Sequences(s.values[i : i + 1, : s.lengths[i]], s.lengths[i : i + 1])

    with model.inference_mode():
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
    with model.inference_mode():
        total = numbers(model.log_prob(Batch(source, every))).exp().sum().item()
    assert total * cell == pytest.approx(1, abs=1e-4)


@every_generator
def test_steps_agree_with_the_whole(name, signature, settings):
    """Steps give the same log-probability as `log_prob` of the whole target."""
    model, batch = build(name, signature, settings), batch_for(signature, (4, 4, 4))
    assert isinstance(model, Generator)
    with model.inference_mode():
        state, symbols, total = model.begin(batch.source), first_of(signature, 3), np.zeros(3)
        for t in range(4):
            log_probs, state = model.step(symbols, state)
            symbols = batch.target.values[:, t]
            if is_drawn(signature):
                total = total + BernoulliLogits(log_probs).log_probs(symbols)
                continue
            said = np.where(symbols < log_probs.shape[1], symbols, UNKNOWN)
            total = total + log_probs[np.arange(3), said]
        close(total, model.log_prob(batch))


def stepped(model, source, moves, change):
    """Log-probabilities of some steps, with the rows of the state reordered between them."""
    state, seen = repeat_rows(model.begin(source), 2), []
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
    """What beam search does to a state: candidates are reordered, copied and dropped, sources end."""
    model, source = build(name, signature, settings), batch_for(signature, (4, 2, 3)).source
    moves = [([0, 1, 2], [1, 0, 2, 2, 4, 5]), ([0, 1, 2], [0, 0, 3, 2, 5, 5])]
    moves += [([2, 1], [5, 4, 2, 2]), ([0, 1], [1, 1, 3, 3]), ([1], [3, 2]), ([0], [0, 1])]
    moves = [tuple(map(np.array, move)) for move in moves]
    first = [True]

    def copied(state, sources, order):
        return tuple(p[sources] if isinstance(p, Constant) else p[order] for p in state)

    def in_place(state, sources, order):
        is_first, first[0] = first[0], first[0] and len(sources) == 3
        return reorder_state(state, sources, order, is_first=is_first)

    with model.inference_mode():
        right = stepped(model, source, moves, copied)
        found = stepped(model, source, moves, in_place)
        again = stepped(model, source, moves, copied)
    for one, other, third in zip(right, found, again, strict=True):
        close(one, other)
        assert np.array_equal(one, third), "what was moved was the model's own"


@every_drawn
def test_bit_logits_give_the_log_probability(name, signature, settings):
    """The logits of all rows give the log-probability of the sequence."""
    model, batch = build(name, signature, settings), batch_for(signature, (4, 2, 3))
    assert isinstance(model, BernoulliOutputs)
    with model.inference_mode():
        logits = model.bit_logits(batch.source)
        rows = [np.array(row) for row in batch.target.rows()]
        close(
            [one.log_probs(row).sum() for one, row in zip(logits, rows, strict=True)],
            model.log_prob(batch),
        )
    assert {len(one.values) for one in logits} == {4, 2, 3}


@every_drawn
def test_rows_of_bits_are_not_searched_for(name, signature, settings):
    model = build(name, signature, settings)
    with pytest.raises(ModelError, match="sampled, not searched for") as told:
        model.predict(batch_for(signature).source, Search())
    assert told.value.code == "M480"


@every_search
@pytest.mark.parametrize("beam", [1, 3])
def test_what_a_search_finds_is_as_likely_as_the_model_says(name, signature, settings, beam):
    """Every hypothesis of every n-best list, also those cut off by the limit."""
    model, source = build(name, signature, settings), batch_for(signature, (4, 2, 3)).source
    given = [len(row) if signature.form is Form.NEXT else 0 for row in source.rows()]
    with model.inference_mode():
        found = model.predict(source, Search(beam=beam, nbest=beam, limit=5, length_penalty=0.5))
        for place, ranked in enumerate(found.ranked):
            assert [h.score for h in ranked] == [
                pytest.approx(h.log_prob / len(h.tokens) ** 0.5) for h in ranked
            ]
            read = source.values[place : place + 1, : source.lengths[place]]
            for hypothesis in ranked:
                before = [*read[0, : given[place]].tolist()] if given[place] else []
                whole = Sequences.pad([np.array([*before, *hypothesis.tokens], dtype=np.int64)])
                asked = whole if given[place] else Sequences(read, source.lengths[[place]])
                total = numbers(model.log_prob(Batch(asked, whole)))
                if given[place]:
                    start = Sequences(read, source.lengths[[place]])
                    total = total - numbers(model.log_prob(Batch(start, start)))
                close([hypothesis.log_prob], total)


@every_case
def test_every_parameter_learns(name, signature, settings):
    model = build(name, signature, settings)
    if isinstance(model, StatisticsTrained):
        before = {k: v.copy() for k, v in model.weights().items()}
        model.update(model.statistics(batch_for(signature, (7, 7, 7), seed=9)))
        after = model.weights()
        assert any(not np.array_equal(before[k], after[k]) for k in before)
        return
    assert isinstance(model, GradientTrained)
    model.loss(batch_for(signature, (4, 5))).backward()
    still = [
        n
        for n, p in model.named_parameters()
        if p.grad is None or not p.grad.isfinite().all() or not p.grad.any()
    ]
    assert not still


@pytest.mark.parametrize("name", MODELS)
def test_it_says_how_it_is_trained(name):
    """`learns` names a kind of estimation, the one that the protocol of the model stands for."""
    for case, signature, settings in CASES:
        if case != name:
            continue
        model = build(name, signature, settings)
        if isinstance(model, EMTrained):
            kinds = ("EM", "maximum likelihood")
        elif isinstance(model, StatisticsTrained):
            kinds = ("closed form", "maximum likelihood")
        else:
            kinds = ("gradient descent",)
        assert any(kind in model.learns for kind in kinds), (
            f"{model.learns!r}: {kinds} was expected"
        )
    is_network = issubclass(MODELS[name], torch.nn.Module)
    assert is_network or "gradient descent" not in MODELS[name].learns


@every_case
def test_loss_is_nats_per_token(name, signature, settings):
    model, batch = build(name, signature, settings), batch_for(signature)
    if not isinstance(model, GradientTrained):
        pytest.skip("not trained by gradient descent")
    if signature.form is Form.FORECAST:
        pytest.skip("the past adds to the loss, too, and quantiles have a loss of their own")
    model.label_smoothing = 0.0
    with model.inference_mode():
        surprise = -numbers(model.log_prob(batch)).sum() / batch.target.lengths.sum()
        close(model.loss(batch), surprise)


@every_case
def test_watching_changes_nothing(name, signature, settings):
    """Fused kernels and the reference implementation agree; recorded attention sums to 1."""
    model, batch = build(name, signature, settings), batch_for(signature)
    with model.inference_mode():
        before = model.log_prob(batch)
        with watch(model) as trace:
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
    with model.inference_mode(), other.inference_mode():
        assert numbers(model.log_prob(batch)).tolist() == numbers(other.log_prob(batch)).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_weights_of_another_model_are_refused(name):
    kind = MODELS[name]
    model = kind(next(s for s in SIGNATURES.values() if kind.supports(s)))
    with pytest.raises(ModelError) as told:
        model.restore({"something": np.zeros(3)})
    assert told.value.code == "M111"


@pytest.mark.parametrize("name", MODELS)
def test_every_option_is_explained(name):
    assert all(option.help and option.expects for option in options(MODELS[name]))
