"""Interventions by brute force: a zeroed module, a loop written by hand."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from seqloom.errors import UsageError
from seqloom.inspection import InspectedModel, InspectionOptions, available_views, inspect
from seqloom.inspection.interventions import token_span
from seqloom.inspection.layers import sample_attention_layers
from seqloom.signature import END, Form
from seqloom.views.base import intervention_effect
from tests.contracts.cases import SIGNATURES, build, small
from tests.contracts.plain_task import Plain

LOOKING = [
    ("transformer", "NEXT", {"num_layers": 2, "num_heads": 2}),
    ("transformer", "EACH", {"num_layers": 2, "num_heads": 2}),
    ("transformer", "WHOLE", {"num_layers": 1, "num_heads": 2, "positions": "rotary"}),
    ("transformer", "FORECAST", {"num_layers": 2, "num_heads": 2}),
    ("transformer-encoder-decoder", "TRANSDUCE", {"num_heads": 2}),
    ("encoder-decoder", "TRANSDUCE", {"attention": "multi-head", "num_heads": 2}),
]


def subject_of(name, form, options):
    signature = SIGNATURES[form]
    return InspectedModel(
        build(name, signature, small(name, options), seed=4), Plain(signature), name
    )


def looked(subject, view, **options):
    question = subject.task.asked(6, seed=2)
    answer = [4, 5, END] if subject.form is Form.TRANSDUCE else None
    return inspect(
        subject, question, InspectionOptions(view=view, **options), answer=answer
    ).to_json()


def alike(first, second):
    """The same names and the same numbers, but for rounding."""
    if isinstance(first, dict):
        names = set(first) - {"caption", "notes", "edit", "before", "model"}
        return all(alike(first[name], second[name]) for name in names)
    if isinstance(first, list):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(alike(*pair) for pair in pairs)
    if isinstance(first, float) and isinstance(second, float):
        return first == pytest.approx(second, abs=2e-3)
    return first == second


@pytest.mark.parametrize(("name", "form", "options"), LOOKING)
def test_all_heads_mute_is_a_model_whose_heads_find_nothing(name, form, options):
    """In every view: the weights that join the heads of that layer are zero."""
    subject = subject_of(name, form, options)
    layers = looked(subject, "attention")["layers"]
    paths = _paths(subject)
    assert len(paths) == len(layers) > 0
    for number, path in enumerate(paths):
        zeroed = deepcopy(subject.model)
        zeroed.get_submodule(path).join.weight.data.zero_()
        other = InspectedModel(zeroed, subject.task, name)
        every = " ".join(f"mute layer={number} head={head}" for head in (0, 1))
        for kind in available_views(subject):
            if not kind.edits or kind.view in {"attention", "heads"}:
                continue
            more = {"limit": 6} if kind.view == "beam" else {}
            wanted = looked(other, kind.view, **more)
            for edit in (every, f"mute layer={number}"):
                told = looked(subject, kind.view, edit=edit, **more)
                assert alike(wanted, told), (kind.view, path, edit)
                assert alike(told["before"], looked(subject, kind.view, **more))
        muted = looked(subject, "attention", layer=number, head=1, edit=every)
        assert np.abs(np.array(muted["weights"])).max() == 0
        assert np.array(muted["before"]["weights"]).sum(1) == pytest.approx(1, abs=1e-3)
        assert muted["edit"]["told"] == (
            f"head 0 of {layers[number]} is mute; head 1 of {layers[number]} is mute"
        )


def _paths(subject):
    return [layer.path for layer in sample_attention_layers(subject)]


def test_one_head_is_mute_and_the_others_are_not():
    """The model whose matrix that joins the heads has no numbers of the first one."""
    subject = subject_of("transformer", "NEXT", {"num_layers": 1, "num_heads": 2})
    half = deepcopy(subject.model)
    half.body.layers[0].attention.join.weight.data[:, :4] = 0
    wanted = looked(InspectedModel(half, subject.task, "half"), "surprise")
    told = looked(subject, "surprise", edit="mute layer=0 head=0")
    assert told["bits"][1:] == pytest.approx(wanted["bits"][1:], abs=1e-4)
    assert told["bits"][1:] != pytest.approx(told["before"]["bits"][1:], abs=1e-4)


@pytest.mark.parametrize(("layer", "kind"), [(0, "state.hidden"), (1, "state.memory")])
def test_a_cell_that_is_held_is_the_loop_with_that_number(layer, kind):
    """By the equations of the cell, with one number put in its place after every step."""
    subject = subject_of(
        "recurrent", "EACH", {"cell": "lstm", "embedding_size": 4, "hidden_size": 5}
    )
    told = looked(subject, "states", layer=layer, edit=f"clamp layer={layer} cell=2 value=0.5")
    model = subject.model
    (cell,) = (one.cell for one in model.body.layers)
    states = [torch.zeros(1, 5), torch.zeros(1, 5)]
    wanted, labels = [], []
    with torch.no_grad():
        for symbol in subject.task.asked(6, seed=2).source:
            x = model.input(torch.tensor([[symbol]]))[:, 0]
            i, f, g, o = (cell.read(x) + cell.recur(states[0])).chunk(4, dim=-1)
            c = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
            states = [o.sigmoid() * c.tanh(), c]
            states[layer][0, 2] = 0.5
            wanted.append(states[layer][0].numpy().copy())
            labels.append(model.output(states[0])[0].softmax(-1).numpy())
    assert np.array(told["values"]) == pytest.approx(np.stack(wanted), abs=1e-4)
    tags = looked(subject, "tags", edit=f"clamp layer={layer} cell=2 value=0.5")
    best = [tag["p"] for tag in tags["tags"]]
    assert best == pytest.approx([row.max() for row in labels], abs=1e-4)
    assert (
        tags["edit"]["told"].startswith("cell 2 of layer 1")
        and " is held at 0.5" in (tags["edit"]["told"])
    )


@pytest.mark.parametrize("name", ["recurrent", "convolutional", "transformer"])
def test_a_forecast_with_a_cell_held_is_drawn_with_it_at_every_step(name):
    """Held at the number it had, nothing changes; held elsewhere, all futures do."""
    subject = subject_of(name, "FORECAST", {"num_layers": 1})
    cell = looked(subject, "states")["order"][0]
    mean = {
        value: looked(subject, "forecast", edit=f"clamp layer=0 cell={cell} value={value}")
        for value in (-3, 3)
    }
    plain = looked(subject, "forecast")["series"][0]["mean"]
    low, high = (np.array(mean[value]["series"][0]["mean"]) for value in (-3, 3))
    assert mean[3]["before"]["series"][0]["mean"] == pytest.approx(plain, abs=1e-6)
    assert (np.abs(low - high) > 1e-4).all()
    assert mean[3]["caption"].startswith(f"Edited run: cell {cell} of ")


def test_what_is_next_steps_through_the_edit():
    """`next` goes symbol by symbol, `surprise` over the whole: both have the edit."""
    for name in ("recurrent", "transformer", "convolutional"):
        subject = subject_of(name, "NEXT", {"num_layers": 1})
        edit = "clamp layer=0 cell=1 value=0.9"
        bits = looked(subject, "surprise", edit=edit)["bits"]
        chances = [
            looked(subject, "next", at=place, edit=edit)["came"]["p"]
            for place in range(len(bits) - 1)
            if looked(subject, "next", at=place, edit=edit)["came"]
        ]
        known = bits[1 : 1 + len(chances)]
        assert [-np.log2(p) for p in chances] == pytest.approx(known, abs=2e-3), name


@pytest.mark.parametrize(
    "edit",
    [
        "mute",
        "mute layer=9",
        "mute layer=0 head=5",
        "clamp layer=0",
        "clamp layer=0 cell=99",
        "clamp layer=0 cell=1 value=x",
        "clamp layer=0 cell=1 value=nan",
        "shake layer=0",
        "mute at=3",
        "layer=0",
        "replace at=2",
        "replace at=99 by=a",
        "'",
    ],
)
def test_edits_that_cannot_be_made_are_told(edit):
    subject = subject_of("recurrent", "EACH", {"embedding_size": 4, "hidden_size": 5})
    with pytest.raises(UsageError) as caught:
        looked(subject, "states", edit=edit)
    assert caught.value.code in {"U351", "U353"}


def test_a_symbol_is_found_in_its_text():
    """Also the second of two that are alike, and where symbols are in small letters."""
    text = "The dog, the Dog"
    for place, (begin, end) in {0: (0, 3), 1: (4, 7), 3: (9, 12), 4: (13, 16)}.items():
        names = ["the", "dog", ",", "the", "dog"]
        assert token_span(text, names, place) == (begin, end)
    assert token_span("abab", ["<s>", *"abab"], 3) == (2, 3)
    with pytest.raises(UsageError) as caught:
        token_span("abab", ["<s>", *"abab"], 0)
    assert caught.value.code == "U353"


def test_the_effect_is_the_largest_change():
    before = [["symbol", "bits", "rank"], ["a", "1.00", "3"], ["b", "2.00", "70"]]
    after = [["symbol", "bits", "rank"], ["a", "3.00", "3"], ["b", "2.10", "60"]]
    assert intervention_effect(before, after) == "Largest change: bits of a, from 1.00 to 3.00."
    assert intervention_effect(before, before) == "Nothing shown here changes."
    replaced = [["symbol", "bits", "rank"], ["c", "9.00", "3"], ["b", "2.00", "70"]]
    told = intervention_effect(before, replaced, ["c", "b"])
    assert told == "Largest change: bits of c, from 1.00 to 9.00."
    assert "cannot be compared" in intervention_effect(before[:2], replaced[:2])
    words = [["word", "tag"], ["a", "DET"], ["a", "NOUN"]]
    others = [["word", "tag"], ["a", "DET"], ["a", "VERB"]]
    assert intervention_effect(words, others) == "tag of a (2): NOUN becomes VERB."
