"""Models through the web API: export as a zip file, and rename."""

import io
import shutil
import zipfile

import pytest

import seqloom

from .conftest import client, until

PATH = "/api/v1/models"


def test_a_model_is_downloaded_as_the_command_writes_it(web, trained, tmp_path):
    answer = web.get(f"{PATH}/judge/export")
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == "attachment; filename*=utf-8''judge.zip"
    assert int(answer.headers["content-length"]) == len(answer.content)
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path)
    run = seqloom.load(tmp_path / "judge")
    text = "what a fine day"
    assert run.predict([text]) == seqloom.load(trained / "judge").predict([text])
    assert not list((trained / ".studio" / "scratch").iterdir())


def test_what_has_no_weights_or_is_no_model_is_not_exported(runs):
    (runs / "judge" / "weights.safetensors").unlink()
    outside = runs.parent / "outside"
    shutil.copytree(runs / "counts", outside)
    (runs / "odd \"name'\r\n").mkdir()
    shutil.copytree(runs / "counts", runs / "odd \"name'\r\n", dirs_exist_ok=True)
    with client(runs) as web:
        answer = web.get(f"{PATH}/judge/export")
        assert (answer.status_code, answer.json()["code"]) == (409, "S262")
        for name in ("none", "..%2Foutside", "..", ".studio"):
            assert web.get(f"{PATH}/{name}/export").status_code == 404, name
        odd = web.get(f"{PATH}/odd%20%22name'%0D%0A/export")
        assert odd.headers["content-disposition"].endswith("''odd-name-.zip")


def test_a_model_is_renamed_with_all_that_is_known_of_it(tmp_path, files):
    with client(tmp_path / "runs") as web:
        text = (files / "text.txt").read_text()
        data = web.post("/api/v1/datasets", json={"text": text, "name": "t.txt"}).json()["id"]
        asked = {"recipes": [{"task": "language", "data": data, "model": "ngram"}]}
        (old,) = web.post("/api/v1/runs", json=asked).json()["runs"]
        refused = web.post(f"{PATH}/{old}:rename", json={"name": "early"})
        assert refused.json()["code"] in ("S260", "U008"), "it is not even trained"
        until(lambda: web.get(f"/api/v1/runs/{old}").json()["state"] == "finished", 90)
        before = web.get(f"/api/v1/runs/{old}").json()
        web.post(f"{PATH}/{old}:predict", json={"inputs": ["the"]})
        answer = web.post(f"{PATH}/{old}:rename", json={"name": "better"})
        assert (answer.status_code, answer.json()) == (200, {"id": "better"})
        after = web.get("/api/v1/runs/better").json()
        assert after["test"] == before["test"] is not None
        assert all("shown" in one for one in after["test"].values())
        assert after["job"] == {**before["job"], "runs": ["better"]}
        assert [row["id"] for row in web.get("/api/v1/runs").json()["runs"]] == ["better"]
        assert web.get(f"{PATH}/better/card").json()["markdown"].startswith("# better\n")
        assert old not in web.get("/api/v1/status").json()["loaded"]
        assert web.post(f"{PATH}/better:rename", json={"name": "best"}).status_code == 200
        assert web.get("/api/v1/runs/best").json()["job"] == {**before["job"], "runs": ["best"]}
        assert web.delete(f"{PATH}/best").status_code == 204
    with client(tmp_path / "runs") as web:  # another server finds it gone, under every name
        assert web.get("/api/v1/runs").json()["runs"] == []


@pytest.mark.parametrize("name", ["", "Not A Name", "../out", "/tmp/x", "a" * 65, "judge", "a\0b"])
def test_a_name_that_cannot_be_changes_nothing(web, trained, name):
    answer = web.post(f"{PATH}/counts:rename", json={"name": name})
    assert (answer.status_code, answer.json()["code"]) == (409, "U009")
    assert (trained / "counts" / "recipe.toml").exists()
    assert web.post(f"{PATH}/none:rename", json={"name": "x"}).status_code == 404


def test_a_run_that_is_trained_or_a_part_of_others_keeps_its_name(runs, pretend):
    shutil.copytree(runs / "counts", runs / "climb" / "3-gram")
    pretend(runs / "busy").tell("train", 1)
    with client(runs) as web:
        for name, code in (("busy", "S260"), ("climb~3-gram", "S265")):
            answer = web.post(f"{PATH}/{name}:rename", json={"name": "free"})
            assert (answer.status_code, answer.json()["code"]) == (409, code)
    assert not (runs / "free").exists() and not (runs / "climb" / "free").exists()
