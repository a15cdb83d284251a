"""evaluate, predict and its verbs, inspect: commands that use a trained run."""

import contextlib
import json
import sys
from xml.etree import ElementTree

import pytest


@pytest.fixture
def type_in(monkeypatch, tmp_path):
    """Standard input with these bytes in it."""
    with contextlib.ExitStack() as opened:

        def typed(text: bytes) -> None:
            file = tmp_path / "typed"
            file.write_bytes(text)
            monkeypatch.setattr(sys, "stdin", opened.enter_context(file.open(encoding="utf-8")))

        yield typed


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_evaluate_prints_every_metric_with_n_and_interval(say, files):
    said = say("evaluate", "tagger", str(files / "tags.conll"))
    assert said.code == 0
    assert "accuracy" in said.out and "sentences all right" in said.out
    assert "%" in said.out and " – " in said.out
    assert "n = 60 examples (tags.conll), 95 % intervals" in said.out
    assert "greedy" not in said.out, "nothing is searched for in a tagger"


def test_evaluate_without_a_file_takes_the_test_part(say, runs):
    said = say("evaluate", "attentive", "--beam", "2", "--json")
    found = json.loads(said.out)
    assert found["examples"] == "the test part of attentive" and found["beam"] == 2
    started = json.loads((runs / "attentive" / "events.jsonl").read_text().splitlines()[0])
    assert found["n"] == started["examples"]["test"]
    error = found["metrics"]["sequence_error"]
    assert error["low"] <= error["value"] <= error["high"]


def test_evaluate_tells_of_unknown_words_on_stderr(say, tmp_path):
    file = tmp_path / "zebra.csv"
    file.write_text("text,label\nthe zebra sees,short\n")
    said = say("evaluate", "judge", str(file))
    assert "33.3 % of symbols are unknown and read as <unk>" in said.err
    assert "<unk>" not in said.out
    assert not say("evaluate", "judge", str(file), "--quiet").err


def test_evaluate_on_labels_that_training_never_showed(say, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("text,label\nthe cat sees,short\nthe dog sees,huge\n")
    said = say("evaluate", "judge", str(file))
    assert said.code == 4 and "error[M101]: label 'huge' was not in" in said.err
    assert f"{file}:3" in said.err
    said = say("evaluate", "judge", str(file), "--unknown-labels", "skip")
    assert said.code == 0 and "n = 1 example " in said.out
    assert "1 examples left out" in said.err


def test_evaluate_reads_a_file_as_it_is_told(say, tmp_path):
    file = tmp_path / "other.csv"
    file.write_bytes("satz,art\nthe cat séés,short\n".encode("latin-1"))
    assert say("evaluate", "judge", str(file)).code == 3
    said = say(
        "evaluate", "judge", str(file), "--encoding", "latin-1", "--columns", "text=satz,label=art"
    )
    assert said.code == 0, said.err
    with file.open("a") as more:
        more.write("one,two,three\n")
    columns = "data.columns=text=satz,label=art"
    reading = ["--encoding", "latin-1", "--set", columns]
    assert say("evaluate", "judge", str(file), *reading).code == 3
    assert say("evaluate", "judge", str(file), *reading, "--set", "data.skip_bad=true").code == 0
    assert say("evaluate", "judge", str(file), *reading, "--skip-bad").code == 0


def test_evaluate_sets_only_how_data_is_read(say):
    said = say("evaluate", "judge", "--set", "model.hidden=3")
    assert said.code == 2 and "error[U005]" in said.err
    assert say("evaluate", "judge", "--beam", "0").code == 2


def test_evaluate_says_when_the_data_has_changed(say, runs, files):
    file = files / "text.txt"
    before = file.read_text()
    try:
        file.write_text(before + "a cat likes the cat and the dog\n")
        said = say("evaluate", "counts")
    finally:
        file.write_text(before)
    assert said.code == 0 and "the data of counts has changed" in said.err


def test_evaluate_with_a_run_or_a_file_that_is_not_there(say, files):
    said = say("evaluate", "taggr")
    assert said.code == 2 and "did you mean 'tagger'?" in said.err
    said = say("evaluate", "tagger", str(files / "tags.conl"))
    assert said.code == 3 and 'There is "tags.conll" in the same folder.' in said.err


def test_predict_answers_arguments_in_order(say):
    said = say("predict", "tagger", "the cat sees", "a dog likes the fish")
    first, second = said.out.splitlines()
    assert len(first.split()) == 3 and len(second.split()) == 5
    assert said.err == ""


def test_tag_as_json_pairs_words_and_tags(say):
    (found,) = lines(say("tag", "tagger", "the zebra sees", "--json").out)
    assert found["input"] == "the zebra sees"
    assert [word for word, _ in found["output"]] == ["the", "zebra", "sees"]
    assert 0 < found["probability"] <= 1 and found["log_prob"] <= 0


def test_unknown_symbols_are_a_note_on_stderr(say):
    said = say("classify", "judge", "the zebra sees a gnu")
    assert said.err == "note: 2 of 5 symbols are unknown and read as <unk>\n"
    assert said.out.strip() in ("long", "short")
    assert say("classify", "judge", "the zebra", "--quiet").err == ""


def test_predict_reads_a_file_and_keeps_its_lines(say, tmp_path):
    file = tmp_path / "in.txt"
    file.write_bytes(b"\xef\xbb\xbfthe cat sees\r\n\n   \na dog likes\n")
    said = say("tag", "tagger", "-f", str(file))
    assert [len(line.split()) for line in said.out.split("\n")[:-1]] == [3, 0, 0, 3]
    assert not said.err, "neither the mark nor the carriage return is a symbol"
    found = lines(say("tag", "tagger", "-f", str(file), "--json").out)
    assert [one["output"] is None for one in found] == [False, True, True, False]


def test_predict_reads_standard_input_in_batches(say, monkeypatch, type_in):
    from seqloom.cli import inputs

    monkeypatch.setattr(inputs, "AT_ONCE", 2)
    for way in ([], ["-f", "-"]):
        type_in(b"the cat sees\na dog\nthe fish likes a dog\n")
        said = say("predict", "tagger", *way)
        assert [len(line.split()) for line in said.out.splitlines()] == [3, 2, 5]


def test_bytes_that_are_no_text_name_their_line(say, type_in, tmp_path):
    type_in(b"the cat\nthe caf\xe9\n")
    said = say("predict", "tagger")
    assert said.code == 3 and "error[D030]" in said.err
    assert "standard input:2" in said.err and "0xE9" in said.err
    file = tmp_path / "in.txt"
    file.write_bytes(b"the cat\nthe caf\xe9\n")
    assert say("predict", "tagger", "-f", str(file)).code == 3
    assert say("predict", "tagger", "-f", str(file), "--encoding", "cp1252").code == 0
    assert say("predict", "tagger", "the caf\udce9").code == 3


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["translate", "tagger", "x"], 4, "error[M110]"),
        (["translate", "tagger", "x"], 4, "help: seqloom tag tagger"),
        (["predict", "tagger", ""], 3, "input 1 is empty"),
        (["predict", "tagger", "x", "-f", "y"], 2, "choose one"),
        (["predict", "tagger", "-f", "nothing.txt"], 3, "error[D001]"),
        (["predict", "tagger", "x", "--beam", "0"], 2, "--beam 0"),
        (["predict", "tagger", "-f", "-", "--explain"], 2, "arguments only"),
    ],
)
def test_what_cannot_be_predicted(say, arguments, code, text):
    said = say(*arguments)
    assert said.code == code and text in said.err and not said.out


