"""Names of runs: a wrong one is refused before a file is read; a file is no run, and no damaged one."""

import shutil

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.errors import UsageError


@pytest.fixture
def here(tmp_path, monkeypatch, files, runs):
    monkeypatch.chdir(tmp_path)
    shutil.copy(files / "labels.csv", tmp_path)
    for name in ("seed-1", "seed-2"):
        shutil.copytree(runs / "judge", tmp_path / "runs" / "seeds" / name)
    for name in ("folds.json", "table.json", "lock"):
        (tmp_path / "runs" / "seeds" / name).write_text('{"all": "well"}')
    (tmp_path / "runs" / "seeds" / "recipes").mkdir()
    return tmp_path


def unread(*_):
    raise AssertionError("a file was read")


@pytest.mark.parametrize(
    "command",
    [
        "train classify labels.csv",
        "train classify labels.csv -m bag-of-words -m recurrent",
        "train classify labels.csv --folds 3",
        "ladder classify labels.csv",
        "segment nothing.csv",
        "convert nothing.arpa",
        "convert nothing.safetensors --into seeds/seed-1",
        "import nothing.zip",
        "mix nothing nobody",
    ],
)
@pytest.mark.parametrize("name", ["Bad Name", "../up", "ä", "x" * 65, "-x"])
def test_a_name_that_no_run_can_have(here, monkeypatch, capsys, command, name):
    monkeypatch.setattr("seqloom.runs.train.suited_options", unread)
    monkeypatch.setattr("seqloom.experiments.ladder.read_parts", unread)
    assert main([*command.split(), f"--name={name}"]) == 2
    assert f"error[U009]: {name!r} cannot name a run" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    ["train classify labels.csv", "train classify labels.csv --folds 3", "ladder classify a.csv"],
)
def test_a_name_that_is_taken(here, monkeypatch, capsys, command):
    for name in ("suited_options", "read_parts"):
        monkeypatch.setattr(f"seqloom.runs.train.{name}", unread)
    for place in ("ladder", "cross_validate"):
        monkeypatch.setattr(f"seqloom.experiments.{place}.read_parts", unread)
    is_queue = "train" not in command or "--folds" in command
    if "--folds" in command:
        monkeypatch.setattr("seqloom.runs.train.suited_options", lambda *_: {})
    shutil.copytree(here / "runs" / "seeds" / "seed-1", here / "runs" / "taken")
    if is_queue:
        (here / "runs" / "taken" / "recipe.toml").unlink()
    assert main([*command.split(), "--name", "taken"]) == 2
    assert "error[U009]: there is a " in capsys.readouterr().err


def test_in_python_too(here, monkeypatch):
    monkeypatch.setattr("seqloom.runs.train.suited_options", unread)
    for train in (seqloom.train, seqloom.cross_validate):
        with pytest.raises(UsageError, match="cannot name a run"):
            train("classify", "labels.csv", name="Bad Name")


def test_what_lies_beside_runs_is_not_compared(here, capsys):
    found = sorted(map(str, (here / "runs" / "seeds").iterdir()))
    assert main(["compare", *found]) == 0
    done = capsys.readouterr()
    assert "accuracy" in done.out and done.out.split()[:2] == ["seed-1", "seed-2"]
    assert done.err.count("note: left out, as it is no run: ") == 4
    assert main(["compare", *found[:4]]) == 2, "one run only"
    assert main(["compare", "runs/seeds/seed-1", "nobody"]) == 2
    assert "error[U008]: there is no run called 'nobody'" in capsys.readouterr().err


def test_a_healthy_file_is_not_called_damaged(here, capsys):
    assert main(["show", "runs/seeds/folds.json"]) == 4
    said = capsys.readouterr().err
    assert said.startswith("error[M115]: runs/seeds/folds.json is a file; a run is a folder")
    assert main(["show", "runs/seeds/seed-1/weights.safetensors"]) == 4
    assert "help: give the folder: runs/seeds/seed-1" in capsys.readouterr().err
    (here / "cut.safetensors").write_bytes(b"cut")
    assert main(["show", "cut.safetensors"]) == 4
    assert "error[M113]" in capsys.readouterr().err
