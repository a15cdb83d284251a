"""The process that listens: a socket that is ours, and uvicorn behind it."""

import contextlib
import json
import socket
from collections.abc import Callable
from types import FrameType
from urllib.error import URLError
from urllib.request import urlopen

import uvicorn

from ..errors import StudioError
from .app import make_app
from .connections import Connection
from .settings import Settings
from .studio import Studio

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