def test_translate_with_a_beam_and_a_picture(say):
    said = say("translate", "attentive", "the cat sees", "--beam", "2", "--explain")
    first, _, *rest = said.out.splitlines()
    assert "   p=" in first
    assert any("</s>" in line for line in said.out.splitlines()) and rest
    (found,) = lines(say("translate", "attentive", "the cat", "--explain", "--json").out)
    assert found["view"]["view"] == "attention"


def test_predict_goes_on_with_a_text(say):
    said = say("predict", "counts", "the c")
    assert said.out.startswith("the cat")


def test_words_that_go_on_are_parted_from_the_prompt(say, tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("".join(f"the cat sat on mat {n}\n" for n in range(20)))
    train = "train", "language", str(file), "-m", "ngram", "-n", "words", "-q"
    assert say(*train, "--set", "task.symbols=words").code == 0
    assert say("predict", "words", "the cat").out.startswith("the cat sat on")


def test_inspect_draws_saves_and_prints_json(say, tmp_path):
    said = say("inspect", "attentive", "--text", "the cat")
    assert said.code == 0 and "cat" in said.out
    path = tmp_path / "view.svg"
    assert say("inspect", "attentive", "--text", "the cat", "-o", str(path)).out == f"{path}\n"
    ElementTree.fromstring(path.read_text())
    found = json.loads(say("inspect", "attentive", "--text", "the cat", "--json").out)
    assert found["tokens"]["src"] == ["the", "cat", "</s>"]
    found = json.loads(
        say("inspect", "tagger", "--text", "the cat", "--view", "gates", "--json").out
    )
    assert found["view"] == "gates"


def test_inspect_lists_views_and_takes_their_options(say):
    found = json.loads(say("inspect", "counts", "--views", "--json").out)
    assert [one["view"] for one in found["views"]] == ["next", "surprise", "influence", "beam"]
    assert {"view": "gates", "title": "Gates"} in found["missing"]
    said = say("inspect", "counts", "--views")
    assert "--temperature" in said.out and "not shown: forecast" in said.out
    asked = ("--text", "the", "--view", "next", "--top-k", "2", "--json")
    found = json.loads(say("inspect", "counts", *asked).out)
    assert found["kept"] == 2 and found["tokens"]["src"][0] == "<s>"


def test_inspect_what_is_not_there(say, tmp_path):
    said = say("inspect", "counts", "--text", "the", "--view", "gates")
    assert said.code == 4 and "error[M114]" in said.err
    said = say("inspect", "tagger", "--text", "the", "--view", "attention")
    assert said.code == 4 and "it shows: tags, cell, influence, gates" in said.err
    said = say("inspect", "tagger", "--text", "the", "--view", "gates", "--layer", "7")
    assert said.code == 2 and "error[U351]" in said.err
    said = say("inspect", "tagger", "--text", "the", "--view", "tags", "--cell", "1")
    assert said.code == 2 and "error[U350]" in said.err
    said = say("inspect", "tagger", "--text", "the", "-o", str(tmp_path / "x.gif"))
    assert said.code == 2 and "error[U011]" in said.err
