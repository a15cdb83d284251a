"""Work queue: calls that compute with a model, in a few threads, each until its deadline.

A Python thread cannot be stopped from outside. What computes asks `check_cancelled` in its loops,
so that a call ends itself at its deadline, or once the client that asked for it has gone.
"""

import asyncio
import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar

from starlette.requests import Request

from ..cancellation import cancel_by
from ..errors import StudioError
from .options import Limits

P = ParamSpec("P")
T = TypeVar("T")
CACHED_RESULTS = 16


class Cancelled(Exception):  # noqa: N818 - no error: nobody waits for the result
    """The call has passed its deadline, or its result is no longer wanted."""


class Cancellation:
    """The deadline of a call, which can be moved, and a request to stop."""

    def __init__(self, seconds: float) -> None:
        self._end, self._is_cancelled = time.monotonic() + seconds, threading.Event()

    def cancel(self) -> None:
        """Ask the call to stop."""
        self._is_cancelled.set()

    def extend(self, seconds: float) -> None:
        """Move the deadline to so many seconds from now, if that is later."""
        self._end = max(self._end, time.monotonic() + seconds)

    def check(self) -> None:
        """Raise Cancelled if the call should stop."""
        if self._is_cancelled.is_set() or time.monotonic() >= self._end:
            raise Cancelled


@dataclass
class _Shared:
    """A cached call: its future, its cancellation, and how many requests wait for it."""

    future: Future[Any]
    cancellation: Cancellation
    waiting: int = field(default=0)

    @property
    def has_failed(self) -> bool:
        """Whether it ended without a result."""
        done = self.future.done()
        return done and (self.future.cancelled() or self.future.exception() is not None)


class WorkQueue:
    """A thread pool with a bounded queue and a deadline for every call."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.at_once, thread_name_prefix="model")
        self._waiting, self._lock = 0, threading.Lock()
        self._cache: OrderedDict[Hashable, _Shared] = OrderedDict()

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a call in a worker thread; the call is told to end when nobody waits."""
        cancellation = Cancellation(self._limits.seconds)
        future = self._submit(cancellation, partial(work, *args, **kwargs))
        try:
            return await self._result(future)
        finally:
            cancellation.cancel()
            future.cancel()

    async def run_cached(self, key: Hashable, work: Callable[[], T]) -> T:
        """As `run`, but with a result cache; a call that timed out goes on for a while.

        A client that repeats the request by then gets its result, or waits for the same call. It
        ends once nobody has asked for it for as long as a request may take.
        """
        shared = self._cache.get(key)
        if shared is None or shared.has_failed:
            cancellation = Cancellation(2 * self._limits.seconds)
            shared = _Shared(self._submit(cancellation, work), cancellation)
            self._cache[key] = shared
            while len(self._cache) > CACHED_RESULTS:
                self._cache.popitem(last=False)
        shared.cancellation.extend(2 * self._limits.seconds)
        shared.waiting += 1
        try:
            result: T = await self._result(shared.future)
            return result
        except asyncio.CancelledError:
            if shared.waiting == 1:  # the client has gone, and there is no other
                shared.cancellation.cancel()
            raise
        finally:
            shared.waiting -= 1

    async def stream(self, make: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        """Iterate in a worker thread; it stops once the caller has gone."""
        loop, cancellation = asyncio.get_running_loop(), Cancellation(self._limits.seconds)
        queue: asyncio.Queue[tuple[T] | Exception | None] = asyncio.Queue()

        def put(item: tuple[T] | Exception | None) -> None:
            with contextlib.suppress(
                RuntimeError
            ):  # the event loop is closed: the server has ended
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            try:
                for item in make():
                    cancellation.check()
                    put((item,))
                put(None)
            except Cancelled:
                put(too_long(self._limits.seconds))
            except Exception as error:
                put(error)

        self._submit(cancellation, work)
        try:
            while (item := await queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item[0]
        finally:
            cancellation.cancel()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Start a call or queue it; refused if the queue is full."""
        return self._submit(Cancellation(self._limits.seconds), work)

    def _submit(self, cancellation: Cancellation, work: Callable[[], T]) -> Future[T]:
        def call() -> T:
            cancellation.check()  # it may have waited too long for a thread
            with cancel_by(cancellation.check):
                return work()

        with self._lock:
            if self._waiting >= self._limits.waiting + self._limits.at_once:
                raise busy()
            self._waiting += 1
        future = self._pool.submit(call)
        future.add_done_callback(self._done)
        return future

    async def _result(self, future: Future[T]) -> T:
        """The result of a call, or the error of one that takes too long."""
        try:
            result = asyncio.wrap_future(future)
            result.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen
            return await asyncio.wait_for(asyncio.shield(result), self._limits.seconds)
        except (TimeoutError, Cancelled):
            raise too_long(self._limits.seconds) from None

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


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of some work, which is cancelled if the client disconnects."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise StudioError("S236", "the client has disconnected", status=499)
        return task.result()
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    """Wait until the client has disconnected; its body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


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
