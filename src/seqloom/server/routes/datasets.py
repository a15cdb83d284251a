"""Data sets: upload, list, delete, and check.

The report of a data set is that of `seqloom check`, with its first rows tokenized.
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
from ...runs.check import CheckReport, check
from ...runs.preview import preview_rows
from ...task import reads_no_file
from ...tasks import TASKS
from ..datasets import DataSet
from ..option_forms import warm_up
from ..run_store import check_listed
from ..schemas.model_responses import DataReport, DataSetInfo, DataSetList
from ..schemas.requests import PastedText
from ..state import Json, StudioDep
from ..work_queue import while_connected

SIMILAR_TASKS = {  # other tasks that a file detected as one task may be meant for
    "language": ("classify", "translate"),
    "translate": ("classify", "language"),
    "classify": ("translate", "language"),
    "tag": ("language", "classify"),
    "forecast": ("series-classify", "classify"),
    "series-classify": ("forecast", "classify"),
    "music": ("language", "classify"),
}


def report_of(dataset: DataSet, task: str | None, params: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a data set for a task, or for the detected task."""
    if wrong := problems(Data, params):
        raise UsageError("U010", wrong[0], notes=wrong[1:])
    if task is not None:
        check_listed("task", task, TASKS)
        if not TASKS[task].roles:
            raise reads_no_file(dataset.name)
    report = check(dataset.path, task, Data(**params), {})
    return {
        **_rows(dataset, report, Data(**params)),
        "dataset": dataset.as_dict(),
        "report": {**report.as_dict(), "path": dataset.name},
        "ok": not report.has_problems,
        "reason": _reason(report),
        "next": {"task": report.task, "settings": _settings(report, params)},
        "remedy": _remedy(report),
        "tasks": _tasks(report.task),
    }


def _rows(dataset: DataSet, report: CheckReport, settings: Data) -> dict[str, Any]:
    """The first rows, tokenized; none if the file cannot be read."""
    empty: dict[str, Any] = {"rows": [], "lengths": {}}
    if not report.task:
        return empty
    try:
        return preview_rows(dataset.path, report.task, settings, {}).as_dict()
    except SeqloomError:
        return empty


def _reason(report: CheckReport) -> str | None:
    """Why training is not possible; None if it is."""
    wrong = [finding for finding in report.findings if finding.level == "problem"]
    if not wrong:
        return None
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return f"{wrong[0].text.splitlines()[0]}{more}"


def _settings(report: CheckReport, params: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with which training reads the file in the same way."""
    defaults = {option.name: option.default for option in options(Data)}
    settings = {f"data.{k}": v for k, v in params.items() if v != defaults[k]}
    if report.task == "translate":
        units = {part.role: part.unit for part in report.parts}
        settings |= {f"task.{k}_tokens": v for k, v in units.items() if v == "characters"}
    return settings


def _remedy(report: CheckReport) -> dict[str, Any] | None:
    """The data settings that the report suggests."""
    if not report.has_problems:
        return None
    if match := re.search(r"--encoding ([\w-]+)", report.next):
        return {"encoding": match[1]}
    return {"skip_bad": True} if "--skip-bad" in report.next else None


def _tasks(task: str) -> list[str]:
    """The three most likely tasks of the file."""
    if not task:
        return ["language", "classify", "translate"]
    return [task, *SIMILAR_TASKS.get(task, ("language", "classify"))]


router = APIRouter(prefix="/api/v1/datasets", tags=["data sets"])
DataId = Annotated[str, Path(description="The id of a data set.", max_length=40)]
FORMATS: dict[str, Any] = {"enum": list(get_args(Data.__annotations__["format"]))}
UPLOAD_TYPE = "application/octet-stream"
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The bytes of a file, up to 200 MiB; or a text as JSON.",
        "content": {
            UPLOAD_TYPE: {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": PastedText.model_json_schema()},
        },
    }
}


@router.get("", response_model=DataSetList)
def list_datasets(studio: StudioDep) -> Response:
    """All data sets, newest first."""
    return Json({"datasets": [one.as_dict() for one in studio.datasets.all()]})


@router.post("", response_model=DataSetInfo, status_code=201, openapi_extra=BODY)
async def upload_dataset(
    request: Request,
    studio: StudioDep,
    name: Annotated[str, Query(max_length=400, description="The file name, without a path.")] = "",
) -> Response:
    """Upload a file, streamed to disk, or store a text.

    curl --data-binary @words.tsv -H 'Content-Type: application/octet-stream' …?name=words.tsv
    """
    if request.headers.get("content-type", "").startswith(UPLOAD_TYPE):
        dataset = await studio.datasets.receive(name, _chunks(request))
    else:
        pasted = _parse_pasted(await request.body())
        text = pasted.text if pasted.text.endswith("\n") else f"{pasted.text}\n"
        content = text.encode()
        dataset = await asyncio.to_thread(studio.datasets.add, name or pasted.name, content)
    studio.warm(warm_up)
    return Json(dataset.as_dict(), 201)


@router.delete("/{dataset}", status_code=204)
def delete_dataset(dataset: DataId, studio: StudioDep) -> Response:
    """Delete a data set. Runs trained on it stay, but cannot be resumed."""
    studio.datasets.delete(dataset)
    return Response(status_code=204)


@router.get("/{dataset}/report", response_model=DataReport)
async def dataset_report(  # noqa: PLR0913 - one parameter for each option of reading
    dataset: DataId,
    studio: StudioDep,
    request: Request,
    task: Annotated[str | None, Query(max_length=100, description="Default: detected.")] = None,
    format: Annotated[
        str, Query(description="The file format.", json_schema_extra=FORMATS)
    ] = "auto",
    encoding: Annotated[str, Query(max_length=40, description="Such as cp1252.")] = "utf-8",
    columns: Annotated[
        str, Query(max_length=400, description="Such as text=review,label=stars, or 1,2.")
    ] = "",
    skip_bad: Annotated[bool, Query(description="Skip invalid lines.")] = False,
) -> Response:
    """Check a data set as `seqloom check` does, with its first rows tokenized.

    `ok` says whether training is possible; if not, `reason` says why.
    """
    params = {"format": format, "encoding": encoding, "columns": columns, "skip_bad": skip_bad}
    stored = await asyncio.to_thread(studio.datasets.find, dataset)
    key = ("report", stored.id, task, *params.values())
    work = studio.work_queue.run_cached(key, lambda: report_of(stored, task or None, params))
    return Json(await while_connected(request, work))


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    """The chunks of an upload; an error if the client disconnects."""
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect as error:
        raise StudioError("S231", "the upload was interrupted", status=400) from error


def _parse_pasted(body: bytes) -> PastedText:
    try:
        return PastedText.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error
