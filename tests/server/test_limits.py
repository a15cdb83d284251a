"""Limits: body size, strict JSON, the work queue, timeouts, and their errors."""

import asyncio
import gzip
import json
import threading
import time
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.cancellation import cancel_by, check_cancelled
from seqloom.errors import StudioError
from seqloom.experiments.compare import compare
from seqloom.runs.run import load
from seqloom.server import limits
from seqloom.server.limits import BodyLimitMiddleware, RequestBodyReader
from seqloom.server.options import Limits
from seqloom.server.predict import predict
from seqloom.server.work_queue import Cancellation, Cancelled, WorkQueue, while_connected

from .conftest import RUNS, client, until

CHECK = "/api/v1/recipes:check"
JSON = {"Content-Type": "application/json"}
BYTES = {"Content-Type": "application/octet-stream"}


def test_json_of_more_than_a_mebibyte_is_too_large(web):
    answer = web.post(CHECK, content=b'{"toml": "' + b"a" * (1 << 20) + b'"}', headers=JSON)
    assert answer.status_code == 413 and answer.json()["code"] == "S230"
    assert "1 MiB" in answer.json()["detail"]


def test_what_is_sent_counts_whatever_the_header_says(web):
    def pieces():
        for _ in range(40):
            yield b" " * (1 << 15)

    answer = web.post(CHECK, content=pieces(), headers=JSON)
    assert answer.status_code == 413


def test_an_upload_that_is_too_large_leaves_nothing(tmp_path):
    with client(tmp_path / "runs", Limits(upload_bytes=1000)) as web:
        for content in (b"a" * 2000, iter([b"a" * 600, b"b" * 600])):
            answer = web.post("/api/v1/datasets?name=a.txt", content=content, headers=BYTES)
            assert answer.status_code == 413 and answer.json()["code"] == "S230"
        for packed in (
            gzip.compress(b"a\n" * 100_000),
            gzip.compress(b"a\n" * 100) + gzip.compress(b"a\n" * 100_000),
        ):
            assert len(packed) < 1000
            answer = web.post("/api/v1/datasets?name=a.gz", content=packed, headers=BYTES)
            assert answer.status_code == 413, "what all its members unpack to counts, too"
        assert web.get("/api/v1/datasets").json() == {"datasets": []}
    assert not [*(tmp_path / "runs" / ".studio" / "data").glob("*/*")]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b'{"toml": NaN}',
        b'{"settings": {"a": Infinity}}',
        b'{"settings": {"a": 1e999}}',
        b'{"settings": {"a": ' + b"9" * 400 + b"}}",
        b'{"toml": "\\ud800"}',
        b"[" * 100_000,
        b'{"settings": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
        b"\x00\x01\x02",
    ],
)
def test_what_is_not_strictly_json_goes_no_further(web, body):
    answer = web.post(CHECK, content=body, headers=JSON)
    assert answer.status_code == 422 and answer.json()["code"] == "S232"


