"""seqloom convert with ARPA files, and n-gram models on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.main import main

LINES = ["the cat sat on the mat", "the dog sat on the cat", "a dog and a cat"] * 12


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n".join(f"{line} {n}" for n, line in enumerate(LINES)) + "\n")
    return tmp_path


@pytest.fixture
def cli(capsys, here):
    def run(*arguments):
        code = main([*arguments])
        return code, *capsys.readouterr()

    return run


def train(name, **settings):
    told = {f"model.{key}": value for key, value in settings.items()}
    return seqloom.train(
        "language", "text.txt", name=name, settings={"task.tokens": "words"} | told
    )


def test_there_and_back(cli):
    train("counts", order=3)
    code, out, err = cli("convert", "counts", "-o", "counts.arpa")
    assert (code, out) == (0, "counts.arpa\n") and "grams" in err
    code, out, err = cli("convert", "counts.arpa", "--name", "again")
    assert (code, out) == (0, "runs/again\n") and "words by n-grams of order 3" in err
    scores = [
        json.loads(cli("evaluate", name, "text.txt", "--json")[1]) for name in ("counts", "again")
    ]
    one, other = (score["metrics"]["perplexity"]["value"] for score in scores)
    assert one == pytest.approx(other, rel=1e-5)
    code, out, _ = cli("generate", "again")
    assert code == 0


def test_characters_are_known_by_their_length(cli):
    seqloom.train("language", "text.txt", name="letters")
    assert cli("convert", "letters", "-o", "letters.arpa", "--json")[0] == 0
    code, out, _ = cli("convert", "letters.arpa", "--name", "again", "--json")
    assert code == 0
    again, letters = seqloom.load("runs/again"), seqloom.load("runs/letters")
    assert again.recipe.task["tokens"] == "characters"
    assert again.task.vocabulary.tokens == letters.task.vocabulary.tokens


def test_what_cannot_be_written(cli):
    train("added", smoothing="add-k")
    code, _, err = cli("convert", "added", "-o", "added.arpa")
    assert code == 4 and "error[M151]" in err
    Path("there.arpa").write_text("")
    code, _, err = cli("convert", "added", "-o", "there.arpa")
    assert code == 2 and "error[U021]" in err
    seqloom.train(
        "language", "text.txt", model="recurrent", name="net", settings={"training.max_steps": 1}
    )
    code, _, err = cli("convert", "net", "-o", "net.arpa")
    assert code == 4 and "error[M152]" in err


def test_what_cannot_be_read(cli):
    assert cli("convert", "none.arpa")[0] == 3
    Path("short.arpa").write_text("\\data\\\nngram 1=3\n")
    code, _, err = cli("convert", "short.arpa")
    assert code == 3 and "error[D080]" in err and "short.arpa:2" in err
    Path("bytes.arpa").write_bytes(b"\xff\xfe\x00")
    code, _, err = cli("convert", "bytes.arpa")
    assert code == 3 and "error[D081]" in err
    code, _, err = cli("convert", "short.arpa", "-o", "x.safetensors")
    assert code == 2 and "-o does not apply here" in err
    assert not Path("runs").exists()


def test_the_impossible_is_told(cli):
    train("counts", smoothing="maximum-likelihood")
    Path("other.txt").write_text("mat the on\nthe cat sat\n")
    code, out, err = cli("evaluate", "counts", "other.txt")
    assert code == 0 and "infinite" in out and "2 of 2 examples have probability 0" in err
    code, out, _ = cli("evaluate", "counts", "other.txt", "--json")
    assert json.loads(out)["metrics"]["perplexity"]["value"] is None


def test_a_continuous_text(cli):
    """Line ends are predicted from what stands before them, and what follows from what stood there."""
    settings = {"task.layout": "stream", "model.order": 3}
    run = seqloom.train("language", "text.txt", name="stream", settings=settings)
    assert run.evaluate().values()["perplexity"] < 3


def test_torch_is_not_needed(here):
    script = (
        "import sys; from seqloom.cli.main import main\n"
        "for words in ('train language text.txt -n a -q', 'convert a -o a.arpa', 'convert a.arpa',"
        " 'evaluate a'):\n    assert main(words.split()) == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
