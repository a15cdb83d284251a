"""seqloom generate: streaming, order of several texts, interruption."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import seqloom
from seqloom.decoding import Sampling

LONG = ["--length", "100000000", "--temperature", "3"]


def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def endless(files: Path, tmp_path_factory):
    """Runs of a continuous text, which has no end of its own, in characters and in words."""
    folder = tmp_path_factory.mktemp("endless") / "runs"
    for unit in ("characters", "words"):
        recipe = seqloom.Recipe(
            {"train": str(files / "text.txt")},
            {"name": "language", "layout": "stream", "tokens": unit},
            {"name": "recurrent", "embedding_size": 8, "hidden_size": 8},
            {"epochs": 1, "batch_size": 2, "bptt": 8, "warmup_steps": 2},
        )
        seqloom.train(recipe, name=unit, runs=folder)
    return folder


def start(runs: Path, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "seqloom", "generate", *arguments, "--runs-dir", str(runs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_the_same_seed_gives_the_same_texts(cli):
    first = cli("generate", "counts", "--prompt", "the", "--count", "3", "--seed", "5")
    assert first.out == cli("generate", "counts", "the", "--count", "3", "--seed", "5").out
    texts = first.out.splitlines()
    assert len(texts) == 3 and len(set(texts)) > 1
    assert all(text.startswith("the") for text in texts)
    assert cli("generate", "counts", "the", "--seed", "5").out.splitlines() == texts[:1]
    assert cli("generate", "counts", "the", "--seed", "6", "--count", "3").out != first.out


def test_a_text_is_the_same_whatever_is_drawn_beside_it(cli, tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("the c\na dog h\nthe\n")
    whole = objects(cli("generate", "writer", "-f", str(file), "--count", "2", "--json").out)
    some = objects(cli("generate", "writer", "-f", str(file), "--json").out)
    assert [one["input"] for one in whole[::2]] == ["the c", "a dog h", "the"]
    assert [one["output"] for one in some] == [one["output"] for one in whole[::2]]
    (alone,) = objects(cli("generate", "writer", "the c", "--json").out)
    assert alone == whole[0]


def test_what_python_draws_is_what_the_command_prints(cli, runs):
    text = seqloom.load(runs / "writer").generate("the ", Sampling(limit=20, top_k=4, seed=3))
    options = ["--length", "20", "--top-k", "4", "--seed", "3"]
    assert cli("generate", "writer", "the ", *options).out == f"the {text}\n"


def test_no_heat_is_greedy_whatever_the_seed(cli):
    texts = {
        cli("generate", "counts", "the", "--temperature", "0", "--seed", seed).out
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


def test_length_and_end_and_stop_are_told(cli):
    (found,) = objects(cli("generate", "writer", "--length", "4", "--json").out)
    assert found["input"] == "" and len(found["output"]) <= 4 and found["symbols"] <= 4
    found = objects(cli("generate", "counts", "--count", "9", "--length", "14", "--json").out)
    assert {one["ended"] for one in found} == {"end", "limit"}
    assert all(one["symbols"] == len(one["output"]) for one in found)
    (stopped,) = objects(cli("generate", "counts", "--stop", "zzz", "--stop", " ", "--json").out)
    assert stopped["ended"] == "stop" and " " not in stopped["output"]


def test_texts_that_are_cut_are_told_of(cli, monkeypatch):
    monkeypatch.setattr("seqloom.model.default_limit", lambda target: 3)
    done = cli("generate", "counts", "--shortest", "5")
    assert "note: 1 text was cut at the maximum number of tokens" in done.err
    assert not cli("generate", "counts", "--shortest", "5", "--length", "3").err, "it was chosen"


def test_lines_of_a_file_keep_their_places(cli, tmp_path):
    file = tmp_path / "prompts.txt"
    file.write_text("the\n\na\n")
    lines = cli("generate", "counts", "-f", str(file), "--length", "5").out.split("\n")
    assert [line[:1] for line in lines] == ["t", "", "a", ""]
    found = objects(cli("generate", "counts", "-f", str(file), "--json").out)
    assert [one["output"] is None for one in found] == [False, True, False]
    file.write_text("\n\n")
    assert cli("generate", "counts", "-f", str(file)).out == "\n\n"


def test_more_prompts_than_are_drawn_at_once(cli, tmp_path, monkeypatch):
    from seqloom.cli.commands import generate

    file = tmp_path / "prompts.txt"
    file.write_text("the\na\n" * 5)
    whole = cli("generate", "counts", "-f", str(file), "--length", "9").out
    monkeypatch.setattr(generate, "SIDE_BY_SIDE", 3)
    assert cli("generate", "counts", "-f", str(file), "--length", "9").out == whole


def test_a_continuous_text_does_not_end_with_a_line(cli, endless, capsys):
    from seqloom.cli.main import main

    for unit in ("characters", "words"):
        arguments = ["generate", unit, "--length", "200", "--temperature", "2", "--json"]
        assert main([*arguments, "--runs-dir", str(endless)]) == 0
        (found,) = objects(capsys.readouterr().out)
        assert found["ended"] == "limit" and found["symbols"] == 200
        assert found["output"].count("\n") > 2
        arguments += ["--stop", "\\n"]
        assert main([*arguments, "--runs-dir", str(endless)]) == 0
        (first,) = objects(capsys.readouterr().out)
        assert first["ended"] == "stop"
        assert first["output"] == found["output"].partition("\n")[0]
    assert main(["generate", "words", "--count", "2", "--runs-dir", str(endless)]) == 0
    assert "\n\n" in capsys.readouterr().out, "texts of several lines stand apart"


def test_unknown_symbols_are_named_once(cli, tmp_path):
    done = cli("generate", "counts", "the Zoo")
    assert done.code == 0 and done.out.startswith("the Zoo")
    assert done.err == "note: 'Z' is not in the vocabulary of counts: read as <unk>\n"
    assert not cli("generate", "counts", "the Zoo", "--quiet").err
    file = tmp_path / "prompts.txt"
    file.write_text("the Zoo\nthe ZOOQXYWVJ\n")
    (note,) = cli("generate", "counts", "-f", str(file)).err.splitlines()
    assert "'Z', 'O', 'Q', 'X', 'Y' and 3 more are not in the vocabulary" in note


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["counts", "ZZ"], 2, "error[U031]: all tokens of the prompt 'ZZ' are unknown"),
        (["counts", "--temperature", "-1"], 2, "error[U030]: temperature -1"),
        (["counts", "--top-p", "0"], 2, "top_p 0: expected more than 0"),
        (["counts", "--min-p", "2"], 2, "min_p 2"),
        (["counts", "--top-k", "x"], 2, "--top-k"),
        (["counts", "--length", "-1"], 2, "limit -1"),
        (["counts", "--count", "0"], 2, "--count 0"),
        (["counts", "x", "-f", "y"], 2, "choose one"),
        (["counts", "-f", "nothing.txt"], 3, "error[D001]"),
        (["tagger"], 4, "error[M110]"),
    ],
)
def test_what_cannot_be_generated(cli, arguments, code, text):
    done = cli("generate", *arguments)
    assert done.code == code and text in done.err and not done.out


def test_symbols_are_printed_as_they_are_drawn_and_ctrl_c_leaves_them(endless):
    """A text without end: a pipe sees it grow, and Ctrl-C ends its line."""
    process = start(endless, "words", "--prompt", "the", *LONG)
    seen = b""
    while len(seen) < 300:
        seen += os.read(process.stdout.fileno(), 100)
    assert process.poll() is None, "it is still drawing while its text is read"
    process.send_signal(signal.SIGINT)
    rest, told = process.communicate(timeout=60)
    assert process.returncode == 130 and not told
    assert seen.startswith(b"the ") and (seen + rest).endswith(b"\n")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_was_drawn_of_several_is_told_when_it_is_ended(endless, tmp_path, number, code):
    """The first goes on for ever while the others wait their turn: none is lost."""
    process = start(endless, "words", "the", "a cat", *LONG)
    seen = b""
    while len(seen) < 30:
        seen += os.read(process.stdout.fileno(), 10)
    process.send_signal(number)
    rest, told = process.communicate(timeout=60)
    assert process.returncode == code and not told
    assert b"\n\na cat" in rest and rest.endswith(b"\n")


def test_json_tells_what_was_interrupted(endless, monkeypatch, capsys):
    from seqloom.cli.main import main
    from seqloom.runs.run import Run

    stream = Run.stream_generate

    def broken_off(self, *arguments, **settings):
        for number, piece in enumerate(stream(self, *arguments, **settings)):
            if number == 6:
                os.kill(os.getpid(), signal.SIGINT)
            yield piece

    monkeypatch.setattr(Run, "stream_generate", broken_off)
    code = main(["generate", "words", "the", "a", "--json", *LONG, "--runs-dir", str(endless)])
    found = objects(capsys.readouterr().out)
    assert code == 130 and [one["ended"] for one in found] == ["interrupted"] * 2
    assert [one["symbols"] for one in found] == [4, 3] and all(one["output"] for one in found)


def test_a_reader_that_leaves_is_no_trouble(endless):
    process = start(endless, "words", *LONG)
    os.read(process.stdout.fileno(), 50)
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_rules_say_what_may_be_drawn(cli, tmp_path):
    """As in a search: allowed tokens, no-repeat n-grams, minimum length."""
    file = tmp_path / "allowed.txt"
    file.write_text("t\nh\ne\nc\na\n~\n")
    rules = ["--allow", str(file), "--shortest", "4", "--block-ngrams", "1", "--count", "20"]
    done = cli("generate", "writer", *rules, "--json")
    assert done.code == 0 and "1 token of" in done.err and "ignored" in done.err
    for one in objects(done.out):
        assert set(one["output"]) <= set("theca") and len(one["output"]) >= 4
        assert len(set(one["output"])) == len(one["output"])
    file.write_text("")
    assert cli("generate", "writer", "--allow", str(file)).code == 3
    file.write_text("~\n")
    done = cli("generate", "writer", "--allow", str(file))
    assert done.code == 2 and "error[U064]" in done.err
