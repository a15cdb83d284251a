"""Folds and repeats: what is held out is never learned from, what is done is kept, all is exact."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.experiments import queue
from seqloom.experiments.cross_validate import PLAN, Repetitions, prepare
from seqloom.experiments.queue import QueueCallback
from seqloom.recipe import Recipe
from seqloom.runs.splits import read_parts
from seqloom.signature import Form
from seqloom.tasks import TASKS

SMALL = [
    "--set",
    "model.embedding_size=4",
    "--set",
    "model.hidden_size=4",
    "--set",
    "training.epochs=1",
]
LINES = ["--set", "task.layout=lines"]


@pytest.fixture
def here(data, monkeypatch):
    """Texts with a label, an author and a time; the first text stands there three times."""
    monkeypatch.chdir(data)
    rows = [(f"text {n} is {'good' if n % 3 else 'bad'}", "yes" if n % 3 else "no", f"a{n % 8}")
            for n in range(40)]  # fmt: skip
    rows += [rows[0], rows[0]]
    write(data / "texts.csv", rows)
    return data


def write(path: Path, rows: list[tuple[str, ...]]) -> None:
    lines = ["text,label,author", *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def parts_of(fold, folds=4, **settings):
    data = {"train": "texts.csv", "folds": folds, "fold": fold, **settings}
    recipe = Recipe(data=data, task={"name": "classify"})
    task = recipe.build_task()
    return task, read_parts(task, recipe.build_data())


def lines(examples):
    return {example.line for example in examples}


@pytest.mark.parametrize("settings", [{}, {"group": "author"}, {"group": "3"}])
def test_every_example_is_held_out_once_and_never_learned_from(here, settings):
    held = []
    for fold in range(1, 5):
        task, parts = parts_of(fold, valid_fraction=0.2, **settings)
        held += [example.line for example in parts.test]
        sides = [{task.key(one) for one in part} for part in (parts.train, parts.valid, parts.test)]
        assert all(sides) and not sides[0] & sides[1]
        assert not sides[2] & (sides[0] | sides[1]), "what chooses the best step is held in too"
        assert len(parts.train) + len(parts.valid) + len(parts.test) == 42 and not parts.notes
        authors = [{(line - 2) % 8 for line in lines(part) if line < 42}
                   for part in (parts.train + parts.valid, parts.test)]  # fmt: skip
        assert bool(authors[0] & authors[1]) == (not settings)
    assert sorted(held) == list(range(2, 44))


def test_equal_texts_part_where_overlap_is_allowed(here):
    rows = [("the same", "yes", "a")] * 10 + [(f"text {n}", "no", "b") for n in range(10)]
    write(here / "texts.csv", rows)
    for fold in range(1, 6):
        task, parts = parts_of(fold, folds=5, allow_overlap=True, valid_fraction=0)
        assert [one.labels for one in parts.test].count(("yes",)) == 2, "as if all were different"
        assert parts.notes == ["2 of 4 test examples are in training, too (data.allow_overlap)"]
        assert len(parts.train) == 16
    with pytest.raises(seqloom.errors.DataError, match=r"D162.*one example, too few for 5 folds"):
        parts_of(1, folds=5)  # ten equal texts are one
    held = [parts_of(fold, group="author", folds=2, allow_overlap=True)[1].test for fold in (1, 2)]
    assert sorted(len({one.labels for one in part}) for part in held) == [1, 1], "groups stay whole"


@pytest.mark.parametrize(
    ("overlap", "words"),
    [
        (True, "test folds may have what was trained on"),
        (False, "equal ones are not both in training and test"),
    ],
)
def test_folds_say_how_many_examples_repeat_another(here, overlap, words):
    data = {"train": "texts.csv", "allow_overlap": overlap}
    recipe = Recipe(data, {"name": "classify"}, {"name": "recurrent"})
    folder = prepare(recipe, Repetitions(2, 1), "", here / "runs")
    (note,) = json.loads((folder / PLAN).read_text())["notes"]
    assert note.startswith(f"2 of 42 examples repeat another one: {words}")


def test_labels_are_in_proportion_unless_chance_alone_is_wanted(here):
    shares = [[one.labels for one in parts_of(fold)[1].test].count(("no",)) for fold in range(1, 5)]
    assert shares == [4, 4, 4, 4], "sixteen, of which three are one text"
    rows = [(f"text {n}", "no" if n < 2 else "yes", "a") for n in range(30)]
    write(here / "texts.csv", rows)
    with pytest.raises(seqloom.errors.DataError, match=r"D162.*'no' has 2 different"):
        parts_of(1)
    parts_of(1, stratified=False)


def test_in_time_only_what_came_before_is_learned_from(here):
    for fold in range(1, 4):
        _, parts = parts_of(fold, folds=3, in_time=True, valid_fraction=0.2)
        assert max(lines(parts.train)) < min(lines(parts.valid))
        assert max(lines(parts.valid)) < min(lines(parts.test))
        assert len(parts.test) == pytest.approx(42 / 4, abs=1)
    _, parts = parts_of(3, folds=3, in_time=True)
    assert 2 not in lines(parts.train), "it stands in the last fold again"
    assert "1 training examples left out" in parts.notes[0]


def test_a_file_for_validation_is_used_but_for_what_is_held_out(here):
    write(here / "valid.csv", [("text 1 is good", "yes", "b"), ("one more", "no", "b")])
    task, known = parts_of(1)
    for fold in range(1, 5):
        _, parts = parts_of(fold, valid="valid.csv")
        is_held = ("text", "1", "is", "good") in {task.key(one) for one in parts.test}
        assert len(parts.valid) == 2 - is_held
        assert len(parts.train) + len(parts.test) == 42 - (not is_held)


def test_groups_of_sentences_and_of_json(here):
    words = [f"w{n}\tN\td{n // 3}\nx\tV\td{n // 3}" for n in range(12)]
    (here / "docs.conll").write_text("\n\n".join(words) + "\n")
    rows = [{"text": f"t {n}", "label": "ab"[n % 2], "who": n // 4} for n in range(12)]
    (here / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    cases = (
        ("tag", "docs.conll", "3", "word=1,tag=2", lambda one: int(one.words[0][1:]) // 3),
        ("classify", "rows.jsonl", "who", "", lambda one: int(one.symbols[1]) // 4),
    )
    for task, file, group, columns, of in cases:
        found = []
        for fold in (1, 2):
            data = {"train": file, "folds": 2, "fold": fold, "group": group, "columns": columns}
            recipe = Recipe(data=data, task={"name": task})
            parts = read_parts(recipe.build_task(), recipe.build_data())
            found.append({of(one) for one in parts.test})
            assert not found[-1] & {of(one) for one in parts.train + parts.valid}
        assert found[0] and found[1] and not found[0] & found[1]


WRONG = {
    "U100": ["classify", "texts.csv", "--folds", "1"],
    "U101": ["classify", "texts.csv", "--set", "data.folds=3", "--set", "data.fold=4"],
    "U102": ["classify", "texts.csv", "--folds", "3", "--group", "author", "--in-time"],
    "U103": ["classify", "texts.csv", "--group", "author"],
    "U104": ["language", "text.txt", "--folds", "3", "--set", "task.layout=stream"],
    "U105": ["algorithms", "--folds", "3"],
    "U106": ["classify", "texts.csv", "--folds", "3", "--test", "labels.csv"],
    "U107": ["classify", "texts.csv", "--repeat", "0"],
    "U108": ["classify", "texts.csv", "--repeat", "2", "--set", "data.test_fraction=0"],
    "D160": ["classify", "texts.csv", "--folds", "3", "--group", "autor"],
    "D161": ["classify", "texts.csv", "--folds", "45"],
    "D162": ["classify", "texts.csv", "--folds", "17"],
}


@pytest.mark.parametrize("code", WRONG)
def test_what_is_wrong_is_told_before_anything_begins(here, capsys, code):
    exit_code = main(["train", *WRONG[code]])
    told = capsys.readouterr().err
    assert f"error[{code}]" in told and exit_code == (2 if code[0] == "U" else 3)
    assert not (here / "runs").exists() and "help: " in told


@pytest.mark.parametrize("code, option, rows", [
    ("D163", "author", [("a b", "x", "z"), ("c d", "x", ""), ("e f", "x", "u")]),
    ("D164", "author", [("a b", "x", "z"), ("c d", "x", "z")]),
    ("D161", "author", [("a b", "x", "z"), ("c d", "x", "u")]),
    ("D161", "author", [("a b", "x", "u"), ("a b", "x", "v"), ("a b", "x", "w")]),
    ("D160", "5", [("a b", "x", "z"), ("c d", "x", "z")]),
])  # fmt: skip
def test_groups_that_cannot_be(here, capsys, code, option, rows):
    write(here / "texts.csv", rows)
    assert main(["train", "classify", "texts.csv", "--folds", "3", "--group", option]) == 3
    assert f"error[{code}]" in capsys.readouterr().err


def test_other_words_for_what_is_wrong(here, capsys):
    """A near name is offered; a plain text has no columns; too few to begin from in time."""
    assert main(["train", *WRONG["D160"]]) == 3
    assert "did you mean 'author'?" in capsys.readouterr().err
    folds = ["--folds", "3", "--group", "2", *LINES]
    assert main(["train", "language", "text.txt", *folds]) == 3
    assert 'no column "2"' in capsys.readouterr().err
    write(here / "texts.csv", [("a b", "x", "z"), ("c d", "x", "u"), ("e f", "x", "u")])
    assert main(["train", "classify", "texts.csv", "--folds", "3", "--in-time"]) == 3
    assert "--folds 2   or fewer" in capsys.readouterr().err
    assert main(["train", "classify", "texts.csv", "--folds", "0"]) == 2
    assert main(["train", "--resume", "--folds", "3"]) == 2
    assert "takes no --folds" in capsys.readouterr().err


def test_the_recipes_of_folds_and_repeats():
    recipe = Recipe(task={"name": "classify"}, data={"train": "texts.csv"})
    recipe = recipe.with_model("recurrent").with_settings({"training.seed": 7}).checked()
    found = Repetitions(folds=2, repeat=2, group="author").recipes(recipe)
    assert list(found) == ["seed-7-fold-1", "seed-7-fold-2", "seed-8-fold-1", "seed-8-fold-2"]
    last = found["seed-8-fold-2"]
    assert last.data["group"] == "author" and last.training["seed"] == 8
    assert (last.data["folds"], last.data["fold"], last.data["split_seed"]) == (2, 2, 2)
    seeds = Repetitions(repeat=3).recipes(recipe)
    assert [one.training["seed"] for one in seeds.values()] == [7, 8, 9]
    assert {one.data["split_seed"] for one in seeds.values()} == {1}, "all judged on the same"
    assert list(Repetitions(folds=2).recipes(recipe)) == ["fold-1", "fold-2"]


def test_folds_stopped_and_gone_on_with_are_as_folds_at_once(here, in_process, capsys):
    settings = {"model.embedding_size": 4, "model.hidden_size": 4, "training.epochs": 1}
    heard = []
    whole = seqloom.cross_validate("classify", "texts.csv", folds=3, model="recurrent",
                                   settings=settings, callback=QueueCallback(heard.append))  # fmt: skip
    assert [moment.progress for moment in heard] == pytest.approx([1 / 3, 2 / 3, 1])
    assert whole.folder.name == "recurrent-folds-1" and not whole.left
    assert sum(run.examples for run in whole.runs) == 42
    values = [run.measured["accuracy"].value for run in whole.runs]
    mean = whole.means()["accuracy"]
    assert mean.value == pytest.approx(np.mean(values)) and mean.low <= mean.value <= mean.high
    assert whole.shared == pytest.approx(1 / 2)
    assert re.fullmatch(r"accuracy .* %, the mean of 3 runs; 95 % .* % to .* %\.", whole.sentence())

    in_process.clear()
    stopped = seqloom.cross_validate(
        "classify", "texts.csv", folds=3, model="recurrent", settings=settings, name="mine",
        callback=QueueCallback(should_stop=lambda: len(in_process) > 0),
    )  # fmt: skip
    assert stopped.is_stopped and stopped.left == ["fold-2", "fold-3"]
    assert json.loads(Path("runs/mine/table.json").read_text())["mean"]["accuracy"]["low"] is None
    assert main(["train", "--resume", "mine", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert in_process == ["fold-1", "fold-2", "fold-3"], "each once"
    assert found["mean"]["accuracy"] == vars(mean), "exact by seed"
    for run, again in zip(whole.runs, found["runs"], strict=True):
        assert vars(run.measured["loss"]) == again["measured"]["loss"]
    assert main(["train", "--resume", "--quiet"]) == 0  # the newest; nothing is done again
    assert capsys.readouterr().out == "runs/mine\n" and len(in_process) == 3
    alone = seqloom.load("runs/mine/fold-2").evaluate()
    assert alone.values()["loss"] == pytest.approx(whole.runs[1].measured["loss"].value)
    assert main(["train", "--resume", "mine", "--set", "training.epochs=2"]) == 2
    (here / "runs" / "mine" / "folds.json").write_text("{")
    assert main(["train", "--resume", "mine"]) == 2
    assert "error[U109]" in capsys.readouterr().err


def test_repeats_on_the_command_line(here, in_process, capsys):
    told = ["train", "algorithms", "-m", "recurrent", "--repeat", "2", *SMALL]
    told += ["--set", "task.problem=parity", "--set", "task.examples=20"]
    assert main([*told, "--set", "task.test_examples=9", "--set", "task.valid_examples=9"]) == 0
    said = capsys.readouterr()
    assert "seed-1" in said.out and "mean of all runs" in said.out and "over seeds" in said.out
    assert "Next: seqloom errors runs/recurrent-seeds-1/seed-1" in said.err
    assert main([*told, "--dry-run"]) == 0
    assert capsys.readouterr().out.count("seed = 2") == 1


def test_folds_of_two_models_and_what_failed(here, in_process, capsys, monkeypatch):
    told = [
        "train",
        "classify",
        "texts.csv",
        "-m",
        "recurrent",
        "-m",
        "feedforward",
        "--folds",
        "2",
    ]
    assert main([*told, *SMALL[:2], *SMALL[4:], "-q", "--name", "both"]) == 0
    assert capsys.readouterr().out == "runs/both-recurrent\nruns/both-feedforward\n"
    monkeypatch.setattr(
        queue._RunProcess, "run", lambda self: (5, ["error[T130]: the loss became nan"])
    )
    assert main(["train", "classify", "texts.csv", "--folds", "2", "--name", "bad"]) == 5
    said = capsys.readouterr()
    assert "error[T140]: fold-1, fold-2 could not be trained" in said.err
    assert "No run is finished yet." in said.out


def test_labels_that_a_fold_never_learned_are_counted(here, in_process, capsys):
    rows = [(f"text {n}", "rare" if n == 0 else "ab"[n % 2], f"a{n % 4}") for n in range(24)]
    write(here / "texts.csv", rows)
    told = ["train", "classify", "texts.csv", "-m", "recurrent", "--folds", "2", *SMALL]
    assert main([*told, "--group", "author"]) == 0
    assert "1 test examples were left out" in capsys.readouterr().err


def test_folds_in_processes_of_their_own(data, monkeypatch, capsys):
    monkeypatch.chdir(data)
    told = ["train", "language", "text.txt", "-m", "ngram", "--folds", "2", *LINES, "--json"]
    assert main(told) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in found["runs"]] == ["fold-1", "fold-2"]
    assert (
        sum(run["examples"] for run in found["runs"])
        == len(Path("text.txt").read_text().split("\n")) - 1
    )
    assert found["mean"]["bits_per_character"]["low"] < found["mean"]["bits_per_character"]["high"]
    (plan,) = Path("runs").glob(f"*/{PLAN}")
    assert found["notes"] == json.loads(plan.read_text())["notes"] != []


@pytest.mark.parametrize("name", TASKS)
def test_every_task_says_what_it_keeps_in_proportion(name, data):
    """A label of the whole, or none: never of some examples only."""
    files = {"classify": "labels.csv", "series-classify": "waves.jsonl"}
    for task in TASKS[name].varieties():
        if name in files:
            examples = task.read(data / files[name], Recipe().build_data())
            found = {task.stratum(example) for example in examples}
            assert found in ({"long", "short"}, {"rising", "falling"}, {None})
            assert (found == {None}) == (task.form is Form.EACH)
        else:
            assert task.stratum(None) is None
