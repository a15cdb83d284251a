"""Runs through the web API: their states, from their files and from the jobs that train them."""

import json
import shlex
import shutil
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from seqloom.cli.main import main
from seqloom.metrics import METRICS
from seqloom.recipe import Recipe
from seqloom.runs.record import Record, State
from seqloom.runs.run import load
from seqloom.server.jobs import Jobs, JobStep
from seqloom.server.problems import problem_of_dict
from seqloom.server.run_store import RunStore, run_state
from seqloom.server.schemas.responses import RunCommand, RunDetail, RunList

from ..runs.test_record import made, odd_folders
from .conftest import RUNS, client, until

PATH = "/api/v1/runs"


def test_every_run_is_listed_the_newest_first(web):
    found = web.get(PATH).json()
    RunList.model_validate(found, strict=True)
    assert [row["id"] for row in found["runs"]] == list(RUNS)[::-1]
    assert {row["state"] for row in found["runs"]} == {"finished"}


def test_a_run_in_full(web, trained):
    told = web.get(f"{PATH}/writer").json()
    RunDetail.model_validate(told)
    assert told["recipe"]["model"]["hidden_size"] == 8
    assert tomllib.loads(told["toml"]) == told["recipe"]
    assert told["evaluations"] == 2 and told["best_step"] and told["start"]["examples"]["train"]
    assert told["job"] is None
    assert "--resume" in told["resume_command"] and told["can_resume"]
    assert told["checkpoint_step"] is not None


def test_the_command_of_a_run_gives_its_recipe(runs, files, capsys):
    with client(runs) as web:
        for name in RUNS:
            told = web.get(f"{PATH}/{name}/command").json()
            RunCommand.model_validate(told, strict=True)
            words = shlex.split(told["command"])
            task, file, model, _ = RUNS[name]
            assert words[:6] == ["seqloom", "train", task, str(files / file), "-m", model]
            assert not any(".toml" in word for word in words) and told["missing"] == []
            assert main([*words[1:], "--dry-run"]) == 0
            recipe = tomllib.loads(capsys.readouterr().out)
            assert recipe == web.get(f"{PATH}/{name}").json()["recipe"], name
        assert web.get(f"{PATH}/none/command").status_code == 404
        recipe = (runs / "counts" / "recipe.toml").read_text()
        (runs / "counts" / "recipe.toml").write_text(recipe.replace("text.txt", "gone.txt"))
        assert web.get(f"{PATH}/counts/command").json()["missing"] == [str(files / "gone.txt")]
        (runs / "judge" / "recipe.toml").write_text("[model")
        assert web.get(f"{PATH}/judge/command").json() == {"command": "", "missing": []}


def test_runs_inside_of_ladders_have_ids_and_nothing_else_is_reached(runs):
    shutil.copytree(runs / "counts", runs / "climb" / "3-gram")
    outside = runs.parent / "outside"
    shutil.copytree(runs / "counts", outside)
    with client(runs) as web:
        assert web.get(f"{PATH}/climb~3-gram").json()["name"] == "climb/3-gram"
        for name in ("..%2Foutside", "..", "climb%2F3-gram", ".studio", "%2Fetc", "a%00b", "climb"):
            answer = web.get(f"{PATH}/{name}")
            assert answer.status_code == 404, name
            assert web.delete(f"{PATH}/{name}").status_code == 404
            assert web.get(f"{PATH}/{name}/events").status_code == 404
    assert (outside / "recipe.toml").exists()


def test_a_link_to_another_folder_is_unlinked_and_the_folder_stays(runs):
    outside = runs.parent / "outside"
    shutil.copytree(runs / "counts", outside)
    (runs / "linked").symlink_to(outside)
    with client(runs) as web:
        assert web.delete(f"{PATH}/linked").status_code == 204
    assert (outside / "recipe.toml").exists() and not (runs / "linked").exists()


def test_states_come_from_the_files(tmp_path, pretend):
    runs = tmp_path / "runs"
    for name, event in (
        ("done", {"reason": "finished"}),
        ("halted", {"reason": "stopped"}),
        ("nan", {"reason": "diverged", "code": "T130", "problem": "it is NaN", "help": ["less"]}),
    ):
        one = pretend(runs / name)
        one.tell("end", 3, **event)
        one.vanish()
    pretend(runs / "lost").vanish()
    pretend(runs / "live").tell("train", 1, progress=0.25)
    broken = pretend(runs / "broken")
    broken.vanish()
    (runs / "broken" / "recipe.toml").write_text("[[[")
    with client(runs) as web:
        states = {row["id"]: row["state"] for row in web.get(PATH).json()["runs"]}
        assert states == {
            "done": "finished",
            "halted": "stopped",
            "nan": "diverged",
            "lost": "vanished",
            "live": "running",
            "broken": "damaged",
        }
        status = web.get("/api/v1/status").json()
        assert status["running"] == [{"id": "live", "progress": 0.25}]
        error = web.get(f"{PATH}/nan").json()["error"]
        assert error["code"] == "T130" and error["detail"].startswith("error[T130]: it is NaN")
        assert web.get(f"{PATH}/broken").json()["toml"] == "[[["
        assert not web.get(f"{PATH}/broken").json()["can_resume"]
        assert web.delete(f"{PATH}/live").json()["code"] == "S260"


