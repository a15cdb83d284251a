"""Models (runs that have weights): list, describe, predict, generate, views, export."""

import asyncio
import contextlib
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParam
from starlette.responses import Response, StreamingResponse

from ...data.formats.parallel_names import files_of
from ...data.text.vocabulary import LabelSet
from ...errors import SeqloomError, StudioError
from ...inspection.replay import rebuild_view
from ...metrics import METRICS
from ...recipe import FILES
from ...runs.package import pack
from ...runs.record import to_json
from ...runs.run import CARD, WEIGHTS, Run
from ...signature import Form, Tokens
from ...tasks import TASKS
from ..model_cache import stamp_of
from ..option_forms import form_fields
from ..predict import parameters_of, predict, stream_tokens
from ..problems import problem_of
from ..run_store import snapshots_of
from ..schemas.model_responses import (
    ModelCard,
    ModelDetail,
    ModelList,
    PredictResponse,
    ViewResponse,
)
from ..schemas.requests import GenerateRequest, PredictRequest, RenameRequest, ViewRequest
from ..schemas.responses import RenameResponse
from ..snippets import snippets
from ..state import Json, Studio, StudioDep
from ..training import delete, rename
from ..views import PICTURE_TYPES, compute_view, rendered, snapshot_view
from ..work_queue import while_connected

CHUNK = 1 << 18


def zip_response(studio: Studio, model: str, folder: Path) -> Response:
    """A run folder as a zip file to download."""
    stamp_of(model, folder)  # raises if there are no weights
    studio.scratch.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", model)
    with contextlib.ExitStack() as stack:
        # An unnamed temporary file: whatever happens, nothing is left behind.
        file = stack.enter_context(tempfile.TemporaryFile(dir=studio.scratch))
        pack(folder, file, name)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        stack.pop_all()  # closed by _chunks once it is sent
    return StreamingResponse(
        _chunks(file),
        media_type="application/zip",
        headers={
            "Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}.zip",
            "Content-Length": str(size),
        },
    )


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk


EXAMPLES, MAX_LENGTH, ROWS = 6, 200, 120
MAX_DATA_BYTES = 20 << 20  # larger files are not read again for example inputs


def model_rows(studio: Studio) -> list[dict[str, Any]]:
    """All runs that have weights, newest first."""
    return [
        model_row(studio, name, folder)
        for name, folder in reversed(studio.run_store.folders().items())
        if (folder / WEIGHTS).is_file() and studio.run_store.record(folder).state != "damaged"
    ]


def model_row(studio: Studio, name: str, folder: Path) -> dict[str, Any]:
    """The summary of a model."""
    record = studio.run_store.record(folder)
    metric, value = record.primary_metric, record.best_value
    is_listed = record.task in list(TASKS)  # else it may be a Python file, which must not be run
    kind = TASKS[record.task] if is_listed else None
    return {
        "id": name,
        "task": record.task,
        "model": record.model,
        "form": kind.varieties()[0].form.name.lower() if kind else None,
        "verb": kind.verb if kind else "predict",
        "metric": metric,
        "metric_title": METRICS[metric].title if metric else None,
        "best": value,
        "best_shown": METRICS[metric].show(value) if metric and value is not None else None,
        "size": record.num_parameters(),
        "bytes": record.weights_bytes(),
        "age": record.age(),
    }


def model_detail(studio: Studio, name: str, run: Run, base: str) -> dict[str, Any]:
    """A loaded model in detail."""
    folder = studio.run_store.folder(name)
    snapshots = snapshots_of(folder)
    examples = _examples(run, snapshots["inputs"])
    views = run.views()
    first = {"inputs": examples[:1] or [""], "parameters": {}}
    return {
        **model_row(studio, name, folder),
        "form": run.task.form.name.lower(),
        "folder": str(folder),
        "views": [
            {
                "view": kind.view,
                "title": kind.title,
                "about": kind.about,
                "options": form_fields(kind.options()),
            }
            for kind in views.shown
        ],
        "missing": [{"view": kind.view, "title": kind.title} for kind in views.missing],
        "examples": examples,
        "labels": _labels(run),
        "symbols": _vocabulary_size(run),
        "unit": _unit(run),
        "probes": snapshots,
        "forecast": _forecast(run),
        "parameters": form_fields(parameters_of(run)),
        "snippets": snippets(base, quote(name), first, bool(studio.settings.token)),
    }


