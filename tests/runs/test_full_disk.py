"""A full disk, at every single write of a training: a sentence, and nothing of the run is lost."""

import errno
import io
import os
import shutil
from pathlib import Path

import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.errors import MachineError, cannot_save

from ..conftest import write_data

TRAIN = ["train", "language", "text.txt", "-m", "ngram", "--set", "model.order=1", "-q"]


class Disk:
    """A disk that has room for so many writes: into files and, of new ones, into their folders."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.room, self.writes = str(folder), float("inf"), 0
        self.opens, self.makes = io.open, os.mkdir

    def take(self) -> None:
        self.writes += 1
        if self.writes > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")

    def open(self, file, mode="r", *more, **named):
        is_path = isinstance(file, str | os.PathLike)
        if not is_path or not os.path.abspath(file).startswith(self.folder) or mode in ("r", "rb"):
            return self.opens(file, mode, *more, **named)
        self.take()
        return Limited(self.opens(file, mode, *more, **named), self)

    def mkdir(self, *given, **named):
        self.take()
        return self.makes(*given, **named)


class Limited:
    """A file on such a disk."""

    def __init__(self, file, disk: Disk) -> None:
        self.file, self.disk = file, disk

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, content):
        self.disk.take()
        return self.file.write(content)


@pytest.fixture
def disk(tmp_path, monkeypatch):
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    made = Disk(tmp_path)
    monkeypatch.setattr(io, "open", made.open)
    monkeypatch.setattr(os, "mkdir", made.mkdir)
    return made


def test_every_write_of_a_training_may_fail(disk, capsys):
    assert main([*TRAIN, "--name", "whole"]) == 0
    writes, want = disk.writes, seqloom.load("whole").score(["the cat"])[0].log_prob
    assert writes > 30
    resumed = 0
    for room in range(writes - 1):
        shutil.rmtree("runs/r", ignore_errors=True)
        capsys.readouterr()
        disk.writes, disk.room = 0, room + 1
        code, said = main([*TRAIN, "--name", "r"]), capsys.readouterr().err
        disk.room = float("inf")
        if code == 0:  # what failed is not needed, as the number of the process in its lock
            assert seqloom.load("r").score(["the cat"])[0].log_prob == want
            continue
        assert code == 6 and said.startswith("error[E301]: disk full while saving runs/"), said
        assert f"MB free in {Path.cwd()}" in said and "help: free some space there" in said
        assert not list(Path("runs").rglob("*.part"))
        has_begun = Path("runs/r/recipe.toml").exists()
        assert has_begun == ("help: seqloom train --resume r " in said)
        if has_begun:
            resumed += 1
            assert main(["train", "--resume", "r", "-q"]) == 0
        else:
            assert not Path("runs/r").exists()
            assert room > 5 or main([*TRAIN, "--name", "r"]) == 0
            continue
        assert seqloom.load("r").score(["the cat"])[0].log_prob == want
    assert resumed > 10


@pytest.mark.parametrize(
    "command", ["train classify labels.csv --folds 2", "ladder classify labels.csv"]
)
def test_no_half_of_a_plan_is_left(disk, capsys, command):
    disk.room = 9
    assert main([*command.split(), "--name", "plan"]) == 6
    assert "error[E301]: disk full while saving" in capsys.readouterr().err
    assert not Path("runs/plan").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_written_is_no_bug(monkeypatch, capsys):
    closed = []
    monkeypatch.setattr("seqloom.cli.main._close_stdout", lambda: closed.append(True))
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BufferedWriter(full)))
        assert main(["explain", "D011"]) == 6
    assert capsys.readouterr().err.startswith("error[E301]: disk full while writing the output")
    assert closed


def test_other_files_say_so_too(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    told = cannot_save(tmp_path / "x.svg", full)
    assert isinstance(told, MachineError) and told.code == "E301"
    assert cannot_save(tmp_path / "x.svg", PermissionError(13, "Permission denied")).code == "E302"
    missing = cannot_save(tmp_path / "my folder" / "x.svg", FileNotFoundError(2, "No such file"))
    assert f"mkdir -p '{tmp_path}/my folder'" in str(missing)
