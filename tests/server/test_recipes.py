"""Recipes through the web API: validated as on the command line, without access to files."""

import shlex
import tomllib

import pytest

from seqloom.cli.main import main

from .conftest import client

CHECK = "/api/v1/recipes:check"


@pytest.fixture
def studio(tmp_path):
    with client(tmp_path / "runs") as web:
        answer = web.post("/api/v1/datasets", json={"text": "a b\nc d\n" * 30, "name": "a.txt"})
        web.data, web.runs = answer.json()["id"], tmp_path / "runs"
        yield web


def test_a_recipe_comes_back_whole_short_and_as_a_command(studio, capsys):
    asked = {
        "task": "language",
        "data": studio.data,
        "model": "ngram",
        "settings": {"model.order": 3, "data.columns": "1,2", "training.epochs": 4},
    }
    told = studio.post(CHECK, json=asked).json()
    whole, short = tomllib.loads(told["toml"]), tomllib.loads(told["short_toml"])
    assert whole["model"]["order"] == 3 and whole["model"]["smoothing"]
    assert short["model"] == {"name": "ngram", "order": 3} and short["training"] == {"epochs": 4}
    assert told["tables"] == whole and told["problems"] == []
    words = shlex.split(told["command"])
    assert words[:3] == ["seqloom", "train", "language"]
    assert main([*words[1:], "--dry-run"]) == 0
    assert tomllib.loads(capsys.readouterr().out) == whole, "the command does the same"


def test_a_toml_comes_back_as_it_is(studio):
    asked = {"task": "language", "data": studio.data, "model": "ngram"}
    told = studio.post(CHECK, json=asked).json()
    assert studio.post(CHECK, json={"toml": told["toml"]}).json() == told
    assert studio.post(CHECK, json={"toml": told["short_toml"]}).json() == told


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({}, "U006"),
        ({"toml": "[model"}, "U004"),
        ({"toml": "x = 1"}, "U002"),
        ({"toml": "[task]\nname = 5"}, "U002"),
        ({"toml": "a=" + "[" * 5000}, "U004"),
        ({"task": "langwidge"}, "U002"),
        ({"task": "language", "model": "ngram"}, "U007"),
        ({"task": "language", "model": "ngrm"}, "U002"),
        ({"task": "language", "model": "ngram", "settings": {"model.ordr": 1}}, "U010"),
        ({"task": "language", "model": "ngram", "settings": {"model.order": "x"}}, "U010"),
        ({"task": "language", "model": "ngram", "settings": {"order": 1}}, "U005"),
        ({"task": "language", "model": "encoder-decoder"}, "M120"),
        ({"task": "language", "settings": {"task.name": 5}}, "U002"),
        ({"task": "language", "settings": {"training.max_time": "soon"}}, "U010"),
    ],
)
def test_what_is_wrong_is_told_as_on_the_command_line(studio, asked, code):
    answer = studio.post(CHECK, json=asked)
    assert answer.status_code == 422 and answer.json()["code"] == code


@pytest.mark.parametrize("table", ["data.train", "data.valid", "data.test", "task.tokenizer"])
@pytest.mark.parametrize("file", ["/etc/passwd", "../../x", "~/.ssh/id_rsa", "a.{b,c}", "\0"])
def test_no_page_chooses_among_the_files_of_the_computer(studio, table, file):
    asked = {"task": "language", "model": "ngram", "settings": {table: file}}
    answer = studio.post(CHECK, json=asked)
    assert answer.status_code == 422 and answer.json()["code"] == "S252"


@pytest.mark.parametrize("how", ["task", "model", "settings.task", "settings.model", "toml"])
def test_no_page_runs_a_python_file(studio, tmp_path, how):
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\n")
    name = f"{tmp_path / 'own.py'}:Own"
    asked = {
        "task": {"task": name, "model": "ngram"},
        "model": {"task": "language", "model": name},
        "settings.task": {"task": "language", "settings": {"task.name": name}},
        "settings.model": {"task": "language", "settings": {"model.name": name}},
        "toml": {"toml": f"[task]\nname = '{name}'\n[model]\nname = '{name}'\n"},
    }[how]
    for path, body in ((CHECK, asked), ("/api/v1/runs", {"recipes": [asked]})):
        answer = studio.post(path, json={**body})
        assert answer.status_code == 422 and answer.json()["code"] == "U002"
    studio.get(f"/api/v1/datasets/{studio.data}/report", params={"task": name})
    studio.get(f"/api/v1/tasks/{name.replace('/', '%2F')}/models")
    assert not (tmp_path / "ran").exists()


def test_what_a_run_has_learned_from_may_be_used_again(trained):
    with client(trained) as web:
        toml = web.get("/api/v1/runs/counts").json()["toml"]
        told = web.post(CHECK, json={"toml": toml, "settings": {"model.order": 2}})
        assert told.status_code == 200 and told.json()["tables"]["model"]["order"] == 2


def test_everything_that_can_be_chosen_is_listed(web):
    tasks = web.get("/api/v1/tasks").json()["tasks"]
    assert {"language", "tag", "translate", "forecast"} <= {task["name"] for task in tasks}
    found = web.get("/api/v1/tasks/language/models").json()
    models = {model["name"]: model for model in found["models"]}
    assert list(models)[0] == "ngram", "from simple to large"
    assert models["ngram"]["learns"] == "counting" and models["recurrent"]["learns"] == "gradients"
    assert models["hmm"]["learns"] == "passes" and "encoder-decoder" not in models
    assert models["hmm"]["learns_by"] == "EM (Baum-Welch)"
    (cell,) = [one for one in models["recurrent"]["options"] if one["name"] == "cell"]
    assert cell["kind"] == "choice" and "gru" in cell["choices"] and cell["help"]
    assert {"epochs", "learning_rate"} <= {one["name"] for one in found["training"]}
    ahead = web.get("/api/v1/tasks/forecast/models").json()["models"]
    assert {one["name"] for one in ahead if one["is_baseline"]} >= {"naive", "drift"}
    assert web.get("/api/v1/tasks/nothing/models").json()["code"] == "U002"
