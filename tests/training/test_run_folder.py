"""The folder of a run: its name, its lock, its files on disk, and a checkpoint to fall back to."""

import fcntl
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.errors import ModelError, TrainingError, UsageError
from seqloom.recipe import Recipe
from seqloom.runs import train as training
from seqloom.runs.package import pack, rename, unpack
from seqloom.runs.run import CHECKPOINT, load
from seqloom.runs.train import new_run_folder, resume, train
from seqloom.training import files
from seqloom.training.checkpoints import load_arrays, save_arrays
from seqloom.training.files import locked, write_whole

from .test_resume import fingerprint, recipe
from .test_resume_settings import resumed, stop_after

pytestmark = pytest.mark.usefixtures("short_answers")
GOOD = CHECKPOINT.with_name("good.safetensors")


def quick(data: Path) -> Recipe:
    return recipe(data, epochs=2, probes=0, evaluate_steps=4, save_seconds=0.0)


@pytest.mark.parametrize("name", ["", "mine"])
def test_the_name_is_taken_before_the_data_is_read(data, monkeypatch, name):
    """The second training begins while the first reads its data."""
    read, others = training.read_parts, []

    def slow(task, options):
        if not others:
            others.append(None)
            try:
                others[0] = train(quick(data), name=name, runs=data / "runs")
            except TrainingError as error:
                others[0] = error
        return read(task, options)

    monkeypatch.setattr(training, "read_parts", slow)
    run, (other,) = train(quick(data), name=name, runs=data / "runs"), others
    if name:
        assert isinstance(other, TrainingError) and other.code == "T121"
    else:
        assert (run.name, other.name) == ("encoder-decoder-1", "encoder-decoder-2")
    assert run.events()[-1]["reason"] == "finished"
    assert fingerprint(run.folder)


@pytest.mark.parametrize("stopped_by", [KeyboardInterrupt, SystemExit, ModelError])
def test_a_folder_that_does_not_become_a_run_is_removed(data, monkeypatch, stopped_by):
    def fail(task, options):
        raise stopped_by("M1", "no") if stopped_by is ModelError else stopped_by

    monkeypatch.setattr(training, "read_parts", fail)
    with pytest.raises(stopped_by):
        train(quick(data), name="mine", runs=data / "runs")
    assert not (data / "runs").exists()


def test_what_stood_in_the_folder_before_stays(data):
    kept = data / "runs" / "mine" / "notes.txt"
    write_whole(kept, b"mine")
    with pytest.raises(KeyboardInterrupt), new_run_folder(quick(data), "mine", data / "runs"):
        raise KeyboardInterrupt
    assert kept.read_bytes() == b"mine"


def test_a_name_that_was_taken_meanwhile_is_refused(data, monkeypatch):
    """Between the look whether it is free and the lock another process has trained there."""
    runs = data / "runs"

    def made(folder):
        write_whole(folder / "recipe.toml", b"another's")
        return locked(folder)

    monkeypatch.setattr(training, "locked", made)
    with pytest.raises(UsageError, match="there is a run called 'mine' already"):
        train(quick(data), name="mine", runs=runs)
    assert (runs / "mine" / "recipe.toml").read_bytes() == b"another's"


def test_a_lock_on_a_folder_that_was_removed_is_not_taken_for_one(tmp_path, monkeypatch):
    folder, lock, removed = tmp_path / "run", fcntl.flock, []

    def removed_meanwhile(file, how):
        lock(file, how)
        if not removed:
            removed.append(shutil.rmtree(folder))

    monkeypatch.setattr(files.fcntl, "flock", removed_meanwhile)
    with locked(folder):
        assert (folder / "lock").read_text() == str(os.getpid())


def test_who_only_looks_does_not_make_a_training_fail(tmp_path):
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open("rb") as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        threading.Timer(0.02, fcntl.flock, (look, fcntl.LOCK_UN)).start()
        with locked(tmp_path):
            pass


