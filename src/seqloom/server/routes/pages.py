"""The pages (a single-page application): index.html and its static files."""

import hashlib
from functools import cache, lru_cache
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..problems import error_response, no_such_path

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
    """A static file; names are looked up in a listing and never joined into a path."""
    path = _files().get(name)
    if path is None or not path.is_file():
        _files.cache_clear()  # a new file, while the pages are being developed
        path = _files().get(name)
    if path is None:
        return error_response(no_such_path(request.scope["path"]))
    return _file_response(path, request)


def page(request: Request) -> Response:
    """index.html, whose router shows the page of the URL; for all paths that no route has."""
    path: str = request.scope["path"].removeprefix("/")
    first = path.split("/")[0]
    is_get = request.method in ("GET", "HEAD")
    if not is_get or (first in ("api", "static") and path != "api"):
        return error_response(no_such_path(request.scope["path"]))
    is_page = path == "" or (first in PAGES and path.count("/") <= 1)
    return _file_response(STATIC / "index.html", request, 200 if is_page else 404)


@cache
def _files() -> dict[str, Path]:
    """All static files by name."""
    return {
        path.relative_to(STATIC).as_posix(): path
        for path in STATIC.rglob("*")
        if path.suffix in TYPES and path.is_file()
    }


def _file_response(path: Path, request: Request, status: int = 200) -> Response:
    """A file, or 304 if the browser's cached copy is current (ETag)."""
    status_info = path.stat()
    content, tag = _read(path, status_info.st_mtime_ns, status_info.st_size)
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if status == 200 and tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, status, headers, TYPES[path.suffix])


@lru_cache(maxsize=256)
def _read(path: Path, mtime_ns: int, size: int) -> tuple[bytes, str]:
    """The bytes of a file and their ETag; time and size are part of the cache key."""
    content = path.read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'
