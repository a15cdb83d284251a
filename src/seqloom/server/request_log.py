"""The last requests, for the page that shows how the server is used."""

import re
import threading
import time
from collections import deque
from typing import Any

KEPT = 50
QUIET = ("/api/v1/status", "/api/v1/requests")  # what the pages ask all the time
_MODEL = re.compile(r"/api/v1/models/([^/:]+)")


class Notebook:
    """What was asked of the web API, without what was said: no texts are kept."""

    def __init__(self) -> None:
        self._notes: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._lock = threading.Lock()

    def note(self, method: str, path: str, status: int, milliseconds: float) -> None:
        """Write down one request."""
        if not path.startswith("/api/") or path in QUIET:
            return
        found = _MODEL.match(path)
        with self._lock:
            self._notes.appendleft(
                {
                    "t": round(time.time(), 3),
                    "method": method[:10],
                    "path": path[:200],
                    "status": status,
                    "ms": round(milliseconds, 1),
                    "model": found[1][:100] if found else None,
                }
            )

    def last(self) -> list[dict[str, Any]]:
        """The newest first."""
        with self._lock:
            return list(self._notes)
