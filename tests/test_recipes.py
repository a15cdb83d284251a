"""Every recipe that is shipped trains and answers, and tells a user all of its settings."""

import re
import tomllib

import numpy as np
import pytest

import seqloom
from seqloom.batch import Item
from seqloom.cli.main import main
from seqloom.config import options
from seqloom.data.loading.batching import BucketLoader
from seqloom.data.options import Data
from seqloom.errors import ModelError
from seqloom.model import EMTrained, IterativelyFitted, StatisticsTrained
from seqloom.models import MODELS
from seqloom.recipe import TABLES, Recipe, shipped
from seqloom.tasks import TASKS
from seqloom.training.options import Training

FILE = {  # a task that is not here makes its own examples
    "language": "text.txt",
    "tag": "tags.conll",
    "classify": "labels.csv",
    "translate": "pairs.tsv",
    "music": "pieces.json",
    "forecast": "series.csv",
    "series-classify": "waves.jsonl",
}
# What is made for years of hours, made small.
SMALL = {
    "forecast": {"task.horizon": 3, "task.period": 12, "task.stride": 0, "task.together": False}
}
SMALL["forecast"] |= {f"task.{part}_steps": 0 for part in ("train", "valid", "test")}
SMALL["forecast"] |= {"model.look_back": 24, "task.calendar": ""}
MADE_FOR = {"entities": "names.conll"}  # recipes that need more than any file of their task
every_recipe = pytest.mark.parametrize("name", shipped())


def kinds(recipe: Recipe) -> dict:
    """The constructor behind each table."""
    task, model = TASKS[recipe.task["name"]], MODELS[recipe.model["name"]]
    return {"data": Data, "task": task, "model": model, "training": Training}


def test_there_are_some():
    assert "pronounce" in shipped()


def test_the_steps_of_the_music_recipe_grow_with_the_length_of_the_pieces():
    """Eight chorales of 60 frames are in a step, and two pieces of 240."""
    training = Recipe.read(shipped()["jsb-gru"]).build_training()
    sizes = []
    for frames in (60, 240):
        items = [Item(np.zeros((frames, 88)), np.zeros((frames, 88)))] * 48
        loader = BucketLoader(items, training.batch_size, training.batch_tokens, training.seed)
        sizes.append({len(loader.batch(which)) for which in loader.epoch(0)})
    assert sizes == [{8}, {2}]


def test_every_model_supports_a_task_or_says_why_not():
    """A sentence for each pair, whatever the task reads and predicts."""
    for task in TASKS:
        signature = Recipe(task={"name": task}).build_task().signature()
        for model in MODELS:
            recipe = Recipe(task={"name": task}, model={"name": model})
            if MODELS[model].supports(signature):
                continue
            with pytest.raises(ModelError) as told:
                recipe.checked()
            assert told.value.code in ("M120", "M123"), (task, model)


@every_recipe
def test_it_runs_two_steps_and_answers(name, data):
    task = Recipe.read(shipped()[name]).task["name"]
    file = str(data / MADE_FOR.get(name, FILE[task])) if task in FILE else ""
    settings = {"data.train": file, "training.max_steps": 2, "training.batch_size": 8}
    settings |= {"training.bptt": 16}
    settings |= {"data.valid_fraction": 0.1, "data.test_fraction": 0.1} | SMALL.get(task, {})
    if not file:
        settings |= {"task.examples": 40, "task.valid_examples": 8, "task.test_examples": 8}
    run = seqloom.train(name, runs=data / "runs", settings=settings)
    end = run.events()[-1]
    once = isinstance(run.model, StatisticsTrained) and not isinstance(run.model, EMTrained)
    steps = {1 if once else 2}  # so few are counted at once
    if isinstance(run.model, IterativelyFitted):  # an iteration of its optimizer is some steps
        steps = range(2, 10)
    assert (end["kind"], end["reason"]) == ("end", "finished") and end["step"] in steps
    examples = run.parts.test
    asked = [run.task.show_question(example) for example in examples[:2]]
    if run.task.verb == "compose":  # it draws its answers
        assert len(run.compose().frames) == 64
        return
    answers = run.predict(asked)
    assert len(answers) == 2 and all(isinstance(run.task.show(answer), str) for answer in answers)
    written = tomllib.loads((run.folder / "recipe.toml").read_text())
    assert written["training"]["max_steps"] == 2
    assert written["data"]["train"] == file


@every_recipe
def test_the_resolved_recipe_has_every_default(name, data, capsys):
    """What `--dry-run` prints is what a run would keep: nothing is left to later defaults."""
    recipe = Recipe.read(shipped()[name])
    file = FILE.get(recipe.task["name"])
    assert main(["train", name, *([str(data / file)] if file else []), "--dry-run"]) == 0
    printed = Recipe.of_tables(tomllib.loads(capsys.readouterr().out), name)
    assert printed.checked() == printed
    for table, kind in kinds(recipe).items():
        expected = {option.name: option.default for option in options(kind)}
        found = {key: value for key, value in getattr(printed, table).items() if key != "name"}
        assert found.keys() == expected.keys()
        given = getattr(recipe, table)
        changed = {
            key
            for key, value in found.items()
            if (tuple(value) if isinstance(value, list) else value) != expected[key]
        }
        assert changed <= given.keys() | {"train"}, table


@every_recipe
def test_it_says_how_it_is_used(name):
    """A comment at the top tells what it is for and the command that trains it."""
    text = shipped()[name].read_text(encoding="utf-8")
    assert text.startswith("# ")
    file = r" \S+" if tomllib.loads(text)["task"]["name"] in FILE else r"\s"
    assert re.search(rf"^#\s+seqloom train {re.escape(name)}{file}", text, re.MULTILINE)
    assert set(tomllib.loads(text)) <= set(TABLES)
