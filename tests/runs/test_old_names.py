"""Run folders and recipes of version 0.1 go on working: loaded, evaluated, asked and resumed.

`old_runs.zip` was written by the code before models and options had the names of today: a small run
of each family, the data, and in expected.json what that code said of them.
"""

import json
import tomllib
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import seqloom
from seqloom import recipe as recipes
from seqloom.cli.main import main
from seqloom.config import options
from seqloom.data.options import Data
from seqloom.decoding import Sampling
from seqloom.errors import OldNamesWarning
from seqloom.models import MODELS
from seqloom.recipe import Recipe, new_names
from seqloom.tasks import TASKS
from seqloom.training.options import Training

ARCHIVE = zipfile.ZipFile(Path(__file__).parent / "old_runs.zip")
EXPECTED = json.loads(ARCHIVE.read("expected.json"))
QUIET = pytest.mark.filterwarnings("ignore::seqloom.errors.OldNamesWarning")


@pytest.fixture
def old(tmp_path):
    """The archive unpacked, each recipe naming the data where it is now."""
    ARCHIVE.extractall(tmp_path)
    for path in tmp_path.glob("*/recipe.toml"):
        path.write_text(path.read_text().replace("DATA/", f"{tmp_path}/data/"))
    return tmp_path


def test_a_run_of_each_family_is_there():
    families = {
        tomllib.loads(ARCHIVE.read(name).decode())["model"]["name"] for name in recipe_files()
    }
    renamed = {new_names({"model": {"name": name}})[0]["model"]["name"] for name in families}
    assert renamed >= {*MODELS, "mixture"} - {"dlinear"}, "dlinear was linear with a setting"
    assert {*EXPECTED} == {Path(name).parent.name for name in recipe_files()}


def recipe_files():
    return [name for name in ARCHIVE.namelist() if name.endswith("/recipe.toml")]


@QUIET
@pytest.mark.parametrize("name", EXPECTED)
def test_an_old_run_says_what_it_said(old, name):
    run, expected = seqloom.load(old / name), EXPECTED[name]
    assert run.evaluate().values() == pytest.approx(expected["evaluate"], rel=1e-4, abs=1e-6)
    lines = (old / "data" / "text.txt").read_text().splitlines()[:2]
    if "score" in expected:
        found = [score.log_prob for score in run.score(lines)]
        assert found == pytest.approx(expected["score"], rel=1e-4)
        assert run.generate("", Sampling(temperature=0.0, limit=20)) == expected["generate"]
    if "predict" in expected:
        assert run.predict(lines) == expected["predict"]
    if "forecast" in expected:
        found = [one.forecast.mean.ravel() for one in run.forecast(old / "data" / "series.csv")]
        np.testing.assert_allclose(found, expected["forecast"], rtol=1e-4)


@QUIET
@pytest.mark.parametrize("name", [name for name in EXPECTED if "resumed" in EXPECTED[name]])
def test_an_old_run_is_resumed(old, name):
    epochs = (
        {"training.epochs": 4}
        if Recipe.read(old / name / "recipe.toml").training["epochs"] == 2
        else {}
    )
    run = seqloom.resume(old / name, settings=epochs)
    assert run.evaluate().values() == pytest.approx(EXPECTED[name]["resumed"], rel=1e-3, abs=1e-5)
    step = run.events()[-1]["step"]
    if name == "bag":  # was fitted in one step, and is anew in many
        assert step > EXPECTED[name]["resumed_step"] == 1
    else:
        assert step == EXPECTED[name]["resumed_step"]


@pytest.fixture
def unwarned(monkeypatch):
    monkeypatch.setattr(recipes, "_warned", set())


def test_one_warning_says_what_was_renamed(old, unwarned):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in ("window", "hidden-markov", "bag"):
            Recipe.read(old / name / "recipe.toml")
    (warning,) = caught
    assert warning.category is OldNamesWarning
    assert "window/recipe.toml uses names of an earlier version" in str(warning.message)
    assert "data.shared is now data.allow_overlap" in str(warning.message) or "and" in str(
        warning.message
    )
    assert "the model 'window' is now 'feedforward'" in str(warning.message)


def test_the_command_line_warns_in_one_line(old, unwarned, capsys):
    assert main(["show", "window", "--runs-dir", str(old)]) == 0
    said = capsys.readouterr()
    assert "uses names of an earlier version" in said.err and "Warning" not in said.err
    assert len([line for line in said.err.splitlines() if "earlier version" in line]) == 1


