"""Puzzles: the same from the same seed, right by brute force, and as hard as is written."""

import hashlib
import io
import math
from collections import Counter
from contextlib import redirect_stdout
from datetime import date

import numpy as np
import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.errors import DataError, ModelError, TrainingError, UsageError
from seqloom.metrics import METRICS, value_of
from seqloom.recipe import Recipe
from seqloom.runs.run import CHECKPOINT
from seqloom.runs.splits import fingerprint, read_parts
from seqloom.runs.train import resume
from seqloom.signature import Form, Labels, Signature, Tokens, Vectors
from seqloom.tasks.algorithmic import PUZZLES, ProblemOptions
from seqloom.tasks.algorithmic.text import MONTHS, WEEKDAYS
from seqloom.tasks.algorithmic_task import Algorithms
from seqloom.training.checkpoints import load_arrays

COUNT = 4000


def drawn(problem, length=20, part="train", **options):
    """A task, its questions as words, and its answers."""
    shape = ProblemOptions(length=length) if "length" in PUZZLES[problem].uses else ProblemOptions()
    task = Algorithms(problem=problem, shape=shape, **{"examples": COUNT, **options})
    made = task.generator().draw(part)
    questions = [task.show_question(example).split() for example in made]
    return task, questions, [task.decode(example.answer.tolist()) for example in made]


BY_DEFINITION = {  # the answer, from the words of a question alone
    "adding": lambda words: sum(float(w.split(":")[0]) for w in words if w.endswith(":1")),
    "addition": lambda words: str(sum(int(number) for number in words[0].split("+"))),
    "copy": lambda words: ["-"] * (words.index(">") + 1) + words[:10],
    "dates": lambda words: iso(" ".join(words)),
    "order": lambda words: "".join(word for word in words if word in "XY"),
    "parity": lambda words: ["even", "odd"][words.count("1") % 2],
    "programs": lambda words: printed(" ".join(words)),
    "recall": lambda words: words[0],
    "reversal": lambda words: "".join(reversed(words[0])),
}


def iso(text):
    """A date by its parts, whatever their order: a year of four digits, a month's name or number."""
    if text.isdigit():
        text = f"{text[:4]} {text[4:6]} {text[6:]}"
    for mark in ",./-":
        text = text.replace(mark, " ")
    words = text.lower().split()
    year = next(word for word in words if word.isdigit() and len(word) == 4)
    names = [
        n for n, name in enumerate(MONTHS, 1) for word in words if word[:3] == name.lower()[:3]
    ]
    small = [word.rstrip("stndrh") for word in words if word[0].isdigit() and word != year]
    month, day = (names[0], small[0]) if names else small
    found = date(int(year), int(month), int(day))
    told = [name for name in WEEKDAYS for word in words if word in (name.lower(), name[:3].lower())]
    assert told in ([], [WEEKDAYS[found.weekday()]])
    return found.isoformat()


def printed(text):
    """What Python itself prints."""
    said = io.StringIO()
    with redirect_stdout(said):
        exec(text.replace("\\n", "\n"), {})
    return said.getvalue().rstrip("\n")


@pytest.mark.parametrize("problem", PUZZLES)
def test_answers_are_right(problem):
    count = COUNT if PUZZLES[problem].form is not Form.TRANSDUCE else COUNT // 5
    _, questions, answers = drawn(problem, examples=count)
    assert len(questions) == count
    for words, answer in zip(questions, answers, strict=True):
        right = BY_DEFINITION[problem](words)
        assert answer == (pytest.approx(right, abs=1e-6) if problem == "adding" else right)


# What the first ten examples were when this was written: another machine must draw the same.
DIGESTS = {
    "adding": "00294feaf0734ede",
    "addition": "03a792deb4e22bc4",
    "copy": "e8441b25c093870f",
    "dates": "8da846d736f3ea2a",
    "order": "3dd78e5a9c8430d7",
    "parity": "1aa16c4a9da7b733",
    "programs": "db10594856df025d",
    "recall": "6434110ff0d1b8e6",
    "reversal": "11ec1cf318901491",
}


