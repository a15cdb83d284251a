"""Data sets: files that were dropped or pasted, and what is in them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from ...data.settings import Data
from ...errors import StudioError
from ..bodies import Pasted
from ..model_answers import DataReport, DataSetRow, DataSets
from ..offering import warm_up
from ..reporting import report_of
from ..studio import Here, Json

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
