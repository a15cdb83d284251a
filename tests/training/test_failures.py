"""What can go wrong while training: each gets its sentence, and the last checkpoint stays whole."""

import contextlib
import ctypes
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from seqloom.cli.main import main
from seqloom.cli.progress import LogProgress
from seqloom.errors import MachineError, ModelError, SeqloomError, TrainingError
from seqloom.model import Search
from seqloom.recipe import Recipe
from seqloom.runs.run import load
from seqloom.runs.train import Callback, resume, train
from seqloom.training import gradient_descent, loop
from seqloom.training.checkpoints import load_arrays, save_arrays
from seqloom.training.events import read_events
from seqloom.training.files import locked, write_whole
from tests.processes import in_a_process_of_its_own

from .test_resume import recipe

pytestmark = pytest.mark.usefixtures("short_answers")

COMMAND = [sys.executable, "-m", "seqloom", "train"]


def command(data: Path, *more: str) -> list[str]:
    file = data / "recipe.toml"
    file.write_text(recipe(data).to_toml())
    return [*COMMAND, str(file), "--runs-dir", str(data / "runs"), *more]


def run_limited(arguments, before):
    """A real process that the test has taken something from before it starts."""
    return subprocess.run(arguments, capture_output=True, text=True, preexec_fn=before, timeout=120)


def test_a_full_disk_keeps_the_last_checkpoint(data):
    run = train(recipe(data, epochs=2), name="full", runs=data / "runs")
    before = (run.folder / "checkpoint" / "last.safetensors").read_bytes()
    limit = len(before) // 2  # no file may grow beyond this: to the process the disk is full

    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        with (data / "said").open("w") as said, contextlib.redirect_stderr(said):
            arguments = ["--resume", "full", "--runs-dir", str(data / "runs")]
            code = main(["train", *arguments, "--set", "training.epochs=80"])
        os._exit(code)

    _, status = os.waitpid(in_a_process_of_its_own(work), 0)
    told = (data / "said").read_text()
    assert os.waitstatus_to_exitcode(status) == 6, told
    assert "error[E301]: disk full while saving" in told
    assert "Traceback" not in told
    assert (run.folder / "checkpoint" / "last.safetensors").read_bytes() == before
    assert not list(run.folder.rglob(".*.part"))
    assert load(run.folder).predict(["the cat sees"])


