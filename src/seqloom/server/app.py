"""The ASGI application and its uvicorn server.

`make_app` puts the FastAPI routers behind two middlewares: `SecurityMiddleware` (hosts, origins,
token) outside and `BodyLimitMiddleware` inside. `serve` runs it with uvicorn on a socket from
`listen`, with a time limit for request headers, which uvicorn itself does not have.
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
from .limits import BodyLimitMiddleware
from .options import ServerSettings
from .problems import MEDIA_TYPE, add_handlers
from .routes import compare, datasets, examples, models, pages, requests, runs, tasks
from .schemas.responses import Problem
from .security import SecurityMiddleware
from .state import Studio

ABOUT = """\
The REST API that the pages of the studio use; programs can use it, too.
Errors are application/problem+json (RFC 9457), with the message and the code of the command line.
"""
PROBLEM: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "model": Problem,
        "description": "The request is invalid, or the resource does not exist.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
# Nothing leaves this machine. A FastAPI without telemetry accepts the keyword, too (as an extra).
NO_TELEMETRY: Any = {
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
)  # pages last: its router catches every other path


def make_app(settings: ServerSettings) -> tuple[ASGIApp, Studio]:
    """The ASGI application with its middlewares, and the state that its routes share."""
    studio = Studio(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        studio.close()

    app = FastAPI(
        title="Seqloom studio",
        description=ABOUT,
        version=version("seqloom"),
        docs_url=None,  # FastAPI's page loads scripts from a CDN; /api is the studio's own
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        responses=PROBLEM,
        **NO_TELEMETRY,
        separate_input_output_schemas=False,
    )
    app.state.studio = studio
    add_handlers(app, pages.page)
    for module in ROUTERS:
        app.include_router(module.router)
    return SecurityMiddleware(
        BodyLimitMiddleware(app, settings.limits), settings, studio.request_log
    ), studio


class HeaderTimeoutProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with a timeout for request headers (a Slowloris defence).

    uvicorn limits the time between two requests only. The limits for bodies and for work are in
    `limits`; headers that never end would still hold a connection for ever.
    """

    header_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer: headers must follow."""
        super().connection_made(transport)
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        """Parse bytes; the timer runs until the headers are complete, however slowly they drip."""
        super().data_received(data)
        self._update_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        self._cancel_timer()
        super().connection_lost(exc)

    def _update_timer(self) -> None:
        if self.conn.their_state is not h11.IDLE:  # the headers are complete
            self._cancel_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self.transport.close)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


PORTS_TRIED = 20  # when a free port is suggested
SHUTDOWN_SECONDS = 3  # for responses that are under way when the server ends


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; a port that is in use is an error that suggests a free one."""
    if not 0 <= port < 1 << 16:
        raise StudioError("S202", f"--port {port}: expected a number up to 65535")
    try:
        return _bind(host, port)
    except socket.gaierror as error:
        raise StudioError("S202", f"--host {host}: {error.strerror}") from error
    except PermissionError as error:
        message = f"port {port} needs administrator rights"
        raise StudioError("S202", message, help=["seqloom studio --port 8000"]) from error
    except OSError as error:
        if error.errno is not None and port:
            raise _port_in_use(host, port) from error
        raise StudioError("S202", f"cannot listen on {host}: {error.strerror}") from error


def serve(
    settings: ServerSettings, listener: socket.socket, on_ready: Callable[[Studio], None]
) -> Studio:
    """Serve until a signal ends it; `on_ready` is called once the server accepts requests."""
    app, studio = make_app(settings)
    config = uvicorn.Config(
        app,
        http=HeaderTimeoutProtocol,
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    server = _Server(config, studio, on_ready)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
    return studio


class _Server(uvicorn.Server):
    """uvicorn.Server that closes open event streams at shutdown; they never end by themselves."""

    def __init__(
        self, config: uvicorn.Config, studio: Studio, on_ready: Callable[[Studio], None]
    ) -> None:
        super().__init__(config)
        self._studio, self._on_ready = studio, on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept requests, then call `on_ready`."""
        await super().startup(sockets)
        if self.started:
            self._on_ready(self._studio)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle SIGINT or SIGTERM: streams end, then uvicorn does."""
        self._studio.is_closing.set()
        super().handle_exit(sig, frame)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen(128)  # here, not in uvicorn: else two studios could bind the same port
    except BaseException:
        listener.close()
        raise
    return listener


def _port_in_use(host: str, port: int) -> StudioError:
    """Another program listens on the port; perhaps another studio."""
    notes = []
    if _is_studio(port):
        notes = [f"It is a studio: open http://127.0.0.1:{port}/"]
    free = _free_port_after(host, port)
    help = [f"seqloom studio --port {free}"] if free else []
    return StudioError("S201", f"port {port} is in use by another program", notes=notes, help=help)


def _is_studio(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/version", timeout=1) as response:
            return "seqloom" in json.loads(response.read(1000))
    except (URLError, OSError, ValueError, TypeError):
        return False


def _free_port_after(host: str, port: int) -> int | None:
    for other in range(port + 1, min(port + PORTS_TRIED, 1 << 16)):
        with contextlib.suppress(OSError), _bind(host, other):
            return other
    return None
