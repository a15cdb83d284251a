"""models, tasks, explain and doctor: commands that tell what there is."""

import json
import subprocess
import sys

import pytest

from seqloom.errors import pages
from seqloom.models import MODELS
from seqloom.signature import Form
from seqloom.tasks import TASKS


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_models_lists_all_or_those_that_can(say):
    said = say("models")
    assert all(name in said.out.splitlines() for name in MODELS)
    assert "learns by counting" in said.out and "seqloom explain" in said.err
    found = [one["name"] for one in lines(say("models", "translate", "--json").out)]
    assert found == [name for name in MODELS if Form.TRANSDUCE in MODELS[name].forms]
    assert found[0] == "encoder-decoder" and len(found) < len(MODELS)
    labelling = ["recurrent", "window", "hidden-markov", "convolutional", "transformer"]
    assert say("models", "tag", "--quiet").out.split() == labelling
    able = say("models", "algorithms", "--quiet").out.split()
    puzzles = [task.signature() for task in TASKS["algorithms"].varieties()]
    assert able == [n for n in MODELS if any(map(MODELS[n].can_do, puzzles))]
    assert able[0] == "bag" and set(labelling) < set(able)
    said = say("models", "tags")
    assert said.code == 2 and "did you mean 'tag'?" in said.err


def test_tasks_lists_what_they_read(say):
    said = say("tasks")
    assert all(name in said.out.splitlines() for name in TASKS)
    assert "reads text and label; used with seqloom classify" in said.out
    found = {one["name"]: one for one in lines(say("tasks", "--json").out)}
    assert found["tag"]["columns"] == ["word", "tag"] and found["tag"]["headline"] == "accuracy"
    assert found["tag"]["varieties"] == [] and found["algorithms"]["columns"] == []


def test_tasks_tell_their_varieties(say):
    said = say("tasks")
    for form in ("one answer for the whole sequence", "a new sequence", "one answer for each"):
        assert form in said.out.partition("algorithms\n")[2]
    assert "makes its own examples; used with seqloom predict" in said.out
    found = {one["name"]: one for one in lines(say("tasks", "--json").out)}["algorithms"]
    assert {one["name"]: one["headline"] for one in found["varieties"]} == {
        "adding": "squared_error",
        "addition": "sequence_error",
        "copy": "sequence_error",
        "dates": "sequence_error",
        "order": "accuracy",
        "parity": "accuracy",
        "programs": "sequence_error",
        "recall": "accuracy",
        "reversal": "sequence_error",
    }


@pytest.mark.parametrize("code", sorted(pages()))
def test_every_code_is_explained(say, code):
    said = say("explain", code.lower())
    assert said.code == 0 and said.out.startswith(f"{code}: {pages()[code].title}")
    assert json.loads(say("explain", code, "--json").out)["fix"] == pages()[code].fix


@pytest.mark.parametrize("name", [*MODELS, *TASKS, "training", "data"])
def test_every_model_task_and_table_is_explained(say, name):
    said = say("explain", name)
    assert said.code == 0 and "Args:" not in said.out
    found = json.loads(say("explain", name, "--json").out)
    assert ("Options" in said.out) == bool(found["options"])
    assert all(option["help"] for option in found["options"])


def test_explain_shows_the_equation_of_an_attention(say):
    said = say("explain", "location")
    assert "e_ts = v · tanh(W₁ m_s + W₂ h_t + U f_ts)" in said.out
    assert "attention_window = 10" in said.out and "heads" not in said.out
    assert "attentions" in say("explain").out


def test_explain_shows_the_equation_of_a_cell(say):
    said = say("explain", "lstm-peephole")
    assert "i, f = σ(W x + b + U h + P c)" in said.out
    assert "peepholes = " in said.out and "zoneout" not in said.out
    assert "did you mean 'gru-simple'?" in say("explain", "gru-simpl").err


def test_explain_shows_equations_and_defaults(say):
    said = say("explain", "recurrent")
    assert "h_t = cell(E x_t, h_{t-1})" in said.out
    assert """cell = "lstm"   ('elman' or 'context' or 'carousel' or """ in said.out


def test_explain_without_a_topic_lists_them(say):
    assert "D011    A row has the wrong number of fields" in say("explain").out
    assert {"topic": "ngram"} in lines(say("explain", "--json").out)


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("recurent", "did you mean 'recurrent'?"),
        ("E311", "did you mean E310?"),
        ("x", "choose from"),
    ],
)
def test_explain_what_does_not_exist(say, topic, hint):
    said = say("explain", topic)
    assert said.code == 2 and "error[U002]" in said.err and hint in said.err


def test_doctor_reports_and_says_what_to_do(say, monkeypatch):
    monkeypatch.setenv("SEQLOOM_DATA", "/nowhere/at/all")
    said = say("doctor")
    assert said.code == 0 and "✔ torch" in said.out and "✔ runs folder" in said.out
    assert "⚠ SEQLOOM_DATA  /nowhere/at/all   there is no such folder" in said.out
    found = json.loads(say("doctor", "--full", "--json").out)["lines"]
    assert {"python", "cores", "memory", "disk", "torch loads"} <= {line["what"] for line in found}
    assert "✔" not in say("doctor", "--quiet").out


def test_doctor_finds_a_folder_that_cannot_be_written(capsys, tmp_path):
    from seqloom.cli.main import main

    file = tmp_path / "file"
    file.touch()
    assert main(["doctor", "--runs-dir", str(file / "runs")]) == 6
    assert "cannot write   --runs-dir FOLDER" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["tasks"], ["explain", "D011"], ["explain", "translate"], ["doctor"]]
)
def test_no_torch_for_what_does_not_need_it(arguments):
    code = "import sys; from seqloom.cli.main import main; code = main(sys.argv[1:]); sys.exit(code or 99 * ('torch' in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
