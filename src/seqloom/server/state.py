"""Shared state of the server: run store, jobs, model cache, limits; and its FastAPI dependency."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from starlette.responses import Response

from ..runs.record import to_json
from .datasets import DataSetStore
from .estimates import TrainingTimeEstimator
from .event_stream import EventStreams
from .jobs import Jobs
from .model_cache import ModelCache
from .options import ServerSettings
from .request_log import RequestLog
from .run_store import RunStore
from .work_queue import WorkQueue


class Studio:
    """The state of one server over one folder of runs."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings, self.limits = settings, settings.limits
        self.jobs = Jobs(settings.studio_dir, settings.runs)
        self.run_store = RunStore(settings.runs, self.jobs)
        self.event_streams, self.request_log = EventStreams(), RequestLog()
        self.datasets = DataSetStore(settings.studio_dir, self.limits.upload_bytes)
        self.model_cache = ModelCache(settings.limits.loaded)
        self.work_queue = WorkQueue(settings.limits)
        self.changes = threading.RLock()  # held while runs are named, started, renamed, deleted
        self._is_warm = False
        self.is_closing = asyncio.Event()  # ends event streams when the server shuts down
        self.time_estimator = TrainingTimeEstimator(self.scratch, self.limits, self.is_closing)

    @property
    def scratch(self) -> Path:
        """The folder for temporary files of requests."""
        return self.settings.studio_dir / "scratch"

    def warm(self, prepare: Callable[[], None]) -> None:
        """Warm up in a background thread, once: later requests will need it."""
        if not self._is_warm:
            self._is_warm = True
            threading.Thread(target=prepare, daemon=True, name="warm").start()

    def close(self) -> None:
        """Close everything; trainings go on."""
        self.is_closing.set()
        self.work_queue.close()
        self.jobs.close()


def _studio_of(request: Request) -> Studio:
    return cast(Studio, request.app.state.studio)


StudioDep = Annotated[Studio, Depends(_studio_of)]


class Json(Response):
    """A JSON response as Seqloom writes JSON everywhere: NaN and infinities are null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """One line; half a surrogate pair, which has no UTF-8 encoding, is escaped as \\udc80."""
        return to_json(content).encode("utf-8", "backslashreplace")
