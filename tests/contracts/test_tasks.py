"""Promises every task keeps, over TASKS × the models that can do them."""

import json

import numpy as np
import pytest

import seqloom
from seqloom.data.settings import Data
from seqloom.forms import Form
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.options import options
from seqloom.recipe import Recipe
from seqloom.tasks import TASKS
from seqloom.training.evaluation import evaluate
from seqloom.training.settings import Training

FILE = {
    "language": "text.txt",
    "tag": "tags.conll",
    "classify": "labels.csv",
    "translate": "pairs.tsv",
}
PAIRS = [(t, m) for t in TASKS for m in MODELS if TASKS[t].form in MODELS[m].forms]
SETTINGS = {"epochs": 3, "batch_size": 16, "learning_rate": 0.01}


def recipe(data, task, model, **training):
    widths = {} if model == "ngram" else {"width": 16, "hidden": 24}
    return Recipe(
        {"train": str(data / FILE[task]), "valid_fraction": 0.2, "test_fraction": 0.2},
        {"name": task},
        {"name": model, **widths},
        {**SETTINGS, **training},
    )


@pytest.fixture(params=TASKS)
def prepared(request, data):
    task = TASKS[request.param]()
    examples = task.read(data / FILE[request.param], Data())
    task.prepare(examples)
    return task, examples


def test_every_task_has_a_model():
    assert {task for task, _ in PAIRS} == set(TASKS)


def test_codecs_save_themselves(prepared):
    task, examples = prepared
    other = type(task)()
    other.restore(json.loads(json.dumps(task.state())))
    for example in examples[:5]:
        ours, theirs = task.encode(example), other.encode(example)
        assert np.array_equal(ours.source, theirs.source)
        assert np.array_equal(ours.target, theirs.target)
    assert task.signature() == other.signature()


def test_decoding_undoes_encoding(prepared):
    task, examples = prepared
    for example in examples[:5]:
        answer = task.decode(task.encode(example).target.tolist())
        again = task.answered(example, answer)
        assert np.array_equal(task.encode(again).target, task.encode(example).target)
        assert isinstance(task.show(answer), str)


def test_a_right_answer_is_judged_right(prepared):
    task, examples = prepared
    for example in examples[:5]:
        answer = task.decode(task.encode(example).target.tolist())
        for name, ratio in task.judge(example, answer, 0.0).items():
            perfect = 1.0 if "accuracy" in name else 0.0
            assert ratio.top / ratio.bottom == perfect, name


def test_typed_questions_read_like_files(prepared):
    """What a user types is read as the same line in a file would be."""
    task, examples = prepared
    for example in examples[:5]:
        typed = task.question(task.shown_question(example))
        assert np.array_equal(task.ask(typed), task.ask(example))


@pytest.mark.parametrize("thing", [*TASKS.values(), Training, Data, Search])
def test_every_option_is_explained(thing):
    assert all(option.help and option.expects for option in options(thing)), [
        option.name for option in options(thing) if not option.help
    ]


@pytest.mark.parametrize("task, model", PAIRS)
def test_trained_saved_and_loaded_predict_the_same(data, task, model):
    run = seqloom.train(recipe(data, task, model), runs=data / "runs")
    again = seqloom.load(run.folder)
    examples = run.task.read(data / FILE[task], Data())
    texts = [run.task.shown_question(example) for example in examples[:6]]
    assert again.predict(texts, beam=2) == run.predict(texts, beam=2)
    values = evaluate(run.model, run.task, examples, Search()).values()
    assert evaluate(again.model, again.task, examples, Search()).values() == values
    assert next(iter(values)) == run.task.headline
    assert (run.folder / "card.md").read_text().startswith(f"# {run.name}")


@pytest.mark.parametrize("task, model", [p for p in PAIRS if p[1] != "ngram"])
def test_learning_helps(data, task, model):
    """After a few epochs the model is less surprised than after the first."""
    run = seqloom.train(recipe(data, task, model, epochs=40), runs=data / "runs")
    found = [e for e in run.events() if e["kind"] == "eval"]
    measure = "perplexity" if TASKS[task].form is Form.NEXT else "loss"
    assert found[-1][measure] < 0.9 * found[0][measure]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_and_a_file_are_enough(data, task):
    """The simplest model that can do it, by name alone; another by its name."""
    run = seqloom.train(
        task, data / FILE[task], runs=data / "runs", settings={"training.epochs": 1}
    )
    assert run.recipe.model["name"] == next(m for t, m in PAIRS if t == task)
    other = [m for t, m in PAIRS if t == task][-1]
    run = seqloom.train(
        task, data / FILE[task], model=other, runs=data / "runs", settings={"training.epochs": 1}
    )
    assert run.recipe.model["name"] == other
