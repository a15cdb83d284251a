"""Views of forecasting networks against a loop written by hand."""

import numpy as np
import pytest
import torch

from seqloom.config import options as constructor_options
from seqloom.data.series.schema import TimeSeries
from seqloom.inspection import InspectedModel, InspectionOptions, available_views, inspect
from seqloom.inspection.neuron_features import series_features
from seqloom.inspection.neurons import cell_features
from seqloom.models import MODELS
from seqloom.signature import Form, Series, Signature
from tests.contracts.cases import build
from tests.contracts.plain_task import Plain

SPACE = Series(1, 0, 1, 3)
SIGNATURE = Signature(Form.FORECAST, SPACE, SPACE)
VALUES = np.sin(np.arange(30) / 3) + np.arange(30) / 30


def subject_of(name, **options):
    """A model that forecasts, with weights that chance gave it."""
    if any(option.name == "center" for option in constructor_options(MODELS[name])):
        options = {"center": "none", **options}  # the network reads the values themselves
    return InspectedModel(build(name, SIGNATURE, options, seed=3), Plain(SIGNATURE), name)


def series_of(values=VALUES):
    times = tuple(f"day {number}" for number in range(len(values)))
    return [TimeSeries("sun", np.array(values)[:, None], np.zeros((len(values), 0)), times)]


def looked(subject, view, question=None, **options):
    question = series_of() if question is None else question
    return inspect(subject, question, InspectionOptions(view=view, **options)).to_json()


@pytest.mark.parametrize("ahead", ["sampled", "direct"])
def test_states_of_a_series_are_those_of_the_loop(ahead):
    """The last rows that it looks back at, step by step by the equations of the cell."""
    subject = subject_of(
        "recurrent",
        cell="lstm",
        embedding_size=4,
        hidden_size=5,
        num_layers=2,
        look_back=12,
        ahead=ahead,
    )
    told = looked(subject, "states", layer=1)
    assert told["layers"] == ["layer 1", "layer 1 memory", "layer 2", "layer 2 memory"]
    assert told["tokens"]["src"] == [f"day {number}" for number in range(18, 30)]
    assert told["tokens"]["numbers"] == [f"{value:.4g}" for value in VALUES[18:]]
    model = subject.model
    h = c = torch.zeros(1, 5)
    found, forget = [], []
    with torch.no_grad():
        cell = model.body.layers[0].cell
        for value in VALUES[18:]:
            x = model.input(torch.tensor([[[value]]], dtype=torch.float32))[:, 0]
            i, f, g, o = (cell.read(x) + cell.recur(h)).chunk(4, dim=-1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            found.append(c[0].numpy())
            forget.append(f.sigmoid()[0].numpy())
    assert np.array(told["values"]) == pytest.approx(np.stack(found), abs=1e-4)
    gates = looked(subject, "gates", layer=0)["gates"]
    assert np.array(gates["gate.forget"]["values"]) == pytest.approx(np.stack(forget), abs=1e-4)


def test_a_transformer_of_series_shows_where_each_step_looks():
    """Also where the past is longer than its context: then it is read in blocks."""
    for context in (32, 8):
        subject = subject_of(
            "transformer", hidden_size=8, num_heads=2, num_layers=2, context=context, look_back=20
        )
        told = looked(subject, "attention", layer=0, head=1)
        weights = np.array(told["weights"])
        assert weights.shape == (20, 20) and told["heads"] == 2 and len(told["layers"]) == 2
        assert weights.sum(1) == pytest.approx(1, abs=1e-3)
        assert np.triu(weights, 1).max() == 0 and told["tokens"]["tgt"] == told["tokens"]["src"]
        if context == 8:
            assert weights[19, :12].max() == 0  # the block of the last step begins later
        assert len(looked(subject, "heads")["layers"]) == 2
    alone = looked(
        subject_of("transformer", hidden_size=8, num_heads=2, num_layers=1, context=32), "attention"
    )
    moved = looked(
        subject_of("transformer", hidden_size=8, num_heads=2, num_layers=1, context=32),
        "attention",
        series_of(np.append(VALUES[:-1], 9.0)),
    )
    changed = np.abs(np.array(alone["weights"]) - np.array(moved["weights"])).max(1)
    assert changed[:-1].max() == 0 < changed[-1]


def test_steps_that_are_read_together_are_one_place():
    subject = subject_of(
        "recurrent", embedding_size=4, hidden_size=5, ahead="direct", patch=4, look_back=14
    )
    told = looked(subject, "states")
    wanted = ["day 16 … day 17", "day 18 … day 21", "day 22 … day 25", "day 26 … day 29"]
    assert told["tokens"]["src"] == wanted and len(told["values"]) == 4
    assert told["tokens"]["numbers"][1] == f"{VALUES[18:22].mean():.4g}"


def test_models_without_records_show_no_more_than_before():
    for name in ("naive", "nlinear", "feedforward", "kalman"):
        shown = {kind.view for kind in available_views(subject_of(name))}
        assert not shown & {"states", "gates", "attention", "cell", "gradient_flow"}, name
    shown = {
        kind.view
        for kind in available_views(subject_of("convolutional", embedding_size=4, hidden_size=5))
    }
    assert {"states", "cell", "influence", "forecast"} <= shown and "gates" not in shown


def test_gradients_of_a_series_are_of_its_last_number():
    """∂ -log p(last | before) / ∂ x, by autograd through the whole model."""
    subject = subject_of("recurrent", cell="elman", embedding_size=4, hidden_size=5, look_back=10)
    told = looked(subject, "gradient_flow")
    (one,) = told["models"]
    assert told["layers"] == ["layer 1"] and told["layer"] == 0
    assert len(one["state"]) == len(one["loss"]) == 10
    layer = subject.model.body.layers[0]
    with torch.no_grad():
        x = subject.model.input(torch.tensor(VALUES[None, 19:29, None], dtype=torch.float32))
    x.requires_grad_(True)
    states, _ = layer.run(x, layer.initial(1))
    forecaster = subject.model.forecaster
    p = forecaster.output(states[:, -1:])
    loss = -forecaster.density.log_density(
        p, torch.tensor([[[VALUES[29]]]], dtype=torch.float32)
    ).sum()
    (found,) = torch.autograd.grad(loss, x)
    assert one["loss"] == pytest.approx(found[0].norm(dim=-1).flip(0).tolist(), rel=1e-3)


def test_a_cell_that_follows_a_series_has_its_story():
    chance = np.random.default_rng(1)
    numbers = np.cumsum(chance.normal(size=120))
    numbers[chance.permutation(120)[:25]] = np.nan
    values = chance.normal(scale=0.2, size=(120, 20))
    values[:, 4] += np.nan_to_num(numbers) / 4
    values[:, 9] += 2 * np.isnan(numbers) - 1
    told = {one.cell: one for one in cell_features(values, series_features(numbers))}
    assert set(told) == {4, 9}
    assert told[4].sentence.startswith("Cell 4 rises with the value that is read")
    assert "where low" in told[4].sentence and "where high" in told[4].sentence
    assert told[9].sentence.startswith("Cell 9 is high where a value is missing")
