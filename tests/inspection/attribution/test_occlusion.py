"""Occlusion, against each altered input by itself."""

import numpy as np
import pytest

from seqloom.batch import Batch, Sequences
from seqloom.cancellation import cancel_by
from seqloom.inspection.attribution import AttributionOptions, occlusion
from seqloom.inspection.attribution.target import AttributionProblem, OutputPart
from seqloom.model import Search
from seqloom.signature import UNKNOWN, Columns, Form, Letters, Tokens

from ...contracts.cases import SIGNATURES, build, small
from .problems import problem

NEXT = [
    ("recurrent", False),
    ("transformer", True),
    ("ngram", False),
    ("ngram", True),
    ("feedforward", False),
    ("feedforward", True),
]


@pytest.mark.parametrize(("name", "leave_out"), NEXT)
def test_occlusion_of_the_next_symbol_is_exact(name, leave_out):
    model = build(name, SIGNATURES["NEXT"], small(name, {}))

    def log_prob(read, symbol):
        """By itself, from the beginning."""
        state = model.begin(Sequences.pad([np.array(read)]))
        for number in read:
            log_probs, state = model.step(np.array([number]), state)
        return float(log_probs[0, symbol])

    with model.inference_mode():
        given = problem(model, Form.NEXT, 4)
        found = occlusion.attribute(given, AttributionOptions(leave_out=leave_out)).values
        for t, s in np.ndindex(found.shape):
            read = given.inputs[: t + 1].tolist()
            whole = log_prob(read, given.output[t])
            if s <= t:
                read[s : s + 1] = [] if leave_out else [UNKNOWN]
            if not read:
                assert np.isnan(found[t, s])
                continue
            truth = whole - log_prob(read, given.output[t])
            assert found[t, s] == pytest.approx(truth, abs=1e-5)
            assert s <= t or found[t, s] == 0


@pytest.mark.parametrize("name", ["ngram", "feedforward"])
@pytest.mark.parametrize("leave_out", [False, True])
def test_what_a_short_context_does_not_reach_is_not_read_again(name, leave_out):
    """However long the text: the model takes a few steps for each token, not one for all others."""
    model = build(name, SIGNATURES["NEXT"], small(name, {}))
    context, length = model.context_length, 60
    read = np.random.default_rng(0).integers(4, model.signature.target.size, length)
    own, rows = model.step, []

    def step(tokens, state):
        rows.append(len(tokens))
        return own(tokens, state)

    model.step = step
    for parts in ([length - 1], range(length)):
        rows.clear()
        shown = tuple(OutputPart(t, 5, "5") for t in parts)
        given = AttributionProblem(
            model, read, tuple(map(str, read)), np.append(read[1:], 5), shown
        )
        with model.inference_mode():
            values = occlusion.attribute(given, AttributionOptions(leave_out=leave_out)).values
        assert sum(rows) <= (2 * context + 4) * length
        near = np.arange(length)[None] > np.array(parts)[:, None] - context
        assert not values[~near].any()


@pytest.mark.parametrize("name", ["ngram", "feedforward"])
def test_a_context_length_is_what_the_model_reads(name):
    model = build(name, SIGNATURES["NEXT"], small(name, {}))
    rng, size = np.random.default_rng(0), model.signature.target.size
    near = rng.integers(4, size, model.context_length)

    def after(*texts):
        read = np.concatenate(texts)
        with model.inference_mode():
            state = model.begin(Sequences.pad([read]))
            for token in read:
                log_probs, state = model.step(np.array([token]), state)
        return log_probs

    far = [rng.integers(4, size, 7) for _ in range(3)]
    assert all(np.array_equal(after(far[0], near), after(one, near)) for one in far[1:])


def test_it_ends_when_nobody_waits_any_more():
    model = build("recurrent", SIGNATURES["NEXT"], small("recurrent", {}))
    given, calls = problem(model, Form.NEXT, 9), []

    def check():
        calls.append(1)
        if len(calls) == 13:
            raise TimeoutError

    with model.inference_mode(), cancel_by(check), pytest.raises(TimeoutError):
        occlusion.attribute(given, AttributionOptions())
    assert len(calls) == 13


WRITING = [
    ("encoder-decoder", False),
    ("transformer-encoder-decoder", True),
    ("convolutional-encoder-decoder", False),
]


@pytest.mark.parametrize(("name", "leave_out"), WRITING)
def test_occlusion_of_what_is_written_is_exact(name, leave_out):
    model = build(name, SIGNATURES["TRANSDUCE"], small(name, {}))

    def log_probs(read, target):
        """Of each symbol: what it adds to those before it."""
        sums = [
            float(model.log_prob(Batch(Sequences.pad([read]), Sequences.pad([target[:end]])))[0])
            for end in range(1, len(target) + 1)
        ]
        return np.diff(sums, prepend=0.0)

    with model.inference_mode():
        given = problem(model, Form.TRANSDUCE, 4)
        found = occlusion.attribute(given, AttributionOptions(leave_out=leave_out)).values
        whole = log_probs(given.inputs, given.output)
        for s in range(len(given.inputs)):
            less = np.delete(given.inputs, s)
            read = less if leave_out else np.insert(less, s, UNKNOWN)
            truth = whole - log_probs(read, given.output)
            assert found[:, s] == pytest.approx(truth, abs=1e-5)


@pytest.mark.parametrize("form", ["EACH", "WHOLE", "WHOLE-bits", "EACH-columns", "WHOLE-vectors"])
@pytest.mark.parametrize("leave_out", [False, True])
def test_occlusion_of_labels_is_exact(form, leave_out):
    signature = SIGNATURES[form]
    more = {"letters": "recurrent", "letters_width": 2, "feature_width": 1}
    options = {"bidirectional": True} | (more if form == "EACH-columns" else {})
    model = build("recurrent", signature, small("recurrent", options))
    with model.inference_mode():
        given = problem(model, signature.form, 4)
        found = occlusion.attribute(given, AttributionOptions(leave_out=leave_out)).values
        whole = chances(model, given.inputs)
        for t, s in np.ndindex(found.shape):
            label = given.parts[t].value
            read = occlusion.hidden(given.inputs, s, signature.source)
            place = t
            if leave_out:
                read, place = np.delete(given.inputs, s, axis=0), t - (t > s)
                if signature.form is Form.EACH and t == s:
                    assert np.isnan(found[t, s])
                    continue
            there = chances(model, read)[0 if signature.form is Form.WHOLE else place, label]
            truth = np.log(whole[t, label]) - np.log(there)
            assert found[t, s] == pytest.approx(truth, abs=1e-5)
        assert np.nanmax(abs(found)) > 1e-4


def chances(model, read):
    found = model.predict(Sequences.pad([read]), Search(probabilities=True))
    return found.probabilities[0].astype(np.float64)


def test_all_columns_of_a_word_are_hidden_together():
    space = Columns((Tokens(9), Letters(7, 3), Tokens(5)))
    read = np.array([[8, 5, 6, 4, 4], [7, 4, 4, 0, 4]])
    found = occlusion.hidden(read, 0, space)
    assert found.tolist() == [[UNKNOWN, UNKNOWN, 0, 0, UNKNOWN], [7, 4, 4, 0, 4]]
    assert read[0, 0] == 8, "what was read stays as it was"
