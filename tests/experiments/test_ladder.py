"""Ladders: rungs are data, share one budget of time, and leave what is done whatever happens."""

import json
import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import seqloom
from seqloom.cli.main import main
from seqloom.errors import SeqloomError
from seqloom.experiments import ladder as rungs
from seqloom.experiments import queue
from seqloom.experiments.ladder import LadderPlan, prepare
from seqloom.experiments.queue import QueueCallback
from seqloom.experiments.results import LadderResult, RunResult, describe_gain, gain
from seqloom.experiments.worker import peak_memory
from seqloom.metrics import METRICS, MetricValue, Ratio
from seqloom.models import MODELS
from seqloom.recipe import Recipe
from seqloom.runs.run import EVENTS
from seqloom.training.events import read_events
from tests.processes import in_a_process_of_its_own, start, wait_for

LINES = ["--set", "task.layout=lines", "--set", "data.test_fraction=0.2"]
CELLS = """
[training]
epochs = 100000
batch_size = 8

[rungs.counts]
model = { name = "recurrent", cell = "elman", embedding_size = 4, hidden_size = 4 }
share = 1

[rungs.gru]
model = { name = "recurrent", cell = "gru", embedding_size = 6, hidden_size = 8 }
training = { learning_rate = 0.02 }
share = 2
"""
BROKEN = """
[rungs.unigram]
model = { name = "ngram", order = 1 }

[rungs.nothing]
model = { name = "cache", decay = 2.0 }

[rungs.bigram]
model = { name = "ngram", order = 2 }
"""


@pytest.fixture
def here(data, monkeypatch):
    monkeypatch.chdir(data)
    return data


def registered(folder: Path, task: str, text: str, monkeypatch) -> None:
    """A ladder like the shipped ones, in a folder of the test's own."""
    (folder / "ladders").mkdir()
    (folder / "ladders" / f"{task}.toml").write_text(text)
    monkeypatch.setattr(rungs, "LADDERS", folder / "ladders")


@pytest.mark.parametrize("task", rungs.ladders())
def test_shipped_rungs_are_right(task):
    ladder, missing = rungs.without_missing(rungs.ladder_of(task))
    assert ladder.rungs
    for rung in ladder.rungs:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", rung.name)
        recipe = ladder.recipe(rung, {"train": "text.txt"}, {})
        is_counted = hasattr(MODELS[recipe.model["name"]], "statistics")
        assert is_counted == (rung.share == 0), "who learns by gradients shares the time"
    assert all(name not in {rung.name for rung in ladder.rungs} for name in missing)


def test_rungs_are_chosen_by_their_names_or_by_their_models():
    ladder = rungs.ladder_of("language")
    assert [rung.name for rung in ladder.select(["lstm", "unigram"]).rungs] == ["unigram", "lstm"]
    chosen = ladder.select(["ngram"]).rungs
    assert len(chosen) > 2 and {rung.model["name"] for rung in chosen} == {"ngram"}
    assert ladder.select([]).rungs == ladder.rungs


@pytest.mark.parametrize("arguments, code", [
    (["algorithms", "tags.conll"], "U040"),
    (["language"], "U001"),
    (["algorithms"], "U040"),
    (["language", "text.txt", "--models", "lsmt"], "U002"),
    (["language", "text.txt", "--set", "model.hidden_size=8"], "U041"),
    (["language", "text.txt", "--set", "training.max_time=8s"], "U041"),
    (["language", "text.txt", "--set", "task.unit=words"], "U010"),
    (["language", "text.txt", "--max-time", "soon"], "U010"),
    (["language", "text.txt", "--max-time", "0s"], "U010"),
    (["language", "text.txt", "--max-time", ""], "U042"),
    (["language", "missing.txt", "--name", "No"], "U009"),
    (["--resume", "nothing"], "U043"),
    (["--resume"], "U043"),
    (["language", "text.txt", "--resume"], "U001"),
])  # fmt: skip
def test_what_is_wrong_is_told_before_anything_begins(here, capsys, arguments, code):
    assert main(["ladder", *arguments]) == 2
    assert code in capsys.readouterr().err
    assert not (here / "runs").exists()


