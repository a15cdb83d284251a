"""Contract of every view, over MODELS × signatures: a new model shows what it supports."""

import json
import math

import numpy as np
import pytest

from seqloom.batch import Sequences
from seqloom.errors import ModelError, UsageError
from seqloom.inspection import VIEW_KINDS, InspectedModel, available_views, inspect
from seqloom.inspection.options import InspectionOptions
from seqloom.model import Search
from seqloom.signature import END, Bits, Form, Labels, Tokens

from .. import sentences
from .cases import CASES, IDS, build, small
from .plain_task import Plain

# Every model in every form, and what changes what is recorded.
MORE = [
    {"cell": "lstm", "num_layers": 2},
    {"cell": "context", "num_layers": 2},
    {"bidirectional": True, "num_layers": 2, "dropout": 0.3},
    {"crf": True},
    {"pooling": "attentive"},
    {"positions": "rotary", "norm": "after", "context": 4},
    {"copy": True},
    {"attention": "multi-head", "num_heads": 2, "attention_window": 1},
    {"query": "previous", "attention": "location", "input_feeding": True, "cell": "gru"},
    {"filters": [1, 3], "num_layers": 2, "padding": "valid", "stride": 2, "pooling": "max"},
    {"output": "student", "center": "last", "look_back": 3},
    {"output": "quantile", "center": "standard", "ahead": "direct"},
    {"ahead": "direct", "patch": 2, "look_back": 5},
    {"ahead": "direct", "bidirectional": True},
]
LIMIT = 8  # symbols that a search may write
FEW = [
    pytest.param(case, id=name)
    for case, name in zip(CASES, IDS, strict=True)
    if case[2] == small(case[0], {}) or any(case[2] == small(case[0], more) for more in MORE)
]


