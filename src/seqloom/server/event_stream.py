"""The event file of a run as a stream: one reader for each file, however many people look on.

The number of a line is its id, so whoever comes back with the last id they saw misses nothing and
hears nothing twice, also from another server. A line without its end is not there yet. Lines that
a killed process left torn are counted, but not sent.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from ..runs.record import to_json
from .run_store import State

LIVE_SECONDS, QUIET_SECONDS = 0.25, 1.0  # how often a file is looked at; of a run that is over
ALIVE_SECONDS = 15.0  # a comment that often, so that nobody in between thinks we are gone
RETRY = b"retry: 2000\n\n"
ALIVE = b": still here\n\n"


@dataclass(frozen=True)
class Line:
    """One event, ready to be sent."""

    number: int
    kind: str
    frame: bytes


class Tail:
    """One event file that is followed; it remembers its lines as long as anyone looks on."""

    def __init__(self, path: Path, state: Callable[[], State]) -> None:
        self._path, self._ask = path, state
        self.lines: list[Line] = []
        self.count = 0  # lines of the file, torn ones too
        self.state: State | None = None
        self.is_over = False  # the file is gone, or another one is in its place
        self._offset, self._rest, self._file = 0, b"", 0
        self._news = asyncio.Event()
        self.clients = 0

    async def follow(self) -> None:
        """Look again and again, and wake those who wait when there is something new."""
        while not self.is_over:
            if await asyncio.to_thread(self.look):
                news, self._news = self._news, asyncio.Event()
                news.set()
            is_live = self.state in ("running", "waiting")
            await asyncio.sleep(LIVE_SECONDS if is_live else QUIET_SECONDS)

    async def news(self, seconds: float) -> bool:
        """Wait for something new, so long at most; whether there is."""
        waiting = self._news
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(waiting.wait(), seconds)
        return waiting.is_set()

    def look(self) -> bool:
        """Read what was written since the last look; whether anything is new.

        The state is asked for first: where training has ended by then, all its lines are here.
        """
        before = self.state, len(self.lines), self.is_over
        try:
            state = self._ask()
        except Exception:  # the run was deleted while we looked
            self.is_over = True
        else:
            self._read()
            self.state = state
        return before != (self.state, len(self.lines), self.is_over)

    def _read(self) -> None:
        try:
            with self._path.open("rb") as file:
                self._must_be_same(file.fileno(), file.seek(0, 2))
                file.seek(self._offset)
                new = file.read()
        except OSError:
            self.is_over = self._offset > 0  # it was there before
            return
        self._offset += len(new)
        *whole, self._rest = (self._rest + new).split(b"\n")
        for text in whole:
            self.count += 1
            if (line := _line(self.count, text)) is not None:
                self.lines.append(line)

    def _must_be_same(self, handle: int, size: int) -> None:
        number = os.fstat(handle).st_ino
        if size < self._offset or (self._file and number != self._file):
            self.is_over = True
            raise OSError("another file is in its place")
        self._file = number


def _line(number: int, text: bytes) -> Line | None:
    """A line as an event; None where it is none."""
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if not isinstance(event, dict) or not {"kind", "step"} <= event.keys():
        return None
    kind = "".join(str(event["kind"]).split())
    # Python writes NaN where JSON has no word for it.
    if b"NaN" in text or b"Infinity" in text:
        text = to_json(event).encode("utf-8", "backslashreplace")
    frame = b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), text.replace(b"\r", b""))
    return Line(number, kind, frame)


class Tails:
    """The files that somebody looks at."""

    def __init__(self) -> None:
        self._tails: dict[Path, tuple[Tail, asyncio.Task[None]]] = {}

    @contextlib.asynccontextmanager
    async def of(self, path: Path, state: Callable[[], State]) -> AsyncIterator[Tail]:
        """The tail of a file, shared with all others who look at it."""
        if path not in self._tails:
            tail = Tail(path, state)
            self._tails[path] = tail, asyncio.create_task(tail.follow())
        tail, task = self._tails[path]
        tail.clients += 1
        try:
            yield tail
        finally:
            tail.clients -= 1
            if not tail.clients:
                task.cancel()
                if self._tails.get(path, (None,))[0] is tail:
                    del self._tails[path]

    def clients(self) -> int:
        """How many look on."""
        return sum(tail.clients for tail, _ in self._tails.values())


async def frames(
    tail: Tail, after: int, kinds: Collection[str], must_end: asyncio.Event
) -> AsyncIterator[bytes]:
    """What one of those who look on is sent: the state, every line after theirs, then the news."""
    yield RETRY
    while tail.state is None and not tail.is_over:
        await tail.news(ALIVE_SECONDS)
    after = after if after <= tail.count else 0  # they saw another file of this name
    place = next((i for i, line in enumerate(tail.lines) if line.number > after), len(tail.lines))
    told: State | None = None
    if tail.state is not None:
        yield _state(tail.state)
        told = "running" if tail.state == "running" else None  # else again after the last line
    while not (tail.is_over or must_end.is_set()):
        state, new = tail.state, tail.lines[place:]
        place += len(new)
        sent = [line.frame for line in new if not kinds or line.kind in kinds]
        if state is not None and state != told:
            sent.append(_state(told := state))
        if sent:
            yield b"".join(sent)
        elif not await tail.news(ALIVE_SECONDS):
            yield ALIVE


def _state(state: State) -> bytes:
    return b"event: state\ndata: " + json.dumps({"state": state}).encode() + b"\n\n"