@pytest.mark.parametrize("tag, metric", [("N", "accuracy"), ("B-name", "entity_f1")])
def test_what_rungs_are_compared_by_may_follow_from_the_data(here, tag, metric):
    """Tags that mark entities are judged by their F1, which nobody knows before the file is read."""
    text = (here / "tags.conll").read_text().replace("\tN", f"\t{tag}")
    (here / "tags.conll").write_text(text.replace("\tV", "\tO").replace("\tD", "\tO"))
    folder = prepare("tag", "tags.conll", "9s", ["recurrent"], "t", here / "runs", {})
    assert json.loads((folder / "ladder.json").read_text())["metric"] == metric


def test_counts_alone(here, in_process, capsys):
    """Every rung is judged on the same examples; the table, the sentences, the picture, the files."""
    told = ["ladder", "language", "text.txt", "--models", "unigram,3-gram", *LINES]
    assert main([*told, "--json", "--picture", "ladder.svg", "--name", "mine"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [rung["name"] for rung in found["rungs"]] == ["unigram", "3-gram"]
    assert found["metric"] == "bits_per_character" and found["best"] == "3-gram"
    unigram, trigram = found["rungs"]
    assert unigram["examples"] == trigram["examples"] > 0
    for rung in found["rungs"]:
        measured = rung["measured"]["bits_per_character"]
        assert measured["low"] <= measured["value"] <= measured["high"]
        assert rung["memory"] > 10e6 and rung["bytes"] > 0 and rung["symbols_per_second"] > 0
        run = seqloom.load(rung["folder"])
        assert run.evaluate().values()["bits_per_character"] == pytest.approx(measured["value"])
    assert re.fullmatch(
        r"3-gram saves [\d.]+ bits per character over unigram\.", *found["sentences"]
    )
    kept = json.loads((here / "runs" / "mine" / "table.json").read_text())
    assert kept["rungs"] == found["rungs"]
    ElementTree.parse(here / "ladder.svg")
    assert main(["ladder", "--resume", "mine"]) == 0  # nothing is done again
    said = capsys.readouterr()
    assert "★" in said.out and found["sentences"][0] in said.out
    assert "Next: seqloom generate runs/mine/3-gram" in said.err
    assert main(["ladder", "--resume", "-q"]) == 0
    assert capsys.readouterr() == (said.out.lstrip("\n"), ""), "the table, and nothing else"
    assert main([*told, "--name", "mine"]) == 2


def test_a_second_task_needs_data_only(here, monkeypatch):
    """A ladder of cells for labels: a file beside the others, and nothing else."""
    registered(here, "classify", CELLS, monkeypatch)
    heard = []
    came = seqloom.ladder("classify", "labels.csv", max_time="3s",
                          settings={"data.test_fraction": 0.3},
                          callback=QueueCallback(heard.append))  # fmt: skip
    assert came.metric == "accuracy" and not came.failed and not came.left
    assert [rung.name for rung in came.rungs] == ["counts", "gru"]
    assert all(0 <= rung.measured["accuracy"].value <= 1 for rung in came.rungs)
    assert len(came.sentences()) == 1
    times = {n: Recipe.read(came.folder / n / "recipe.toml").build_training().seconds()
             for n in ("counts", "gru")}  # fmt: skip
    assert times["gru"] == pytest.approx(2 * times["counts"], abs=0.11)
    assert sum(times.values()) == pytest.approx(3 * 0.85, abs=0.11)
    assert [moment.name for moment in heard if moment.result] == ["counts", "gru"]
    whole = [moment.progress for moment in heard]
    assert whole[-1] == pytest.approx(1) and all(0 <= share <= 1 for share in whole)


def test_a_rung_that_fails_takes_no_other_down(here, monkeypatch, capsys):
    registered(here, "language", BROKEN, monkeypatch)
    assert main(["ladder", "language", "text.txt", *LINES[2:]]) == 5
    said = capsys.readouterr()
    assert "unigram" in said.out and "bigram saves" in said.out
    assert "T140" in said.err and "M170" in said.err and "nothing" in said.err
    kept = json.loads((here / "runs" / "ladder-1" / "table.json").read_text())
    assert list(kept["failed"]) == ["nothing"] and kept["left"] == []


LONG = ["language", "text.txt", "--max-time", "20m", *LINES, "--models"]


def test_ctrl_c_leaves_what_is_done(here, capsys):
    process = start(here, "ladder", *LONG, "unigram", "lstm")
    rung = here / "runs" / "ladder-1" / "lstm"
    wait_for(rung / EVENTS, "train", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "unigram" in out and "lstm" not in out
    assert "Stopped: 1 model done, 1 left. Nothing lost." in err
    assert "seqloom ladder --resume ladder-1" in err
    assert read_events(rung / EVENTS)[-1]["reason"] == "stopped"
    assert json.loads((rung.parent / "table.json").read_text())["left"] == ["lstm"]
    # It goes on with what it has: a moment later its time is over.
    recipe = rung / "recipe.toml"
    recipe.write_text(re.sub(r'max_time = ".*"', 'max_time = "0.01s"', recipe.read_text()))
    step = read_events(rung / EVENTS)[-1]["step"]
    assert main(["ladder", "--resume"]) == 0
    assert "lstm" in capsys.readouterr().out
    assert [e["step"] for e in read_events(rung / EVENTS) if e["kind"] == "resume"] == [step]


def test_a_rung_ends_with_whoever_waits_for_it(here):
    process = start(here, "ladder", *LONG, "lstm")
    rung = here / "runs" / "ladder-1" / "lstm"
    wait_for(rung / EVENTS, "train", process)
    process.kill()
    process.communicate()
    wait_for(rung / EVENTS, "end")
    assert read_events(rung / EVENTS)[-1]["reason"] == "stopped"


def gained(metric, rung, other):
    return describe_gain(metric, rung, other, gain(metric, rung, other))


def climbed(name, tops, metric="bits_per_character", seconds=1.0):
    ratios = [Ratio(top, 1.0) for top in tops]
    measured = (
        METRICS[metric].measure(ratios) if np.isfinite(tops).all() else MetricValue(*[np.inf] * 3)
    )
    facts = (len(ratios), seconds, seconds, 1, 1, 1, 1.0, [])
    return RunResult(name, Path(name), {metric: measured}, {metric: ratios}, *facts)


def test_sentences_are_plain():
    chance = np.random.default_rng(1)
    first = climbed("one", chance.uniform(2, 3, 80))
    better = climbed("two", [ratio.top - 0.5 for ratio in first.tallies["bits_per_character"]])
    assert (
        gained("bits_per_character", better, first) == "two saves 0.50 bits per character over one."
    )
    assert (
        gained("bits_per_character", first, better)
        == "one is worse than two by 0.50 bits per character."
    )
    close = climbed("near", [r.top + d for r, d in zip(first.tallies["bits_per_character"],
                    chance.normal(0, 0.1, 80), strict=True)])  # fmt: skip
    assert "may be chance" in gained("bits_per_character", close, first)
    never = climbed("never", [np.inf] * 80)
    assert gained("bits_per_character", never, first).endswith(
        "by bits per character without bound."
    )
    assert "may be chance" in gained("bits_per_character", never, never)
    low, high = (climbed(n, [float(i < k) for i in range(50)], "accuracy") for n, k in
                 (("low", 10), ("high", 40)))  # fmt: skip
    assert gained("accuracy", high, low) == "high adds 60 points of accuracy over low."
    assert gained("accuracy", low, high) == "low is worse than high by 60 points of accuracy."


def test_a_rung_is_held_against_the_best_below_it():
    names = zip("abc", (3.0, 1.0, 2.0), strict=True)
    steps = [climbed(name, np.full(20, top) + np.linspace(0, 0.1, 20)) for name, top in names]
    came = LadderResult(Path("ladder"), "language", "bits_per_character", 9.0, steps, {}, [], [])
    assert came.best() is steps[1]
    assert came.sentences()[1].startswith("c is worse than b by 1.00")
    again = LadderResult(Path("ladder"), "language", "bits_per_character", 9.0,
                  [steps[1], steps[0], steps[2]], {}, [], [])  # fmt: skip
    assert again.sentences()[1].startswith("c is worse than b (the best below it) by 1.00")


def test_those_without_a_share_come_first_and_the_rest_is_shared():
    plan = LadderPlan(
        "language", "bits_per_character", 60.0, {"big": 2.0, "counts": 0.0, "small": 1.0}
    )
    series = plan.queue(Path("ladder"))
    assert list(series.weights) == ["counts", "big", "small"]
    assert series.progress(["counts", "big", "small"]) == pytest.approx(1)
    assert series.progress(["counts"], "big", 0.5) == pytest.approx(1.01 / 3.01)


def test_a_rung_may_not_outlast_the_time_of_the_ladder(here, monkeypatch):
    """A process that hangs is stopped when its time is over, and the next rung begins."""
    now, started = SimpleNamespace(seconds=0.0), []

    class Hanging(subprocess.Popen):
        """A worker that does nothing until it is stopped, but for that of the last rung."""

        def __init__(self, command, **more):
            self.returncode = 0 if "3-gram" in command[3] else None
            started.append(self)
            self.began, self.ended = now.seconds, None

        def poll(self):
            return self.returncode

        def send_signal(self, kind):
            assert kind == signal.SIGINT
            self.returncode, self.ended = 130, now.seconds

    def sleep(seconds):
        now.seconds += 10

    monkeypatch.setattr(queue.subprocess, "Popen", Hanging)
    clock = SimpleNamespace(monotonic=lambda: now.seconds, sleep=sleep)
    monkeypatch.setattr(queue, "time", clock)
    came = seqloom.ladder("language", "text.txt", max_time="10m", models=["unigram", "3-gram"])
    first, second = started
    assert 540 <= first.ended - first.began <= 600, "a tenth is left for the others"
    assert second.began >= first.ended and not came.is_stopped and not came.failed
    assert came.left == ["unigram", "3-gram"], "the second has no result here"
    (note,) = came.notes
    assert re.fullmatch(r"unigram was stopped after \d+ s: its part of the time was over", note)
    again = LadderPlan(**json.loads((came.folder / "ladder.json").read_text()))
    assert again.late == {"unigram": pytest.approx(first.ended - first.began, abs=10)}
    assert rungs._allocate_time(came.folder, again, "3-gram") < 120, "what is left of ten minutes"


def test_the_peak_of_memory_is_seen(tmp_path):
    """In a process of its own: the peak of this one may lie far above what it holds now."""

    def work():
        before = peak_memory()
        block = np.ones(30_000_000)
        (tmp_path / "seen").write_text(f"{before} {peak_memory() - before} {len(block)}")

    _, status = os.waitpid(in_a_process_of_its_own(work), 0)
    assert status == 0
    before, more, _ = map(int, (tmp_path / "seen").read_text().split())
    assert before > 10e6 and more > 100e6


def test_a_file_that_no_rung_can_read_is_told_once(here, capsys):
    (here / "empty.txt").write_text("")
    assert main(["ladder", "language", "empty.txt"]) == 3
    said = capsys.readouterr().err
    assert said.count("D021") == 1 and not (here / "runs").exists()


def test_a_ladder_is_whole_before_the_first_rung(here):
    folder = prepare("language", "text.txt", "1m", ["lstm"], "", Path("runs"), {"training.seed": 7})
    recipe = Recipe.read(folder / "rungs" / "lstm.toml")
    assert recipe.training["seed"] == 7 and Path(recipe.data["train"]).is_absolute()
    assert recipe.task["layout"] == "stream"
    with pytest.raises(SeqloomError, match="U009"):
        prepare("language", "text.txt", "1m", ["lstm"], folder.name, Path("runs"), {})


def test_translation_climbs_on_parallel_files(here, in_process, capsys):
    """A metric of which more is better, and two files in the place of one."""
    pairs = [line.split("\t") for line in (here / "pairs.tsv").read_text().splitlines()]
    for side, name in enumerate(("de", "en")):
        (here / f"p.{name}").write_text("".join(pair[side] + "\n" for pair in pairs))
    small = ["--set", "training.epochs=2", "--set", "data.allow_overlap=true"]
    parts = ["--test", "p.{de,en}", "--valid=p.de", "--valid=p.en"]
    given = ["ladder", "translate", "p.de", "p.en", "--max-time", "30s", *parts, *small]
    assert main([*given, "--models", "none", "attention", "--json", "--picture", "l.svg"]) == 0
    came = json.loads(capsys.readouterr().out)
    assert came["metric"] == "bleu" and [rung["name"] for rung in came["rungs"]] == [
        "none",
        "attention",
    ]
    values = {rung["name"]: rung["measured"]["bleu"]["value"] for rung in came["rungs"]}
    assert came["best"] == max(values, key=values.get)
    again = seqloom.load(came["rungs"][1]["folder"]).evaluate().with_intervals()["bleu"]
    assert vars(again) == pytest.approx(came["rungs"][1]["measured"]["bleu"])
    assert len(came["sentences"]) == 1 and "BLEU" in came["sentences"][0]


@pytest.mark.parametrize("change, verb", [(1, "adds"), (-1, "is worse")])
def test_more_bleu_is_better(change, verb):
    """Tallies of five rights of six words, against six or four of them."""

    def bleu(right):
        return [(6.0, 6.0, right, right - 1, right - 2, right - 3, 6.0, 5.0, 4.0, 3.0)] * 30

    def rung(name, right):
        tallies = {"bleu": bleu(float(right))}
        measured = {"bleu": METRICS["bleu"].measure(tallies["bleu"])}
        return RunResult(name, Path(name), measured, tallies, 30, 1.0, 1.0, 1, 1, 1, 1.0, [])

    one, other = rung("none", 5), rung("attention", 5 + change)
    told = gained("bleu", other, one)
    assert verb in told and "BLEU" in told
    came = LadderResult(Path("x"), "translate", "bleu", 1.0, [one, other], {}, [], [])
    assert came.best().name == ("attention" if change > 0 else "none")
    assert came.view().caption.startswith(f"Best: {came.best().name}")


def forecasts(*values):
    """Rungs of a forecast, by the MASE of 40 windows each; some windows are harder than others."""
    hard = np.linspace(-0.2, 0.2, 40)
    rungs = [climbed(name, np.array(value) + hard, "mase") for name, value in values]
    came = LadderResult(Path("ladder"), "forecast", "mase", 9.0, rungs, {}, [], [])
    return replace(came, against="last-season", simple=["last", "last-season"])


def test_skill_is_what_is_saved_of_the_error():
    came = forecasts(("last", 2.0), ("last-season", 1.0), ("taps", 0.75), ("network", 1.5))
    assert [came.skill(rung) for rung in came.rungs] == pytest.approx([-1, 0, 0.25, -0.5])
    assert replace(came, against="").skill(came.rungs[0]) is None
    assert replace(came, rungs=came.rungs[2:]).skill(came.rungs[2]) is None


def test_it_is_said_plainly_when_the_naive_wins():
    chance = np.random.default_rng(2).normal(0, 0.3, 40)
    better = forecasts(("last", 0.9), ("last-season", 1.0), ("taps", 0.6))
    told = "taps is the best: 33.3 % less MASE than last, the best simple forecast."
    assert better.verdict() == told
    worse = forecasts(("last", 2.0), ("last-season", 1.0), ("taps", 1.2))
    assert worse.verdict() == "last-season wins: no model is better than this simple forecast."
    unsure = forecasts(("last", 2.0), ("last-season", 1.0), ("taps", 0.99 + chance - chance.mean()))
    assert unsure.verdict() == (
        "taps is not significantly better than last-season: 1 % less MASE may be chance."
    )
    assert replace(better, simple=[]).verdict() == ""


def test_forecasts_are_measured_by_the_naive(here, in_process, capsys):
    """The table has the other metrics and the skill; what is said is in the JSON, too."""
    days = np.arange("2020-01-01", "2020-07-01", dtype="datetime64[D]")
    waves = 10 + np.arange(len(days)) % 7 + np.random.default_rng(0).normal(0, 0.5, len(days))
    lines = [f"{day},{wave:.3f}" for day, wave in zip(days, waves, strict=True)]
    Path("days.csv").write_text("\n".join(["day,sold", *lines]) + "\n")
    names = ["naive", "seasonal-naive", "autoregressive"]
    told = ["ladder", "forecast", "days.csv", "--models", *names, "--name", "f"]
    assert main([*told, "--set", "data.test_fraction=0.3", "--set", "task.stride=1"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"model +MASE +sMAPE +80 % +95 % +skill +time", shown)
    assert re.search(r"seasonal-naive .* \+0.0 %", shown) and "autoregressive is the best" in shown
    kept = json.loads((here / "runs" / "f" / "table.json").read_text())
    skills = {rung["name"]: rung["skill"] for rung in kept["rungs"]}
    assert skills["naive"] < 0 == skills["seasonal-naive"] < skills["autoregressive"]
    assert kept["verdict"] in shown
