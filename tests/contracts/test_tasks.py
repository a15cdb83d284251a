"""Contract of every task, over TASKS × the models that support it."""

import copy
import json
import math

import numpy as np
import pytest

import seqloom
from seqloom.config import options
from seqloom.data.options import Data
from seqloom.errors import UsageError
from seqloom.evaluation.evaluate import evaluate
from seqloom.inference.compose import CompositionOptions
from seqloom.metrics import METRICS, value_of
from seqloom.model import Search
from seqloom.models import MODELS
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts
from seqloom.signature import Bits, Form, Labels, Series, Vectors
from seqloom.tasks import TASKS
from seqloom.tasks.algorithmic import PUZZLES
from seqloom.training.options import Training

from .cases import is_drawn


def can_do(model, task):
    return MODELS[model].supports(task.signature())


FILE = {
    "language": "text.txt",
    "tag": "tags.conll",
    "classify": "labels.csv",
    "music": "pieces.json",
    "forecast": "series.csv",
    "series-classify": "waves.jsonl",
    "translate": "pairs.tsv",
}
# Small settings for the tasks that make their own examples, one of each variety.
MADE = {"examples": 48, "valid_examples": 16, "test_examples": 16}
VARIETIES = {
    "-".join(filter(None, (name, task.variety))): (name, task)
    for name, kind in TASKS.items()
    for task in kind.varieties()
}
PAIRS = [(v, m) for v, (_, t) in VARIETIES.items() for m in MODELS if can_do(m, t)]
# Models differ by forms and spaces: what trains goes through all of them once for each kind, and
# through the first that can for every further variety of the same kind. Yes or no to each label is
# of the kind of labels here; tests/contracts/test_models.py goes through all models with it.
KINDS = {}
for variety, (_, kind) in VARIETIES.items():
    shape = kind.signature()
    target = Labels if isinstance(shape.target, Bits) else type(shape.target)
    # Series that are not forecast are read as vectors are; models that read nothing else learn too.
    source = Vectors if target is Labels and type(shape.source) is Series else type(shape.source)
    KINDS.setdefault((shape.form, source, target), variety)
FIRST = {v: next(m for w, m in PAIRS if w == v) for v in VARIETIES}
TRAINED = [
    (v, m)
    for v, m in PAIRS
    if v in KINDS.values() or m == FIRST[v] or MODELS[m].source_spaces == frozenset({Series})
]
# They learn in one pass; a bag does unless it is told otherwise.
ONCE = [m for m in MODELS if not hasattr(MODELS[m], "loss") and not hasattr(MODELS[m], "restart")]
COUNTED = {"bag-of-words", *ONCE}
STARTED = {"gaussian-hmm"}  # their first pass has found groups: tests of their own see them learn
SETTINGS = {"epochs": 3, "batch_size": 16, "learning_rate": 0.01}


def tables(data, variety):
    """The tables [data] and [task] of a recipe for a variety."""
    name, task = VARIETIES[variety]
    if not task.roles:
        short = {"length": 10} if "length" in PUZZLES[task.variety].uses else {}
        return {}, {"name": name, "problem": task.variety, **short, **MADE}
    file = str(data / FILE[name])
    chosen = {task.variety: True} if task.variety else {}  # a variety is an option of this name
    return {"train": file, "valid_fraction": 0.2, "test_fraction": 0.2}, {"name": name, **chosen}


def recipe(data, variety, model, **training):
    own = {
        **dict.fromkeys(COUNTED | {"hmm", "gaussian-hmm"}, {}),
        "convolutional": {"embedding_size": 16, "hidden_size": 24, "num_layers": 2},
        "transformer": {"hidden_size": 16, "num_layers": 2},
        "transformer-encoder-decoder": {
            "hidden_size": 16,
            "encoder_layers": 1,
            "decoder_layers": 1,
        },
    }
    takes = {option.name for option in options(MODELS[model])}
    widths = own.get(model, {"embedding_size": 16, "hidden_size": 24})
    widths = {name: width for name, width in widths.items() if name in takes}
    return Recipe(*tables(data, variety), {"name": model, **widths}, {**SETTINGS, **training})


