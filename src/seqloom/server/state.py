"""What all addresses share: the shelf of runs, the jobs, the loaded models, the limits."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from starlette.responses import Response

from ..runs.record import to_json
from .datasets import DataSets
from .estimates import Estimates
from .event_stream import Tails
from .jobs import Jobs
from .limits import Gate
from .model_cache import Loaded
from .options import Settings
from .request_log import Notebook
from .run_store import Shelf


class Studio:
    """One studio over one folder of runs."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.limits = settings, settings.limits
        self.jobs = Jobs(settings.kept, settings.runs)
        self.shelf = Shelf(settings.runs, self.jobs)
        self.tails, self.notebook = Tails(), Notebook()
        self.datasets = DataSets(settings.kept, self.limits.upload_bytes)
        self.loaded = Loaded(settings.limits.loaded)
        self.gate = Gate(settings.limits)
        self._is_warm = False
        self.is_closing = asyncio.Event()  # streams end when the server does
        self.estimates = Estimates(self.scratch, self.limits, self.is_closing)

    @property
    def scratch(self) -> Path:
        """Where files lie that last as long as one request."""
        return self.settings.kept / "scratch"

    def warm(self, prepare: Callable[[], None]) -> None:
        """Do something beforehand that a later page will need; once, and beside all else."""
        if not self._is_warm:
            self._is_warm = True
            threading.Thread(target=prepare, daemon=True, name="warm").start()

    def close(self) -> None:
        """Let go of everything; trainings go on."""
        self.is_closing.set()
        self.gate.close()
        self.jobs.close()


def _of(request: Request) -> Studio:
    return cast(Studio, request.app.state.studio)


Here = Annotated[Studio, Depends(_of)]


class Json(Response):
    """JSON as Seqloom writes it everywhere: what is not a number is null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """One line; half a pair of surrogates, which has no UTF-8, is written as \\udc80."""
        return to_json(content).encode("utf-8", "backslashreplace")
