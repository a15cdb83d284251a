"""seqloom train: recipes, several models, stopping, resuming, progress."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from seqloom.cli import progress
from seqloom.cli.main import main
from seqloom.data.options import Data
from seqloom.runs.check import check
from seqloom.runs.run import EVENTS, load
from seqloom.runs.train import recipe_by_name
from seqloom.training.events import Event
from tests.processes import start, wait_for

SMALL = [
    "--set",
    "model.hidden_size=8",
    "--set",
    "model.embedding_size=8",
    "--set",
    "training.epochs=2",
]
STEPS = ["--set", "training.epochs=100000", "--set", "training.evaluate_seconds=0.5"]


@pytest.fixture
def here(data, monkeypatch):
    monkeypatch.chdir(data)
    return data


def test_train_from_a_task_and_a_file(here, capsys):
    assert main(["train", "translate", "pairs.tsv", *SMALL]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[0].startswith("★ best at step ")
    assert re.search(r"test BLEU +[\d.]+ \(too few to say\)", told.out)
    assert told.out.splitlines()[-1] == "runs/encoder-decoder-1"
    line = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ encoder-decoder-1 step=1 epoch=1 .*bleu="
    assert re.search(line, told.err)
    assert re.search(r"data +38 train / 2 valid / 2 test", told.err)
    assert "device  cpu (1 thread)" in told.err
    assert "Next: seqloom translate encoder-decoder-1 '" in told.err
    assert load("runs/encoder-decoder-1").recipe.model["hidden_size"] == 8


def test_dry_run_prints_the_recipe_and_makes_no_folder(here, capsys):
    options = ["--set", "task.tokens=words", "--seed", "7", "--max-time", "90s", "--skip-bad"]
    options += ["--encoding", "latin-1", "--set", "model.order=3", "--format", "text"]
    assert main(["train", "language", *options, "text.txt", "--dry-run"]) == 0
    recipe = tomllib.loads(capsys.readouterr().out)
    assert recipe["model"]["name"] == "ngram"
    assert recipe["model"]["order"] == 3
    assert recipe["task"]["tokens"] == "words"
    assert (recipe["training"]["seed"], recipe["training"]["max_time"]) == (7, "90s")
    assert (recipe["data"]["skip_bad"], recipe["data"]["encoding"]) == (True, "latin-1")
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("language", "ngram"),
        ("tag", "recurrent"),
        ("classify", "recurrent"),
        ("translate", "encoder-decoder"),
    ],
)
def test_default_model(task, model, capsys):
    assert main(["train", task, "any.txt", "--dry-run"]) == 0
    assert tomllib.loads(capsys.readouterr().out)["model"]["name"] == model


def test_recipe_file_with_another_file_and_settings(here, capsys):
    Path("mine.toml").write_text('[task]\nname = "language"\n[model]\nname = "ngram"\norder = 2\n')
    assert main(["train", "mine.toml", "text.txt", "-m", "ngram", "-n", "mine", "-q"]) == 0
    assert capsys.readouterr().out == "runs/mine\n"
    assert load("runs/mine").recipe.model["order"] == 2


def test_several_models_are_compared(here, capsys):
    settings = ["--set", "training.epochs=1"]
    assert (
        main(
            [
                "train",
                "language",
                "text.txt",
                "-m",
                "ngram",
                "-m",
                "recurrent",
                "-n",
                "x",
                *settings,
            ]
        )
        == 0
    )
    told = capsys.readouterr()
    assert "── 1/2 ngram ──" in told.err
    assert "── 2/2 recurrent ──" in told.err
    rows = told.out.splitlines()[-3:]
    assert rows[0].split()[:2] == ["run", "bits"]
    assert [row.split()[0] for row in rows[1:]] == ["x-ngram", "x-recurrent"]
    assert "seqloom compare x-ngram x-recurrent" in told.err


def test_json_and_quiet(here, capsys):
    assert main(["train", "classify", "labels.csv", *SMALL, "--json", "--quiet"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert told.err == ""
    assert (found["run"], found["folder"], found["state"]) == (
        "recurrent-1",
        "runs/recurrent-1",
        "finished",
    )
    assert found["best_step"] >= 1
    assert 0 <= found["test"]["accuracy"]["low"] <= found["test"]["accuracy"]["high"] <= 1
    assert {"accuracy", "macro_f1", "micro_f1", "loss"} == found["valid"].keys()
    assert found["size"] > 0 and found["seconds"] >= 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], "U001", "no task and no recipe"),
        (["translate"], "U001", "no training file for 'translate'"),
        (["pairs.tsv"], "U001", "pairs.tsv is not a recipe: give the task first"),
        (["trnslate", "pairs.tsv"], "U002", "did you mean 'translate'?"),
        (["translate", "pairs.tsv", "-m", "recurent"], "U002", "did you mean 'recurrent'?"),
        (["gone.toml"], "U004", "there is no recipe 'gone.toml'"),
        (["tag", "tags.conll", "--set", "hidden"], "U005", "expected table.key=value"),
        (["tag", "tags.conll", "--set", "model.hiden=3"], "U010", "did you mean 'hidden_size'?"),
        (
            ["tag", "tags.conll", "--set", "model.hidden_size=wide"],
            "U010",
            "expected a whole number",
        ),
        (["tag", "tags.conll", "--max-time", "soon"], "U010", "90s, 10m or 2h"),
        (["--resume"], "U008", "there is no run in runs"),
        (["--resume", "x", "--name", "y"], "U001", "it takes no task, file, model or name"),
    ],
)
def test_mistakes(arguments, code, words, here, capsys):
    assert main(["train", *arguments]) == 2
    text = capsys.readouterr().err
    assert text.startswith(f"error[{code}]: ")
    assert words in text
    assert not Path("runs").exists()


def test_divergence_says_how_to_go_on(here, capsys):
    Path("wild.toml").write_text(
        '[task]\nname = "tag"\n[model]\nname = "recurrent"\nhidden = 8\n[training]\n'
        'learning_rate = 1e30\nclip = 0\noptimizer = "sgd"\nepochs = 50\nevaluate_steps = 100\n'
    )
    assert main(["train", "wild.toml", "tags.conll", "-n", "wild"]) == 5
    text = capsys.readouterr().err
    assert "error[T130]: the " in text
    assert "help: seqloom train --resume wild --set training.learning_rate=" in text
    calm = ["--set", "training.learning_rate=0.01", "--set", "training.max_grad_norm=1.0"]
    assert main(["train", "--resume", "wild", *calm]) == 0


def test_ctrl_c_saves_and_resume_goes_on(here, capsys):
    process = start(here, "train", "translate", "pairs.tsv", "-n", "kept", *SMALL, *STEPS)
    wait_for(here / "runs" / "kept" / EVENTS, "eval", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Stopping after this step… (Ctrl-C again to quit now without saving)" in err
    step = re.search(r"Saved step ([\d,]+) → runs/kept\. Nothing lost\.", err)[1]
    assert "Resume with:  seqloom train --resume kept" in err
    assert (out, "Traceback" in err) == ("", False)
    limit = int(step.replace(",", "")) + 3
    assert main(["train", "--resume", "--set", f"training.max_steps={limit}"]) == 0
    told = capsys.readouterr()
    assert (
        f"Resuming kept at step {step} (optimizer, random state and position in the data restored)."
        in told.err
    )
    assert told.out.splitlines()[-1] == "runs/kept"
    assert load("runs/kept").events()[-1]["step"] == limit


def test_polite_kill_saves_too(here):
    process = start(here, "train", "tag", "tags.conll", "-n", "kept", "-q", *SMALL, *STEPS)
    wait_for(here / "runs" / "kept" / EVENTS, "train", process)
    process.terminate()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 143, err
    assert "Nothing lost." in err
    assert out == "runs/kept\n"


SLOW_STEPS = """
import sys, time
from seqloom.cli import main, session
ask = session.SignalStop.should_stop
session.SignalStop.should_stop = lambda self: time.sleep(0.2) or ask(self)
tell = session.SignalStop.update
def slow(self, event):
    tell(self, event)
    time.sleep(20 if self.signal else 0)