@pytest.fixture(params=VARIETIES)
def prepared(request, data):
    made = Recipe(*tables(data, request.param))
    task = made.build_task()
    before = task.signature()
    examples = read_parts(task, made.build_data()).train
    task.prepare(examples)
    return task, examples, before


def test_every_task_has_a_model():
    assert {variety for variety, _ in PAIRS} == set(VARIETIES)


def test_what_a_model_needs_to_know_is_known_before_the_data(prepared):
    """A recipe is refused or accepted by the form and the kinds of spaces, before any file."""
    task, _, before = prepared
    after = task.signature()
    assert before.form is after.form is task.form
    assert (type(before.source), type(before.target)) == (type(after.source), type(after.target))


def test_the_right_answer_is_right(prepared):
    """Judged, it has no error; its pairs are equal; a label to stratify by is the label of all."""
    task, examples, _ = prepared
    for example in examples if task.form is not Form.NEXT else ():
        answer = task.reference(example)
        for name, tally in task.score(example, answer, 0.0).items():
            if METRICS[name].percent:
                assert value_of(name, [tally]) == (0 if METRICS[name].lower_is_better else 1)
        pairs = task.confusion_pairs(example, answer)
        assert all(right == guess for right, guess in pairs)
        assert task.stratum(example) in {None, *(right for right, _ in pairs)}
    assert len({task.stratum(example) is None for example in examples}) == 1, "all or none"


@pytest.mark.parametrize("name", [name for name in FILE if not TASKS[name].splits_in_time])
def test_folds_hold_out_everything_once(data, name):
    """What is held out is never learned from, nor does it choose the best step."""
    held, everything = [], None
    for fold in (1, 2, 3):
        made = Recipe({"train": str(data / FILE[name]), "folds": 3, "fold": fold}, {"name": name})
        task = made.build_task()
        parts = read_parts(task, made.build_data())
        assert parts.train and parts.valid and parts.test
        learned = {task.key(example) for example in parts.train + parts.valid}
        assert not learned & {task.key(example) for example in parts.test}
        held += [example.line for example in parts.test]
        everything = everything or sorted(
            example.line for example in task.read(data / FILE[name], made.build_data())
        )
    assert sorted(held) == everything


def test_examples_are_read_or_made(prepared, data):
    """A task without columns makes its examples, the same each time, and refuses a file."""
    task, examples, _ = prepared
    made = task.generator()
    assert (made is None) == bool(task.roles)
    if made is not None:
        first, again = (
            [(e.question.tolist(), e.answer.tolist(), e.line) for e in made.draw("train")]
            for _ in range(2)
        )
        assert first == again and len(examples) <= len(first)
        with pytest.raises(UsageError, match="U012"):
            task.read(data / "text.txt", Data())


def test_codecs_save_themselves(prepared):
    task, examples, _ = prepared
    other = copy.deepcopy(task)
    if task.roles:
        other = type(task)(**({task.variety: True} if task.variety else {}))
    other.restore(json.loads(json.dumps(task.state())))
    for example in examples[:5]:
        ours, theirs = task.encode(example), other.encode(example)
        np.testing.assert_array_equal(ours.source, theirs.source)  # NaN is like NaN
        np.testing.assert_array_equal(ours.target, theirs.target)
    assert task.signature() == other.signature()


def test_decoding_undoes_encoding(prepared):
    task, examples, _ = prepared
    for example in examples[:5]:
        answer = task.decode(task.encode(example).target.tolist())
        again = task.with_target(example, answer)
        # Numbers that are scaled there and back may differ in their last digit.
        close = 1e-12 if task.form is Form.FORECAST else 0
        there, back = task.encode(example).target, task.encode(again).target
        np.testing.assert_allclose(there, back, rtol=close, atol=close)
        assert isinstance(task.show(answer), str)


def test_a_right_answer_is_judged_right(prepared):
    task, examples, _ = prepared
    answers = [task.decode(task.encode(example).target.tolist()) for example in examples[:5]]
    judged = [task.score(e, a, 0.0) for e, a in zip(examples[:5], answers, strict=True)]
    # The surprise of a density has no least value.
    for name in judged[0].keys() - ({"loss"} if task.form is Form.FORECAST else set()):
        metric = METRICS[name]
        best = {"perplexity": 1.0, **dict.fromkeys(("bleu", "chrf", "tokenised_bleu"), 100.0)}
        perfect = best.get(name, 0.0 if metric.lower_is_better else 1.0)
        found = value_of(name, [one[name] for one in judged])
        assert found == pytest.approx(perfect, abs=1e-12), name


