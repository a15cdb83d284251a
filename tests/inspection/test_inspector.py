"""Views against brute force: features of cells, patterns of heads, HMM states, Kalman weights."""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from seqloom.batch import Sequences
from seqloom.errors import UsageError
from seqloom.inspection import InspectedModel, available_views, inspect
from seqloom.inspection.neuron_features import token_features
from seqloom.inspection.neurons import cell_features
from seqloom.inspection.options import InspectionOptions
from seqloom.models.hmm import HMM
from seqloom.models.kalman import Kalman
from seqloom.signature import Form, Series, Signature, Tokens
from seqloom.views.heads import AttentionHead
from tests.contracts.cases import batch_for
from tests.contracts.plain_task import Plain

TEXT = [*'she said "come (now) or never" twice.\nthen "no 7 (or 8) Men" left.\n' * 3]


def test_a_cell_that_follows_something_has_its_story():
    """Planted among noise, each is found as the clearest of its cell, and noise has no story."""
    found = {one.words: one.values for one in token_features(TEXT)}
    chance = np.random.default_rng(1)
    values = chance.normal(scale=0.3, size=(len(TEXT), 40))
    values[:, 7] += 2 * found["inside quotation marks"] - 1
    values[:, 11] -= 2 * found["on spaces"] - 1
    values[:, 23] += found["position in the line"] / 10
    told = {one.cell: one for one in cell_features(values, token_features(TEXT))}
    assert set(told) == {7, 11, 23}
    assert told[7].feature == "inside quotation marks" and told[11].feature == "on spaces"
    assert told[23].feature == "position in the line" and "rises with" in told[23].sentence
    inside = values[found["inside quotation marks"] > 0, 7].mean()
    assert told[7].inside == pytest.approx(inside) and f"({inside:.2f}," in told[7].sentence
    assert told[7].sentence.startswith("Cell 7 is high inside quotation marks")
    assert told[11].sentence.startswith("Cell 11 is low on spaces")
    assert 0.5 < told[7].information <= 1 and 0.8 < told[7].fraction <= 1


def test_features_say_what_they_mean():
    marks = [*'a "b (C)" 1']
    found = {one.words: one.values for one in token_features(["<s>", *marks], [])}
    quoted = found["inside quotation marks"][1:]
    assert [m for m, inside in zip(marks, quoted, strict=True) if inside] == [*'"b (C)']
    bracketed = found["inside brackets"][1:]
    assert [m for m, inside in zip(marks, bracketed, strict=True) if inside] == [*"(C"]
    assert found["on digits"].sum() == found["on a capital"].sum() == 1
    labels = ["D", "N", "D"]
    assert "on D" in {one.words for one in token_features(["the", "cat", "the"], labels)}


@pytest.mark.parametrize(
    ("weights", "pattern"),
    [
        (np.eye(6, k=-1) + np.eye(6) * (np.arange(6) == 0), "previous token"),
        (np.eye(6), "same position"),
        (np.tile(np.eye(6)[0], (6, 1)), "first token"),
        (np.full((6, 6), 1 / 6), "spread out"),
        (np.tile(np.eye(6)[3], (6, 1)), "one token"),
    ],
)
def test_a_head_is_called_by_what_it_does(weights, pattern):
    head = AttentionHead.of(weights, is_same=True)
    assert head.pattern == pattern and head.fraction > 0.5
    assert AttentionHead.of(np.eye(6), is_same=False).pattern == "diagonal"


def test_hidden_states_are_those_of_every_path():
    """Filtered, smoothed and the best path of a small model, by all paths there are."""
    signature = Signature(Form.NEXT, Tokens(6), Tokens(6))
    HMM.seed(3)
    model = HMM(signature, states=3)
    text = np.array([4, 5, 3, 4])
    walked, weights = model.infer_states(Sequences.pad([text])), model.weights()
    paths = np.array(list(product(range(3), repeat=4)))

    def likely(steps):
        total = weights["first"][paths[:, 0]] * weights["shown"][paths[:, 0], text[0]]
        for t in range(1, steps):
            total = total * weights["moves"][paths[:, t - 1], paths[:, t]]
            total = total * weights["shown"][paths[:, t], text[t]]
        return total

    for place in range(4):
        for chances, total in ((walked.filtered, likely(place + 1)), (walked.smoothed, likely(4))):
            wanted = np.array([total[paths[:, place] == state].sum() for state in range(3)])
            np.testing.assert_allclose(chances[place], wanted / wanted.sum(), atol=1e-12)
    assert walked.path.tolist() == paths[likely(4).argmax()].tolist()


def test_weights_of_a_kalman_filter_are_exact():
    """A level that walks: its forecast is a mean of the past, and moves just as the weights say."""
    signature = Signature(Form.FORECAST, Series(1, 0, 1, 2), Series(1, 0, 1, 2))
    Kalman.seed(0)
    model, task = Kalman(signature, structure="local-level"), Plain(signature)
    model.update(model.statistics(batch_for(signature, (12, 9), 4)))
    (series,) = task.asked(12, seed=5)
    told = inspect(
        InspectedModel(model, task, "mine"), [series], InspectionOptions(view="influence")
    ).to_json()
    assert told["unit"] == "weight" and told["tokens"]["tgt"] == ["+1", "+2"]
    weights = np.array(told["influence"], dtype=float)
    assert np.isnan(weights[:, 0]).all()  # the first number is missing there
    assert np.nansum(weights, axis=1) == pytest.approx([1, 1], abs=1e-4)
    values = np.nan_to_num(series.values[:, 0])
    foreseen = inspect(
        InspectedModel(model, task, "mine"), [series], InspectionOptions(view="forecast")
    ).to_json()
    mean = foreseen["series"][0]["mean"]
    assert np.nan_to_num(weights) @ values == pytest.approx(mean, abs=1e-3)
    assert "depends on the last" in told["caption"] and "90 % of the attribution" in told["caption"]


def test_options_are_checked_at_once():
    for wrong in ({"layer": -2}, {"top_p": 2.0}, {"beam": -1}, {"lair": 3}, {"cell": "x"}):
        with pytest.raises(UsageError):
            InspectionOptions.of(wrong)
    assert InspectionOptions.of({"temperature": 1}).temperature == 1.0


def test_views_are_in_the_order_of_the_page():
    signature = Signature(Form.NEXT, Tokens(6), Tokens(6))
    found = available_views(InspectedModel(HMM(signature, states=2), Plain(signature), "mine"))
    assert [kind.view for kind in found] == ["next", "surprise", "influence", "trellis", "beam"]
    assert [option.name for option in found.shown[0].options()][:2] == ["at", "temperature"]
    assert all(kind.title and kind.about.endswith(".") for kind in found.shown + found.missing)


@pytest.mark.parametrize("name", ["attribution", "gradient_flow.gate_statistics", "options"])
def test_parts_start_without_all_views(name):
    code = f"import sys, seqloom.inspection.{name}; sys.exit('seqloom.inspection.registry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
