"""The server put together: addresses inside, limits around them, the guard at the door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from .answers import Problem
from .guard import Guard
from .limits import Bodies
from .problems import MEDIA_TYPE, add_handlers
from .routes import compare, datasets, examples, models, pages, requests, runs, tasks
from .settings import Settings
from .studio import Studio

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