def _examples(run: Run, snapshot_inputs: list[str]) -> list[str]:
    """Example inputs: those of the training snapshots, then short ones of the test set."""
    inputs = [text for text in snapshot_inputs if text]
    named = [str(run.recipe.data.get(part) or "") for part in FILES["data"]]
    files = [file for name in named if name for file in files_of(name)]
    is_small = not run.task.roles or _are_small(files)
    if run.task.form is Form.FORECAST:
        return _last_rows(files[0]) if files and is_small else []
    if is_small:
        try:
            parts = run.own_parts()
        except SeqloomError:
            return inputs  # its data no longer exists
        texts = [run.task.show_question(one) for one in list(parts.test)[: 4 * EXAMPLES]]
        inputs += sorted((text for text in texts if text.strip()), key=len)
    short = [text for text in dict.fromkeys(inputs) if len(text) <= MAX_LENGTH]
    return short[:EXAMPLES] or [text[:MAX_LENGTH] for text in inputs[:1]]


def _are_small(files: list[Path]) -> bool:
    """Whether all files are regular ones (reading a pipe would never end) and not large."""
    is_regular = bool(files) and all(file.is_file() for file in files)
    return is_regular and sum(file.stat().st_size for file in files) <= MAX_DATA_BYTES


def _last_rows(file: Path) -> list[str]:
    """The header and the last rows of a CSV file of time series, as an example input."""
    if file.suffix.lower() not in (".csv", ".tsv"):
        return []
    header, *rows = file.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
    return ["\n".join([header, *rows[-ROWS:]]) + "\n"] if rows else []


def _labels(run: Run) -> list[str] | None:
    """The labels of a classifier or tagger."""
    sets = [value for value in vars(run.task).values() if isinstance(value, LabelSet)]
    return list(sets[0].labels) if sets else None


def _vocabulary_size(run: Run) -> int | None:
    """The size of the input vocabulary, if the input is tokens."""
    source = run.model.signature.source
    return source.size if isinstance(source, Tokens) else None


def _unit(run: Run) -> str:
    return str(getattr(run.task, "unit", "") or run.task.input_unit)


def _forecast(run: Run) -> dict[str, Any] | None:
    """Forecast horizon, seasonal period and columns of a forecasting model."""
    if run.task.form is not Form.FORECAST:
        return None
    outline = getattr(run.task, "outline", None)
    target = run.model.signature.target
    return {
        "horizon": getattr(target, "horizon", 0),
        "period": getattr(target, "period", 0),
        "columns": list(getattr(outline, "names", ())) if outline else [],
        "known": list(getattr(outline, "known", ())) if outline else [],
    }


router = APIRouter(prefix="/api/v1/models", tags=["models"])
ModelId = Annotated[
    str, PathParam(description="The id of a model: that of its run.", max_length=200)
]
Responses = dict[int | str, dict[str, Any]]
STREAM: Responses = {
    200: {"content": {"text/event-stream": {}}, "description": "Tokens as they are sampled."}
}
ARCHIVE: Responses = {200: {"content": {"application/zip": {}}, "description": "The run folder."}}
PICTURES: Responses = {200: {"content": {kind: {} for kind in PICTURE_TYPES}}}
T = TypeVar("T")


@router.get("", response_model=ModelList)
def list_models(studio: StudioDep) -> Response:
    """All runs that have weights, newest first."""
    return Json({"models": model_rows(studio)})


@router.get("/{model}", response_model=ModelDetail)
async def get_model(model: ModelId, studio: StudioDep, request: Request) -> Response:
    """A model in detail: its views with their options, inference options, example inputs.

    This loads the model, so the first request takes a moment.
    """
    base = str(request.base_url) if request.scope.get("server") else "/"
    return Json(
        await _with_model(
            studio, request, model, lambda run: model_detail(studio, model, run, base)
        )
    )


@router.get("/{model}/card", response_model=ModelCard)
def get_model_card(model: ModelId, studio: StudioDep) -> Response:
    """The model card: training data, metrics and settings, as Markdown."""
    path = studio.run_store.folder(model) / CARD
    if not path.is_file():
        raise StudioError("S262", f"{model} has no model card yet", status=409)
    return Json({"markdown": path.read_text(encoding="utf-8", errors="replace")})


@router.post("/{model}:rename", response_model=RenameResponse)
def rename_model(model: ModelId, body: RenameRequest, studio: StudioDep) -> Response:
    """Rename a run, as `seqloom rename` does; refused while it is training."""
    return Json({"id": rename(studio, model, body.name)})


@router.get("/{model}/export", response_class=Response, responses=ARCHIVE)
async def export_model(model: ModelId, studio: StudioDep, request: Request) -> Response:
    """Export a model as a zip file, as `seqloom export RUN -o NAME.zip` does."""
    folder = await asyncio.to_thread(studio.run_store.folder, model)
    work = studio.work_queue.run(zip_response, studio, model, folder)
    return await while_connected(request, work)


