"""The pages: one index.html for all of them, and the files it asks for."""

import hashlib
from functools import cache, lru_cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..problems import answer, nowhere

STATIC = Path(__file__).parents[2] / "studio"
PAGES = ("data", "train", "run", "compare", "inside", "try", "serve", "models", "api", "help")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
}
router = APIRouter(include_in_schema=False)


@router.api_route("/static/{name:path}", methods=["GET", "HEAD"])
def static(name: str, request: Request) -> Response:
    """A file of the pages; names are looked up in the list of what there is."""
    found = _files().get(name)
    if found is None or not found.is_file():
        _files.cache_clear()  # files may be new while the pages are being written
        found = _files().get(name)
    if found is None:
        return answer(nowhere(request.scope["path"]))
    return _file(found, request)


def page(request: Request) -> Response:
    """The page, which reads from the address what to show; for all that is not somewhere else."""
    path: str = request.scope["path"].removeprefix("/")
    first = path.split("/")[0]
    is_read = request.method in ("GET", "HEAD")
    if not is_read or (first in ("api", "static") and path != "api"):
        return answer(nowhere(request.scope["path"]))
    is_page = path == "" or (first in PAGES and path.count("/") <= 1)
    return _file(STATIC / "index.html", request, 200 if is_page else 404)


@cache
def _files() -> dict[str, Path]:
    """Every file of the pages by its name."""
    return {
        path.relative_to(STATIC).as_posix(): path
        for path in STATIC.rglob("*")
        if path.suffix in TYPES and path.is_file()
    }


def _file(path: Path, request: Request, status: int = 200) -> Response:
    """A file, or word that the browser's copy is still right."""
    about = path.stat()
    content, tag = _read(path, about.st_mtime_ns, about.st_size)
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if status == 200 and tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, status, headers, TYPES[path.suffix])


@lru_cache(maxsize=256)
def _read(path: Path, changed: int, size: int) -> tuple[bytes, str]:
    """A file's bytes and their fingerprint, read again when it has changed."""
    content = path.read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'