@pytest.mark.parametrize("problem", PUZZLES)
def test_the_same_seed_gives_the_same_examples_everywhere(problem):
    _, questions, answers = drawn(problem, examples=10)
    text = repr(
        [(" ".join(words), answer) for words, answer in zip(questions, answers, strict=True)]
    )
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGESTS[problem]


@pytest.mark.parametrize("problem", PUZZLES)
def test_seeds_and_parts_give_other_examples(problem):
    sizes = {"examples": 50, "valid_examples": 50, "test_examples": 50}
    found = [drawn(problem, part=part, **sizes)[1] for part in ("train", "valid", "test")]
    found.append(drawn(problem, seed=2, **sizes)[1])
    for number, one in enumerate(found):
        for other in found[:number]:
            assert one != other
    assert drawn(problem, **sizes)[1] == found[0]


def error_of(task, questions, answer):
    """The headline where every question gets the same answer."""
    made = task.generator().draw("train")
    judged = [task.score(example, answer, 0.0)[task.primary_metric] for example in made]
    return value_of(task.primary_metric, judged)


def test_chance_levels():
    task, questions, _ = drawn("adding")
    assert error_of(task, questions, 1.0) == pytest.approx(1 / 6, abs=0.01)
    for problem, labels in {"order": 4, "parity": 2, "recall": 8}.items():
        task, questions, answers = drawn(problem)
        for label in set(answers):
            assert error_of(task, questions, label) == pytest.approx(1 / labels, abs=0.03)
        assert len(set(answers)) == labels


def test_chance_of_copy():
    """Who knows the form but none of the letters: 10 log 8 / (T + 20) nats a place."""
    task, questions, answers = drawn("copy", 30)
    letters = Counter(letter for answer in answers for letter in answer[-10:])
    assert len(letters) == 8 and min(letters.values()) > 0.9 * 10 * COUNT / 8
    nats, example = 10 * math.log(8), task.generator().draw("train")[0]
    loss = task.score(example, answers[0], nats)["loss"]
    assert loss.top / loss.bottom == pytest.approx(10 * math.log(8) / (30 + 20))
    blank = task.score(example, ["-"] * 50, nats)
    assert blank["symbol_error"] == (10, 10) and blank["sequence_error"] == (1, 1)
    one_wrong = [*answers[0][:-1], "-"]
    assert task.score(example, one_wrong, nats)["symbol_error"] == (1, 10)


def test_places_of_adding():
    """One mark in each half, at every place of it equally often; values all over [0, 1)."""
    _, questions, _ = drawn("adding", 7)
    marked = [[place for place, word in enumerate(q) if word.endswith(":1")] for q in questions]
    assert all(len(q) == 7 for q in questions) and all(len(places) == 2 for places in marked)
    firsts, seconds = Counter(places[0] for places in marked), Counter(p[1] for p in marked)
    assert set(firsts) == {0, 1, 2} and set(seconds) == {3, 4, 5, 6}
    assert min(firsts.values()) > 0.9 * COUNT / 3 and min(seconds.values()) > 0.9 * COUNT / 4
    values = np.array([float(word.split(":")[0]) for q in questions for word in q])
    assert values.min() >= 0 and values.max() < 1
    assert np.allclose(np.histogram(values, 4, (0, 1))[0] / len(values), 0.25, atol=0.01)


def test_places_of_copy():
    _, questions, answers = drawn("copy", 5, examples=20)
    for words, answer in zip(questions, answers, strict=True):
        assert len(words) == len(answer) == 5 + 20
        assert words[10:] == ["-"] * 4 + [">"] + ["-"] * 10


def test_places_of_order():
    """As in experiment 6a: 100 to 110 places, the two at 10 to 20 and at 50 to 60."""
    _, questions, _ = drawn("order", 100)
    places = [[p for p, word in enumerate(q) if word in "XY"] for q in questions]
    assert {len(q) for q in questions} == set(range(100, 111))
    assert {first for first, _ in places} == set(range(10, 21))
    assert {second for _, second in places} == set(range(50, 61))
    assert all(q[0] == "E" and q[-1] == "B" for q in questions)
    assert all(set(q[1:-1]) <= set("abcdXY") for q in questions)