def without_the_right_to_ignore_permissions():
    """Even root then has to respect a folder that may not be written."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_a_folder_that_may_not_be_written(data):
    runs = data / "runs"
    runs.mkdir()
    runs.chmod(0o555)
    try:
        done = run_limited(command(data), without_the_right_to_ignore_permissions)
    finally:
        runs.chmod(0o755)
    assert done.returncode == 6, done.stderr
    assert "error[E320]: cannot write to" in done.stderr
    assert "--runs-dir" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_in_use(data):
    run = train(recipe(data, epochs=2), name="busy", runs=data / "runs")
    with locked(run.folder), pytest.raises(TrainingError) as told:
        resume(run.folder)
    assert told.value.code == "T121"
    assert f"in use by another training process (pid {os.getpid()})" in str(told.value)


def test_changed_data_is_noticed(data):
    run = train(recipe(data, epochs=2), name="changed", runs=data / "runs")
    with (data / "pairs.tsv").open("a") as file:
        file.write("a new line\tline new a\n")
    with pytest.raises(TrainingError) as told:
        resume(run.folder)
    assert told.value.code == "T120" and "pairs.tsv has changed since" in str(told.value)
    assert "--data-changed" in str(told.value)
    resume(run.folder, data_changed=True)
    (data / "pairs.tsv").unlink()
    with pytest.raises(TrainingError, match=r"pairs.tsv is gone since"):
        resume(run.folder)


@pytest.mark.parametrize("evaluate_steps", [1, 3, 1000])
def test_a_loss_that_is_not_a_number(data, evaluate_steps):
    """Diverged at once or after some good steps: the last good place is what a resume finds."""
    wild = {
        "optimizer": "sgd",
        "max_grad_norm": 0.0,
        "warmup_ratio": 0.9,
        "schedule": "constant",
        "l2": 1.0,
    }
    wild |= {"learning_rate": 1e10, "evaluate_steps": evaluate_steps, "save_seconds": 0.0}
    wild |= {"epochs": 4}
    with pytest.raises(TrainingError) as told:
        train(recipe(data, **wild), name="wild", runs=data / "runs")
    assert told.value.code == "T130" and told.value.exit_code == 5
    text = str(told.value)
    assert "learning rate" in text and "The last good checkpoint is kept" in text
    assert "--set training.learning_rate=1e+09" in text
    folder = data / "runs" / "wild"
    assert read_events(folder / "events.jsonl")[-1]["reason"] == "diverged"
    tame = {"training.learning_rate": 0.01, "training.warmup_ratio": 0.0, "training.l2": 0.0}
    tame |= {"training.evaluate_steps": 0, "training.save_seconds": 30.0}
    run = resume(folder, settings=tame)
    assert run.events()[-1]["reason"] == "finished"


def test_an_exploding_gradient_is_an_event_and_is_shown(data, monkeypatch, capsys):
    monkeypatch.setattr(gradient_descent, "EXPLODED", 1e-3)
    callback = Callback(on_event=LogProgress("loud").update)
    run = train(
        recipe(data, max_grad_norm=0.0, epochs=2),
        name="loud",
        runs=data / "runs",
        callback=callback,
    )
    warned = [event for event in run.events() if event["kind"] == "warn"]
    assert warned[0]["step"] == 1 and warned[0]["code"] == "T131"
    assert warned[0]["gradient"] > 1e-3 and warned[0]["help"]
    assert "the gradient exploded at step 1" in capsys.readouterr().err
    assert run.events()[-1]["reason"] == "finished", "it is a warning: training goes on"


def test_a_model_that_cannot_leaves_nothing_behind(data):
    wrong = replace(recipe(data), model={"name": "ngram"})
    with pytest.raises(ModelError) as told:
        train(wrong, runs=data / "runs")
    assert told.value.code == "M120"
    assert "'ngram' cannot predict a target sequence, from a source sequence" in str(told.value)
    assert "models that can: " in str(told.value) and "encoder-decoder" in str(told.value)
    assert not (data / "runs").exists()


def test_a_label_that_only_validation_has(data):
    (data / "valid.csv").write_text("text,label\nthe cat sees,strange\na dog likes,short\n")
    rare = Recipe(
        {"train": str(data / "labels.csv"), "valid": str(data / "valid.csv")},
        {"name": "classify"},
        {"name": "recurrent", "embedding_size": 8, "hidden_size": 8},
        {"epochs": 1},
    )
    assert train(rare, runs=data / "runs").events()[-1]["reason"] == "finished"


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99])
def test_a_checkpoint_cut_short(data, share):
    run = train(recipe(data, epochs=2), name="cut", runs=data / "runs")
    (run.folder / "checkpoint" / "good.safetensors").unlink()  # or it would go on from there
    for file in ("weights.safetensors", "checkpoint/last.safetensors"):
        whole = (run.folder / file).read_bytes()
        (run.folder / file).write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ModelError) as told:
            load(run.folder) if file.startswith("weights") else resume(run.folder)
        assert told.value.code == "M113" and "damaged or cut short" in str(told.value)
        (run.folder / file).write_bytes(whole)
    load(run.folder)


@pytest.mark.parametrize("seed", range(5))
def test_a_checkpoint_with_flipped_bytes_is_refused_or_loads(tmp_path, seed):
    """Nothing but the project's own error escapes, whatever the bytes."""
    path = tmp_path / "a.safetensors"
    save_arrays(path, {"w": np.arange(6.0)}, {"step": 3})
    chance = np.random.default_rng(seed)
    for _ in range(40):
        content = bytearray(path.read_bytes())
        for place in chance.integers(0, len(content), 3):
            content[place] = chance.integers(0, 256)
        (tmp_path / "b.safetensors").write_bytes(content)
        try:
            load_arrays(tmp_path / "b.safetensors")
        except SeqloomError as told:
            assert told.code in ("M112", "M113")


def test_a_pickle_is_never_opened(data):
    run = train(recipe(data, epochs=2), name="pickled", runs=data / "runs")
    for content in (pickle.dumps({"a": 1}), b"PK\x03\x04rest"):
        (run.folder / "weights.safetensors").write_bytes(content)
        with pytest.raises(ModelError) as told:
            load(run.folder)
        assert told.value.code == "M112" and "pickle" in str(told.value)
    torch.save({"a": torch.zeros(2)}, data / "model.pt")
    with pytest.raises(ModelError, match="is a Python pickle, which can run code"):
        load(data / "model.pt")


def test_task_file_damaged(data):
    run = train(recipe(data, epochs=2), name="task", runs=data / "runs")
    (run.folder / "task.json").write_text('{"codecs": ')
    with pytest.raises(ModelError) as told:
        load(run.folder)
    assert told.value.code == "M113" and "task.json is missing or damaged" in str(told.value)


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"before")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MachineError) as told:
        write_whole(path, b"after")
    assert told.value.code == "E301" and "MB free" in str(told.value)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def whole_answers(monkeypatch):
    """As long as those of the command, which decide what is kept as the best."""
    monkeypatch.setattr(loop, "Search", Search)


def test_the_command_killed_and_resumed_ends_like_one_never_stopped(data, whole_answers):
    """The same as the forked processes of test_resume, once through the real command."""
    whole = train(recipe(data), name="whole", runs=data / "runs")
    arguments = command(data, "--name", "killed")
    started = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    folder = data / "runs" / "killed"
    deadline = time.monotonic() + 60
    while not (folder / "checkpoint" / "last.safetensors").exists():
        assert time.monotonic() < deadline and started.poll() is None
        time.sleep(0.002)
    started.send_signal(signal.SIGKILL)
    started.communicate()
    assert read_events(folder / "events.jsonl")[-1]["kind"] != "end"
    assert main(["train", "--resume", "killed", "--runs-dir", str(data / "runs")]) == 0
    ours, theirs = (f.joinpath("weights.safetensors").read_bytes() for f in (folder, whole.folder))
    assert ours == theirs
