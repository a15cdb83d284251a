"""Header timeout over real sockets: endless headers do not hold a connection."""

import asyncio
import socket
import threading
import time
from contextlib import closing

import pytest
import uvicorn

from seqloom.server.app import HeaderTimeoutProtocol, listen

from .conftest import until

SOON = 0.4  # seconds that headers may take here
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"


async def app(scope, receive, send):
    """Answers when the body is whole, then takes its time over the second half."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-length", b"4")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ab", "more_body": True})
    await asyncio.sleep(2 * SOON)
    await send({"type": "http.response.body", "body": b"cd"})


@pytest.fixture(scope="module")
def port():
    patched = type("Hasty", (HeaderTimeoutProtocol,), {"header_seconds": SOON})
    config = uvicorn.Config(app, http=patched, ws="none", log_config=None, lifespan="off")
    server, listener = uvicorn.Server(config), listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    until(lambda: server.started)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def caller(port):
    with closing(socket.create_connection(("127.0.0.1", port), timeout=10)) as found:
        yield found


def heard(caller, until_end=b"abcd"):
    said = b""
    while not said.endswith(until_end) and (piece := caller.recv(4096)):
        said += piece
    return said


def test_who_says_nothing_is_hung_up_on(caller):
    began = time.monotonic()
    assert caller.recv(1) == b"" and SOON / 2 < time.monotonic() - began < 8


def test_headers_that_drip_are_cut_off_however_often_a_byte_comes(caller):
    began = time.monotonic()
    caller.sendall(REQUEST)
    with pytest.raises(OSError):  # noqa: PT012 - which of them notices is the system's affair
        while time.monotonic() - began < 8:
            caller.sendall(b"X-More: 1\r\n")
            time.sleep(SOON / 8)
    assert time.monotonic() - began < 8


def test_slow_bodies_and_slow_answers_are_not_cut(caller):
    caller.sendall(POST)
    time.sleep(2 * SOON)
    caller.sendall(b"body")
    assert heard(caller).endswith(b"abcd")
    time.sleep(2 * SOON)  # between two requests uvicorn's own limit holds
    caller.sendall(REQUEST + b"\r\n")
    assert heard(caller).startswith(b"HTTP/1.1 200")
    caller.sendall(REQUEST)  # the third never ends
    assert caller.recv(1) == b""


def test_the_studio_listens_with_it(server):
    with closing(socket.create_connection(("127.0.0.1", int(server.address.split(":")[2])))) as one:
        one.sendall(REQUEST)
        one.settimeout(2 * HeaderTimeoutProtocol.header_seconds)
        assert one.recv(1) == b""
