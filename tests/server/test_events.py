"""Event streams over HTTP: lost connections, a restarted server, killed trainings."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from .conftest import serving, until
from .test_event_stream import line

SECONDS = 20


def events(
    address: str, run: str, count: int, then: Callable = lambda: None, **headers: str
) -> list[tuple[int | None, str, dict]]:
    """So many events of a stream, as an EventSource would hear them; `then` follows the first."""
    found: list = []
    path = f"{address}/api/v1/runs/{run}/events"
    with httpx.stream("GET", path, headers=headers, timeout=SECONDS) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for text in answer.iter_lines():
            if text:
                name, _, value = text.partition(": ")
                fields[name] = value
            elif "event" in fields:
                number = int(fields["id"]) if "id" in fields else None
                found.append((number, fields["event"], json.loads(fields["data"])))
                fields = {}
                if len(found) == 1:
                    then()
                if len(found) == count:
                    return found
            else:
                fields = {}
    return found


def numbers(heard: list) -> list[int]:
    return [number for number, _, _ in heard if number is not None]


def test_a_run_of_the_command_line_is_heard_live(server, pretend):
    training = pretend(server.runs / "live")
    training.tell("start", 0)

    def go() -> None:
        for step in range(1, 4):
            time.sleep(0.2)
            training.tell("train", step)
        training.tell("end", 3, reason="finished")
        training.vanish()

    heard = events(server.address, "live", 7, threading.Thread(target=go).start)
    assert heard[0][1:] == ("state", {"state": "running"})
    assert numbers(heard) == [1, 2, 3, 4, 5]
    assert heard[-1][1:] == ("state", {"state": "finished"}), "last, once all lines are sent"


def test_a_lost_connection_misses_nothing_and_hears_nothing_twice(server, pretend):
    training = pretend(server.runs / "lost")
    for step in range(6):
        training.tell("train", step)
    first = events(server.address, "lost", 4)
    training.tell("train", 6)
    header = {"Last-Event-ID": str(numbers(first)[-1])}
    rest = events(server.address, "lost", 5, **header)
    assert numbers(first) + numbers(rest) == list(range(1, 8))
    again = httpx.get(f"{server.address}/api/v1/runs/lost/events?after=-1")
    assert again.status_code == 422


def test_a_restarted_server_goes_on_where_the_last_one_was(tmp_path, pretend):
    runs = tmp_path / "runs"
    training = pretend(runs / "long")
    for step in range(3):
        training.tell("train", step)
    with serving(runs) as one:
        first = events(one.address, "long", 4)
        port = int(one.address.rsplit(":", 1)[1])
        code, said = one.stop()
    assert code == 0 and "1 training continues: long" in said
    training.tell("train", 3)
    with serving(runs, port=port) as two:
        rest = events(two.address, "long", 2, **{"Last-Event-ID": str(numbers(first)[-1])})
    assert numbers(first) + numbers(rest) == [1, 2, 3, 4]


def test_a_killed_training_has_vanished_and_can_go_on(server, files):
    """A real one, of a model that needs no torch, killed as the system would."""
    data = server.post(
        "/api/v1/datasets", {"text": (files / "text.txt").read_text(), "name": "t.txt"}
    )
    asked = {
        "task": "language",
        "data": data.json()["id"],
        "model": "hmm",
        "settings": {
            "training.epochs": 100_000,
            "model.tolerance": 0.0,
            "training.max_time": "60s",
        },
    }
    begun = server.post("/api/v1/runs", {"recipes": [asked], "names": ["killed"]})
    assert begun.status_code == 201 and begun.json()["runs"] == ["killed"]
    state = server.get("/api/v1/runs/killed").json()["state"]
    assert state in ("waiting", "running"), "it is there before its folder is"
    heard = events(server.address, "killed", 12)
    assert ("state", {"state": "running"}) in [one[1:] for one in heard]
    os.kill(int((server.runs / "killed" / "lock").read_text()), signal.SIGKILL)

    def row() -> dict:
        return server.get("/api/v1/runs/killed").json()

    until(lambda: row()["state"] == "vanished")
    assert row()["can_resume"] and row()["checkpoint_step"] >= 1
    before = (server.runs / "killed" / "events.jsonl").read_text().count("\n")
    assert server.post("/api/v1/runs/killed:resume", {}).status_code == 201
    rest = events(server.address, "killed", 4, **{"Last-Event-ID": str(before)})
    assert "resume" in [kind for _, kind, _ in rest]
    until(lambda: row()["state"] == "running")
    assert server.post("/api/v1/runs/killed:resume", {}).status_code == 409
    assert httpx.delete(f"{server.address}/api/v1/runs/killed").status_code == 409
    assert server.post("/api/v1/runs/killed:stop", {}).status_code == 202
    until(lambda: row()["state"] == "stopped")
    assert server.post("/api/v1/runs/killed:stop", {}).json()["code"] == "S261"
    assert server.post("/api/v1/runs/killed:stop", {"discard": True}).status_code == 202
    assert server.get("/api/v1/runs/killed").status_code == 404
    assert not (server.runs / "killed").exists()


def test_a_stream_of_a_run_that_is_deleted_ends(server, pretend):
    training = pretend(server.runs / "gone")
    training.tell("end", 0, reason="finished")
    training.vanish()
    heard: list = []
    listener = threading.Thread(
        target=lambda: heard.extend(events(server.address, "gone", 99)), daemon=True
    )
    listener.start()
    time.sleep(0.5)
    assert httpx.delete(f"{server.address}/api/v1/runs/gone").status_code == 204
    listener.join(timeout=10)
    assert not listener.is_alive() and numbers(heard) == [1]


@pytest.mark.parametrize("number", ["x", "-5", "1e3", "99999999999999999999999", "²"])
def test_a_strange_last_id_is_no_bug(server, pretend, number):
    path = Path(server.runs / "odd" / "events.jsonl")
    if not path.exists():
        pretend(server.runs / "odd").write(line(1))
    raw = number.encode()
    with httpx.stream(
        "GET",
        f"{server.address}/api/v1/runs/odd/events",
        headers=[(b"Last-Event-ID", raw)],
        timeout=SECONDS,
    ) as answer:
        assert answer.status_code == 200
