"""A connection as uvicorn has it, but for those that never say what they want.

uvicorn has a limit of time between two requests, and the server its own for bodies and for work;
headers that never end would otherwise hold a connection for ever.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


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
