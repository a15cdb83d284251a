"""Baselines: every task has one, by the numbers it is right, and what trains tells it."""

import json
import math
import re
import shlex
from collections import Counter

import numpy as np
import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.evaluation.evaluate import evaluate
from seqloom.metrics import METRICS, value_of
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.recipe import Recipe
from seqloom.runs.baseline import compare_with_baseline, evaluate_baseline
from seqloom.runs.splits import read_parts
from tests.contracts.test_tasks import VARIETIES, tables


def prepared(data, variety, **fractions):
    recipe = Recipe(*tables(data, variety)).with_settings(
        {f"data.{name}": value for name, value in fractions.items()}
    )
    task = recipe.build_task()
    parts = read_parts(task, recipe.build_data())
    task.prepare(parts.train)
    return task, parts


@pytest.mark.parametrize("variety", VARIETIES)
def test_every_task_has_a_baseline_with_its_primary_metric(data, variety):
    task, parts = prepared(data, variety)
    baseline = task.baseline()
    assert baseline.title and bool(baseline.model) != bool(baseline.rule)
    if baseline.model:
        assert MODELS[baseline.model["name"]].supports(task.signature())
    examples = task.distinct(parts.test)
    found = evaluate_baseline(baseline, task, parts.train, examples)
    assert math.isfinite(value_of(task.primary_metric, found.tallies[task.primary_metric]))
    assert next(iter(found.tallies)) == task.primary_metric, "as with a model"


def test_labels_words_and_keys_are_counted(data):
    """The numbers by hand: of labels, of tags word by word, of the frames of music."""
    task, parts = prepared(data, "classify", test_fraction=0.3)
    usual = Counter(one.labels[0] for one in parts.train).most_common(1)[0][0]
    right = np.mean([one.labels[0] == usual for one in parts.test])
    found = evaluate_baseline(task.baseline(), task, parts.train, parts.test).values()
    assert found["accuracy"] == pytest.approx(right)

    task, parts = prepared(data, "tag", test_fraction=0.3)
    pairs = [pair for one in parts.train for pair in zip(one.words, one.tags, strict=True)]
    tags = {w: Counter(t for v, t in pairs if v == w).most_common(1)[0][0] for w, _ in pairs}
    asked = [pair for one in parts.test for pair in zip(one.words, one.tags, strict=True)]
    right = np.mean([tags[word] == tag for word, tag in asked])
    found = evaluate_baseline(task.baseline(), task, parts.train, parts.test).values()
    assert found["accuracy"] == pytest.approx(right)

    task, parts = prepared(data, "music", test_fraction=0.3)
    frames = [frame for piece in parts.train for frame in piece.frames]
    keys = sorted({key for one in (*parts.train, *parts.test) for f in one.frames for key in f})
    low, high = task.keys.lowest, task.keys.highest
    assert low <= keys[0] and keys[-1] <= high
    share = {
        key: (sum(key in frame for frame in frames) + 0.5) / (len(frames) + 1)
        for key in range(low, high + 1)
    }
    nats = [
        -sum(math.log(p if key in frame else 1 - p) for key, p in share.items())
        for piece in parts.test
        for frame in piece.frames
    ]
    found = evaluate_baseline(task.baseline(), task, parts.train, parts.test).values()
    assert found["nats_of_all_frames"] == pytest.approx(np.mean(nats))


def test_a_mean_and_a_copy():
    task = Recipe(task={"name": "algorithms", "problem": "adding"}).build_task()
    parts = read_parts(task, Recipe(task={"name": "algorithms", "problem": "adding"}).build_data())
    found = evaluate_baseline(task.baseline(), task, parts.train, parts.test).values()
    assert found["squared_error"] == pytest.approx(1 / 6, rel=0.1), "as its page says"


def test_a_source_is_copied_as_people_write_it(tmp_path):
    lines = [f"Ein Haus Nr. {n}, {n}!\tEin Haus Nr. {n}, {n}!\n" for n in range(40)]
    (tmp_path / "same.tsv").write_text("".join(lines))
    recipe = Recipe(
        {"train": str(tmp_path / "same.tsv"), "test_fraction": 0.25},
        {"name": "translate", "split_punctuation": True},
    )
    task = recipe.build_task()
    parts = read_parts(task, recipe.build_data())
    task.prepare(parts.train)
    found = evaluate_baseline(task.baseline(), task, parts.train, parts.test).values()
    assert (
        found["sequence_error"] == 0
        and found["bleu"] == pytest.approx(1.0, abs=0.001)
        or (found["bleu"] == pytest.approx(100.0))
    )


def test_models_are_the_ones_they_name(data):
    for variety, model in (("language", "ngram"), ("forecast", "seasonal-naive")):
        task, parts = prepared(data, variety)
        options = {"order": 1} if model == "ngram" else {}
        recipe = Recipe(*tables(data, variety), {"name": model, **options})
        run = seqloom.train(recipe, name=model, runs=data / "runs")
        own = evaluate(run.model, run.task, run.own_parts().test, Search())
        found = evaluate_baseline(task.baseline(), task, parts.train, parts.test)
        name = task.primary_metric
        assert found.values()[name] == pytest.approx(own.values()[name])
        assert compare_with_baseline(run.recipe, run.task, parts.train, own) is None


def test_train_says_where_a_model_is_not_better_and_what_it_says_works(data, monkeypatch, capsys):
    """Each command that is told is run as it stands, and does what it says."""
    monkeypatch.chdir(data)
    given = ["train", "tag", "tags.conll", "-m", "recurrent", "--name", "short"]
    sets = {"model.hidden_size": 8, "model.embedding_size": 8, "training.max_steps": 1}
    sets |= {"training.epochs": 2, "data.test_fraction": 0.3, "training.probes": 0}
    settings = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
    assert main([*given, *settings]) == 0
    told = capsys.readouterr().out
    assert "  baseline: most frequent tag of each word, accuracy " in told
    (again,) = re.findall(r"not better than the baseline: .*train longer:  seqloom (.+)", told)
    assert main(shlex.split(again)) == 0, "without its limit of steps"
    steps = [event["step"] for event in seqloom.load("runs/short").events()]
    assert steps[-1] == 2, "two epochs of one step"
    (again,) = re.findall(r"train longer:  seqloom (.+)", capsys.readouterr().out)
    assert main(shlex.split(again)) == 0, "twice the epochs"
    assert seqloom.load("runs/short").events()[-1]["step"] == 4


def test_a_model_that_cannot_be_trained_longer_is_sent_to_others(data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    assert main(["train", "forecast", "series.csv", "-m", "naive"]) == 0
    told = capsys.readouterr().out
    assert "baseline: seasonal-naive forecast, MASE" in told
    file = shlex.quote(str(data / "series.csv"))
    assert (
        f"not better than the baseline: try other models:  seqloom ladder forecast {file}\n" in told
    )


def test_what_is_told_is_in_json_and_stands_nowhere_for_the_baseline_itself(
    data, monkeypatch, capsys
):
    monkeypatch.chdir(data)
    assert main(["train", "language", "text.txt", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["baseline"]
    assert told["title"] == "unigram" and told["metric"] == "bits_per_character"
    assert told["is_beaten"] and told["value"] > 0
    assert (
        main(["train", "language", "text.txt", "-m", "ngram", "--set", "model.order=1", "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["baseline"] is None
    assert METRICS[told["metric"]].lower_is_better
