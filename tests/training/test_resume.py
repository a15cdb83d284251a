"""Killed at any moment and resumed, a run ends with the same weights, bit for bit."""

import hashlib
import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import seqloom
from seqloom.recipe import Recipe
from seqloom.runs.train import Callback, resume, train
from seqloom.training import closed_form, loop
from seqloom.training.checkpoints import load_arrays
from seqloom.training.events import read_events
from tests.processes import in_a_process_of_its_own

pytestmark = pytest.mark.usefixtures("short_answers")

KILLS, A_FEW = 20, 7


def recipe(data: Path, **training) -> Recipe:
    settings = {"epochs": 12, "batch_size": 8, "ema_decay": 0.99, "evaluate_steps": 17}
    settings |= {"save_seconds": 0.02, "learning_rate": 0.01, "evaluate_examples": 8}
    return Recipe(
        {"train": str(data / "pairs.tsv"), "valid_fraction": 0.2, "test_fraction": 0.0},
        {"name": "translate"},
        {"name": "encoder-decoder", "embedding_size": 12, "hidden_size": 16, "dropout": 0.2},
        {**settings, **training},
    )


def kill_until_done(work, chance: random.Random, longest: float) -> int:
    """Start the work again and again, killing it at random moments; how often it was killed."""
    for kills in range(1000):
        child = in_a_process_of_its_own(work)
        time.sleep(chance.uniform(0.01, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return kills
        longest *= 1.03  # so that a machine that slows down meanwhile still gets to the end
    raise AssertionError("it never came to an end")


def fingerprint(folder: Path):
    weights = hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    last = load_arrays(folder / "checkpoint" / "last.safetensors").arrays
    return weights, {k: hashlib.sha256(v.tobytes()).hexdigest() for k, v in last.items()}


@pytest.mark.parametrize(
    "training, wanted",
    [
        ({}, KILLS),
        ({"schedule": "plateau", "patience": 30, "optimizer": "sgd", "learning_rate": 0.1}, A_FEW),
        ({"batch_tokens": 80, "optimizer": "rmsprop", "learning_rate": 0.001, "l1": 1e-4}, A_FEW),
        (
            {
                "batch_tokens": 80,
                "schedule": "inverse-sqrt",
                "warmup_steps": 20,
                "average_checkpoints": 3,
            }
            | {"ema_decay": 0.0},
            A_FEW,
        ),
    ],
    ids=["adam", "sgd-plateau-patience", "rmsprop-tokens-l1", "inverse-sqrt-average-last"],
)
def test_killed_runs_end_like_undisturbed_ones(data, training, wanted):
    began = time.monotonic()
    whole = train(recipe(data, **training), name="whole", runs=data / "runs")
    seconds = time.monotonic() - began
    chance, kills, tries = random.Random(7), 0, 0
    while kills < wanted:
        tries += 1
        folder = data / "runs" / f"killed-{tries}"

        def work(folder=folder):
            if (folder / "recipe.toml").exists():
                resume(folder)
            else:
                train(recipe(data, **training), name=folder.name, runs=data / "runs")

        kills += kill_until_done(work, chance, longest=seconds / 4)
        assert fingerprint(folder) == fingerprint(whole.folder)
        story, undisturbed = (
            [
                (e["kind"], e["step"], e.get("loss"))
                for e in read_events(f / "events.jsonl")
                if e["kind"] == "eval"
            ]
            for f in (folder, whole.folder)
        )
        assert story == undisturbed


class KilledError(Exception):
    """Where a process would be killed."""


def die_after_the_last_evaluation(event):
    if event.kind == "eval" and event.step == 60:
        raise KilledError


def test_an_evaluation_that_no_checkpoint_has_is_logged_once(data):
    """Killed between the last evaluation and its checkpoint, beside a checkpoint of that step."""
    often = recipe(data, save_seconds=1e-9)
    whole = train(often, name="whole", runs=data / "runs")
    killed = Callback(on_event=die_after_the_last_evaluation)
    with pytest.raises(KilledError):
        train(often, name="part", runs=data / "runs", callback=killed)
    part = resume(data / "runs" / "part")
    steps = [[e["step"] for e in run.events() if e["kind"] == "eval"] for run in (whole, part)]
    assert steps[0] == steps[1] and steps[0][-1] == 60
    assert fingerprint(part.folder) == fingerprint(whole.folder)


def stream(data: Path) -> Recipe:
    """A continuous text, whose state is taken along from window to window."""
    text = data / "stream.txt"
    text.write_text("abracadabra, abracadabra.\n\nhocus pocus!\n" * 12)
    return Recipe(
        {"train": str(text), "valid_fraction": 0.2, "test_fraction": 0.0},
        {"name": "language", "layout": "stream"},
        {"name": "recurrent", "embedding_size": 8, "hidden_size": 8, "dropout": 0.2},
        {"epochs": 6, "batch_size": 4, "bptt": 5, "evaluate_steps": 31},
    )


@pytest.mark.parametrize(("make", "last"), [(recipe, 16), (recipe, 17), (stream, 33), (stream, 31)])
def test_a_stop_in_the_middle_of_an_epoch_is_exact(data, make, last):
    """Also where the stop comes at a step after which an evaluation is due: it is made up for."""
    whole = train(make(data), name="whole", runs=data / "runs")
    steps = [0]

    def stop_after(count):
        def must_stop():
            steps[0] += 1
            return steps[0] == count

        return must_stop

    made = make(data)
    callback = Callback(should_stop=stop_after(last))
    train(made, name="stopped", runs=data / "runs", callback=callback)
    folder = data / "runs" / "stopped"
    assert read_events(folder / "events.jsonl")[-1]["reason"] == "stopped"
    torch.manual_seed(99)  # nothing of this process's state may matter
    np.random.seed(99)
    resume(folder)
    assert fingerprint(folder) == fingerprint(whole.folder)
    evaluated = [
        [e["step"] for e in read_events(f / "events.jsonl") if e["kind"] == "eval"]
        for f in (folder, whole.folder)
    ]
    assert evaluated[0] == evaluated[1]


FAMILIES = {
    "hmm": ({"name": "language"}, {"name": "hmm", "states": 3, "restarts": 2}, {"epochs": 3}),
    "ngram": ({"name": "language"}, {"name": "ngram"}, {}),
    "singletons": (  # words that are read as unknown at random
        {"name": "classify", "min_frequency": 1},
        {"name": "recurrent", "embedding_size": 4, "hidden_size": 4},
        {"max_steps": 8, "evaluate_steps": 2, "learning_rate": 0.05, "batch_size": 8},
    ),
    "network": (
        {"name": "forecast", "horizon": 4, "period": 1},
        {"name": "recurrent", "embedding_size": 4, "hidden_size": 4, "dropout": 0.2},
        {"max_steps": 8, "evaluate_steps": 2, "learning_rate": 0.05, "monitor": "coverage_80"},
    ),
    "kalman": ({"name": "forecast", "horizon": 4, "period": 1}, {"name": "kalman"}, {"epochs": 3}),
    "autoregressive": (
        {"name": "forecast", "horizon": 4, "period": 1},
        {"name": "autoregressive", "order": 2},
        {},
    ),
    "bag-of-words": ({"name": "classify"}, {"name": "bag-of-words"}, {}),
}


def family(data: Path, name: str) -> Recipe:
    """A small model of each learner: EM, closed form, a fit, and gradient descent on series."""
    task, model, training = FAMILIES[name]
    rng = np.random.default_rng(5)
    values = [f"{value:.4f}" for value in rng.standard_normal(80).cumsum()]
    (data / "series.csv").write_text("\n".join(["value", *values]) + "\n")
    rows = [f"word{row} {'good' if row % 2 else 'bad'},{row % 2}" for row in range(40)]
    (data / "rare.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    words = rng.integers(0, 20, (60, 5))
    rows = [f"{' '.join(f'w{n}' for n in row)}\t{'abc'[row[:2].sum() % 3]}" for row in words]
    (data / "labels.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")
    files = {"language": "text.txt", "classify": "rare.csv", "forecast": "series.csv"}
    file = "labels.tsv" if name == "bag-of-words" else files[task["name"]]
    return Recipe({"train": str(data / file)}, task, model, {"probes": 0, **training})


def story(folder: Path) -> list[dict[str, Any]]:
    """All that training told, but for the time it took."""
    dropped = {"t", "began", "seconds", "symbols_per_second"}
    events = read_events(folder / "events.jsonl")
    kept = [event for event in events if event["kind"] in ("eval", "sample", "warn")]
    return [{k: v for k, v in event.items() if k not in dropped} for event in kept]


def standing(folder: Path) -> dict[str, Any]:
    """The counters of training in the last checkpoint."""
    found = load_arrays(folder / "checkpoint" / "last.safetensors").facts["standing"]
    return {name: value for name, value in found.items() if name != "seconds"}


@pytest.mark.parametrize("stop", [1, 3, 5, 12])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_resumes_exactly(data, monkeypatch, name, stop):
    """Also in the middle of a pass, which begins again; and intervals are of the last weights."""
    monkeypatch.setattr(closed_form, "TOKENS_PER_BATCH", 150)  # so that a pass has several steps
    monkeypatch.setattr(loop, "AVERAGE_SECONDS", 0.0)
    made, runs, steps = family(data, name), data / "runs", iter(range(1, 1000))
    whole = train(made, name="whole", runs=runs).folder
    last = Callback(should_stop=lambda: next(steps) == stop)
    stopped = train(made, name="stopped", runs=runs, callback=last).folder
    while read_events(stopped / "events.jsonl")[-1]["reason"] == "stopped":
        resume(stopped)
    assert story(stopped) == story(whole)
    assert standing(stopped) == standing(whole)
    assert (stopped / "weights.safetensors").read_bytes() == (
        whole / "weights.safetensors"
    ).read_bytes()
    codecs = [json.loads((one / "task.json").read_text())["codecs"] for one in (stopped, whole)]
    assert codecs[0] == codecs[1]


def test_a_run_with_a_time_budget_ends_in_time_and_resumes(data):
    began = time.thread_time()  # of work: others may keep the machine busy
    run = train(recipe(data, max_time="1s", epochs=10_000), name="timed", runs=data / "runs")
    assert time.thread_time() - began < 20
    last = run.events()[-1]
    assert last["kind"] == "end" and last["reason"] == "finished"
    again = resume(run.folder)
    assert again.events()[-1]["step"] == last["step"]


def test_early_stopping_keeps_the_best(data):
    run = train(
        recipe(data, patience=2, learning_rate=0.3, evaluate_steps=5, epochs=25),
        name="early",
        runs=data / "runs",
    )
    found = [e for e in run.events() if e["kind"] == "eval"]
    end = run.events()[-1]
    assert end["reason"] == "no improvement"
    assert [e["best"] for e in found[-2:]] == [False, False]
    best = next(e for e in found if e["step"] == end["best_step"])
    assert best["bleu"] == max(e["bleu"] for e in found)


def test_a_counting_model_can_be_resumed(data):
    counted = Recipe({"train": str(data / "text.txt")}, {"name": "language"}, {"name": "ngram"})
    run = seqloom.train(counted, name="counted", runs=data / "runs")
    before = fingerprint(run.folder)[0]
    assert fingerprint(resume(run.folder).folder)[0] == before
