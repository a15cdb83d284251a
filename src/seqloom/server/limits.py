"""Limits on request size and time: the body-limit middleware and a bounded work queue.

Bodies are counted while they arrive, whatever Content-Length says. JSON bodies are parsed strictly
once, before FastAPI does it: NaN, Infinity and half surrogate pairs, which Python's parser accepts,
and nesting deep enough to exhaust the stack are refused.
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
UPLOAD_TYPE = b"application/octet-stream"
DRAIN_BYTES, DRAIN_SECONDS = 16 * MIB, 2.0
MAX_DEPTH, MAX_DIGITS, CACHED_RESULTS = 64, 16, 16
_STRING, _BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"'), re.compile(r"[\[\]{}]")


class BodyLimitMiddleware:
    """ASGI middleware: reads and validates JSON bodies; counts uploads while they stream."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if its body is small enough."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        is_upload = headers.get(b"content-type", b"").lower().startswith(UPLOAD_TYPE)
        most = self.limits.upload_bytes if is_upload else self.limits.json_bytes
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > most:
            raise too_large(most)
        limited = _LimitedReceive(receive, most, self.limits, is_upload)
        if is_upload:
            await self.app(scope, limited, send)
            return
        body = await limited.read_all()
        if body:
            _check_strict_json(body)
        await self.app(scope, _replay(body, receive), send)


class _LimitedReceive:
    """An ASGI `receive` that raises if the body is too large or too slow."""

    def __init__(self, receive: Receive, most: int, limits: Limits, is_upload: bool) -> None:
        self._receive, self._most, self._idle = receive, most, limits.idle_seconds
        seconds = limits.upload_seconds if is_upload else limits.body_seconds
        self._end, self._count = asyncio.get_running_loop().time() + seconds, 0
        self._is_done = False

    async def __call__(self) -> Message:
        if self._is_done:  # the next message is the disconnect, which may take long
            return await self._receive()
        left = self._end - asyncio.get_running_loop().time()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, min(left, self._idle)))
        except TimeoutError:
            raise _too_slow() from None
        if message["type"] == "http.request":
            self._count += len(message.get("body", b""))
            self._is_done = not message.get("more_body", False)
        if self._count > self._most:
            raise too_large(self._most)
        return message

    async def read_all(self) -> bytes:
        """The whole body."""
        chunks = []
        while not self._is_done:
            message = await self()
            if message["type"] == "http.disconnect":
                break
            chunks.append(message.get("body", b""))
        return b"".join(chunks)


class RequestBodyReader:
    """An ASGI `receive` that knows whether the whole body has arrived."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._is_whole = receive, False

    async def __call__(self) -> Message:
        message = await self._receive()
        is_more = message["type"] == "http.request" and message.get("more_body", False)
        self._is_whole = self._is_whole or not is_more
        return message

    async def drain(self) -> None:
        """Discard the rest of a refused body, up to a limit: many clients send before they read."""
        count = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while count <= DRAIN_BYTES and not self._is_whole:
                    count += len((await self()).get("body", b""))


def _replay(body: bytes, receive: Receive) -> Receive:
    """An ASGI `receive` that returns a body which was read already."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return left.pop() if left else await receive()

    return replayed


class WorkQueue:
    """A thread pool with a bounded queue and a timeout, for calls that compute with a model.

    A Python thread cannot be cancelled, so a call that timed out keeps its worker until it is done;
    only the caller gets an error at once.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.at_once, thread_name_prefix="model")
        self._waiting, self._lock = 0, threading.Lock()
        self._cache: OrderedDict[Hashable, Future[Any]] = OrderedDict()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a call in a worker thread."""
        future = self.submit(work, *args, **kwargs)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds)
        except TimeoutError:
            future.cancel()
            raise too_long(self._limits.seconds) from None

    async def run_cached(self, key: Hashable, work: Callable[[], T]) -> T:
        """As `run`, but with a result cache; a call that timed out goes on in its thread.

        A client that repeats the request later gets its result, or waits for the same call.
        """
        future = self._cache.get(key)
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            future = self.submit(work)
            self._cache[key] = future
            while len(self._cache) > CACHED_RESULTS:
                self._cache.popitem(last=False)
        try:
            waiting = asyncio.shield(asyncio.wrap_future(future))
            return await asyncio.wait_for(waiting, self._limits.seconds)
        except TimeoutError:
            raise too_long(self._limits.seconds) from None

    async def stream(self, make: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        """Iterate in a worker thread; it stops at the next item once the caller has gone."""
        loop, is_abandoned = asyncio.get_running_loop(), threading.Event()
        queue: asyncio.Queue[tuple[T] | Exception | None] = asyncio.Queue()

        def put(item: tuple[T] | Exception | None) -> None:
            with contextlib.suppress(
                RuntimeError
            ):  # the event loop is closed: the server has ended
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            try:
                for item in make():
                    if is_abandoned.is_set():
                        return
                    put((item,))
                put(None)
            except Exception as error:
                put(error)

        self.submit(work)
        try:
            while (item := await queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item[0]
        finally:
            is_abandoned.set()

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Start a call or queue it; refused if the queue is full."""
        with self._lock:
            if self._waiting >= self._limits.waiting + self._limits.at_once:
                raise busy()
            self._waiting += 1
        future = self._pool.submit(work, *args, **kwargs)
        future.add_done_callback(self._done)
        return future

    def close(self) -> None:
        """Accept no more calls, and do not wait for those that run."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def waiting(self) -> int:
        """The number of calls that run or are queued."""
        return self._waiting

    def _done(self, future: Future[Any]) -> None:
        with self._lock:
            self._waiting -= 1


def too_large(most: int) -> StudioError:
    """Error: the body has too many bytes."""
    return StudioError(
        "S230",
        f"the body is larger than {most // MIB} MiB, the limit here",
        status=413,
        help=["the command line reads files of any size:  seqloom train TASK FILE"],
    )


def too_many(what: str, count: int, most: int) -> StudioError:
    """Error: more of something than one request may have."""
    return StudioError("S235", f"{what}: {count:,} are too many; the limit is {most:,}")


def busy() -> StudioError:
    """Error: all workers are busy and the queue is full."""
    return StudioError(
        "S233",
        "too many requests are waiting already",
        status=429,
        help=["try again in a few seconds"],
    )


def too_long(seconds: float) -> StudioError:
    """Error: a call timed out."""
    return StudioError(
        "S234",
        f"timed out: the result was not ready after {seconds:.0f} s",
        status=504,
        help=["ask for less at once, or use the command line"],
    )


def _too_slow() -> StudioError:
    return StudioError("S231", "timed out: the body of the request arrived too slowly", status=408)


def _check_strict_json(body: bytes) -> None:
    """Refuse a body that is not strict JSON (RFC 8259)."""
    try:
        text = body.decode("utf-8")
        if _depth(text) > MAX_DEPTH:
            raise ValueError(f"it nests deeper than {MAX_DEPTH} levels")
        value = json.loads(
            text, parse_constant=_reject_constant, parse_int=_parse_int, parse_float=_parse_float
        )
        if "\\u" in text:  # half a surrogate pair has no UTF-8 encoding
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise StudioError("S232", f"the body is not JSON: {error}", status=422) from error


def _depth(text: str) -> int:
    """The maximum nesting depth of brackets outside of strings."""
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _parse_int(text: str) -> int:
    """An integer that a JavaScript number can hold, nearly; a long one is slow to parse, too."""
    if len(text) > MAX_DIGITS:
        raise ValueError(f"{text[:30]}… is too large a number")
    return int(text)


def _parse_float(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError(f"{text[:30]} is too large a number")
    return number
