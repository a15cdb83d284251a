"""Errors as problem details (application/problem+json, RFC 9457), with the command line's text."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ..errors import (
    DataError,
    MachineError,
    ModelError,
    SeqloomError,
    StudioError,
    TrainingError,
    UsageError,
    pages,
    save_report,
)

MEDIA_TYPE = "application/problem+json"
NOT_FOUND, METHOD_NOT_ALLOWED, CONFLICT, UNPROCESSABLE = 404, 405, 409, 422
STATUSES = {"U008": NOT_FOUND, "U009": CONFLICT, "T121": CONFLICT, "E301": 507, "E310": 503}
REPORTED = "a report was saved"
RETRY_SECONDS = "5"
SAFE_HEADERS = ("allow", "retry-after", "www-authenticate")


def status_of(error: SeqloomError) -> int:
    """The HTTP status of an error: 4xx, or 503 if the machine is at fault."""
    if isinstance(error, StudioError):
        return error.status
    if error.code in STATUSES:
        return STATUSES[error.code]
    if isinstance(error, UsageError | DataError | ModelError | TrainingError):
        return UNPROCESSABLE
    return 503 if isinstance(error, MachineError) else UNPROCESSABLE


def problem_of(error: SeqloomError, errors: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """An error as problem details."""
    page = pages().get(error.code)
    place = None
    if error.place is not None:
        place = {"file": Path(error.place.file).name, "line": error.place.line}
    return {
        "type": f"/help/{error.code}",
        "title": page.title if page else error.problem,
        "status": status_of(error),
        "detail": error.text(),
        "code": error.code,
        "problem": error.problem,
        "place": place,
        "notes": list(error.notes),
        "help": list(error.help),
        "errors": errors or [],
    }


def problem_of_dict(error: dict[str, Any]) -> dict[str, Any]:
    """An error as `seqloom --json` prints it, as problem details."""
    code, sentence = str(error.get("code", "")), str(error.get("problem", ""))
    notes, help = list(error.get("notes", [])), list(error.get("help", []))
    page = pages().get(code)
    place = {"file": error["file"], "line": error.get("line")} if error.get("file") else None
    arrow = (
        [f"--> {place['file']}" + (f":{place['line']}" if place["line"] else "")] if place else []
    )
    lines = [f"error[{code}]: {sentence}", *(f"  {line}" for line in [*arrow, *notes])]
    return {
        "type": f"/help/{code}",
        "title": page.title if page else sentence,
        "status": 422,
        "detail": "\n".join([*lines, *(f"  help: {line}" for line in help)]),
        "code": code,
        "problem": sentence,
        "place": place,
        "notes": notes,
        "help": help,
        "errors": [],
    }


def error_response(error: SeqloomError, errors: list[dict[str, Any]] | None = None) -> Response:
    """An error as an HTTP response."""
    problem = problem_of(error, errors)
    retry = {"Retry-After": RETRY_SECONDS} if problem["status"] in (429, 503, 504) else None
    return problem_response(problem, retry)


def problem_response(problem: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    """Problem details as an HTTP response."""
    text = json.dumps(problem, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, int(problem["status"]), headers, MEDIA_TYPE)


def no_such_path(path: str) -> StudioError:
    """Error 404: no route has this path."""
    return StudioError(
        "S240",
        f"not found: {path[:200]!r}",
        status=NOT_FOUND,
        help=["/api lists all endpoints; /openapi.json describes them"],
    )


def internal_error(error: BaseException, path: str) -> dict[str, Any]:
    """Error 500: the traceback is saved to a report; the response only names its file."""
    report = save_report(error, f"studio: {path!r}")
    error.add_note(REPORTED)
    problem = StudioError(
        "S290",
        "internal error: something went wrong inside seqloom (not your fault)",
        status=500,
        notes=[f"Report saved to {report}; please attach it to an issue."],
    )
    return problem_of(problem)


def is_reported(error: BaseException) -> bool:
    """Whether a report was saved already: an exception passes several handlers on its way out."""
    return REPORTED in getattr(error, "__notes__", ())


def add_handlers(app: FastAPI, not_found: Callable[[Request], Response]) -> None:
    """Register exception handlers, so that every failed request ends in problem details.

    `not_found` responds to paths that no router has.
    """

    async def handle(request: Request, error: Exception) -> Response:
        if isinstance(error, SeqloomError):
            return error_response(error)
        if isinstance(error, RequestValidationError):
            return _validation_error(error)
        if isinstance(error, HTTPException):
            return (
                not_found(request)
                if error.status_code == NOT_FOUND
                else _http_error(request, error)
            )
        return problem_response(internal_error(error, request.scope["path"]))

    for kind in (SeqloomError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, handle)


def _validation_error(error: RequestValidationError) -> Response:
    """Error 422: a request that does not match the schema, with every invalid field."""
    errors = [
        {"loc": [str(step) for step in one["loc"]], "msg": str(one["msg"])}
        for one in error.errors()[:20]
    ]
    lines = [f"{'.'.join(one['loc'][1:]) or 'body'}: {one['msg']}" for one in errors]
    problem = StudioError("S242", lines[0] if lines else "invalid request", notes=lines[1:])
    return error_response(problem, errors)


def _http_error(request: Request, error: HTTPException) -> Response:
    path, headers = request.scope["path"], dict(error.headers or {})
    kept = {name: value for name, value in headers.items() if name.lower() in SAFE_HEADERS}
    if error.status_code == METHOD_NOT_ALLOWED:
        allowed = headers.get("Allow", headers.get("allow", ""))
        problem = StudioError(
            "S241",
            f"method {request.method[:20]} is not allowed for {path[:200]!r}",
            status=METHOD_NOT_ALLOWED,
            help=[f"allowed: {allowed}"] if allowed else [],
        )
        return problem_response(problem_of(problem), kept)
    problem = StudioError("S242", str(error.detail), status=error.status_code)
    return problem_response(problem_of(problem), kept)