session.SignalStop.update = slow
sys.exit(main.main(sys.argv[1:]))
"""


def test_second_ctrl_c_stops_at_once(here):
    soon = ["--set", "training.save_seconds=1"]  # steps that sleep learn too little to be judged
    arguments = ["train", "tag", "tags.conll", "-n", "lost", *SMALL, *STEPS, *soon]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_STEPS, *arguments],
        cwd=here,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_for(here / "runs" / "lost" / EVENTS, "checkpoint", process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 130
    assert re.search(r"Stopped at once\. Last checkpoint: step \d+ \(\d+ steps? lost\)\.", err)


def test_heartbeat_at_most_once_a_minute(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    report = progress.LogProgress("x")
    for second in range(150):
        now[0] = float(second)
        report.update(
            Event(
                "train",
                second,
                {"epoch": 0.1, "progress": 0.1, "loss": 2.0, "symbols_per_second": 9.0},
            )
        )
    lines = capsys.readouterr().err.splitlines()
    assert [re.search(r"step=(\d+)", line)[1] for line in lines] == ["60", "120"]


def test_on_a_terminal_there_is_a_table_a_bar_and_samples(here):
    pexpect = pytest.importorskip("pexpect")
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR")}
    arguments = [
        "-m",
        "seqloom",
        "train",
        "translate",
        "pairs.tsv",
        *SMALL,
        *STEPS,
        "--max-time",
        "1.5s",
    ]
    child = pexpect.spawn(
        sys.executable,
        arguments,
        cwd=str(here),
        env={**environment, "TERM": "xterm-256color", "OMP_NUM_THREADS": "1", "COLUMNS": "100"},
        dimensions=(30, 100),
        encoding="utf-8",
        timeout=100,
    )
    child.expect(pexpect.EOF)
    child.close()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", child.before)
    header = r"step +epoch +loss +bleu +chrf +tokenised bleu +"
    for words in (header, "★", r"training .*tokens/s", "sample .*→", "best at step"):
        assert re.search(words, shown), shown
    assert child.exitstatus == 0


def test_spellings_are_read_as_characters_without_being_asked(tmp_path, monkeypatch, capsys):
    """What `check` suggests is what `train` does, unless an option or a recipe says otherwise."""
    monkeypatch.chdir(tmp_path)
    words = [f"{a}{b}{c}" for a in "bcd" for b in "aeiou" for c in "lmnr"]
    pairs = "".join(f"{word}\t{' '.join(word.upper())}\n" for word in words)
    Path("words.tsv").write_text(pairs)

    def task(*options):
        assert main(["train", "translate", "words.tsv", "--dry-run", *options]) == 0
        told = capsys.readouterr()
        return tomllib.loads(told.out)["task"], told.err

    chosen, told = task()
    assert (chosen["source_tokens"], chosen["target_tokens"]) == ("characters", "words")
    assert "note: source_tokens = characters" in told
    asked, told = task("--set", "task.source_tokens=words")
    assert asked["source_tokens"] == "words" and not told
    assert task("--set", "task.split_punctuation=true")[0]["target_tokens"] == "words"
    assert task("--set", "task.joint_vocab=true")[0]["source_tokens"] == "words", "no choice left"
    python = recipe_by_name("translate", "words.tsv").task
    assert python["source_tokens"] == "characters"
    assert (
        main(["train", "translate", "words.tsv", *SMALL, "--set", "task.source_tokens=words"]) == 0
    )
    assert "each is one word" in capsys.readouterr().err


def test_names_are_classified_by_their_characters(tmp_path):
    rows = [f"{word},{label}" for word in ("anna", "bert", "cleo") for label in ("x", "y")]
    (tmp_path / "names.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    (tmp_path / "texts.csv").write_text("text,label\na good day,x\na bad day,y\n")
    found = [
        recipe_by_name("classify", str(tmp_path / f"{name}.csv")) for name in ("names", "texts")
    ]
    assert [recipe.task.get("tokens") for recipe in found] == ["characters", None]
    report = check(tmp_path / "names.csv", "classify", Data(), {})
    assert report.next.endswith("names.csv --set task.tokens=characters")