@pytest.mark.parametrize("moment", ["copyfile", "replace"])
def test_a_kill_while_the_good_checkpoint_is_kept_loses_none(data, monkeypatch, moment):
    run = train(quick(data), name="run", runs=data / "runs")
    before = load_arrays(run.folder / GOOD)

    def killed(*paths):
        raise KeyboardInterrupt

    owner = files.shutil if moment == "copyfile" else Path
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, moment, killed)
        files.copy_whole(run.folder / CHECKPOINT, run.folder / GOOD)
    assert load_arrays(run.folder / GOOD).facts == before.facts


def test_loading_a_run_leaves_the_random_numbers_of_the_process_alone(data):
    hmm = Recipe({"train": str(data / "text.txt")}, {"name": "language"}, {"name": "hmm"})
    hmm = hmm.with_settings({"model.states": 2, "training.epochs": 1})
    folders = [train(one, runs=data / "runs").folder for one in (quick(data), hmm)]
    torch.manual_seed(5)
    np.random.seed(5)
    wanted = torch.rand(3), np.random.random(3)
    torch.manual_seed(5)
    np.random.seed(5)
    for folder in folders:
        load(folder)
    assert torch.equal(torch.rand(3), wanted[0]) and np.array_equal(np.random.random(3), wanted[1])


def test_any_flipped_bit_is_found(tmp_path):
    path = tmp_path / "a.safetensors"
    save_arrays(path, {"w": np.arange(3.0), "b": np.ones((), np.float32)}, {"step": 3, "x": None})
    content = path.read_bytes()
    loaded = load_arrays(path)
    assert loaded.facts == {"step": 3, "x": None} and loaded.arrays["b"].shape == ()
    for place in range(len(content)):
        for bit in (0, 3, 6):
            path.write_bytes(
                content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]
            )
            try:
                found = load_arrays(path)
            except ModelError as told:
                assert told.code in ("M112", "M113")
            else:  # within the names of the facts and the digest
                assert np.array_equal(found.arrays["w"], np.arange(3.0))
                assert not found.facts or found.facts["step"] == 3


def test_a_damaged_checkpoint_is_not_the_end(data):
    """Training goes on from the last good one, says so, and ends like a run never damaged."""
    whole = train(quick(data), name="whole", runs=data / "runs")
    run = train(quick(data), name="run", runs=data / "runs", callback=stop_after(6))
    content = bytearray((run.folder / CHECKPOINT).read_bytes())
    content[-100] ^= 1
    (run.folder / CHECKPOINT).write_bytes(content)
    resume(run.folder)
    (note,) = resumed(run.folder)
    assert "last.safetensors is damaged" in note and "of step 4" in note
    assert fingerprint(run.folder) == fingerprint(whole.folder)
    for file in (CHECKPOINT, GOOD):
        (run.folder / file).write_bytes(content)
    with pytest.raises(ModelError, match="damaged") as told:
        resume(run.folder)
    assert told.value.code == "M113"


def test_the_good_checkpoint_is_a_file_of_its_own(data):
    folder = train(quick(data), name="run", runs=data / "runs").folder
    assert not (folder / CHECKPOINT).samefile(folder / GOOD)


def test_what_is_made_is_flushed_with_its_folder(data, monkeypatch):
    """The entries of new folders, and what an import unpacks."""
    flushed, fsync = set(), os.fsync

    def noted(handle):
        flushed.add(Path(os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    runs = data / "deep" / "runs"
    run = train(quick(data), name="run", runs=runs)
    assert {data, data / "deep", runs, run.folder} <= flushed
    with (data / "run.zip").open("wb") as file:
        pack(run.folder, file)
    flushed.clear()
    unpack(data / "run.zip", runs, "other")
    names = {path.name for path in flushed}
    assert runs in flushed and {"recipe.toml", "task.json", "weights.safetensors"} <= names
    flushed.clear()
    rename(runs / "other", "another")
    assert runs in flushed
