"""Event streams (SSE): every event exactly once; incomplete lines wait."""

import asyncio
import json

from seqloom.server import event_stream
from seqloom.server.event_stream import EventStream, EventStreams, sse_frames


def parsed(text: bytes) -> list[tuple[int | None, str, dict]]:
    """The events of a stream: id, kind, data."""
    found = []
    for block in text.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in fields:
            number = int(fields["id"]) if "id" in fields else None
            found.append((number, fields["event"], json.loads(fields["data"])))
    return found


def line(step: int, kind: str = "train", **more) -> str:
    return json.dumps({"t": 1.0, "kind": kind, "step": step, **more}) + "\n"


async def listen(stream: EventStream, after: int = 0, kinds: tuple = (), count: int = 1) -> list:
    """What somebody hears until so many events have come."""
    heard, end = [], asyncio.Event()
    async for frame in sse_frames(stream, after, kinds, end):
        heard += parsed(frame)
        if len(heard) >= count:
            end.set()
    return heard


def test_lines_have_their_numbers_and_the_state_comes_first_and_last(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(0, "start") + line(5) + line(5, "end"))
    stream = EventStream(path, lambda: "finished")
    assert stream.poll()
    heard = asyncio.run(listen(stream, count=5))
    assert [(number, kind) for number, kind, _ in heard] == [
        (None, "state"),
        (1, "start"),
        (2, "train"),
        (3, "end"),
        (None, "state"),
    ]
    assert heard[-1][2] == {"state": "finished"} and heard[2][2]["step"] == 5


def test_who_comes_back_hears_the_rest_only(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("".join(line(step) for step in range(1, 6)))
    stream = EventStream(path, lambda: "running")
    stream.poll()
    heard = asyncio.run(listen(stream, after=3, count=3))
    assert [number for number, _, _ in heard] == [None, 4, 5]
    again = asyncio.run(listen(stream, after=99, count=6))
    assert [number for number, _, _ in again] == [None, 1, 2, 3, 4, 5], "another file has this name"


def test_only_some_kinds(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1) + line(1, "eval") + line(2) + line(2, "eval"))
    stream = EventStream(path, lambda: "running")
    stream.poll()
    heard = asyncio.run(listen(stream, kinds=("eval",), count=3))
    assert [number for number, _, _ in heard] == [None, 2, 4]


def test_a_torn_line_waits_and_one_that_stays_torn_is_left_out(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1) + '{"t": 1.0, "kind": "tr')
    stream = EventStream(path, lambda: "running")
    stream.poll()
    assert [one.number for one in stream.lines] == [1]
    with path.open("a") as file:
        file.write('ain", "step": 2}\n' + '{"t": 1.0, "ki\n' + line(3))
    assert stream.poll()
    assert [one.number for one in stream.lines] == [1, 2, 4], "the torn line keeps its number"


def test_what_is_not_a_number_is_null(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"t": 1.0, "kind": "train", "step": 1, "loss": NaN, "rate": Infinity}\n')
    stream = EventStream(path, lambda: "running")
    stream.poll()
    data = parsed(stream.lines[0].frame)[0][2]
    assert data["loss"] is None and data["rate"] is None


def test_many_listeners_share_one_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(event_stream, "LIVE_SECONDS", 0.01)
    path, looks = tmp_path / "events.jsonl", []
    path.write_text(line(1))

    async def scene() -> list[list]:
        streams = EventStreams()

        async def one() -> list:
            async with streams.subscribe(path, lambda: looks.append(1) or "running") as stream:
                return await listen(stream, count=4)

        listeners = [asyncio.create_task(one()) for _ in range(50)]
        await asyncio.sleep(0.05)
        assert streams.subscribers() == 50
        for step in (2, 3):
            with path.open("a") as file:
                file.write(line(step))
            await asyncio.sleep(0.05)
        heard = await asyncio.gather(*listeners)
        assert streams.subscribers() == 0
        return heard

    heard = asyncio.run(scene())
    assert all([n for n, _, _ in one] == [None, 1, 2, 3] for one in heard)
    assert len(looks) < 100, "one reader for all, not one for each"


def test_a_stream_ends_where_its_file_is_gone_or_another(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1) + line(2))
    stream = EventStream(path, lambda: "running")
    stream.poll()
    path.write_text(line(7))
    assert stream.poll() and stream.is_over
    other = EventStream(path, lambda: "running")
    other.poll()
    path.unlink()
    assert other.poll() and other.is_over