def test_lengths_of_parity_and_recall():
    _, questions, _ = drawn("parity", 6)
    lengths = Counter(len(words) - 1 for words in questions)
    assert set(lengths) == set(range(1, 7)) and min(lengths.values()) > 0.8 * COUNT / 6
    assert all(q[-1] == "." and set(q[:-1]) <= {"0", "1"} for q in questions)
    _, questions, _ = drawn("recall", 6)
    assert all(len(q) == 8 and q[-1] == "?" for q in questions)


def test_squared_error_is_a_ratio_with_an_interval():
    task, _, _ = drawn("adding", examples=200)
    made = task.generator().draw("train")
    rights = [task.decode(example.answer.tolist()) for example in made]
    ratios = [task.score(example, 0.9, 0.0)["squared_error"] for example in made]
    found = METRICS["squared_error"].measure(ratios)
    assert found.value == pytest.approx(np.mean([(0.9 - right) ** 2 for right in rights]))
    assert found.low < found.value < found.high


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"problem": "pairity"}, "did you mean 'parity'?"),
        ({"length": 1}, "this problem needs at least 2"),
        ({"problem": "order", "length": 9}, "this problem needs at least 10"),
        ({"examples": 0}, "examples must be at least 1"),
        ({"test_examples": -1}, "other numbers at least 0"),
    ],
)
def test_wrong_settings(options, words):
    with pytest.raises(UsageError) as told:
        Recipe(task={"name": "algorithms", **options}, model={"name": "recurrent"}).checked()
    assert told.value.code == "U010" and words in str(told.value)


def test_typed_questions_that_cannot_be_read():
    task = Algorithms(problem="adding")
    for text in ("0.3", "0.3:x", "a:1 0.2:0", "nan:1", "0.3:0 :"):
        with pytest.raises(DataError) as told:
            task.question(text)
        assert told.value.code == "D025" and "0.3:0 0.7:1" in str(told.value)
    assert Algorithms(problem="parity").is_known(Algorithms(problem="parity").question("1 2 .")) == [
        True, False, True,
    ]  # fmt: skip


def test_models_that_cannot(tmp_path):
    recipe = Recipe(model={"name": "encoder-decoder"})
    with pytest.raises(ModelError) as told:
        recipe.build_model(Signature(Form.TRANSDUCE, Tokens(5), Vectors(2)))
    assert told.value.code == "M123" and "cannot predict vectors of real numbers" in str(told.value)
    assert recipe.build_model(Signature(Form.TRANSDUCE, Vectors(2), Tokens(5)))
    with pytest.raises(ModelError) as told:
        Recipe(task={"name": "algorithms"}, model={"name": "ngram"}).checked()
    assert told.value.code == "M120" and "can: convolutional, feedforward, recurrent" in str(
        told.value
    )
    with pytest.raises(ValueError, match="FORECAST"):
        Signature(Form.NEXT, Vectors(2), Vectors(2))
    assert Signature(Form.EACH, Vectors(2), Labels(2)).source == Vectors(2)


SMALL = {"length": 12, "examples": 64, "valid_examples": 8, "test_examples": 8}
MODEL = {"name": "recurrent", "embedding_size": 4, "hidden_size": 6}


def small(problem, **training):
    return Recipe({}, {"name": "algorithms", "problem": problem, **SMALL}, MODEL, training)


def test_parts_and_fingerprint():
    recipe = small("recall").checked()
    task, data = recipe.build_task(), recipe.build_data()
    parts = read_parts(task, data)
    assert [len(getattr(parts, part)) for part in ("train", "valid", "test")] == [64, 8, 8]
    assert fingerprint(task, data) == {"problem": "recall", "seed": "1"} | {
        name: str(value) for name, value in SMALL.items()
    }
    with pytest.raises(UsageError, match="U012"):
        read_parts(task, Recipe(data={"valid": "v.txt"}).build_data())