@pytest.mark.parametrize("text", [b'"', b'"\\"', b'{"toml": "\\"', b"[1,", b"[],", b"\\"])
def test_the_longest_body_is_read_in_one_pass(web, text):
    """A pattern that backtracks would need the better part of an hour, and hold up all others."""
    body = text * ((1 << 20) // len(text) - 1)
    answer = web.post(CHECK, content=body, headers=JSON)
    assert answer.status_code == 422 and answer.json()["code"] == "S232"


def test_bodies_are_read_outside_of_the_event_loop(web, monkeypatch):
    threads = []
    monkeypatch.setattr(limits, "json", SimpleNamespace(loads=lambda *_, **__: note(threads)))
    web.post(CHECK, json={"task": "tag"})
    monkeypatch.undo()
    assert threads == [False]


def note(threads):
    try:
        asyncio.get_running_loop()
        threads.append(True)
    except RuntimeError:
        threads.append(False)


PARTS = ["[", "]", "{", "}", ",", ":", '"', "\\", "a", "1", '"a"', '"a":', "\\u005b", " "]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_depth_and_values_are_those_of_the_parsed_json(text):
    """Against the parsed value: brackets and commas in strings count for nothing."""
    try:
        value = json.loads(text)
    except ValueError:
        return
    for depth in range(4):
        for values in range(4):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(limits, "MAX_DEPTH", depth)
                patch.setattr(limits, "MAX_VALUES", values)
                assert is_refused(text) == (nesting(value) > depth or commas(value) > values)


def is_refused(text):
    try:
        limits._check_size(text)
    except ValueError:
        return True
    return False


def nesting(value):
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max(map(nesting, inside), default=0) if isinstance(value, dict | list) else 0


def commas(value):
    if not isinstance(value, dict | list):
        return 0
    inside = list(value.values()) if isinstance(value, dict) else value
    return max(0, len(inside) - 1) + sum(map(commas, inside))


def test_brackets_inside_of_strings_do_not_nest(web):
    answer = web.post(CHECK, json={"task": "[" * 90 + chr(34) + "{" * 90})
    assert answer.json()["code"] == "U002"


@pytest.mark.parametrize("kind", [JSON, BYTES])
def test_a_slow_body_times_out(kind):
    limits = Limits(body_seconds=0.1, upload_seconds=0.1)

    async def never() -> dict:
        await asyncio.sleep(0.03)
        return {"type": "http.request", "body": b"a", "more_body": True}

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass

    headers = [(b"content-type", kind["Content-Type"].encode())]
    scope = {"type": "http", "method": "POST", "headers": headers}
    with pytest.raises(StudioError) as refused:
        asyncio.run(BodyLimitMiddleware(app, limits)(scope, never, None))
    assert refused.value.code == "S231" and refused.value.status == 408


def test_two_at_once_a_few_wait_and_the_rest_is_told_to_come_back():
    queue, go = WorkQueue(Limits(at_once=2, waiting=3)), threading.Event()

    async def scene() -> None:
        work = [asyncio.create_task(queue.run(go.wait)) for _ in range(5)]
        await asyncio.sleep(0.05)
        assert queue.waiting == 5
        with pytest.raises(StudioError) as refused:
            await queue.run(go.wait)
        assert refused.value.code == "S233" and refused.value.status == 429
        go.set()
        assert await asyncio.gather(*work) == [True] * 5
        assert await queue.run(lambda: 7) == 7

    asyncio.run(scene())


def test_work_that_takes_too_long_is_given_up_and_found_done_later():
    queue, done = WorkQueue(Limits(seconds=0.05)), []

    def slow() -> int:
        time.sleep(0.3)
        done.append(1)
        return 42

    async def scene() -> None:
        with pytest.raises(StudioError) as refused:
            await queue.run(slow)
        assert refused.value.code == "S234" and refused.value.status == 504
        with pytest.raises(StudioError):
            await queue.run_cached("once", slow)
        await asyncio.sleep(0.5)
        assert await queue.run_cached("once", slow) == 42
        assert len(done) == 2, "it was not done again"

    asyncio.run(scene())


def spin() -> None:
    """Work that would never end by itself."""
    while True:
        check_cancelled()
        time.sleep(0.001)


def ended(queue) -> bool:
    return until(lambda: queue.waiting == 0)


def test_work_ends_itself_at_its_deadline():
    queue = WorkQueue(Limits(seconds=0.02, at_once=1))

    async def scene() -> None:
        for run in (queue.run(spin), queue.run_cached("spin", spin)):
            with pytest.raises(StudioError) as refused:
                await run
            assert refused.value.code == "S234"
            assert ended(queue), "its thread is free again"
        assert await queue.run(lambda: 7) == 7

    asyncio.run(scene())


def test_work_that_has_waited_too_long_is_not_begun():
    queue, go, begun = WorkQueue(Limits(seconds=0.02, at_once=1)), threading.Event(), []

    async def scene() -> None:
        queue.submit(go.wait)
        with pytest.raises(StudioError):
            await queue.run_cached("late", lambda: begun.append(1))
        queue._cache["late"].cancellation.cancel()
        go.set()
        assert ended(queue)

    asyncio.run(scene())
    assert not begun


@pytest.mark.parametrize("others", [0, 1])
def test_work_is_cancelled_when_its_last_client_has_gone(others):
    queue, leave = WorkQueue(Limits(at_once=1)), asyncio.Event()

    class Connection:
        async def receive(self):
            await leave.wait()
            return {"type": "http.disconnect"}

    async def scene() -> None:
        waiting = [asyncio.create_task(queue.run_cached("k", spin)) for _ in range(others)]
        gone = asyncio.create_task(while_connected(Connection(), queue.run_cached("k", spin)))
        await asyncio.sleep(0.01)
        leave.set()
        with pytest.raises(StudioError) as refused:
            await gone
        assert refused.value.code == "S236"
        for one in waiting:
            assert queue.waiting == 1, "somebody else still waits for the result"
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert ended(queue)

    asyncio.run(scene())


def test_two_long_views_do_not_keep_both_places(runs):
    with client(runs, Limits(seconds=0.05, looked_quadratic=2000)) as web:
        queue = web.app.app.app.state.studio.work_queue
        for model in ("counts", "writer"):
            answer = web.post(
                f"/api/v1/models/{model}/views/influence", json={"text": "the cat " * 120}
            )
            assert answer.status_code == 504 and answer.json()["code"] == "S234"
        assert ended(queue)


@pytest.mark.parametrize("view", ["influence", "gradient_flow"])
def test_views_of_quadratic_work_take_shorter_texts(web, view):
    answer = web.post(f"/api/v1/models/writer/views/{view}", json={"text": "the " * 200})
    assert answer.status_code == 422 and answer.json()["code"] == "S235"


LOOPS = ("influence", "beam", "gradient_flow", "next", "surprise")
TEXTS = {"ahead": "1 2 3 4 5 6 7 8", "player": ""}  # the others read words


@pytest.mark.parametrize("model", RUNS)
def test_whatever_may_take_long_asks_whether_it_should_end(trained, tmp_path, model):
    run, text = load(trained / model), TEXTS.get(model, "the cat")
    kinds = [kind.view for kind in run.views().shown if kind.view in LOOPS]
    if model == "player":
        kinds.remove("gradient_flow")  # there is none of an empty piece
    long = [partial(run.inspect, text, view=kind) for kind in kinds]
    long += [lambda: predict(run, [text], {}, Limits(), tmp_path), lambda: compare([run, run])]
    cancellation = Cancellation(60)
    cancellation.cancel()
    for work in long:
        with cancel_by(cancellation.check), pytest.raises(Cancelled):
            work()


def test_a_full_queue_says_when_to_come_back(runs, monkeypatch):
    with client(runs, Limits(at_once=1, waiting=0)) as web:
        studio = web.app.app.app.state.studio
        go = threading.Event()
        studio.work_queue.submit(go.wait)
        answer = web.post("/api/v1/models/counts:predict", json={"inputs": ["the"]})
        go.set()
    assert answer.status_code == 429 and answer.json()["code"] == "S233"
    assert int(answer.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("counts", {"inputs": ["a"] * 33}),
        ("counts", {"inputs": ["a" * 20_000]}),
        ("counts", {"inputs": ["a"], "parameters": {"limit": 2000}}),
        ("attentive", {"inputs": ["a"], "parameters": {"beam": 33}}),
        ("ahead", {"inputs": ["1 2 3"], "parameters": {"horizon": 10_000}}),
        ("player", {"inputs": [""], "parameters": {"steps": 2000}}),
    ],
)
def test_more_than_one_request_may_ask_for(web, model, body):
    answer = web.post(f"/api/v1/models/{model}:predict", json=body)
    assert answer.status_code == 422 and answer.json()["code"] == "S235"


def test_a_bug_is_a_problem_without_a_traceback(runs, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def broken(*_: object) -> None:
        raise RuntimeError("a secret place")

    with client(runs) as web:
        monkeypatch.setattr(web.app.app.app.state.studio.run_store, "rows", broken)
        answer = web.get("/api/v1/runs")
    assert answer.status_code == 500 and answer.json()["code"] == "S290"
    assert "secret" not in answer.text and "Traceback" not in answer.text
    (report,) = (tmp_path / "cache" / "seqloom").iterdir()
    assert "a secret place" in report.read_text()
    assert json.loads(answer.text)["notes"][0].startswith("Report saved to")


def test_what_is_refused_is_answered_at_once(web, monkeypatch):
    drain, is_whole = RequestBodyReader.drain, []

    async def watched(self):
        await drain(self)
        is_whole.append(self._is_whole)

    monkeypatch.setattr(RequestBodyReader, "drain", watched)
    for _ in range(5):
        assert web.post(CHECK, content=b"{", headers=JSON).status_code == 422
        assert web.post(CHECK, content=b"{}", headers={"Origin": "null", **JSON}).status_code == 403
    assert is_whole == [True] * 10, "nobody waits for the rest of a body that is whole"
