"""The model card says first what a run is, and what it says is true of its numbers."""

import re
import shlex
import tomllib
from dataclasses import replace

import pytest

from seqloom.cli.main import main
from seqloom.cli.session import Session
from seqloom.metrics import METRICS
from seqloom.recipe import Recipe
from seqloom.runs.baseline import BaselineResult
from seqloom.runs.card import FEW, card

TITLES = ["Data", "Test", "Command", "Limits", "Validation, at step 1", "Settings"]


@pytest.fixture
def outcome(data):
    settings = {"model.order": 2, "data.test_fraction": 0.2}
    recipe = Recipe(data={"train": str(data / "text.txt")}, task={"name": "language"})
    recipe = recipe.with_model("ngram").with_settings(settings).checked()
    return Session(data / "runs", quiet=True).train(recipe, "counts")


def sections(text):
    return dict(re.findall(r"## (.+)\n\n((?:.|\n)+?)\n(?=\n##|\Z)", text))


def test_a_card_has_data_test_metrics_command_and_limits(outcome, data, capsys, monkeypatch):
    run, test = outcome.run, outcome.test
    text = (run.folder / "card.md").read_text()
    parts, found = run.own_parts(), sections(text)
    assert text.startswith("# counts\n\nModel ngram, task language.\n")
    assert f"{run.model.num_parameters():,} parameters, trained by {run.model.learns}." in text
    assert list(found) == TITLES
    sizes = [len(part) for part in (parts.train, parts.valid, parts.test)]
    assert found["Data"].startswith(
        "- text.txt: {:,} training, {:,} validation, {:,} test examples".format(*sizes)
    )
    assert found["Test"].startswith(f"On {len(test.examples)} examples held out")
    for name, one in test.with_intervals().items():
        metric = METRICS[name]
        shown = f"{metric.show(one.value)} ({metric.show(one.low)} to {metric.show(one.high)})"
        assert f"- {metric.title}: {shown}\n" in found["Test"] + "\n"
    assert f"- baseline: {outcome.baseline.words()}" in found["Test"]
    assert str(data) not in text, "the folders of one machine are nobody else's"
    monkeypatch.chdir(data)
    capsys.readouterr()
    assert main([*shlex.split(found["Command"].strip("`\n"))[1:], "--dry-run"]) == 0
    again = tomllib.loads(capsys.readouterr().out)
    assert again["model"] == run.recipe.model and again["training"] == run.recipe.training
    assert again["data"] == run.recipe.data | {"train": "text.txt"}


def test_limits_are_what_the_numbers_say(outcome):
    run, parts, measured = outcome.run, outcome.run.own_parts(), outcome.test.with_intervals()
    longest = max(map(run.task.length, parts.train))
    unjudged = sections(card(run, parts))
    assert unjudged["Test"] == "Not evaluated on test examples."
    assert "it was not tested" in unjudged["Limits"]
    for count in (1, FEW - 1, FEW, 500):
        limits = sections(card(run, parts, measured, count))["Limits"]
        assert (f"Tested on {count} only" in limits) == (count < FEW)
        assert f"longest training example has {longest} tokens" in limits
    metric = run.task.primary_metric
    for worse in (1.0, -1.0):
        apart = replace(outcome.baseline.difference, value=worse)
        baseline = BaselineResult("unigram", metric, 2.0, apart)
        limits = sections(card(run, parts, measured, 500, baseline))["Limits"]
        assert ("Not better than the baseline (unigram)" in limits) == (worse > 0)
