"""Data sets: files that were dropped or pasted, and what is in them.

What a data set holds: the report of `seqloom check`, and rows as a model will see them.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from ...config import options, problems
from ...data.options import Data
from ...errors import SeqloomError, StudioError, UsageError
from ...runs.check import Report, check
from ...runs.preview import rows
from ...task import reads_no_file
from ...tasks import TASKS
from ..datasets import DataSet
from ..option_forms import warm_up
from ..run_store import must_be_listed
from ..schemas.model_responses import DataReport, DataSetRow, DataSets
from ..schemas.requests import Pasted
from ..state import Here, Json

READING = ("format", "encoding", "columns", "skip_bad")
NEAREST = {  # what else a file of one task may be meant for
    "language": ("classify", "translate"),
    "translate": ("classify", "language"),
    "classify": ("translate", "language"),
    "tag": ("language", "classify"),
    "forecast": ("series-classify", "classify"),
    "series-classify": ("forecast", "classify"),
    "music": ("language", "classify"),
}


def report_of(dataset: DataSet, task: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """All that a page shows of a data set, read as some task would, or as it looks."""
    if wrong := problems(Data, given):
        raise UsageError("U010", wrong[0], notes=wrong[1:])
    if task is not None:
        must_be_listed("task", task, TASKS)
        if not TASKS[task].roles:
            raise reads_no_file(dataset.name)
    report = check(dataset.path, task, Data(**given), {})
    return {
        **_rows(dataset, report, Data(**given)),
        "dataset": dataset.as_dict(),
        "report": {**report.as_dict(), "path": dataset.name},
        "ok": not report.has_problems,
        "reason": _reason(report),
        "next": {"task": report.task, "settings": _settings(report, given)},
        "remedy": _remedy(report),
        "tasks": _tasks(report.task),
    }


def _rows(dataset: DataSet, report: Report, settings: Data) -> dict[str, Any]:
    """The first rows as a model will see them; of a file that cannot be read there are none."""
    nothing: dict[str, Any] = {"rows": [], "lengths": {}}
    if not report.task:
        return nothing
    try:
        return rows(dataset.path, report.task, settings, {}).as_dict()
    except SeqloomError:
        return nothing


def _reason(report: Report) -> str | None:
    """Why training is closed, in words; None where it is open."""
    wrong = [finding for finding in report.findings if finding.level == "problem"]
    if not wrong:
        return None
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return f"{wrong[0].text.splitlines()[0]}{more}"


def _settings(report: Report, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe needs so that training reads the file in the same way."""
    defaults = {option.name: option.default for option in options(Data)}
    laid = {f"data.{k}": v for k, v in given.items() if v != defaults[k]}
    if report.task == "translate":
        units = {part.role: part.unit for part in report.parts}
        laid |= {f"task.{k}_symbols": v for k, v in units.items() if v == "characters"}
    return laid


def _remedy(report: Report) -> dict[str, Any] | None:
    """The way of reading that would help, where the report knows one."""
    if not report.has_problems:
        return None
    if found := re.search(r"--encoding ([\w-]+)", report.next):
        return {"encoding": found[1]}
    return {"skip_bad": True} if "--skip-bad" in report.next else None


def _tasks(task: str) -> list[str]:
    """The three tasks that the file is most likely meant for."""
    if not task:
        return ["language", "classify", "translate"]
    return [task, *NEAREST.get(task, ("language", "classify"))]


router = APIRouter(prefix="/api/v1/datasets", tags=["data sets"])
DataId = Annotated[str, Path(description="The id of a data set.", max_length=40)]
FORMATS: dict[str, Any] = {"enum": list(get_args(Data.__annotations__["format"]))}
UPLOAD = "application/octet-stream"
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The bytes of a file, up to 200 MiB; or a text in JSON.",
        "content": {
            UPLOAD: {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": Pasted.model_json_schema()},
        },
    }
}


@router.get("", response_model=DataSets)
def datasets(studio: Here) -> Response:
    """Every data set that was given to the studio, the newest first."""
    return Json({"datasets": [one.as_dict() for one in studio.datasets.all()]})


@router.post("", response_model=DataSetRow, status_code=201, openapi_extra=BODY)
async def add(
    request: Request,
    studio: Here,
    name: Annotated[
        str, Query(max_length=400, description="What the file is called; never a path.")
    ] = "",
) -> Response:
    """Keep a file: its bytes as they are, which go to the disk while they come in.

    curl --data-binary @words.tsv -H 'Content-Type: application/octet-stream' …?name=words.tsv
    """
    if request.headers.get("content-type", "").startswith(UPLOAD):
        found = await studio.datasets.receive(name, _pieces(request))
    else:
        pasted = _pasted(await request.body())
        text = pasted.text if pasted.text.endswith("\n") else f"{pasted.text}\n"
        content = text.encode()
        found = await asyncio.to_thread(studio.datasets.add, name or pasted.name, content)
    studio.warm(warm_up)
    return Json(found.as_dict(), 201)


@router.delete("/{dataset}", status_code=204)
def delete(dataset: DataId, studio: Here) -> Response:
    """Delete a data set. Runs that learned from it stay, but cannot go on."""
    studio.datasets.delete(dataset)
    return Response(status_code=204)


@router.get("/{dataset}/report", response_model=DataReport)
async def report(  # noqa: PLR0913 - the ways in which a file can be read
    dataset: DataId,
    studio: Here,
    task: Annotated[str | None, Query(max_length=100, description="Left out: guessed.")] = None,
    format: Annotated[
        str, Query(description="How the file is laid out.", json_schema_extra=FORMATS)
    ] = "auto",
    encoding: Annotated[str, Query(max_length=40, description="Such as cp1252.")] = "utf-8",
    columns: Annotated[
        str, Query(max_length=400, description="Such as text=review,label=stars, or 1,2.")
    ] = "",
    skip_bad: Annotated[bool, Query(description="Leave out lines that are wrong.")] = False,
) -> Response:
    """What `seqloom check` finds in a file, and some rows as the model will see them.

    `ok` says whether training is open; if not, `reason` says why in words.
    """
    given = {"format": format, "encoding": encoding, "columns": columns, "skip_bad": skip_bad}
    found = await asyncio.to_thread(studio.datasets.find, dataset)
    key = ("report", found.id, task, *given.values())
    return Json(await studio.gate.run_kept(key, lambda: report_of(found, task or None, given)))


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """The bytes of an upload; one that breaks off is nothing."""
    try:
        async for piece in request.stream():
            yield piece
    except ClientDisconnect as error:
        raise StudioError("S231", "the upload broke off", status=400) from error


def _pasted(body: bytes) -> Pasted:
    try:
        return Pasted.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error
