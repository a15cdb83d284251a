"""Whether the server lives, what it does, and what was asked of it."""

import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from ...errors import pages, unknown
from ..schemas.responses import CodePage, Health, Notes, Status, Version
from ..security import is_loopback
from ..state import Here, Json

router = APIRouter(tags=["server"])


@router.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """Whether the server lives: always yes, if it answers."""
    return Json({"status": "ok"})


@router.get("/readyz", response_model=Health)
async def readyz() -> Response:
    """Whether it can work: models are loaded when they are first asked for, so always at once."""
    return Json({"status": "ready"})


@router.get("/version", response_model=Version)
async def versions() -> Response:
    """What runs here."""
    python = platform.python_version()
    return Json({"seqloom": version("seqloom"), "python": python, "api": "v1"})


@router.get("/api/v1/status", response_model=Status)
def status(studio: Here) -> Response:
    """How the studio stands: what is training, what is loaded, who can reach it."""
    rows, settings = studio.shelf.rows(), studio.settings
    told: dict[str, Any] = {
        "version": version("seqloom"),
        "runs_dir": str(settings.runs.resolve()),
        "running": [
            {"id": row["id"], "progress": row["progress"]}
            for row in rows
            if row["state"] == "running"
        ],
        "waiting": [row["id"] for row in rows if row["state"] == "waiting"],
        "loaded": studio.loaded.ids(),
        "local": is_loopback(settings.host),
        "token": bool(settings.token),
        "threads": len(os.sched_getaffinity(0)),
        "address": f"http://{settings.host}:{settings.port}/",
        "limits": asdict(settings.limits),
    }
    return Json(told)


@router.get("/api/v1/help/{code}", response_model=CodePage)
def help_of(code: Annotated[str, Path(max_length=10)]) -> Response:
    """The page of an error code: what it means, what to do, and why it is so."""
    known = pages()
    if code not in known:
        raise unknown("code", code, known)
    return Json(vars(known[code]))


@router.get("/api/v1/requests", response_model=Notes)
async def requests(studio: Here) -> Response:
    """The last 50 requests to the web API: when, what, how long. Texts are not kept."""
    return Json({"requests": studio.notebook.last()})
