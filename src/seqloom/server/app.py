"""The server put together: addresses inside, limits around them, the guard at the door.

A connection as uvicorn has it, but for those that never say what they want.

uvicorn has a limit of time between two requests, and the server its own for bodies and for work;
headers that never end would otherwise hold a connection for ever.

The process that listens: a socket that is ours, and uvicorn behind it.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from types import FrameType
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import h11
import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import StudioError
from .limits import Bodies
from .options import Settings
from .problems import MEDIA_TYPE, add_handlers
from .routes import compare, datasets, examples, models, pages, requests, runs, tasks
from .schemas.responses import Problem
from .security import Guard
from .state import Studio

ABOUT = """\
Everything the pages of the studio do is asked for here, so programs can do it, too.
What goes wrong is told as application/problem+json with the text and the code of the command line.
"""
PROBLEM: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "model": Problem,
        "description": "What was asked for is wrong, or is not there.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
# Nothing leaves this machine. A FastAPI that knows no telemetry takes this, too, and keeps it.
QUIET: Any = {
    "telemetry": {
        "tracing": False,
        "metrics": False,
        "logs": False,
        "operation_spans": False,
        "auto_configure": False,
    }
}
ROUTERS = (
    runs,
    models,
    compare,
    datasets,
    examples,
    tasks,
    requests,
    pages,
)  # pages last: it takes every address that is left


def make_app(settings: Settings) -> tuple[ASGIApp, Studio]:
    """The whole server, and what its addresses share."""
    studio = Studio(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        studio.close()

    app = FastAPI(
        title="Seqloom studio",
        description=ABOUT,
        version=version("seqloom"),
        docs_url=None,  # FastAPI's page loads scripts from elsewhere; /api is our own
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        responses=PROBLEM,
        **QUIET,
        separate_input_output_schemas=False,
    )
    app.state.studio = studio
    add_handlers(app, pages.page)
    for noun in ROUTERS:
        app.include_router(noun.router)
    return Guard(Bodies(app, settings.limits), settings, studio.notebook), studio


class Connection(H11Protocol):
    """One that is closed where the headers of a request are not whole after ten seconds."""

    header_seconds = 10.0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come, and should say why."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Some bytes; while they are headers, the time since the first of them counts."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Somebody has gone."""
        self._rest()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:  # the headers are here
            self._rest()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self.header_seconds, self.transport.close)

    def _rest(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


PORTS = 20  # so many are tried to suggest a free one
LAST_SECONDS = 3  # for answers that are under way when the server ends


def listen(host: str, port: int) -> socket.socket:
    """A socket to listen on; one that is taken is an error that says what to do."""
    if not 0 <= port < 1 << 16:
        raise StudioError("S202", f"--port {port}: expected a number up to 65535")
    try:
        return _bound(host, port)
    except socket.gaierror as error:
        raise StudioError("S202", f"--host {host}: {error.strerror}") from error
    except PermissionError as error:
        told = f"port {port} may not be used by everyone"
        raise StudioError("S202", told, help=["seqloom studio --port 8000"]) from error
    except OSError as error:
        if error.errno is not None and port:
            raise _taken(host, port) from error
        raise StudioError("S202", f"cannot listen on {host}: {error.strerror}") from error


def serve(settings: Settings, listener: socket.socket, tell: Callable[[Studio], None]) -> Studio:
    """Serve until a signal ends it; `tell` is called once the server is ready."""
    app, studio = make_app(settings)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    server = _Server(config, studio, tell)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    return studio


class _Server(uvicorn.Server):
    """uvicorn, which also ends the streams that would otherwise go on for ever."""

    def __init__(
        self, config: uvicorn.Config, studio: Studio, tell: Callable[[Studio], None]
    ) -> None:
        super().__init__(config)
        self._studio, self._tell = studio, tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self._tell(self._studio)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Somebody wants to leave."""
        self._studio.is_closing.set()
        super().handle_exit(sig, frame)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host.strip("[]"), port))
        found.listen(128)  # at once: else two studios could have the same port
    except BaseException:
        found.close()
        raise
    return found


def _taken(host: str, port: int) -> StudioError:
    """Another program listens there; perhaps it is a studio, too."""
    notes = []
    if _is_studio(port):
        notes = [f"It answers like a studio: open http://127.0.0.1:{port}/"]
    free = _free_after(host, port)
    help = [f"seqloom studio --port {free}"] if free else []
    return StudioError("S201", f"port {port} is taken by another program", notes=notes, help=help)


def _is_studio(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/version", timeout=1) as answer:
            return "seqloom" in json.loads(answer.read(1000))
    except (URLError, OSError, ValueError, TypeError):
        return False


def _free_after(host: str, port: int) -> int | None:
    for other in range(port + 1, min(port + PORTS, 1 << 16)):
        with contextlib.suppress(OSError), _bound(host, other):
            return other
    return None
