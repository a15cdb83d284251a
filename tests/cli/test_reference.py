"""seqloom models, tasks, explain and doctor."""

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


def test_models_lists_all_or_those_that_can(cli):
    done = cli("models")
    assert all(name in done.out.splitlines() for name in MODELS)
    assert "trained by: EM (Baum-Welch)" in done.out and "seqloom explain" in done.err
    facts = {one["name"]: one["learns_by"] for one in lines(cli("models", "--json").out)}
    assert facts["kalman"] == "maximum likelihood (BFGS), or EM"
    assert facts["transformer"] == "gradient descent"
    found = [one["name"] for one in lines(cli("models", "translate", "--json").out)]
    assert found == [name for name in MODELS if Form.TRANSDUCE in MODELS[name].forms]
    assert found[0] == "encoder-decoder" and len(found) < len(MODELS)
    labelling = ["recurrent", "feedforward", "hmm-tagger", "convolutional", "transformer"]
    assert cli("models", "tag", "--quiet").out.split() == labelling
    able = cli("models", "algorithms", "--quiet").out.split()
    puzzles = [task.signature() for task in TASKS["algorithms"].varieties()]
    assert able == [n for n in MODELS if any(map(MODELS[n].supports, puzzles))]
    assert able[0] == "bag-of-words" and set(labelling) < set(able)
    done = cli("models", "tags")
    assert done.code == 2 and "did you mean 'tag'?" in done.err


def test_tasks_lists_what_they_read(cli):
    done = cli("tasks")
    assert all(name in done.out.splitlines() for name in TASKS)
    assert "reads text and label; used with seqloom classify" in done.out
    found = {one["name"]: one for one in lines(cli("tasks", "--json").out)}
    assert found["tag"]["columns"] == ["word", "tag"] and found["tag"]["headline"] == "accuracy"
    assert found["tag"]["varieties"] == [] and found["algorithms"]["columns"] == []


def test_tasks_tell_their_varieties(cli):
    done = cli("tasks")
    for form in ("one output for the whole sequence", "a target sequence", "one output for each"):
        assert form in done.out.partition("algorithms\n")[2]
    assert "generates its own examples; used with seqloom predict" in done.out
    found = {one["name"]: one for one in lines(cli("tasks", "--json").out)}["algorithms"]
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
def test_every_code_is_explained(cli, code):
    done = cli("explain", code.lower())
    assert done.code == 0 and done.out.startswith(f"{code}: {pages()[code].title}")
    assert json.loads(cli("explain", code, "--json").out)["fix"] == pages()[code].fix


@pytest.mark.parametrize("name", [*MODELS, *TASKS, "training", "data"])
def test_every_model_task_and_table_is_explained(cli, name):
    done = cli("explain", name)
    assert done.code == 0 and "Args:" not in done.out
    found = json.loads(cli("explain", name, "--json").out)
    assert ("Options" in done.out) == bool(found["options"])
    assert all(option["help"] for option in found["options"])


def test_explain_shows_the_equation_of_an_attention(cli):
    done = cli("explain", "location")
    assert "e_ts = v · tanh(W₁ m_s + W₂ h_t + U f_ts)" in done.out
    assert "attention_window = 10" in done.out and "heads" not in done.out
    assert "attentions" in cli("explain").out


def test_explain_shows_the_equation_of_a_cell(cli):
    done = cli("explain", "lstm-peephole")
    assert "i, f = σ(W x + b + U h + P c)" in done.out
    assert "peepholes = " in done.out and "zoneout" not in done.out
    assert "did you mean 'gru-simple'?" in cli("explain", "gru-simpl").err


def test_explain_shows_equations_and_defaults(cli):
    done = cli("explain", "recurrent")
    assert "h_t = cell(E x_t, h_{t-1})" in done.out
    assert """cell = "lstm"   ('elman' or 'context' or 'carousel' or """ in done.out


def test_explain_says_how_a_model_is_trained(cli):
    assert "Trained by: closed form (least squares)." in cli("explain", "autoregressive").out
    assert "Trained by" not in cli("explain", "forecast").out
    assert json.loads(cli("explain", "recurrent", "--json").out)["learns_by"] == "gradient descent"


def test_explain_without_a_topic_lists_them(cli):
    assert "D011        A row has the wrong number of fields" in cli("explain").out
    assert {"topic": "ngram"} in lines(cli("explain", "--json").out)


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("recurent", "did you mean 'recurrent'?"),
        ("E311", "did you mean E310?"),
        ("x", "choose from"),
    ],
)
def test_explain_what_does_not_exist(cli, topic, hint):
    done = cli("explain", topic)
    assert done.code == 2 and "error[U002]" in done.err and hint in done.err


def test_doctor_reports_and_says_what_to_do(cli, monkeypatch):
    monkeypatch.setenv("SEQLOOM_DATA", "/nowhere/at/all")
    done = cli("doctor")
    assert done.code == 0 and "✔ torch" in done.out and "✔ runs folder" in done.out
    assert "⚠ SEQLOOM_DATA  /nowhere/at/all   there is no such folder" in done.out
    found = json.loads(cli("doctor", "--full", "--json").out)["lines"]
    assert {"python", "cores", "memory", "disk", "torch loads"} <= {line["what"] for line in found}
    assert "✔" not in cli("doctor", "--quiet").out


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