@router.delete("/{model}", status_code=204)
def delete_model(model: ModelId, studio: StudioDep) -> Response:
    """Delete a run with its weights."""
    delete(studio, model)
    return Response(status_code=204)


@router.post("/{model}:predict", response_model=PredictResponse)
async def predict_inputs(
    model: ModelId, body: PredictRequest, studio: StudioDep, request: Request
) -> Response:
    """Predict: run inference on several inputs, as `seqloom predict --json` does."""

    def work(run: Run) -> dict[str, Any]:
        outputs = predict(run, body.inputs, body.parameters, studio.limits, studio.scratch)
        return {**outputs, "model": model}

    return Json(await _with_model(studio, request, model, work))


@router.post("/{model}:stream", responses=STREAM, response_class=Response)
async def stream_text(model: ModelId, body: GenerateRequest, studio: StudioDep) -> Response:
    """Generate text: continue a prompt token by token, as server-sent events (SSE).

    `token` has the text of a token, its probability and the five most probable tokens; `done` the
    whole text and why it ended; `error` problem details. It ends if the client disconnects.
    """
    events = _token_events(studio, model, body)
    first = await anext(events)  # before the response starts: early errors have a 4xx status
    return StreamingResponse(
        _chain(first, events), media_type="text/event-stream", headers={"Cache-Control": "no-cache"}
    )


@router.post("/{model}/views/{view}", response_model=ViewResponse, responses=PICTURES)
async def get_view(
    model: ModelId,
    view: Annotated[
        str, PathParam(max_length=60, description="The name of the view, as attention.")
    ],
    body: ViewRequest,
    studio: StudioDep,
    request: Request,
    step: Annotated[
        int | None, Query(ge=0, le=2**53, description="From the snapshot of this step.")
    ] = None,
) -> Response:
    """Compute a view of a model on an input: its data, with a caption.

    The options of the view are further fields, as layer, head, cell or at. With the header
    `Accept: image/svg+xml`, `image/png` or `text/html` the response is a picture.
    """
    folder = await asyncio.to_thread(studio.run_store.folder, model)
    accept = request.headers.get("accept", "")
    if step is not None:
        saved = await asyncio.to_thread(snapshot_view, folder, step, view, body.text)
        if not any(kind in accept for kind in PICTURE_TYPES):
            return Json(saved)
        old = await asyncio.to_thread(lambda: rendered(rebuild_view(saved), accept, studio.scratch))
        return Response(old[0], media_type=old[1]) if old else Json(saved)
    params = {"text": body.text, "series": body.series, **(body.model_extra or {})}
    file = None
    if body.dataset:
        file = (await asyncio.to_thread(studio.datasets.find, body.dataset)).path

    def work(run: Run) -> Response:
        computed = compute_view(run, view, params, file, studio.limits, studio.scratch)
        picture = rendered(computed, accept, studio.scratch)
        if picture is not None:
            return Response(picture[0], media_type=picture[1])
        return Json({**computed.to_json(), "model": model})

    return await _with_model(studio, request, model, work)


async def _with_model(studio: Studio, request: Request, name: str, work: Callable[[Run], T]) -> T:
    """Call a function with a loaded model, in a worker thread."""
    folder = await asyncio.to_thread(studio.run_store.folder, name)

    def call() -> T:
        with studio.model_cache.use(name, folder) as run:
            return work(run)

    return await while_connected(request, studio.work_queue.run(call))


async def _token_events(studio: Studio, name: str, body: GenerateRequest) -> AsyncIterator[bytes]:
    """The SSE frames of a generated text."""
    folder = await asyncio.to_thread(studio.run_store.folder, name)
    start, text, ended = time.perf_counter(), "", None

    def tokens() -> Iterator[dict[str, Any]]:
        with studio.model_cache.use(name, folder) as run:
            yield from stream_tokens(run, body.prompt, body.parameters, studio.limits)

    try:
        async for token in studio.work_queue.stream(tokens):
            text, ended = text + token["text"], token["ended"]
            yield _event("token", token)
    except SeqloomError as error:
        if not text:
            raise
        yield _event("error", problem_of(error))
        return
    milliseconds = round(1000 * (time.perf_counter() - start), 2)
    yield _event("done", {"text": text, "ended": ended, "timing_ms": milliseconds})


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for event in rest:
        yield event


def _event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {to_json(data)}\n\n".encode("utf-8", "backslashreplace")