def test_a_state_is_seen_to_change(tmp_path, pretend):
    with client(tmp_path / "runs") as web:
        training = pretend(tmp_path / "runs" / "one")
        training.tell("train", 1)
        assert web.get(f"{PATH}/one").json()["state"] == "running"
        training.vanish()
        assert web.get(f"{PATH}/one").json()["state"] == "vanished"
        training.begin()
        assert web.get(f"{PATH}/one").json()["state"] == "running"


def test_several_models_are_trained_one_after_another(tmp_path, files):
    """In processes; one of them cannot: its file is told to have other columns than it has."""
    with client(tmp_path / "runs") as web:
        text = (files / "text.txt").read_text()
        data = web.post("/api/v1/datasets", json={"text": text, "name": "t.txt"}).json()["id"]
        plain = {"task": "language", "data": data, "model": "ngram"}
        wrong = {**plain, "settings": {"data.encoding": "utf-16"}}
        asked = {"recipes": [plain, wrong, {**plain, "settings": {"model.order": 2}}]}
        begun = web.post(PATH, json=asked)
        assert begun.status_code == 201
        assert begun.json()["runs"] == ["ngram-1", "ngram-2", "ngram-3"], "known at once"
        rows = {row["id"]: row["state"] for row in web.get(PATH).json()["runs"]}
        assert rows["ngram-3"] == "waiting"
        command = shlex.split(web.get(f"{PATH}/ngram-3/command").json()["command"])
        assert command[:3] == ["seqloom", "train", "language"] and command[3].endswith("/t.txt")
        assert command[4:] == ["-m", "ngram", "--set", "model.order=2"], "also while it waits"

        def states() -> dict:
            return {row["id"]: row["state"] for row in web.get(PATH).json()["runs"]}

        until(lambda: states().get("ngram-3") == "finished", 90)
        assert states() == {"ngram-1": "finished", "ngram-2": "crashed", "ngram-3": "finished"}
        good, bad = (web.get(f"{PATH}/{name}").json() for name in ("ngram-1", "ngram-2"))
        assert good["job"]["exit_code"] == 0 and good["test"]["bits_per_character"]["value"] > 0
        assert good["job"]["runs"] == ["ngram-1", "ngram-2", "ngram-3"] == bad["job"]["runs"]
        told = load(Path(good["folder"])).model.num_parameters()
        assert good["learned"] == told > good["start"]["size"], (
            "counts are learned, not there before"
        )
        card = web.get("/api/v1/models/ngram-1/card").json()["markdown"]
        shown = METRICS["bits_per_character"].show(good["test"]["bits_per_character"]["value"])
        assert f"- bits per character: {shown} (" in card
        assert bad["job"]["exit_code"] == 3 and bad["error"]["code"].startswith("D03")
        assert bad["error"]["detail"].startswith("error[D03") and bad["job"]["log"]
        assert web.delete(f"{PATH}/ngram-2").status_code == 204
        assert "ngram-2" not in states()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"recipes": []}, 422, "S242"),
        ({"recipes": [{"task": "language"}], "names": ["a", "b"]}, 422, "S242"),
        ({"recipes": [{}]}, 422, "U006"),
        ({"recipes": [{"task": "algorithms"}], "names": ["Not A Name"]}, 409, "U009"),
        ({"recipes": [{"task": "algorithms"}], "names": ["../x"]}, 409, "U009"),
        ({"recipes": [{"task": "algorithms"}] * 2, "names": ["x", "x"]}, 409, "U009"),
        ({"recipes": [{"task": "algorithms"}], "names": ["counts"]}, 409, "U009"),
    ],
)
def test_what_cannot_be_begun_begins_nothing(web, trained, body, status, code):
    answer = web.post(PATH, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not (trained / ".studio" / "jobs").exists()


def test_a_run_goes_on_only_as_what_it_is(web):
    for settings, code in (
        ({"model.hidden_size": 16}, "U010"),
        ({"task.tokens": "words"}, "U010"),
        ({"data.train": "/etc/passwd"}, "S252"),
        ({"training.nothing": 1}, "U010"),
        ({"nothing": 1}, "U005"),
    ):
        answer = web.post(f"{PATH}/writer:resume", json={"settings": settings})
        assert answer.status_code == 422 and answer.json()["code"] == code
    assert web.post(f"{PATH}/nobody:resume", json={}).status_code == 404
    assert web.post(f"{PATH}/writer:stop", json={}).json()["code"] == "S261"


def test_an_error_of_a_log_is_told_as_the_command_line_tells_it():
    told = {
        "code": "D011",
        "problem": "row has 3 fields",
        "file": "a.tsv",
        "line": 4,
        "help": ["x"],
    }
    problem = problem_of_dict(told)
    assert problem["detail"] == "error[D011]: row has 3 fields\n  --> a.tsv:4\n  help: x"
    assert problem["place"] == {"file": "a.tsv", "line": 4}


def test_a_job_that_is_damaged_spoils_nothing(runs):
    folder = runs / ".studio" / "jobs" / "1"
    folder.mkdir(parents=True)
    for text in ("", "[]", "{}", json.dumps({"asked": 1, "steps": [{"run": "x"}]})):
        (folder / "job.json").write_text(text)
        with client(runs) as web:
            assert len(web.get(PATH).json()["runs"]) == len(RUNS)


def test_an_odd_run_folder_takes_no_run_off_the_list(tmp_path):
    odd_folders(tmp_path / "runs")
    whole = made(tmp_path / "runs" / "whole", 4e9)
    with client(tmp_path / "runs") as web:
        rows = web.get("/api/v1/runs").json()["runs"]
        assert {row["id"] for row in rows} == {path.name for path in whole.parent.iterdir()}
        assert rows[0]["id"] == "whole" and rows[0]["state"] == "finished"
        statuses = {
            web.get(f"/api/v1/{kind}").status_code for kind in ("models", "runs", "../status")
        }
        for row in rows:
            RunDetail.model_validate(web.get(f"/api/v1/runs/{row['id']}").json())
            statuses.add(web.get(f"/api/v1/runs/{row['id']}/command").status_code)
    assert statuses <= {200, 404, 422}


def test_a_row_that_cannot_be_made_says_damaged(runs, monkeypatch):
    real = RunStore.record

    def record(self, folder):
        if folder.name == "judge":
            raise RuntimeError("nobody thought of this")
        return real(self, folder)

    monkeypatch.setattr(RunStore, "record", record)
    with client(runs) as web:
        states = {row["id"]: row["state"] for row in web.get("/api/v1/runs").json()["runs"]}
    assert states == {**dict.fromkeys(RUNS, "finished"), "judge": "damaged"}


def at_once(count, work):
    """The results of several calls in threads of their own."""
    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(work) for _ in range(count)]]


