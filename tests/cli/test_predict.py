"""seqloom evaluate, predict, tag, translate and inspect on trained runs."""

import contextlib
import json
import sys
from xml.etree import ElementTree

import pytest

from seqloom.cli.main import main


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


def test_evaluate_prints_every_metric_with_n_and_interval(cli, files):
    done = cli("evaluate", "tagger", str(files / "tags.conll"))
    assert done.code == 0
    assert "accuracy" in done.out and "sentence accuracy" in done.out
    assert "%" in done.out and " – " in done.out
    assert "n = 60 examples (tags.conll), 95 % confidence intervals" in done.out
    assert "greedy" not in done.out, "nothing is searched for in a tagger"


def test_evaluate_without_a_file_takes_the_test_part(cli, runs):
    done = cli("evaluate", "attentive", "--beam", "2", "--json")
    found = json.loads(done.out)
    assert found["examples"] == "the test part of attentive" and found["beam"] == 2
    started = json.loads((runs / "attentive" / "events.jsonl").read_text().splitlines()[0])
    assert found["n"] == started["examples"]["test"]
    error = found["metrics"]["sequence_error"]
    assert error["low"] <= error["value"] <= error["high"]


def test_evaluate_tells_of_unknown_words_on_stderr(cli, tmp_path):
    file = tmp_path / "zebra.csv"
    file.write_text("text,label\nthe zebra sees,short\n")
    done = cli("evaluate", "judge", str(file))
    assert "33.3 % of tokens are not in the vocabulary and read as <unk>" in done.err
    assert "<unk>" not in done.out
    assert not cli("evaluate", "judge", str(file), "--quiet").err


def test_evaluate_on_labels_that_training_never_showed(cli, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("text,label\nthe cat sees,short\nthe dog sees,huge\n")
    done = cli("evaluate", "judge", str(file), "--unknown-labels", "error")
    assert done.code == 4 and "error[M101]: label 'huge' was not in" in done.err
    assert f"{file}:3" in done.err
    done = cli("evaluate", "judge", str(file))
    assert done.code == 0 and "n = 1 example " in done.out
    assert "1 of 2 examples left out" in done.err
    found = json.loads(cli("evaluate", "judge", str(file), "--json").out)
    assert (found["n"], found["left_out"]) == (1, 1)


def test_evaluate_reads_a_file_as_it_is_told(cli, tmp_path):
    file = tmp_path / "other.csv"
    file.write_bytes("satz,art\nthe cat séés,short\n".encode("latin-1"))
    assert cli("evaluate", "judge", str(file)).code == 3
    done = cli(
        "evaluate", "judge", str(file), "--encoding", "latin-1", "--columns", "text=satz,label=art"
    )
    assert done.code == 0, done.err
    with file.open("a") as more:
        more.write("one,two,three\n")
    columns = "data.columns=text=satz,label=art"
    reading = ["--encoding", "latin-1", "--set", columns]
    assert cli("evaluate", "judge", str(file), *reading).code == 3
    assert cli("evaluate", "judge", str(file), *reading, "--set", "data.skip_bad=true").code == 0
    assert cli("evaluate", "judge", str(file), *reading, "--skip-bad").code == 0


def test_evaluate_sets_only_how_data_is_read(cli):
    done = cli("evaluate", "judge", "--set", "model.hidden_size=3")
    assert done.code == 2 and "error[U005]" in done.err
    assert cli("evaluate", "judge", "--beam", "0").code == 2


def test_evaluate_says_when_the_data_has_changed(cli, runs, files):
    file = files / "text.txt"
    before = file.read_text()
    try:
        file.write_text(before + "a cat likes the cat and the dog\n")
        done = cli("evaluate", "counts")
    finally:
        file.write_text(before)
    assert done.code == 0 and "the data of counts has changed" in done.err


def test_evaluate_with_a_run_or_a_file_that_is_not_there(cli, files):
    done = cli("evaluate", "taggr")
    assert done.code == 2 and "did you mean 'tagger'?" in done.err
    done = cli("evaluate", "tagger", str(files / "tags.conl"))
    assert done.code == 3 and 'There is "tags.conll" in the same folder.' in done.err


def test_predict_answers_arguments_in_order(cli):
    done = cli("predict", "tagger", "the cat sees", "a dog likes the fish")
    first, second = done.out.splitlines()
    assert len(first.split()) == 3 and len(second.split()) == 5
    assert done.err == ""


def test_tag_as_json_pairs_words_and_tags(cli):
    (found,) = lines(cli("tag", "tagger", "the zebra sees", "--json").out)
    assert found["input"] == "the zebra sees"
    assert [word for word, _ in found["output"]] == ["the", "zebra", "sees"]
    assert 0 < found["probability"] <= 1 and found["log_prob"] <= 0


def test_unknown_symbols_are_a_note_on_stderr(cli):
    done = cli("classify", "judge", "the zebra sees a gnu")
    assert done.err == "note: 2 of 5 tokens are unknown and read as <unk>\n"
    assert done.out.strip() in ("long", "short")
    assert cli("classify", "judge", "the zebra", "--quiet").err == ""


def test_predict_reads_a_file_and_keeps_its_lines(cli, tmp_path):
    file = tmp_path / "in.txt"
    file.write_bytes(b"\xef\xbb\xbfthe cat sees\r\n\n   \na dog likes\n")
    done = cli("tag", "tagger", "-f", str(file))
    assert [len(line.split()) for line in done.out.split("\n")[:-1]] == [3, 0, 0, 3]
    assert not done.err, "neither the mark nor the carriage return is a symbol"
    found = lines(cli("tag", "tagger", "-f", str(file), "--json").out)
    assert [one["output"] is None for one in found] == [False, True, True, False]


def test_predict_reads_standard_input_in_batches(cli, monkeypatch, type_in):
    from seqloom.cli import inputs

    monkeypatch.setattr(inputs, "AT_ONCE", 2)
    for way in ([], ["-f", "-"]):
        type_in(b"the cat sees\na dog\nthe fish likes a dog\n")
        done = cli("predict", "tagger", *way)
        assert [len(line.split()) for line in done.out.splitlines()] == [3, 2, 5]


def test_bytes_that_are_no_text_name_their_line(cli, type_in, tmp_path):
    type_in(b"the cat\nthe caf\xe9\n")
    done = cli("predict", "tagger")
    assert done.code == 3 and "error[D030]" in done.err
    assert "standard input:2" in done.err and "0xE9" in done.err
    file = tmp_path / "in.txt"
    file.write_bytes(b"the cat\nthe caf\xe9\n")
    assert cli("predict", "tagger", "-f", str(file)).code == 3
    assert cli("predict", "tagger", "-f", str(file), "--encoding", "cp1252").code == 0
    assert cli("predict", "tagger", "the caf\udce9").code == 3


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["translate", "tagger", "x"], 4, "error[M110]"),
        (["translate", "tagger", "x"], 4, "help: seqloom tag /"),
        (["predict", "tagger", ""], 3, "input 1 is empty"),
        (["predict", "tagger", "x", "-f", "y"], 2, "choose one"),
        (["predict", "tagger", "-f", "nothing.txt"], 3, "error[D001]"),
        (["predict", "tagger", "x", "--beam", "0"], 2, "--beam 0"),
        (["predict", "tagger", "-f", "-", "--explain"], 2, "needs inputs as arguments"),
    ],
)
def test_what_cannot_be_predicted(cli, arguments, code, text):
    done = cli(*arguments)
    assert done.code == code and text in done.err and not done.out


