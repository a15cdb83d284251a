"""Streaming gives the same as reading the whole sequence, over MODELS × forms."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from seqloom.batch import Batch, Sequences, begin_value
from seqloom.errors import ModelError
from seqloom.inference.stream import stepper_of
from seqloom.model import Search
from seqloom.nn.cells import CELLS
from seqloom.nn.cells.options import RNNOptions
from seqloom.nn.numpy_steps import recurrence
from seqloom.signature import BEGIN, Bits, Form, Tokens, Vectors

from .cases import CASES, IDS, SIGNATURES, batch_for, build, numbers

READ = [4, 5, 3, 5, 5, 4, 3]
LABELS = [0, 2, 1, 1, 0, 2, 2]
NEED_THE_WHOLE = {
    "transformer",
    "hmm-tagger",
    "bag-of-words",
    "hierarchical-attention",
}  # but for NEXT
CAUSAL = [
    (case, number)
    for case, number in zip(CASES, IDS, strict=True)
    if case[1].form not in (Form.TRANSDUCE, Form.FORECAST)  # for these: test_forecasts
    and not case[2].get("bidirectional")
    and (case[0] not in NEED_THE_WHOLE or case[1].form is Form.NEXT)
    and not {"crf", "filters"} & case[2].keys()
]
OF = {form: SIGNATURES[form.name] for form in (Form.NEXT, Form.EACH, Form.WHOLE, Form.TRANSDUCE)}
OPTIONS = [
    {"residual": True},
    {"initial_state": "learned"},
    {"first_bias": True},
    {"skip": 2},
    {"zoneout": 0.3},
    {"layer_norm": True},
    {"tied": True},
    {"recurrent_dropout": 0.5},
    {"activation": "sigmoid"},
    {"activation": "relu"},
    {"peepholes": "diagonal"},
    {"reset": "before"},
    {"reset": "before", "layer_norm": True},
    {"layer_norm": True, "first_bias": True, "skip": 3, "residual": True},
]


def possible(cell, options):
    kind = CELLS[cell]
    special = {"activation", "peepholes", "reset"} & options.keys()
    return special <= kind.own_options and not options.keys() & kind.unsupported.keys()


def whole(model, form, length):
    """Log-probabilities after so many values, in double precision, from whole sequences."""
    model = copy.deepcopy(model)
    if isinstance(model, nn.Module):
        model.double()
    size = OF[form].target.size
    read = np.array(READ[:length])

    def total(source, target):
        rows = [Sequences(np.array(r), np.full(len(r), len(r[0]))) for r in (source, target)]
        with model.inference_mode():
            return numbers(model.log_prob(Batch(*rows))).numpy()

    if form is Form.WHOLE:
        return total([read] * size, [[k] for k in range(size)])
    before = read if form is Form.NEXT else np.array(LABELS[: length - 1])
    targets = [[*before, k] for k in range(size)]
    sums = total(targets if form is Form.NEXT else [read] * size, targets)
    return sums - np.log(np.exp(sums).sum())


def streamed(model, form):
    """Log-probabilities after each value, by steps."""
    stepper = stepper_of(model)
    state, found = stepper.begin(), []
    if form is Form.NEXT:
        _, state = stepper.step(BEGIN, state)
    for value in READ:
        log_probs, state = stepper.step(value, state)
        found.append(log_probs)
    return found


def stir(model):
    """Weights large enough to matter, in every parameter: some start at zero or one."""
    if isinstance(model, nn.Module):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.3)
    return model


def agree(model, form):
    for length, log_probs in enumerate(streamed(model, form), start=1):
        np.testing.assert_allclose(log_probs, whole(model, form, length), rtol=1e-6, atol=1e-6)


def agree_on_rows(model, signature):
    """After each row: log-probabilities of labels, or the numbers, as of the sequence so far."""
    rows = batch_for(signature, (7,)).source
    exact = copy.deepcopy(model)
    if isinstance(model, nn.Module):
        exact.double()
    stepper, is_next = stepper_of(model), signature.form is Form.NEXT
    state = stepper.begin()
    if is_next:
        _, state = stepper.step(begin_value(signature.source), state)
    for length in range(1, 8):
        answer, state = stepper.step(rows.values[0, length - 1], state)
        values = rows.values[:, :length]
        if is_next:  # what is said of a row that is not read yet, whatever it is
            values = np.concatenate([values, rows.values[:, :1]], axis=1)
        if isinstance(signature.source, Vectors):
            values = values.astype(np.float64)
        read = Sequences(values, np.array([values.shape[1]]))
        if not isinstance(model, nn.Module):  # labels alone, by a model that knows their chances
            told = np.log(exact.predict(read, Search(probabilities=True)).probabilities)
            np.testing.assert_allclose(answer, told[0, -1], rtol=1e-6, atol=1e-6)
            continue
        with exact.inference_mode():
            states = exact._states(read)
            chances = exact.output.probabilities(states, np.array([states.shape[1]]))
            told = exact.output(states).numpy() if chances is None else np.log(chances)
        np.testing.assert_allclose(answer, told[0, -1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", [c for c, _ in CAUSAL], ids=[i for _, i in CAUSAL])
def test_steps_answer_as_the_whole_does(case):
    name, signature, settings = case
    model = stir(build(name, signature, settings))
    if isinstance(signature.source, Tokens) and not isinstance(signature.target, Bits):
        agree(model, signature.form)
    else:
        agree_on_rows(model, signature)


WIRED = [(cell, options) for cell in CELLS for options in OPTIONS if possible(cell, options)]


@pytest.mark.parametrize("cell, options", WIRED, ids=[f"{c}-{'-'.join(o)}" for c, o in WIRED])
def test_every_wiring_of_every_cell(cell, options):
    settings = {
        "cell": cell,
        "embedding_size": 6,
        "hidden_size": 8,
        "num_layers": 3,
        "rnn_options": RNNOptions(**options),
    }
    agree(stir(build("recurrent", OF[Form.EACH], settings)), Form.EACH)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "max", "last", "ends", "attentive"])
def test_every_pooling(pooling, residual):
    rnn_options = RNNOptions(residual=residual)
    settings = {
        "embedding_size": 6,
        "hidden_size": 8,
        "num_layers": 2,
        "pooling": pooling,
        "rnn_options": rnn_options,
    }
    agree(stir(build("recurrent", OF[Form.WHOLE], settings)), Form.WHOLE)


@pytest.mark.parametrize("form", [Form.NEXT, Form.EACH, Form.WHOLE])
@pytest.mark.parametrize("pooling", ["mean", "ends"])
def test_without_numpy_kernels_and_tables_it_is_the_same(form, pooling, monkeypatch):
    """Cells without NumPy kernels are stepped in torch; large vocabularies have no table."""
    settings = {
        "embedding_size": 6,
        "hidden_size": 8,
        "num_layers": 2,
        "pooling": pooling,
        "dropout": 0.4,
    }
    settings["rnn_options"] = RNNOptions(residual=True, first_bias=True)
    model = stir(build("recurrent", OF[form], settings))
    monkeypatch.setattr("seqloom.models.streaming.MAX_TABLE", 0)
    agree(model, form)
    monkeypatch.setattr(recurrence, "NUMPY_CELLS", {})
    agree(model, form)


def test_a_step_changes_neither_its_state_nor_the_model():
    model = stir(
        build("recurrent", OF[Form.EACH], {"embedding_size": 6, "hidden_size": 8, "num_layers": 2})
    )
    before = {name: array.copy() for name, array in model.weights().items()}
    stepper = stepper_of(model)
    _, first = stepper.step(4, stepper.begin())
    kept = [part.copy() for part in first]
    once, _ = stepper.step(5, first)
    stepper.step(3, first)
    again, _ = stepper.step(5, first)
    assert once.tolist() == again.tolist()
    assert all(np.array_equal(one, other) for one, other in zip(kept, first, strict=True))
    assert all(np.array_equal(before[name], array) for name, array in model.weights().items())


def test_every_cell_has_a_numpy_step():
    assert set(recurrence.NUMPY_CELLS) == set(CELLS.values())


@pytest.mark.parametrize("form", [Form.EACH, Form.WHOLE])
@pytest.mark.parametrize("name", ["recurrent", "convolutional", "transformer"])
def test_bidirectional_models_cannot_stream(name, form):
    both = {"embedding_size": 6, "hidden_size": 8, "bidirectional": True}
    model = build(name, OF[form], {"hidden_size": 8} if name == "transformer" else both)
    with pytest.raises(ModelError, match="cannot stream") as told:
        stepper_of(model)
    assert told.value.code == "M130"


def test_what_reads_a_whole_source_is_refused():
    model = build("encoder-decoder", OF[Form.TRANSDUCE], {"embedding_size": 6, "hidden_size": 8})
    with pytest.raises(ModelError, match="only after the whole source") as told:
        stepper_of(model)
    assert told.value.code == "M130"