def test_trainings_without_names_that_are_asked_for_at_once_have_six(tmp_path, monkeypatch):
    monkeypatch.setattr(Jobs, "_spawn", lambda self, folder: None)
    real = Jobs.start

    def start(self, requests):
        time.sleep(0.02)  # the others choose their names meanwhile
        return real(self, requests)

    monkeypatch.setattr(Jobs, "start", start)
    body = {"recipes": [{"task": "algorithms", "model": "recurrent"}]}
    with client(tmp_path / "runs") as web:
        answers = at_once(6, lambda: web.post("/api/v1/runs", json=body))
        listed = [row["id"] for row in web.get("/api/v1/runs").json()["runs"]]
    names = [answer.json()["runs"][0] for answer in answers]
    assert sorted(names) == sorted(listed) == [f"recurrent-{n}" for n in range(1, 7)]


def test_a_run_that_is_deleted_by_several_is_gone_once(runs):
    with client(runs) as web:
        answers = at_once(6, lambda: web.delete("/api/v1/runs/counts").status_code)
    assert sorted(answers) == [204, *[404] * 5]
    assert not (runs / "counts").exists()


def test_what_is_discarded_is_gone_whether_it_runs_or_waits(tmp_path, files):
    with client(tmp_path / "runs") as web:
        text = (files / "text.txt").read_text()
        data = web.post("/api/v1/datasets", json={"text": text, "name": "t.txt"}).json()["id"]
        settings = {"training.epochs": 100_000, "model.hidden_size": 8, "training.max_time": "300s"}
        long = {"task": "language", "data": data, "model": "recurrent", "settings": settings}
        first, second = web.post(PATH, json={"recipes": [long, long]}).json()["runs"]
        until(lambda: web.get(f"{PATH}/{first}").json()["state"] == "running", 90)
        for name in (second, first):
            answer = web.post(f"{PATH}/{name}:stop", json={"discard": True})
            assert (answer.status_code, answer.json()["state"]) == (202, "discarded"), name
            assert web.get(f"{PATH}/{name}").status_code == 404
        assert web.get(PATH).json()["runs"] == []
    assert not (tmp_path / "runs" / first).exists() and not (tmp_path / "runs" / second).exists()


def test_a_run_whose_process_lives_neither_waits_nor_is_over(tmp_path):
    """Before its process has the lock of the run, and while it evaluates after its training."""
    step = JobStep("job", tmp_path, "a", "a", "tag", "hmm", (), True, 0.0)
    records = [None, *(Record(tmp_path, Recipe(), [], one) for one in get_args(State))]
    for record in records:
        kept = record.state if record else "vanished"
        is_fixed = kept in ("running", "damaged")
        assert run_state(record, step) == (kept if is_fixed else "waiting")
        assert run_state(record, replace(step, pid=5)) == (kept if is_fixed else "running")
        assert run_state(record, replace(step, pid=5, is_alive=False)) == kept
        done = run_state(record, replace(step, pid=5, exit_code=0, ended=9e9))
        assert done == kept, "what has ended does not wait"
