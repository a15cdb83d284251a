"""How much a request may bring and how long it may take; what is too much is refused in words.

Bodies are counted while they come in, whatever the request says of their length. A JSON body is
looked at here once: what Python's reader would take but JSON does not know, or what nests so deep
that it would break, goes no further.
"""

import asyncio
import contextlib
import json
import re
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from math import isfinite
from typing import Any, ParamSpec, TypeVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import StudioError
from .options import MIB, Limits

P = ParamSpec("P")
T = TypeVar("T")
UPLOADED = b"application/octet-stream"
DRAINED, DRAIN_SECONDS = 16 * MIB, 2.0
DEEPEST, DIGITS, KEPT = 64, 16, 16
_STRING, _BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"'), re.compile(r"[\[\]{}]")


class Bodies:
    """Reads JSON bodies whole and checks them; counts uploads as they stream by."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a body that is small enough."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        is_upload = headers.get(b"content-type", b"").lower().startswith(UPLOADED)
        most = self.limits.upload_bytes if is_upload else self.limits.json_bytes
        told = headers.get(b"content-length", b"")
        if told.isdigit() and int(told) > most:
            raise too_large(most)
        counted = _Counted(receive, most, self.limits, is_upload)
        if is_upload:
            await self.app(scope, counted, send)
            return
        body = await counted.whole()
        if body:
            _must_be_json(body)
        await self.app(scope, _replayed(body, receive), send)


class _Counted:
    """A body that may be neither too long nor too slow."""

    def __init__(self, receive: Receive, most: int, limits: Limits, is_upload: bool) -> None:
        self._receive, self._most, self._idle = receive, most, limits.idle_seconds
        seconds = limits.upload_seconds if is_upload else limits.body_seconds
        self._end, self._count = asyncio.get_running_loop().time() + seconds, 0
        self._is_done = False

    async def __call__(self) -> Message:
        if self._is_done:  # now it waits for the caller to leave, which may take long
            return await self._receive()
        left = self._end - asyncio.get_running_loop().time()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, min(left, self._idle)))
        except TimeoutError:
            raise _slow() from None
        if message["type"] == "http.request":
            self._count += len(message.get("body", b""))
            self._is_done = not message.get("more_body", False)
        if self._count > self._most:
            raise too_large(self._most)
        return message

    async def whole(self) -> bytes:
        """All of it."""
        pieces = []
        while not self._is_done:
            message = await self()
            if message["type"] == "http.disconnect":
                break
            pieces.append(message.get("body", b""))
        return b"".join(pieces)


class Incoming:
    """What comes in for a request, and whether all of it is here."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._is_whole = receive, False

    async def __call__(self) -> Message:
        message = await self._receive()
        is_more = message["type"] == "http.request" and message.get("more_body", False)
        self._is_whole = self._is_whole or not is_more
        return message

    async def drain(self) -> None:
        """Let the rest of a refused body come in, up to some point, so that its sender listens."""
        count = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while count <= DRAINED and not self._is_whole:
                    count += len((await self()).get("body", b""))


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, once more."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


class Gate:
    """Two pieces of work at once, a few in a queue, and none for longer than a minute.

    A thread cannot be stopped from outside, so work that took too long keeps its place until it
    is done; only the caller is told at once.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.at_once, thread_name_prefix="model")
        self._waiting, self._lock = 0, threading.Lock()
        self._kept: OrderedDict[Hashable, Future[Any]] = OrderedDict()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of some work, done in a thread."""
        future = self.submit(work, *args, **kwargs)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds)
        except TimeoutError:
            future.cancel()
            raise too_long(self._limits.seconds) from None

    async def run_kept(self, key: Hashable, work: Callable[[], T]) -> T:
        """As `run`, but what was asked before is not done again, and goes on after a minute.

        Who asks once more after work took too long finds it done, or further on.
        """
        future = self._kept.get(key)
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            future = self.submit(work)
            self._kept[key] = future
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        try:
            waiting = asyncio.shield(asyncio.wrap_future(future))
            return await asyncio.wait_for(waiting, self._limits.seconds)
        except TimeoutError:
            raise too_long(self._limits.seconds) from None

    async def stream(self, make: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        """What an iterator gives that is gone through in a thread; it stops when nobody listens."""
        loop, has_left = asyncio.get_running_loop(), threading.Event()
        queue: asyncio.Queue[tuple[T] | Exception | None] = asyncio.Queue()

        def tell(news: tuple[T] | Exception | None) -> None:
            with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(queue.put_nowait, news)

        def work() -> None:
            try:
                for item in make():
                    if has_left.is_set():
                        return
                    tell((item,))
                tell(None)
            except Exception as error:
                tell(error)

        self.submit(work)
        try:
            while (news := await queue.get()) is not None:
                if isinstance(news, Exception):
                    raise news
                yield news[0]
        finally:
            has_left.set()

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin some work, or put it in the queue; refused where that is full."""
        with self._lock:
            if self._waiting >= self._limits.waiting + self._limits.at_once:
                raise busy()
            self._waiting += 1
        future = self._pool.submit(work, *args, **kwargs)
        future.add_done_callback(self._done)
        return future

    def close(self) -> None:
        """Take no more work, and do not wait for what is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def waiting(self) -> int:
        """How many pieces of work are under way or in the queue."""
        return self._waiting

    def _done(self, future: Future[Any]) -> None:
        with self._lock:
            self._waiting -= 1


def too_large(most: int) -> StudioError:
    """A body of too many bytes."""
    return StudioError(
        "S230",
        f"this is more than {most // MIB} MiB, the most that is taken here",
        status=413,
        help=["the command line takes files of any size:  seqloom train TASK FILE"],
    )


def too_many(what: str, found: int, most: int) -> StudioError:
    """More of something than one request may ask for."""
    return StudioError("S235", f"{what}: {found:,} are too many; at most {most:,} are taken")


def busy() -> StudioError:
    """All places are taken, also those to wait in."""
    return StudioError(
        "S233",
        "too many requests are waiting already",
        status=429,
        help=["try again in a few seconds"],
    )


def too_long(seconds: float) -> StudioError:
    """Work that is not done in time."""
    return StudioError(
        "S234",
        f"this is not done after {seconds:.0f} s, so nobody waits for it any longer",
        status=504,
        help=["ask for less at once, or use the command line"],
    )


def _slow() -> StudioError:
    return StudioError("S231", "the body of the request came too slowly", status=408)


def _must_be_json(body: bytes) -> None:
    """Refuse what is no JSON, and what is none strictly."""
    try:
        text = body.decode("utf-8")
        if _depth(text) > DEEPEST:
            raise ValueError(f"it nests deeper than {DEEPEST} levels")
        found = json.loads(text, parse_constant=_no_number, parse_int=_whole, parse_float=_real)
        if "\\u" in text:  # half a pair of surrogates is no character
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise StudioError("S232", f"the body is not JSON: {error}", status=422) from error


def _depth(text: str) -> int:
    """How deep brackets nest, at most, outside of strings."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _whole(text: str) -> int:
    """A whole number as large as other programs can hold."""
    if len(text) > DIGITS:
        raise ValueError(f"{text[:30]}… is too large a number")
    return int(text)


def _real(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError(f"{text[:30]} is too large a number")
    return number
