"""What goes wrong, as the web is told: problem+json (RFC 9457) with the command line's own text."""

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
NOT_FOUND, METHOD, CONFLICT, UNFIT = 404, 405, 409, 422
STATUSES = {"U008": NOT_FOUND, "U009": CONFLICT, "T121": CONFLICT, "E301": 507, "E310": 503}
REPORTED = "a report was kept"
RETRY_SECONDS = "5"
SAFE_HEADERS = ("allow", "retry-after", "www-authenticate")


def status_of(error: SeqloomError) -> int:
    """The HTTP status of an error: what is asked for is wrong, unless the machine is."""
    if isinstance(error, StudioError):
        return error.status
    if error.code in STATUSES:
        return STATUSES[error.code]
    if isinstance(error, UsageError | DataError | ModelError | TrainingError):
        return UNFIT
    return 503 if isinstance(error, MachineError) else UNFIT


def problem_of(error: SeqloomError, errors: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """An error as the fields of a problem."""
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


def problem_of_dict(told: dict[str, Any]) -> dict[str, Any]:
    """An error as the command line tells it to machines, as a problem."""
    code, sentence = str(told.get("code", "")), str(told.get("problem", ""))
    notes, help = list(told.get("notes", [])), list(told.get("help", []))
    page = pages().get(code)
    place = {"file": told["file"], "line": told.get("line")} if told.get("file") else None
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


def answer(error: SeqloomError, errors: list[dict[str, Any]] | None = None) -> Response:
    """An error as a response."""
    problem = problem_of(error, errors)
    again = {"Retry-After": RETRY_SECONDS} if problem["status"] in (429, 503, 504) else None
    return respond(problem, again)


def respond(problem: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    """The fields of a problem as a response."""
    text = json.dumps(problem, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(text, int(problem["status"]), headers, MEDIA_TYPE)


def nowhere(path: str) -> StudioError:
    """An address at which there is nothing."""
    return StudioError(
        "S240",
        f"there is nothing at {path[:200]!r}",
        status=NOT_FOUND,
        help=["/api lists every address; /openapi.json describes them"],
    )


def bug(error: BaseException, path: str) -> dict[str, Any]:
    """Something the program did wrong: a report is kept, and only its place is told."""
    place = save_report(error, f"studio: {path!r}")
    error.add_note(REPORTED)
    told = StudioError(
        "S290",
        "something went wrong inside seqloom (not your fault)",
        status=500,
        notes=[f"Report saved to {place}; please attach it to an issue."],
    )
    return problem_of(told)


def is_reported(error: BaseException) -> bool:
    """Whether a report of it was kept: it comes by at several doors on its way out."""
    return REPORTED in getattr(error, "__notes__", ())


def add_handlers(app: FastAPI, elsewhere: Callable[[Request], Response]) -> None:
    """Let every way in which a request can fail end in a problem.

    `elsewhere` answers for addresses that the app does not have.
    """

    async def told(request: Request, error: Exception) -> Response:
        if isinstance(error, SeqloomError):
            return answer(error)
        if isinstance(error, RequestValidationError):
            return _unfit(error)
        if isinstance(error, HTTPException):
            return elsewhere(request) if error.status_code == NOT_FOUND else _http(request, error)
        return respond(bug(error, request.scope["path"]))

    for kind in (SeqloomError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, told)


def _unfit(error: RequestValidationError) -> Response:
    """A request that is not as the description says, each place with what is wrong there."""
    found = [
        {"loc": [str(step) for step in one["loc"]], "msg": str(one["msg"])}
        for one in error.errors()[:20]
    ]
    told = [f"{'.'.join(one['loc'][1:]) or 'body'}: {one['msg']}" for one in found]
    error_ = StudioError("S242", told[0] if told else "the request does not fit", notes=told[1:])
    return answer(error_, found)


def _http(request: Request, error: HTTPException) -> Response:
    path, headers = request.scope["path"], dict(error.headers or {})
    kept = {name: value for name, value in headers.items() if name.lower() in SAFE_HEADERS}
    if error.status_code == METHOD:
        allowed = headers.get("Allow", headers.get("allow", ""))
        told = StudioError(
            "S241",
            f"{request.method[:20]} cannot be asked of {path[:200]!r}",
            status=METHOD,
            help=[f"it takes {allowed}"] if allowed else [],
        )
        return respond(problem_of(told), kept)
    told = StudioError("S242", str(error.detail), status=error.status_code)
    return respond(problem_of(told), kept)