def test_what_is_tested_is_not_learned():
    """Short bit strings are few: those that are learned are not asked for."""
    recipe = small("parity").with_settings({"task.length": 8, "task.test_examples": 200})
    parts = read_parts(recipe.build_task(), recipe.build_data())
    train, valid, test = (
        {example.question.tobytes() for example in part}
        for part in (parts.train, parts.valid, parts.test)
    )
    assert not train & valid and not (train | valid) & test
    assert len(parts.train) == 64 and 0 < len(parts.test) < 200 and "left out" in parts.notes[0]
    shared = recipe.with_settings({"data.allow_overlap": True})
    assert len(read_parts(shared.build_task(), shared.build_data()).test) == 200


def test_resume_is_exact(tmp_path):
    steady = {"batch_size": 8, "schedule": "constant", "warmup_ratio": 0.0}
    whole = seqloom.train(small("adding", max_steps=6, **steady), name="whole", runs=tmp_path)
    part = seqloom.train(small("adding", max_steps=3, **steady), name="part", runs=tmp_path)
    with pytest.raises(TrainingError) as told:
        resume(part.folder, settings={"task.length": 13})
    assert told.value.code == "T120" and "the setting task.length has changed" in str(told.value)
    again = resume(part.folder, settings={"training.max_steps": 6})
    assert again.recipe.task == whole.recipe.task  # what was refused is not kept
    ours, theirs = (load_arrays(run.folder / CHECKPOINT).arrays for run in (again, whole))
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        code = main(list(arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


QUICK = [
    "--set",
    "training.max_steps=2",
    "--set",
    "model.hidden_size=4",
    "--set",
    "model.embedding_size=4",
]
QUICK += [part for name, n in SMALL.items() for part in ("--set", f"task.{name}={n}")]


def test_from_the_command_line(say):
    """Train without a file, evaluate on the own test part, ask, look inside, show."""
    code, _, told = say("train", "algorithms", "-n", "sums", *QUICK)
    assert code == 0 and "Next: seqloom evaluate sums" in told
    code, out, _ = say("evaluate", "sums")
    assert code == 0 and "mean squared error" in out and "8 examples" in out
    code, out, _ = say("predict", "sums", "0.3:0 0.7:1 0.2:1")
    assert code == 0 and isinstance(float(out), float)
    code, out, _ = say("predict", "sums", "0.3:0 0.7:1", "--json")
    assert code == 0 and '"output"' in out and "probability" not in out
    code, _, told = say("predict", "sums", "0.3 0.7")
    assert code == 3 and "error[D025]" in told
    code, out, _ = say("inspect", "sums", "--text", "0.3:0 0.7:1")
    assert code == 0 and "0.7:1" in out
    code, out, _ = say("show", "sums")
    assert code == 0 and "problem adding" in out


def test_runs_of_one_problem_are_compared(say):
    for name, more in {
        "one": [],
        "two": ["-s", "2"],
        "bits": ["--set", "task.problem=parity"],
    }.items():
        assert say("train", "algorithms", "-n", name, *QUICK, *more)[0] == 0
    code, out, _ = say("compare", "one", "two")
    assert code == 0 and "n = 8 examples (the test part of one)" in out
    code, _, told = say("compare", "one", "bits")
    assert code == 4 and "bits: algorithms parity" in told


def test_a_file_is_refused(say, tmp_path):
    (tmp_path / "sums.txt").write_text("0.3:0 0.7:1\n")
    code, _, told = say("train", "algorithms", "sums.txt", *QUICK)
    assert code == 2 and "error[U012]" in told and "sums.txt" in told
    assert say("train", "algorithms", "-n", "sums", *QUICK)[0] == 0
    code, _, told = say("evaluate", "sums", "sums.txt")
    assert code == 2 and "error[U012]" in told
    code, out, _ = say("check", "sums.txt", "--task", "algorithms")
    assert code == 3 and "U012" in out
