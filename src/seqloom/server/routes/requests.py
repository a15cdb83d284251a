"""Health, version, status, error codes, and the request log."""

import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from ...errors import pages, unknown
from ..schemas.responses import ErrorCodePage, Health, LoggedRequests, ServerStatus, VersionInfo
from ..security import is_loopback
from ..state import Json, StudioDep

router = APIRouter(tags=["server"])


@router.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """Liveness check."""
    return Json({"status": "ok"})


@router.get("/readyz", response_model=Health)
async def readyz() -> Response:
    """Readiness check: always ready, as models are loaded at their first request."""
    return Json({"status": "ready"})


@router.get("/version", response_model=VersionInfo)
async def get_version() -> Response:
    """Versions of Seqloom, Python and the API."""
    python = platform.python_version()
    return Json({"seqloom": version("seqloom"), "python": python, "api": "v1"})


@router.get("/api/v1/status", response_model=ServerStatus)
def get_status(studio: StudioDep) -> Response:
    """Server status: running and queued runs, loaded models, address and limits."""
    rows, settings = studio.run_store.rows(), studio.settings
    content: dict[str, Any] = {
        "version": version("seqloom"),
        "runs_dir": str(settings.runs.resolve()),
        "running": [
            {"id": row["id"], "progress": row["progress"]}
            for row in rows
            if row["state"] == "running"
        ],
        "waiting": [row["id"] for row in rows if row["state"] == "waiting"],
        "loaded": studio.model_cache.ids(),
        "local": is_loopback(settings.host),
        "token": bool(settings.token),
        "threads": len(os.sched_getaffinity(0)),
        "address": f"http://{settings.host}:{settings.port}/",
        "limits": asdict(settings.limits),
    }
    return Json(content)


@router.get("/api/v1/help/{code}", response_model=ErrorCodePage)
def explain_code(code: Annotated[str, Path(max_length=10)]) -> Response:
    """Explain an error code: what it means, how to fix it, and why it is an error."""
    known = pages()
    if code not in known:
        raise unknown("code", code, known)
    return Json(vars(known[code]))


@router.get("/api/v1/requests", response_model=LoggedRequests)
async def list_requests(studio: StudioDep) -> Response:
    """The last 50 API requests with status and time. Request bodies are not kept."""
    return Json({"requests": studio.request_log.latest()})
