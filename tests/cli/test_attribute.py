"""seqloom attribute: attribution."""

import json

import pytest

import seqloom
from seqloom.cli.commands import attribute as command
from seqloom.inspection.attribution import METHODS, AttributionOptions, TargetOptions

TEXT = "the cat sees a dog"


def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("name", "form"),
    [("judge", (1, 6)), ("tagger", (5, 5)), ("counts", (1, 19)), ("attentive", (None, 6))],
)
def test_every_task_is_explained(cli, runs, name, form):
    """One value for each input token and each part of the output, with its probability."""
    (found,) = objects(cli("attribute", name, "--text", TEXT, "--json").out)
    rows, columns = form
    assert rows in (None, len(found["influence"]))
    assert {len(row) for row in found["influence"]} == {columns} == {len(found["tokens"]["src"])}
    assert found["by"] == "occlusion" and all(0 < p <= 1 for p in found["chances"])
    run = seqloom.load(runs / name)
    if name != "counts":
        (answer,) = run.predict([TEXT])
        shown = " ".join(symbol for symbol in found["tokens"]["tgt"] if symbol != "</s>")
        assert shown == run.task.show(answer)


@pytest.mark.parametrize("name", ["judge", "tagger", "attentive", "counts", "writer"])
def test_all_probes_draw_the_same_symbols(runs, name):
    run = seqloom.load(runs / name)
    views = {}
    for kind in METHODS:
        try:
            views[kind] = run.attribute("the cat", options=AttributionOptions(by=kind))
        except seqloom.errors.ModelError as error:
            assert error.code == "M341" and kind not in " ".join(error.help)
    assert "occlusion" in views and ("gradient" in views) == (name != "counts")
    assert ("attention" in views) == (name == "attentive")
    first = views["occlusion"]
    for view in views.values():
        assert view.source == first.source and view.targets == first.targets
        assert view.attributions.shape == first.attributions.shape


def test_one_place_is_a_row_of_all(cli):
    (whole,) = objects(cli("attribute", "tagger", "--text", TEXT, "--json").out)
    for at in ("cat", "2"):
        (one,) = objects(cli("attribute", "tagger", "--text", TEXT, "--at", at, "--json").out)
        assert one["influence"] == [pytest.approx(whole["influence"][1], abs=1e-5)]
        assert one["places"] == [2] and one["tokens"]["tgt"] == whole["tokens"]["tgt"][1:2]
    (every,) = objects(cli("attribute", "counts", "--text", "the cat", "--every", "--json").out)
    (third,) = objects(cli("attribute", "counts", "--text", "the cat", "--at", "e", "--json").out)
    assert third["influence"][0] == pytest.approx(every["influence"][2][:3])
    (last,) = objects(cli("attribute", "counts", "--text", "the cat", "--json").out)
    assert last["influence"][0] == pytest.approx(every["influence"][-1])


def test_another_answer_can_be_asked_for(cli):
    (own,) = objects(cli("attribute", "judge", "--text", TEXT, "--json").out)
    answer = own["tokens"]["tgt"][0]
    other = "short" if answer == "long" else "long"
    (found,) = objects(cli("attribute", "judge", "--text", TEXT, "--for", other, "--json").out)
    assert found["tokens"]["tgt"] == [other]
    assert own["chances"][0] + found["chances"][0] == pytest.approx(1, abs=1e-5)
    tags = ["V", "V", "N", "D", "N"]
    (found,) = objects(
        cli("attribute", "tagger", "--text", TEXT, "--for", " ".join(tags), "--json").out
    )
    assert found["tokens"]["tgt"] == tags
    (found,) = objects(cli("attribute", "tagger", "--text", TEXT, "--for", "V", "--json").out)
    assert found["tokens"]["tgt"] == ["V"] * 5
    (found,) = objects(
        cli("attribute", "attentive", "--text", "a cat", "--for", "cat a", "--json").out
    )
    assert found["tokens"]["tgt"] == ["cat", "a", "</s>"]
    (found,) = objects(
        cli("attribute", "writer", "--text", "the ca", "--for", "</s>", "--json").out
    )
    assert found["tokens"]["tgt"] == ["</s>"]


