"""Server-sent events (SSE) from events.jsonl: one reader per file, shared by all its subscribers.

The line number is the event id, so a client that reconnects with `Last-Event-ID` gets every later
line exactly once, also from another server. A line without a newline is not read yet. Lines that a
killed process left incomplete count, but are not sent.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from ..runs.record import to_json
from ..training.events import parse_event
from .run_store import RunState

LIVE_SECONDS, ENDED_SECONDS = 0.25, 1.0  # polling interval of a live run, and of one that has ended
KEEP_ALIVE_SECONDS = 15.0  # a comment that often, so that no proxy closes an idle connection
RETRY = b"retry: 2000\n\n"
KEEP_ALIVE = b": keep-alive\n\n"


@dataclass(frozen=True)
class StreamEvent:
    """One event, encoded as an SSE frame."""

    number: int
    kind: str
    frame: bytes


class EventStream:
    """One followed events.jsonl (as `tail -f`); its lines are kept while it has subscribers."""

    def __init__(self, path: Path, state: Callable[[], RunState]) -> None:
        self._path, self._read_state = path, state
        self.lines: list[StreamEvent] = []
        self.count = 0  # lines of the file, incomplete ones included
        self.state: RunState | None = None
        self.is_over = False  # the file was deleted or replaced
        self._offset, self._rest, self._inode = 0, b"", 0
        self._update = asyncio.Event()
        self.subscribers = 0

    async def follow(self) -> None:
        """Poll the file and wake the subscribers when there is something new."""
        while not self.is_over:
            if await asyncio.to_thread(self.poll):
                update, self._update = self._update, asyncio.Event()
                update.set()
            is_live = self.state in ("running", "waiting")
            await asyncio.sleep(LIVE_SECONDS if is_live else ENDED_SECONDS)

    async def wait(self, seconds: float) -> bool:
        """Wait for an update, at most so long; whether there was one."""
        update = self._update
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(update.wait(), seconds)
        return update.is_set()

    def poll(self) -> bool:
        """Read the lines written since the last poll; whether anything is new.

        The state is read first: if training has ended by then, all its lines are in the file.
        """
        before = self.state, len(self.lines), self.is_over
        try:
            state = self._read_state()
        except Exception:  # the run was deleted meanwhile
            self.is_over = True
        else:
            self._read()
            self.state = state
        return before != (self.state, len(self.lines), self.is_over)

    def _read(self) -> None:
        try:
            with self._path.open("rb") as file:
                self._check_same_file(file.fileno(), file.seek(0, 2))
                file.seek(self._offset)
                new = file.read()
        except OSError:
            self.is_over = self._offset > 0  # it existed before
            return
        self._offset += len(new)
        *whole, self._rest = (self._rest + new).split(b"\n")
        for text in whole:
            self.count += 1
            if (line := _line(self.count, text)) is not None:
                self.lines.append(line)

    def _check_same_file(self, handle: int, size: int) -> None:
        # A run that is trained again under the same name has a new file: its ids start at 1 again.
        inode = os.fstat(handle).st_ino
        if size < self._offset or (self._inode and inode != self._inode):
            self.is_over = True
            raise OSError("the file was replaced")
        self._inode = inode


def _line(number: int, text: bytes) -> StreamEvent | None:
    """A line as an event; None if it is not one."""
    event = parse_event(text)
    if event is None:
        return None
    kind = "".join(event["kind"].split())
    # Written anew: NaN and Infinity, which JSON does not have, become null.
    line = to_json(event).encode("utf-8", "backslashreplace")
    frame = b"id: %d\nevent: %s\ndata: %s\n\n" % (
        number,
        kind.encode("utf-8", "backslashreplace"),
        line,
    )
    return StreamEvent(number, kind, frame)


class EventStreams:
    """All event files that have subscribers."""

    def __init__(self) -> None:
        self._streams: dict[Path, tuple[EventStream, asyncio.Task[None]]] = {}

    @contextlib.asynccontextmanager
    async def subscribe(
        self, path: Path, state: Callable[[], RunState]
    ) -> AsyncIterator[EventStream]:
        """The stream of a file, shared by all its subscribers and dropped with the last."""
        if path not in self._streams:
            stream = EventStream(path, state)
            self._streams[path] = stream, asyncio.create_task(stream.follow())
        stream, task = self._streams[path]
        stream.subscribers += 1
        try:
            yield stream
        finally:
            stream.subscribers -= 1
            if not stream.subscribers:
                task.cancel()
                if self._streams.get(path, (None,))[0] is stream:
                    del self._streams[path]

    def subscribers(self) -> int:
        """The number of subscribers of all files."""
        return sum(stream.subscribers for stream, _ in self._streams.values())


async def sse_frames(
    stream: EventStream, after: int, kinds: Collection[str], must_end: asyncio.Event
) -> AsyncIterator[bytes]:
    """The SSE frames for one subscriber: the state, all lines after `after`, then live updates."""
    yield RETRY
    while stream.state is None and not stream.is_over:
        await stream.wait(KEEP_ALIVE_SECONDS)
    after = after if after <= stream.count else 0  # the id is from an older file of this name
    lines = stream.lines
    position = next((i for i, line in enumerate(lines) if line.number > after), len(lines))
    last_state: RunState | None = None
    if stream.state is not None:
        yield _state_frame(stream.state)
        # A final state is sent once more after the last line, so that clients know it is the last.
        last_state = "running" if stream.state == "running" else None
    while not (stream.is_over or must_end.is_set()):
        state, new = stream.state, stream.lines[position:]
        position += len(new)
        sent = [line.frame for line in new if not kinds or line.kind in kinds]
        if state is not None and state != last_state:
            sent.append(_state_frame(last_state := state))
        if sent:
            yield b"".join(sent)
        elif not await stream.wait(KEEP_ALIVE_SECONDS):
            yield KEEP_ALIVE


def _state_frame(state: RunState) -> bytes:
    return b"event: state\ndata: " + json.dumps({"state": state}).encode() + b"\n\n"