@pytest.mark.parametrize("name", recipe_files())
def test_every_old_option_has_a_name_of_today(name):
    """Nothing of an old recipe is left over: each key is an option of today, with a value that fits."""
    found, notes = new_names(tomllib.loads(ARCHIVE.read(name).decode()))
    assert notes
    kinds = {"data": Data, "training": Training, "task": TASKS[found["task"]["name"]]}
    if found["model"]["name"] != "mixture":
        kinds["model"] = MODELS[found["model"]["name"]]
    for table, kind in kinds.items():
        known = {option.name: option for option in options(kind)}
        given = {key: value for key, value in found[table].items() if key != "name"}
        assert given.keys() <= known.keys()
        assert all(known[key].fits(value) for key, value in given.items())


def test_names_of_today_are_left_alone():
    """A recipe with every default written out is read as it is."""
    for model in MODELS:
        tables = {
            "model": {"name": model} | {o.name: o.default for o in options(MODELS[model])},
            "training": {option.name: option.default for option in options(Training)},
            "data": {option.name: option.default for option in options(Data)},
        }
        assert new_names(tables) == (tables, [])
    for task in TASKS:
        table = {"name": task} | {option.name: option.default for option in options(TASKS[task])}
        assert new_names({"task": table}) == ({"task": table}, [])


@pytest.mark.parametrize(
    "table, old_table, new_table",
    [
        ("model", {"name": "linear", "variety": "dlinear", "average": 5}, {"name": "dlinear", "average": 5}),
        ("model", {"name": "linear", "average": 5}, {"name": "nlinear"}),
        ("model", {"name": "transformer", "width": 8}, {"name": "transformer", "hidden_size": 8}),
        ("model", {"name": "recurrent", "width": 8, "directions": "both"}, {"name": "recurrent", "embedding_size": 8, "bidirectional": True}),
        ("model", {"name": "ngram", "smoothing": "katz", "at_least": "1,1,2"}, {"name": "ngram", "smoothing": "katz", "min_frequency": [1, 1, 2]}),
        ("model", {"name": "recurrent", "adaptive": "2000,10000"}, {"name": "recurrent", "adaptive_softmax": [2000, 10000]}),
        ("model", {"name": "mine.py:Mine", "width": 8, "hidden": 9}, {"name": "mine.py:Mine", "width": 8, "hidden": 9}),
        ("model", {"name": "mixture", "first": {"name": "window", "hidden": 3}}, {"name": "mixture", "first": {"name": "feedforward", "hidden_size": 3}}),
        ("training", {"warmup": 0.05}, {"warmup_ratio": 0.05}),
        ("training", {"warmup": 100.0}, {"warmup_steps": 100}),
        ("training", {"warmup": 1}, {"warmup_steps": 1}),
        ("training", {"schedule": "halved"}, {"schedule": "exponential"}),
        ("task", {"name": "forecast", "calendar": "hour+weekday"}, {"name": "forecast", "calendar": ["hour", "weekday"]}),
        ("task", {"name": "tag", "tokens": "spaces", "features": "xpos, lemma"}, {"name": "tag", "tokenize": "spaces", "features": ["xpos", "lemma"]}),
        ("task", {"name": "language", "symbols": "words"}, {"name": "language", "tokens": "words"}),
        ("task", {"name": "language", "symbols": "words", "tokens": "bytes"}, {"name": "language", "tokens": "bytes"}),
    ],
)  # fmt: skip
def test_renamed(table, old_table, new_table):
    assert new_names({table: old_table})[0] == {table: new_table}


@pytest.mark.parametrize("typed, task, meant", [
    ("lstm", "language", {"name": "recurrent", "cell": "lstm"}),
    ("gru", "translate", {"name": "encoder-decoder", "cell": "gru"}),
    ("rnn", "tag", {"name": "recurrent", "cell": "elman"}),
    ("bilstm", "classify", {"name": "recurrent", "cell": "lstm", "bidirectional": True}),
    ("crf", "tag", {"name": "recurrent", "bidirectional": True, "crf": True}),
    ("cnn", "classify", {"name": "convolutional"}),
    ("cnn", "translate", {"name": "convolutional-encoder-decoder"}),
    ("arima", "forecast", {"name": "autoregressive"}),
    ("seq2seq", "translate", {"name": "encoder-decoder"}),
    ("mlp", "language", {"name": "feedforward"}),
])  # fmt: skip
def test_shortcuts_lead_to_what_is_meant(typed, task, meant):
    found = Recipe(task={"name": task}).with_model(typed)
    assert found.model == meant and found.model_name == typed
    assert found.checked().model.items() >= meant.items()


def test_a_shortcut_trains_a_run_of_its_name(data, capsys):
    main(["train", "language", str(data / "text.txt"), "-m", "lstm", "-m", "gru", "--runs-dir",
          str(data / "runs"), *(f"--set={s}" for s in ("model.hidden_size=4", "training.max_steps=1"))])  # fmt: skip
    cells = {
        folder.name: Recipe.read(folder / "recipe.toml").model["cell"]
        for folder in (data / "runs").iterdir()
    }
    assert cells == {"lstm-1": "lstm", "gru-1": "gru"}