def plain(value):
    """Whether JSON has words for all of it, and no number is beyond bounds."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and plain(one) for key, one in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int | bool)


def looked(subject, question, view, **options):
    """Models that learned nothing write up to the limit: a short answer keeps tests quick."""
    answer = [4, END] if subject.form is Form.TRANSDUCE else None
    if answer and view == "influence":
        options["at"] = 0
    if view == "beam":
        options["limit"] = LIMIT
    return inspect(subject, question, InspectionOptions(view=view, **options), answer=answer)


@pytest.mark.parametrize("case", FEW)
def test_every_view_that_is_offered_can_be_made(case):
    name, signature, options = case
    task = Plain(signature)
    subject = InspectedModel(build(name, signature, options), task, name)
    found = available_views(subject)
    assert [k.view for k in found.shown] + [k.view for k in found.missing] != []
    assert {k.view for k in found.shown} | {k.view for k in found.missing} == set(VIEW_KINDS)
    for kind in found.shown:
        question = task.asked()
        try:
            view = looked(subject, question, kind.view)
        except UsageError as error:  # without smoothing nothing may be able to follow
            assert error.code == "U032"
            continue
        told = view.to_json()
        assert told["view"] == kind.view and told["caption"] and plain(told), kind.view
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        assert view.to_svg().startswith("<svg") and view.to_text() and len(view.to_table()) > 1
        sentences.check(told)
        CHECKS.get(kind.view, lambda *_: None)(subject, question, told)
    for kind in found.missing:
        with pytest.raises(ModelError) as caught:
            looked(subject, task.asked(), kind.view)
        assert caught.value.code == "M114"


def of_attention(subject, question, told):
    assert np.array(told["weights"]).sum(1) == pytest.approx(1, abs=1e-4)
    assert told["layers"][told["layer"]] and told["head"] == "mean"
    for layer in range(len(told["layers"])):
        one = looked(subject, question, "attention", layer=layer, head=0).to_json()
        assert (one["layer"], one["head"]) == (layer, 0)
        assert np.array(one["weights"]).sum(1) == pytest.approx(1, abs=1e-4)
    with pytest.raises(UsageError):
        looked(subject, question, "attention", layer=len(told["layers"]))
    with pytest.raises(UsageError):
        looked(subject, question, "attention", head=told["heads"])


def of_heads(subject, question, told):
    matrices = [head for layer in told["layers"] for head in layer["heads"]]
    assert all(np.array(one["weights"]).sum(1) == pytest.approx(1, abs=5e-3) for one in matrices)
    assert all(one["behaviour"] for one in matrices)


def of_next(subject, question, told):
    assert sum(one["p"] for one in told["choices"]) + told["rest"] == pytest.approx(1, abs=1e-4)
    cut = looked(subject, question, "next", top_k=2, temperature=0.5).to_json()
    possible = [one for one in cut["choices"] if one["p"]]  # what is impossible is not cut off
    kept = [one["after"] for one in possible if one["kept"]]
    assert len(kept) == cut["kept"] == 2 and sum(kept) == pytest.approx(1, abs=1e-6)
    rail = told["tokens"][told["rail"]]
    with pytest.raises(UsageError):
        looked(subject, question, "next", at=len(rail))


def of_surprise(subject, question, told):
    bits = told["bits"]
    with subject.model.inference_mode():
        whole = -float(subject.model.log_prob(subject.task.batch([question]))[0])
    known = [one for one in bits[1:] if one is not None]
    assert bits[0] is None and len(bits) == len(told["tokens"]["src"])
    assert sum(known) * math.log(2) == pytest.approx(whole, rel=1e-4, abs=1e-4)
    assert sum(known) / len(known) == pytest.approx(told["mean"], abs=1e-5)
    assert all(1 <= rank <= subject.target.size for rank in told["ranks"][1:])


def of_choices(subject, question, told):
    chances = [one["p"] for one in told["choices"]]
    assert chances == sorted(chances, reverse=True)
    if isinstance(subject.target, Labels):
        assert sum(chances) == pytest.approx(1, abs=1e-5)
        best = predicted(subject, question).target.values[0, 0]
        assert told["choices"][0]["label"] == subject.output_name(int(best))


def of_influence(subject, question, told):
    shape = np.array(told["influence"], dtype=float).shape
    assert shape == (len(told["tokens"]["tgt"]), len(told["tokens"]["src"]))
    assert len(told["reach"]) == shape[0]


def of_tags(subject, question, told):
    found = predicted(subject, question, probabilities=True)
    labels = found.target.rows()[0]
    assert [tag["label"] for tag in told["tags"]] == subject.task.show_tokens(question, labels)[1]
    assert told["labels"] == [subject.output_name(n) for n in range(subject.target.size)]
    for tag, row, label in zip(told["tags"], found.probabilities[0], labels, strict=True):
        assert tag["p"] == pytest.approx(float(row[label]), abs=1e-5)
        assert tag["p"] + sum(p for _, p in tag["alternatives"]) == pytest.approx(1, abs=0.01)


def of_trellis(subject, question, told):
    """Given all there is, both know the same; of labels the best path is what is predicted."""
    filtered, smoothed = np.array(told["filtered"]), np.array(told["smoothed"])
    assert filtered.sum(1) == pytest.approx(1, abs=1e-4)
    assert smoothed.sum(1) == pytest.approx(1, abs=1e-4)
    assert len(told["path"]) == len(told["tokens"]["src"])
    if subject.form is Form.EACH and isinstance(subject.target, Labels):
        found = predicted(subject, question, probabilities=True)
        assert told["path"] == found.target.rows()[0]
        assert smoothed == pytest.approx(found.probabilities[0], abs=1e-5)
    else:  # nothing stands behind the last place
        assert filtered[-1] == pytest.approx(smoothed[-1], abs=1e-4)


def of_beam(subject, question, told):
    """The best of the tree is what the same search predicts; its log-probabilities only fall."""
    asked = {"beam": told["beam"], "nbest": told["beam"], "limit": LIMIT}
    best = predicted(subject, question, **asked)
    assert told["written"][0] == subject.task.show(best.target.rows()[0])
    assert told["log_probs"][0] == pytest.approx(float(best.log_prob[0]), abs=1e-3)
    greedy = predicted(subject, question, limit=asked["limit"])
    assert told["greedy"]["text"] == subject.task.show(greedy.target.rows()[0])
    for node in told["nodes"]:
        assert node["why"] and node["step"] >= 0
        if node["parent"] >= 0:
            parent = told["nodes"][node["parent"]]
            assert parent["step"] == node["step"] - 1
            assert node["log_prob"] <= parent["log_prob"] + 1e-5
    assert len(told["answers"]) <= len(told["written"])


def of_states(subject, question, told):
    values, (low, high) = np.array(told["values"]), told["range"]
    assert len(values) == len(told["tokens"]["src"]) and low <= values.min() <= values.max() <= high
    assert sorted(told["order"]) == list(range(values.shape[1]))


def of_cell(subject, question, told):
    states = looked(subject, question, "states", layer=told["layer"]).to_json()
    own = looked(subject, question, "cell", layer=told["layer"], cell=1).to_json()
    assert own["values"] == [row[1] for row in states["values"]] and own["cell"] == 1
    with pytest.raises(UsageError):
        looked(subject, question, "cell", cell=told["cells"])


def predicted(subject, question, **search):
    source = Sequences.pad([np.asarray(subject.task.encode_source(question))])
    with subject.model.inference_mode():
        return subject.model.predict(source, Search(**search))


CHECKS = {
    "attention": of_attention,
    "heads": of_heads,
    "next": of_next,
    "surprise": of_surprise,
    "choices": of_choices,
    "influence": of_influence,
    "tags": of_tags,
    "trellis": of_trellis,
    "beam": of_beam,
    "states": of_states,
    "cell": of_cell,
}


def test_forms_show_what_they_predict():
    """Whatever model it is, a form has views of what it answers."""
    for name, signature, options in CASES[:: max(1, len(CASES) // 40)]:
        subject = InspectedModel(build(name, signature, options), Plain(signature), name)
        shown = {kind.view for kind in available_views(subject)}
        is_symbols = isinstance(signature.target, Tokens)
        assert ("surprise" in shown) == (signature.form is Form.NEXT and is_symbols)
        is_label = isinstance(signature.target, Labels | Bits)
        assert ("choices" in shown) == (signature.form is Form.WHOLE and is_label)
        assert ("forecast" in shown) == (signature.form is Form.FORECAST)