def test_typed_questions_read_like_files(prepared):
    """What a user types is read as the same line in a file would be."""
    task, examples, _ = prepared
    for example in examples[:5]:
        typed = task.question(task.show_question(example))
        np.testing.assert_array_equal(task.encode_source(typed), task.encode_source(example))


@pytest.mark.parametrize("thing", [*TASKS.values(), Training, Data, Search])
def test_every_option_is_explained(thing):
    assert all(option.help and option.expects for option in options(thing)), [
        option.name for option in options(thing) if not option.help
    ]


@pytest.mark.parametrize("task, model", TRAINED)
def test_trained_saved_and_loaded_predict_the_same(data, task, model):
    run = seqloom.train(recipe(data, task, model), runs=data / "runs")
    again = seqloom.load(run.folder)
    examples = read_parts(run.task, run.recipe.build_data()).test
    texts = [run.task.show_question(example) for example in examples[:6]]
    if is_drawn(run.model.signature):  # rows of bits are sampled, not searched for
        pieces = [one.compose(CompositionOptions(steps=9, seed=3)).frames for one in (again, run)]
        assert pieces[0] == pieces[1]
    else:
        assert again.predict(texts, beam=2) == run.predict(texts, beam=2)
    values = evaluate(run.model, run.task, examples, Search()).values()
    assert evaluate(again.model, again.task, examples, Search()).values() == values
    assert next(iter(values)) == run.task.primary_metric
    assert (run.folder / "card.md").read_text().startswith(f"# {run.name}")


LEARNERS = [p for p in TRAINED if p[0] in KINDS.values() and p[1] not in COUNTED | STARTED]
QUICK = {v: next(m for w, m in LEARNERS if w == v) for v, _ in LEARNERS}  # others are slow tests


@pytest.mark.parametrize(
    "task, model",
    [pytest.param(v, m, marks=[pytest.mark.slow] * (m != QUICK[v])) for v, m in LEARNERS],
)
def test_learning_helps(data, task, model):
    """After some epochs the model is less surprised than after the first.

    A few puzzles, or one short series, can be learned by heart, not understood: they are judged by
    what was learned.
    """
    epochs = 8 if VARIETIES[task][1].splits_in_time else 40  # one series has many pieces
    run = seqloom.train(recipe(data, task, model, epochs=epochs), runs=data / "runs")
    kind = "eval" if run.task.roles and not run.task.splits_in_time else "train"
    found = [e for e in run.events() if e["kind"] == kind]
    measure = "perplexity" if run.task.form is Form.NEXT else "loss"
    measure = run.task.primary_metric if is_drawn(run.model.signature) else measure
    target = run.task.signature().target
    # Of real numbers a part of the loss is there however right they are: ½ log 2π each.
    least = 0.5 * math.log(2 * math.pi) * target.width if isinstance(target, Vectors) else 0.0
    first, last = found[0][measure] - least, found[-1][measure] - least
    # A density has no least surprise to take shares of.
    assert last < first if run.task.form is Form.FORECAST else last < 0.9 * first


@pytest.mark.parametrize("variety", VARIETIES)
def test_a_task_and_a_file_are_enough(data, variety):
    """The simplest model that can do it, by name alone; another by its name; a file if it reads."""
    _, settings = tables(data, variety)
    name = settings.pop("name")
    chosen = {f"task.{key}": value for key, value in settings.items()} | {"training.epochs": 1}
    file = data / FILE[name] if name in FILE else ""
    able = [m for v, m in PAIRS if v == variety]
    able = [m for m in able if not MODELS[m].is_baseline] or able[:1]  # where there is another
    run = seqloom.train(name, file, runs=data / "runs", settings=chosen)
    assert run.recipe.model["name"] == able[0]
    run = seqloom.train(name, file, model=able[-1], runs=data / "runs", settings=chosen)
    assert run.recipe.model["name"] == able[-1]
