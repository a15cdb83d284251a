"""Gradient flow against plain autograd, for models and for untrained cells."""

import numpy as np
import pytest
import torch

import seqloom
from seqloom.errors import DataError, ModelError, UsageError
from seqloom.inspection.gradient_flow.cells import gradient_flow_of_cells
from seqloom.inspection.gradient_flow.gate_statistics import gate_statistics
from seqloom.inspection.gradient_flow.models import gradient_flow_of_model
from seqloom.nn.cells import CELLS
from seqloom.signature import BEGIN, Form
from seqloom.trace import watch
from tests.contracts.cases import GATES, SIGNATURES, batch_for, build


def examples(form: Form, lengths) -> list:
    return [
        batch_for(SIGNATURES[form.name], (length,), seed) for seed, length in enumerate(lengths)
    ]


def looked(form: Form, options, lengths=(7,), **more):
    name = "encoder-decoder" if form is Form.TRANSDUCE else "recurrent"
    model = build(name, SIGNATURES[form.name], {"embedding_size": 6, "hidden_size": 8, **options})
    read = examples(form, lengths)
    return model, read, gradient_flow_of_model(model, read, "mine", clip=1.0, **more)


@pytest.mark.parametrize("cell", CELLS)
def test_the_gradient_of_the_loss_is_autograd_s(cell):
    """A language model by hand in double precision: L is the surprise at the last symbol."""
    model, (batch,), memory = looked(Form.NEXT, {"cell": cell})
    twin = (
        build(
            "recurrent", SIGNATURES["NEXT"], {"embedding_size": 6, "hidden_size": 8, "cell": cell}
        )
        .double()
        .eval()
    )
    read = torch.from_numpy(batch.source.shift_right(BEGIN).values)
    x = twin.input(read)
    states = twin.body(x, torch.from_numpy(batch.source.lengths))
    right = int(batch.target.values[0, -1])
    (found,) = torch.autograd.grad(-twin.output(states)[0, -1, right], x)
    expected = found[0].norm(dim=-1).flip(0).tolist()
    assert memory.loss == pytest.approx(expected, rel=1e-5, abs=1e-12)
    assert len(memory.state) == 7 and memory.state[0] == pytest.approx(1)
    assert (memory.stretch is None) == (cell not in ("elman", "context", "carousel"))


@pytest.mark.parametrize("form", list(Form)[:4])
def test_every_form_and_the_gradient_of_all_weights(form):
    model, (batch,), memory = looked(form, {})
    model.eval().loss(batch).backward()
    norm = torch.cat([w.grad.flatten() for w in model.parameters() if w.grad is not None]).norm()
    assert memory.gradient == pytest.approx(float(norm), rel=1e-4)
    assert memory.clipped() == min(1.0, memory.gradient)
    assert len(memory.loss) == len(memory.state) == 7
    assert [one.steps for one in memory.truncations] == [1, 2, 5]
    assert all(w.share > 0 and 0 < w.cosine <= 1 + 1e-9 for w in memory.truncations)
    cosines = [one.cosine for one in memory.truncations]
    assert cosines[-1] > cosines[0], "a longer window comes closer to the whole gradient"


def test_the_model_is_left_as_it_was():
    model, _, _ = looked(Form.EACH, {})
    assert model.training and all(w.grad is None for w in model.parameters())
    assert all(w.dtype is torch.float32 for w in model.parameters())
    assert not model.body.layers[0]._forward_hooks


@pytest.mark.parametrize("tied", [False, True])
def test_layers_are_chosen_from_below(tied):
    wiring = {"num_layers": 3, "embedding_size": 8, "cell": "elman"}
    model = build("recurrent", SIGNATURES["EACH"], {"hidden_size": 8, **wiring})
    if tied:
        for number in (1, 2):
            model.body.layers[number] = model.body.layers[0]
    read = examples(Form.EACH, (7,))
    found = [
        gradient_flow_of_model(model, read, "mine", clip=0, layer=layer).state
        for layer in (1, 2, 3, 0)
    ]
    assert found[2] == found[3] and len({tuple(state) for state in found}) == 3
    with pytest.raises(UsageError, match="layer 4: mine has 3"):
        gradient_flow_of_model(model, read, "mine", clip=0, layer=4)


def test_several_sequences_are_told_by_their_median():
    _, read, memory = looked(Form.EACH, {"cell": "gru"}, (9, 5, 7))
    model = build(
        "recurrent", SIGNATURES["EACH"], {"embedding_size": 6, "hidden_size": 8, "cell": "gru"}
    )
    alone = [gradient_flow_of_model(model, [r], "one", clip=1.0).state for r in read]
    assert len(memory.state) == 7, "lags that at least half of them have"
    for lag in range(5):
        assert memory.state[lag] == pytest.approx(np.median([one[lag] for one in alone]))


def test_what_cannot_be_looked_into():
    with pytest.raises(DataError) as told:
        looked(Form.EACH, {}, (2, 1))
    assert told.value.code == "D026"
    counts = build("ngram", SIGNATURES["NEXT"], {})
    with pytest.raises(ModelError) as told:
        gradient_flow_of_model(counts, examples(Form.NEXT, (7,)), "counts", clip=0)
    assert told.value.code == "M125" and "counts has no recurrent layer" in str(told.value)
    plain = build(
        "recurrent", SIGNATURES["NEXT"], {"embedding_size": 6, "hidden_size": 8, "cell": "elman"}
    )
    with pytest.raises(ModelError, match="mine has no gates"):
        gate_statistics(plain, examples(Form.NEXT, (7,)), "mine")