def test_texts_come_from_options_or_a_file_and_pictures_are_numbered(cli, tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("the cat\n\na dog sees\n")
    two = objects(cli("attribute", "judge", "--file", str(file), "--json").out)
    assert [one["tokens"]["src"] for one in two] == [
        ["the", "cat", "</s>"],
        ["a", "dog", "sees", "</s>"],
    ]
    given = ["attribute", "judge", "--text", "the cat", "--text", "a dog sees"]
    assert objects(cli(*given, "--json").out) == two
    done = cli(*given, "-o", str(tmp_path / "why.svg"))
    assert done.out.split() == [str(tmp_path / name) for name in ("why.svg", "why-2.svg")]
    assert "a dog sees" not in (tmp_path / "why.svg").read_text()
    assert (tmp_path / "why-2.svg").read_text().startswith("<svg")


def test_the_terminal_says_by_which_probe_and_in_colour_where_welcome(cli, monkeypatch):
    done = cli("attribute", "judge", "--text", "the zebra sees")
    assert done.out.startswith('"') and "by occlusion" in done.out.splitlines()[0]
    assert "against" in done.out and "\033" not in done.out
    assert "Note: each token in turn was replaced by <unk>" in done.out
    assert "1 of 3 tokens is unknown and read as <unk>" in done.err
    monkeypatch.setattr(command, "wants_colour", lambda stream: True)
    monkeypatch.setattr(command, "coloured", lambda text, colour, stream: f"<{colour} {text}>")
    lines = cli("attribute", "counts", "--text", "the ca").out.splitlines()
    assert "<cyan █>" in lines[3]
    (row,) = [line for line in lines if line.lstrip().startswith("against")]
    assert "cyan" not in row


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["tagger", "--text", "a cat", "--at", "3"], "U120", "the text has 2 positions"),
        (["tagger", "--text", "a cat", "--at", "dog"], "U120", "no such token"),
        (["tagger", "--text", "a cat a", "--at", "a"], "U120", "by its number: 1, 3"),
        (["judge", "--text", "a cat", "--at", "1"], "U121", "one label"),
        (["judge", "--text", "a cat", "--for", "shrot"], "M340", "did you mean 'short'?"),
        (["tagger", "--text", "a cat", "--for", "N N N"], "M340", "3 labels, and the text 2"),
        (["attentive", "--text", "a cat", "--for", "zebra"], "M340", "no token"),
        (["writer", "--text", "a cat", "--for", "Ω"], "M340", "no output"),
        (["counts", "--text", "a cat", "--by", "gradient"], "M341", "help: --by occlusion"),
        (["judge", "--text", "a cat", "--by", "posterior"], "M341", "help: --by gradient"),
        (["judge", "--text", "a cat", "--by", "magic"], "U002", "'magic'"),
        (["attentive", "--text", "a cat", "--rollout"], "M342", "no layers"),
        (["judge", "--text", "a", "--by", "gradient", "--leave-out"], "U122", "for occlusion"),
        (["judge", "--text", "a cat", "--every"], "U122", "next token"),
        (["counts", "--text", "a cat", "--every", "--at", "1"], "U122", "choose one"),
        (["judge", "--text", "  "], "D023", "the text is empty"),
        (["counts", "--text", ""], "D023", "the text is empty"),
        (["judge"], "U001", "no input"),
        (["judge", "--text", "a", "--file", "b"], "U001", "choose one"),
        (["judge", "--text", "a", "--beam", "0"], "U010", "--beam"),
        (["judge", "--text", "a", "-o", "x.gif"], "U011", "suffix"),
    ],
)
def test_bad_input_gets_a_sentence(cli, arguments, code, words):
    done = cli("attribute", *arguments)
    assert done.code == {"U": 2, "D": 3, "M": 4}[code[0]]
    assert f"error[{code}]" in done.err and words in done.err
    assert "Traceback" not in done.err


def test_in_python(runs):
    run = seqloom.load(runs / "judge")
    view = run.attribute(
        TEXT, options=AttributionOptions(integrated=True), target=TargetOptions(instead="long")
    )
    assert view.by == "integrated gradient" and view.targets[0].output == "long"
    assert "they sum to" in view.to_text()
