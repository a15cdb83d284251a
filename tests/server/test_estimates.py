"""Training-time estimates: in a subprocess, which is killed when the client disconnects."""

import asyncio
import json
import os
import time
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from seqloom.errors import StudioError
from seqloom.recipe import Recipe
from seqloom.server.estimates import MAX_WAITING, TrainingTimeEstimator
from seqloom.server.options import Limits
from seqloom.server.schemas.responses import TrainingTimeEstimate

from .conftest import client, until

PATH = "/api/v1/recipes:estimate"


def put(web, file):
    answer = web.post("/api/v1/datasets", json={"text": file.read_text(), "name": file.name})
    return answer.json()["id"]


def probes(runs) -> list[int]:
    """The processes that estimate for a studio at this moment, by what /proc tells of them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--estimate" in words and any(word.startswith(os.fsencode(runs)) for word in words):
            found.append(int(path.parent.name))
    return found


def test_what_a_page_shows_is_measured_and_kept(tmp_path, files):
    with client(tmp_path / "runs") as web:
        asked = {"task": "language", "data": put(web, files / "text.txt"), "model": "ngram"}
        told = web.post(PATH, json=asked).json()
        TrainingTimeEstimate.model_validate(told, strict=True)
        assert told["problem"] is None and told["reason"] == ""
        assert 0 < told["seconds"] < 20 and told["words"].startswith(("instant", "about"))
        again = web.post(PATH, json=asked).json()
        assert again == told, "asked again, it is not probed again: no two probes agree so well"
        slower = {**asked, "model": "recurrent", "settings": {"training.epochs": 1000}}
        assert web.post(PATH, json=slower).json()["seconds"] > told["seconds"]
        assert not list((tmp_path / "runs" / ".studio" / "scratch").iterdir())
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [".studio"], "nothing is kept"


def test_what_cannot_be_known_says_why(tmp_path, files):
    with client(tmp_path / "runs") as web:
        asked = {"task": "language", "data": put(web, files / "text.txt"), "model": "ngram"}
        wrong = web.post(PATH, json={**asked, "settings": {"data.encoding": "utf-16"}}).json()
        assert wrong["seconds"] is None and wrong["words"] == "not known"
        assert wrong["problem"]["code"].startswith("D03")
        assert wrong["reason"] == wrong["problem"]["problem"]
        large = {**asked, "model": "recurrent", "settings": {"model.hidden_size": 65_536}}
        told = web.post(PATH, json=large).json()
        assert told["seconds"] is None and told["reason"], "far more memory than there is"


def test_a_probe_that_takes_too_long_is_ended(tmp_path, files):
    with client(tmp_path / "runs", Limits(seconds=0.3)) as web:
        asked = {"task": "language", "data": put(web, files / "text.txt"), "model": "recurrent"}
        told = web.post(PATH, json=asked).json()
        assert told["words"] == "not known" and "0 s" in told["reason"]
    assert probes(tmp_path) == []


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({}, 422, "U006"),
        ({"toml": "[data]\ntrain='/etc/passwd'\n[task]\nname='language'"}, 422, "S252"),
        ({"task": "language", "settings": {"data.train": "/etc/passwd"}}, 422, "S252"),
        ({"task": "language", "model": "evil.py:Model"}, 422, "U002"),
        ({"task": "language", "more": 1}, 422, "S242"),
    ],
)
def test_what_may_not_be_trained_is_not_probed(web, asked, status, code):
    answer = web.post(PATH, json=asked)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_page_that_is_left_ends_its_probe(server, files):
    with httpx.Client(base_url=server.address, timeout=60) as web:
        asked = {"task": "language", "data": put(web, files / "text.txt"), "model": "transformer"}
    asking = [HTTPConnection(server.address.removeprefix("http://")) for _ in range(2)]
    for one in asking:  # the second waits for the first, and never begins
        one.request("POST", PATH, json.dumps(asked), {"Content-Type": "application/json"})
    first = until(lambda: probes(server.runs), 60)
    assert len(first) == 1, "one at a time"
    for one in asking[::-1]:
        one.close()
    until(lambda: not probes(server.runs), 20)
    time.sleep(0.5)
    assert probes(server.runs) == [] and server.get("/healthz").status_code == 200


def test_a_few_may_wait_and_no_more(tmp_path):
    """Without processes: the first is under way for ever."""

    async def ask() -> list[object]:
        estimates = TrainingTimeEstimator(tmp_path, Limits(), asyncio.Event())
        estimates._run = never
        asked = [
            asyncio.ensure_future(estimates.estimate(Recipe(model={"order": number}), stays))
            for number in range(MAX_WAITING + 1)
        ]
        (refused,), _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        for one in asked:
            one.cancel()
        return [refused.exception(), *await asyncio.gather(*asked, return_exceptions=True)]

    async def never(recipe, is_disconnected):
        await asyncio.Event().wait()

    async def stays() -> bool:
        return False

    refused, *others = asyncio.run(ask())
    assert isinstance(refused, StudioError) and refused.status == 429
    assert sum(isinstance(one, asyncio.CancelledError) for one in others) == MAX_WAITING
