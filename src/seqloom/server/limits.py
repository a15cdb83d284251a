"""Limits on request bodies: their size, the time they may take, and strict JSON.

Bodies are counted while they arrive, whatever Content-Length says. JSON bodies are parsed strictly
once, before FastAPI does it: NaN, Infinity and half surrogate pairs, which Python's parser accepts,
and nesting deep enough to exhaust the stack are refused.
"""

import asyncio
import contextlib
import json
import re
from math import isfinite

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import StudioError
from .options import MIB, Limits

UPLOAD_TYPE = b"application/octet-stream"
DRAIN_BYTES, DRAIN_SECONDS = 16 * MIB, 2.0
MAX_DEPTH, MAX_VALUES, MAX_DIGITS = 64, 10_000, 16
_MARK = re.compile(r'["\[\]{},]|\\.', re.DOTALL)  # each character is read once: no backtracking


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
            await asyncio.to_thread(_check_strict_json, body)  # other requests go on meanwhile
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


def _too_slow() -> StudioError:
    return StudioError("S231", "timed out: the body of the request arrived too slowly", status=408)


def _check_strict_json(body: bytes) -> None:
    """Refuse a body that is not strict JSON (RFC 8259)."""
    try:
        text = body.decode("utf-8")
        _check_size(text)
        value = json.loads(
            text, parse_constant=_reject_constant, parse_int=_parse_int, parse_float=_parse_float
        )
        if "\\u" in text:  # half a surrogate pair has no UTF-8 encoding
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise StudioError("S232", f"the body is not JSON: {error}", status=422) from error


def _check_size(text: str) -> None:
    """Refuse deep nesting and very many values, in one pass; nothing in a string counts."""
    depth, values, is_string = 0, 0, False
    for found in _MARK.finditer(text):
        mark = found[0]
        if mark == '"':
            is_string = not is_string
        elif not is_string and mark[0] != "\\":
            depth += {",": 0, "[": 1, "{": 1}.get(mark, -1)
            values += mark == ","
            if depth > MAX_DEPTH:
                raise ValueError(f"it nests deeper than {MAX_DEPTH} levels")
            if values > MAX_VALUES:
                raise ValueError(f"it has more than {MAX_VALUES:,} values")


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