@pytest.mark.parametrize("cell", [cell for cell, gates in GATES.items() if gates])
def test_every_gate_of_every_layer_and_direction_is_counted(cell):
    options = {
        "embedding_size": 6,
        "hidden_size": 8,
        "cell": cell,
        "num_layers": 2,
        "bidirectional": True,
    }
    model = build("recurrent", SIGNATURES["EACH"], options)
    with torch.no_grad():
        for parameter in model.body.parameters():
            parameter.mul_(9)  # or no gate would ever be quite open
    read = examples(Form.EACH, (7, 4))
    view = gate_statistics(model, read, "mine")
    found = {(gate.layer, gate.direction, gate.gate): gate for gate in view.gates}
    sides = [(layer, side) for layer in "12" for side in ("forward", "backward")]
    assert found.keys() == {(*side, gate) for side in sides for gate in GATES[cell]}
    assert all(gate.values == (7 + 4) * 4 for gate in view.gates)
    with watch(model) as trace, torch.no_grad():
        for batch in read:
            model.log_prob(batch)
    gate = min(GATES[cell])
    path = "body.backward_layers.1.cell"
    seen = [r.value for r in trace.of_kind(f"gate.{gate}") if r.path == path]
    values = np.concatenate([value.ravel() for value in seen])
    share = found["2", "backward", gate]
    assert share.mean == pytest.approx(values.mean())
    assert share.open == pytest.approx((values > 0.9).mean())
    assert share.shut == pytest.approx((values < 0.1).mean())
    assert 0 < share.open + share.shut < 1


def test_two_stacks_are_named():
    model = build(
        "encoder-decoder", SIGNATURES["TRANSDUCE"], {"embedding_size": 6, "hidden_size": 8}
    )
    view = gate_statistics(model, examples(Form.TRANSDUCE, (5,)), "mine")
    assert {gate.layer for gate in view.gates} == {"encoder 1", "decoder 1"}


def test_a_decoder_that_is_fed_back_to_is_refused():
    options = {
        "embedding_size": 6,
        "hidden_size": 8,
        "encoder": "convolution",
        "input_feeding": True,
    }
    model = build("encoder-decoder", SIGNATURES["TRANSDUCE"], options)
    with pytest.raises(ModelError) as told:
        gradient_flow_of_model(model, examples(Form.TRANSDUCE, (5,)), "mine", clip=1.0)
    assert told.value.code == "M208"


def test_fresh_cells_are_the_same_each_time_and_leave_chance_alone():
    before = torch.get_rng_state()
    one = gradient_flow_of_cells(["gru"], hidden=6, length=8)
    two = gradient_flow_of_cells(["gru"], hidden=6, length=8)
    assert one.to_json() == two.to_json() and torch.equal(before, torch.get_rng_state())
    other = gradient_flow_of_cells(["gru"], hidden=6, length=8, seeds=1)
    assert other.flows[0].state != one.flows[0].state


def test_fresh_cells_take_options_of_their_own_and_for_all():
    view = gradient_flow_of_cells(["elman", "elman:activation=sigmoid"], hidden=6, length=8, skip=2)
    assert [memory.stretch for memory in view.flows] == [None, None]
    plain = gradient_flow_of_cells(["elman", "elman:activation=sigmoid"], hidden=6, length=8)
    tanh, sigmoid = plain.flows
    assert sigmoid.stretch == pytest.approx(tanh.stretch / 4, rel=1e-6)
    assert sigmoid.state[5] < tanh.state[5] / 50
    assert view.flows[0].state[4] != tanh.state[4]


@pytest.mark.parametrize("cell", CELLS)
def test_every_cell_can_be_fresh(cell):
    (memory,) = gradient_flow_of_cells([cell], hidden=6, length=12, seeds=2).flows
    assert len(memory.state) == len(memory.loss) == 12
    assert all(np.isfinite(memory.state)) and memory.gradient > 0


@pytest.mark.parametrize(
    "cells, options, code",
    [
        (["lstmm"], {}, "U002"),
        (["lstm:skp=2"], {}, "U010"),
        (["lstm:skip"], {}, "U005"),
        (["lstm"], {"activation": "relu"}, "M124"),
        (["lstm"], {"length": 1}, "U010"),
        ([], {}, "U010"),
    ],
)
def test_cells_that_cannot_be_made(cells, options, code):
    with pytest.raises((UsageError, ModelError)) as told:
        gradient_flow_of_cells(cells, **{"hidden": 4, "length": 5, **options})
    assert told.value.code == code


def test_models_of_real_numbers_have_a_memory_too(tmp_path):
    settings = {
        "task.length": 8,
        "task.examples": 40,
        "training.epochs": 1,
        "model.pooling": "last",
    }
    run = seqloom.train("algorithms", runs=tmp_path, settings=settings)
    view = run.gradient_flow([run.task.show_question(run.task.generator().draw("test")[0])])
    assert len(view.flows[0].state) == 8
