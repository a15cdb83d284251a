"""Records: what the files of a run tell, and the list of all runs."""

import fcntl
import json
import os

import pytest

from seqloom.recipe import Recipe
from seqloom.runs.record import Record, all_runs, read_record, shown_bytes, to_json

EVENTS = [
    {"kind": "start", "step": 0, "size": 77},
    {"kind": "train", "step": 2, "progress": 0.4, "loss": 3.0},
    {"kind": "eval", "step": 5, "accuracy": 0.5, "loss": 2.0},
    {"kind": "eval", "step": 9, "accuracy": 0.75, "loss": 1.0, "best": True},
    {"kind": "end", "step": 9, "reason": "epochs"},
]


def made(folder, when=100.0):
    """A run folder without weights, as training leaves it."""
    folder.mkdir(parents=True)
    recipe = Recipe(task={"name": "tag"}, model={"name": "recurrent", "hidden_size": 8})
    (folder / "recipe.toml").write_text(recipe.to_toml())
    os.utime(folder / "recipe.toml", (when, when))
    for number, event in enumerate(EVENTS):
        append(folder, **{"t": when + number, **event})
    return folder


def append(folder, **event) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.write(json.dumps({"t": 1.0, "step": 9, **event}) + "\n")


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path / "tagger")


def test_the_state_of_a_run(folder):
    assert read_record(folder).state == "finished"
    append(folder, kind="end", reason="stopped")
    assert read_record(folder).state == "stopped"
    append(folder, kind="end", reason="diverged")
    assert read_record(folder).state == "diverged"
    append(folder, kind="train", progress=0.5)
    assert read_record(folder).state == "vanished"
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert read_record(folder).state == "running"
    (folder / "recipe.toml").write_text("not = a recipe")
    assert read_record(folder).state == "damaged"


def test_a_run_for_machines(folder):
    found = read_record(folder).as_dict()
    assert found["age"] > 1000
    assert found | {"age": 0} == {
        "name": "tagger",
        "folder": str(folder),
        "task": "tag",
        "model": "recurrent",
        "state": "finished",
        "progress": 0.4,
        "metric": "accuracy",
        "best": 0.75,
        "curve": [0.5, 0.75],
        "age": 0,
    }
    record = read_record(folder)
    assert record.settings()["model.hidden_size"] == 8
    assert record.num_parameters() == 77, "what training has told, where there are no weights"
    assert record.seconds() == 4


def test_time_between_a_stop_and_a_resume_is_not_training(tmp_path):
    times = [("start", 10.0), ("eval", 15.0), ("resume", 1000.0), ("train", 1002.0)]
    events = [{"kind": kind, "step": 0, "t": t} for kind, t in times]
    assert Record(tmp_path, Recipe(), events, "running").seconds() == 7


def test_all_runs_have_ids_oldest_first(tmp_path):
    runs = tmp_path / "runs"
    assert all_runs(runs) == {}
    new, old = made(runs / "new", 300.0), made(runs / "old", 100.0)
    rung, fold = made(runs / "climb" / "5-gram", 200.0), made(runs / "folds-1" / "fold-2", 250.0)
    made(runs / ".studio" / "hidden", 1.0)
    (runs / "notes.txt").write_text("not a run")
    expected = {"old": old, "climb~5-gram": rung, "folds-1~fold-2": fold, "new": new}
    assert all_runs(runs) == expected
    assert list(all_runs(runs)) == list(expected)


def test_sizes_as_people_read_them():
    shown = [shown_bytes(number) for number in (812, 9_940, 38_000, 2_300_000)]
    assert shown == ["812 B", "9.9 kB", "38 kB", "2.3 MB"]


def test_what_is_not_a_number_is_null():
    assert json.loads(to_json({"a": [float("nan"), 1.5]})) == {"a": [None, 1.5]}
