"""Log of the last API requests, for the page that shows how the server is used."""

import re
import threading
import time
from collections import deque
from typing import Any

MAX_REQUESTS = 50
IGNORED = ("/api/v1/status", "/api/v1/requests")  # the pages poll these
_MODEL = re.compile(r"/api/v1/models/([^/:]+)")


class RequestLog:
    """The last API requests: method, path, status and time. Bodies are not kept."""

    def __init__(self) -> None:
        self._requests: deque[dict[str, Any]] = deque(maxlen=MAX_REQUESTS)
        self._lock = threading.Lock()

    def add(self, method: str, path: str, status: int, milliseconds: float) -> None:
        """Log one request."""
        if not path.startswith("/api/") or path in IGNORED:
            return
        match = _MODEL.match(path)
        with self._lock:
            self._requests.appendleft(
                {
                    "t": round(time.time(), 3),
                    "method": method[:10],
                    "path": path[:200],
                    "status": status,
                    "ms": round(milliseconds, 1),
                    "model": match[1][:100] if match else None,
                }
            )

    def latest(self) -> list[dict[str, Any]]:
        """The logged requests, newest first."""
        with self._lock:
            return list(self._requests)
