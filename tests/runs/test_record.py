"""Records: what the files of a run tell, and the list of all runs."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from seqloom.cli.main import main
from seqloom.recipe import Recipe
from seqloom.runs.record import Record, all_runs, read_record, shown_bytes, to_json
from seqloom.training.events import read_events

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


WRONG = [None, True, -1, 1.5, 10**400, float("nan"), "x", "1", [], [1], {}, {"a": "b"}, [{"a": 1}]]
FIELDS = [
    "t",
    "step",
    "kind",
    "progress",
    "seconds",
    "size",
    "examples",
    "notes",
    "reason",
    "epoch",
]


def odd_folders(runs):
    """Run folders that no training has made, each with what is wrong with it."""
    for field in [*FIELDS, "accuracy", "loss", "best", "samples", "best_step"]:
        folder = made(runs / field.replace("_", "-"))
        wrong = [{"t": 1.0, **event, field: value} for value in WRONG for event in EVENTS]
        (folder / "events.jsonl").write_text("\n".join(map(json.dumps, wrong)))
    lines = {"null": "null", "number": "3", "empty": "{}", "deep": "[" * 100_000, "text": "\xff\0"}
    for name, line in lines.items():
        made(runs / name).joinpath("events.jsonl").write_text(f"{line}\n" * 3)
    without_time = "\n".join(json.dumps(event) for event in EVENTS)
    made(runs / "timeless").joinpath("events.jsonl").write_text(without_time)
    recipes = {
        "nested": f"[model]\nx = {'[' * 300}{']' * 300}",
        "dotted": f"[model.{'a.' * 5000}a]",
        "listed": '[task]\nname = ["tag"]\n[model]\nname = {a = 1}\n[data]\ntrain = [1, 2]',
        "broken": "not = a recipe",
        "rounded": "[training]\nwarmup = inf\nsmoothing = nan\n[model]\nkernels = '3'",
    }
    for name, recipe in recipes.items():
        (made(runs / name) / "recipe.toml").write_text(recipe)
    for name in ("events.jsonl", "recipe.toml", "weights.safetensors", "card.md", "lock"):
        folder = made(runs / f"folder-{name.partition('.')[0]}")
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()
    os.mkfifo(made(runs / "pipe") / "weights.safetensors")
    events = made(runs / "pipe-of-events") / "events.jsonl"
    events.unlink()
    os.mkfifo(events)


def test_an_odd_run_folder_takes_no_run_off_a_list(tmp_path, monkeypatch, capsys):
    odd_folders(tmp_path / "runs")
    made(tmp_path / "runs" / "whole", 4e9)
    monkeypatch.chdir(tmp_path)
    folders = all_runs(tmp_path / "runs")
    assert main(["runs"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{name} " in listed for name in folders)
    assert main(["--json", "runs"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    states = {row["name"]: row["state"] for row in rows}
    assert rows[-1] == read_record(Path("runs/whole")).as_dict()
    assert {states[name] for name in ("nested", "dotted", "broken", "folder-events")} == {"damaged"}
    for name in folders:
        assert main(["show", name, "--all"]) in (0, 2), name
        assert main(["--json", "show", name]) in (0, 2), name
    assert "bug:" not in capsys.readouterr().err


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_field_of_the_wrong_kind_is_as_if_it_were_not_there(folder, field, number):
    """Whatever a reader makes of it: with the field it is what it is without it, or a right value."""
    value = WRONG[number]
    event = {"t": 7.0, "kind": "train", "step": 9, field: value}
    append(folder, **event)
    last = read_events(folder / "events.jsonl")[-1]
    if last.get("kind") == "end":
        assert field in ("kind", "step"), "it is no event at all"
    else:
        assert last == {name: kept for name, kept in event.items() if name in last}
        assert set(event) - set(last) <= {field}
        assert field not in last or can_be(field, value)


def can_be(field, value):
    """The kinds of values that training writes."""
    texts, numbers = ("kind", "reason"), ("t", "progress", "seconds", "epoch")
    if field in texts or field in ("step", "size"):
        return isinstance(value, str if field in texts else int) and value not in (True, -1)
    if field in numbers:
        return isinstance(value, int | float) and value is not True and abs(value) < 2
    return value in ([], {}) if field in ("examples", "notes") else True


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