def test_translate_with_a_beam_and_a_picture(cli):
    done = cli("translate", "attentive", "the cat sees", "--beam", "2", "--explain")
    first, _, *rest = done.out.splitlines()
    assert "   p=" in first
    assert any("</s>" in line for line in done.out.splitlines()) and rest
    (found,) = lines(cli("translate", "attentive", "the cat", "--explain", "--json").out)
    assert found["view"]["view"] == "attention"


def test_predict_goes_on_with_a_text(cli):
    done = cli("predict", "counts", "the c")
    assert done.out.startswith("the cat")


def test_words_that_go_on_are_parted_from_the_prompt(tmp_path, capsys):
    file = tmp_path / "words.txt"
    file.write_text("".join(f"the cat sat on mat {n}\n" for n in range(20)))
    runs = ["--runs-dir", str(tmp_path / "runs"), "-q"]
    train = ["train", "language", str(file), "-m", "ngram", "-n", "words"]
    assert main([*train, "--set", "task.tokens=words", *runs]) == 0
    capsys.readouterr()
    assert main(["predict", "words", "the cat", *runs]) == 0
    assert capsys.readouterr().out.startswith("the cat sat on")


def test_inspect_draws_saves_and_prints_json(cli, tmp_path):
    done = cli("inspect", "attentive", "--text", "the cat")
    assert done.code == 0 and "cat" in done.out
    path = tmp_path / "view.svg"
    assert cli("inspect", "attentive", "--text", "the cat", "-o", str(path)).out == f"{path}\n"
    ElementTree.fromstring(path.read_text())
    found = json.loads(cli("inspect", "attentive", "--text", "the cat", "--json").out)
    assert found["tokens"]["src"] == ["the", "cat", "</s>"]
    found = json.loads(
        cli("inspect", "tagger", "--text", "the cat", "--view", "gates", "--json").out
    )
    assert found["view"] == "gates"


def test_inspect_lists_views_and_takes_their_options(cli):
    found = json.loads(cli("inspect", "counts", "--views", "--json").out)
    assert [one["view"] for one in found["views"]] == ["next", "surprise", "influence", "beam"]
    assert {"view": "gates", "title": "Gates"} in found["missing"]
    done = cli("inspect", "counts", "--views")
    assert "--temperature" in done.out and "not available: forecast" in done.out
    asked = ("--text", "the", "--view", "next", "--top-k", "2", "--json")
    found = json.loads(cli("inspect", "counts", *asked).out)
    assert found["kept"] == 2 and found["tokens"]["src"][0] == "<s>"


def test_inspect_what_is_not_there(cli, tmp_path):
    done = cli("inspect", "counts", "--text", "the", "--view", "gates")
    assert done.code == 4 and "error[M114]" in done.err
    done = cli("inspect", "tagger", "--text", "the", "--view", "attention")
    assert done.code == 4 and "it has: tags, cell, influence, gates" in done.err
    done = cli("inspect", "tagger", "--text", "the", "--view", "gates", "--layer", "7")
    assert done.code == 2 and "error[U351]" in done.err
    done = cli("inspect", "tagger", "--text", "the", "--view", "tags", "--cell", "1")
    assert done.code == 2 and "error[U350]" in done.err
    done = cli("inspect", "tagger", "--text", "the", "-o", str(tmp_path / "x.gif"))
    assert done.code == 2 and "error[U011]" in done.err
