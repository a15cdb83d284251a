"""Models: the runs that have weights, asked, streamed and looked into.

Files that are made for one answer: written aside, sent piece by piece, and gone with it.

Models in lists and in full: what they can be asked, and what can be seen inside them.
"""

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

from ...data.text.vocabulary import LabelSet
from ...errors import SeqloomError, StudioError
from ...inspection.replay import rebuilt
from ...metrics import METRICS
from ...runs.package import pack
from ...runs.record import to_json
from ...runs.run import CARD, WEIGHTS, Run
from ...runs.splits import read_parts
from ...signature import Form, Tokens
from ...tasks import TASKS
from ..model_cache import stamp_of
from ..option_forms import form_of
from ..predict import drawing, parameters_of, predict
from ..problems import problem_of
from ..run_store import probes_of
from ..schemas.model_responses import Answered, Card, ModelDetail, Models, ViewShown
from ..schemas.requests import Asked, Looked, Prompted, Renamed
from ..schemas.responses import Named
from ..snippets import snippets
from ..state import Here, Json, Studio
from ..training import delete, rename
from ..views import DRAWN, drawn, kept_view, look

PIECE = 1 << 18


def archived(studio: Studio, model: str, folder: Path) -> Response:
    """A model as a zip file, to be saved."""
    stamp_of(model, folder)  # told as for all else that needs weights
    studio.scratch.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", model)
    with contextlib.ExitStack() as held:
        # It has no name in the folder: whatever happens, nothing of it is left behind.
        file = held.enter_context(tempfile.TemporaryFile(dir=studio.scratch))
        pack(folder, file, name)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        held.pop_all()  # it is closed when it is sent
    return StreamingResponse(
        _pieces(file),
        media_type="application/zip",
        headers={
            "Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}.zip",
            "Content-Length": str(size),
        },
    )


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


EXAMPLES, LONGEST, ROWS = 6, 200, 120
READABLE = 20 << 20  # bytes of data that are read again to show examples


def listed(studio: Studio) -> list[dict[str, Any]]:
    """Every run that has weights, the newest first."""
    return [
        row(studio, name, folder)
        for name, folder in reversed(studio.shelf.folders().items())
        if (folder / WEIGHTS).is_file() and studio.shelf.record(folder).state != "damaged"
    ]


def row(studio: Studio, name: str, folder: Path) -> dict[str, Any]:
    """A model in a list."""
    record = studio.shelf.record(folder)
    metric, best = record.headline, record.best
    value = best[metric] if metric and best else None
    is_listed = record.task in list(TASKS)  # another may be a Python file of the user's own
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
        "size": record.learned(),
        "bytes": record.weights_bytes(),
        "age": record.age(),
    }


def exhibited(studio: Studio, name: str, run: Run, base: str) -> dict[str, Any]:
    """A model in full."""
    folder = studio.shelf.folder(name)
    probes = probes_of(folder)
    examples = _examples(run, probes["inputs"])
    offered = run.views()
    first = {"inputs": examples[:1] or [""], "parameters": {}}
    return {
        **row(studio, name, folder),
        "form": run.task.form.name.lower(),
        "folder": str(folder),
        "views": [
            {
                "view": kind.view,
                "title": kind.title,
                "about": kind.about,
                "options": form_of(kind.options()),
            }
            for kind in offered.shown
        ],
        "missing": [{"view": kind.view, "title": kind.title} for kind in offered.missing],
        "examples": examples,
        "labels": _labels(run),
        "symbols": _symbols(run),
        "unit": _unit(run),
        "probes": probes,
        "forecast": _forecast(run),
        "parameters": form_of(parameters_of(run)),
        "snippets": snippets(base, quote(name), first, bool(studio.settings.token)),
    }


def _examples(run: Run, probes: list[str]) -> list[str]:
    """Inputs to try: what training was watched by, then some of the test part."""
    found = [text for text in probes if text]
    file = Path(str(run.recipe.data.get("train") or ""))
    is_small = not run.task.roles or (file.is_file() and file.stat().st_size <= READABLE)
    if run.task.form is Form.FORECAST:
        return _last_rows(file) if is_small else []
    if is_small:
        try:
            parts = read_parts(run.task, run.recipe.build_data())
        except SeqloomError:
            return found  # its data is gone
        texts = [run.task.shown_question(one) for one in list(parts.test)[: 4 * EXAMPLES]]
        found += sorted((text for text in texts if text.strip()), key=len)
    short = [text for text in dict.fromkeys(found) if len(text) <= LONGEST]
    return short[:EXAMPLES] or [text[:LONGEST] for text in found[:1]]


def _last_rows(file: Path) -> list[str]:
    """The end of a table of series, with its heading, as a text that can be asked about."""
    if file.suffix.lower() not in (".csv", ".tsv"):
        return []
    heading, *rows = file.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
    return ["\n".join([heading, *rows[-ROWS:]]) + "\n"] if rows else []


def _labels(run: Run) -> list[str] | None:
    """All labels that it may answer, where answers are labels."""
    sets = [value for value in vars(run.task).values() if isinstance(value, LabelSet)]
    return list(sets[0].labels) if sets else None


def _symbols(run: Run) -> int | None:
    """How many symbols it knows, where it reads symbols."""
    source = run.model.signature.source
    return source.size if isinstance(source, Tokens) else None


def _unit(run: Run) -> str:
    return str(getattr(run.task, "unit", "") or run.task.read_unit)


def _forecast(run: Run) -> dict[str, Any] | None:
    """How far it looks ahead, and at which numbers."""
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
    200: {"content": {"text/event-stream": {}}, "description": "Symbols as they are drawn."}
}
ARCHIVE: Responses = {
    200: {"content": {"application/zip": {}}, "description": "One folder: the run."}
}
PICTURES: Responses = {200: {"content": {kind: {} for kind in DRAWN}}}
T = TypeVar("T")


@router.get("", response_model=Models)
def models(studio: Here) -> Response:
    """Every run that has weights, the newest first."""
    return Json({"models": listed(studio)})


@router.get("/{model}", response_model=ModelDetail)
async def model(model: ModelId, studio: Here, request: Request) -> Response:
    """All about a model: the views it has with their options, and inputs to try.

    This loads it, which takes a moment the first time.
    """
    base = str(request.base_url) if request.scope.get("server") else "/"
    return Json(await _with(studio, model, lambda run: exhibited(studio, model, run, base)))


@router.get("/{model}/card", response_model=Card)
def card(model: ModelId, studio: Here) -> Response:
    """The model in words: what it learned from, how well, and its settings, as Markdown."""
    path = studio.shelf.folder(model) / CARD
    if not path.is_file():
        raise StudioError("S262", f"{model} has no card yet", status=409)
    return Json({"markdown": path.read_text(encoding="utf-8", errors="replace")})


@router.post("/{model}:rename", response_model=Named)
def rename_model(model: ModelId, asked: Renamed, studio: Here) -> Response:
    """Give a run another name, as `seqloom rename` does; refused while it is trained."""
    return Json({"id": rename(studio, model, asked.name)})


@router.get("/{model}/export", response_class=Response, responses=ARCHIVE)
async def export(model: ModelId, studio: Here) -> Response:
    """The model as one file to give away: what `seqloom export RUN -o NAME.zip` writes."""
    folder = await asyncio.to_thread(studio.shelf.folder, model)
    return await studio.gate.run(archived, studio, model, folder)


@router.delete("/{model}", status_code=204)
def delete_model(model: ModelId, studio: Here) -> Response:
    """Delete the run with its weights."""
    delete(studio, model)
    return Response(status_code=204)


@router.post("/{model}:predict", response_model=Answered)
async def ask(model: ModelId, asked: Asked, studio: Here) -> Response:
    """Answers to some inputs, each as `seqloom predict --json` gives it."""

    def work(run: Run) -> dict[str, Any]:
        given = asked.inputs, asked.parameters
        return {**predict(run, *given, studio.limits, studio.scratch), "model": model}

    return Json(await _with(studio, model, work))


@router.post("/{model}:stream", responses=STREAM, response_class=Response)
async def stream(model: ModelId, asked: Prompted, studio: Here) -> Response:
    """A text that goes on, symbol by symbol as it is drawn, as server-sent events.

    `token` has the text, its probability and the five likeliest; `done` the whole text and why it
    ended; `error` a problem. It ends when you leave.
    """
    told = _drawn(studio, model, asked)
    first = await anext(told)  # what is wrong from the start is no stream, but a problem
    return StreamingResponse(
        _after(first, told), media_type="text/event-stream", headers={"Cache-Control": "no-cache"}
    )


@router.post("/{model}/views/{view}", response_model=ViewShown, responses=PICTURES)
async def show(
    model: ModelId,
    view: Annotated[str, PathParam(max_length=60, description="The kind of view, as attention.")],
    asked: Looked,
    studio: Here,
    request: Request,
    step: Annotated[
        int | None, Query(ge=0, le=2**53, description="As it was at this evaluation.")
    ] = None,
) -> Response:
    """What happens inside a model while it reads a text: numbers, with a sentence about them.

    Beside the text stand the options of the view, as layer, head, cell or at. With the header
    `Accept: image/svg+xml`, `image/png` or `text/html` it comes as a drawing.
    """
    folder = await asyncio.to_thread(studio.shelf.folder, model)
    accept = request.headers.get("accept", "")
    if step is not None:
        kept = await asyncio.to_thread(kept_view, folder, step, view, asked.text)
        if not any(kind in accept for kind in DRAWN):
            return Json(kept)
        old = await asyncio.to_thread(lambda: drawn(rebuilt(kept), accept, studio.scratch))
        return Response(old[0], media_type=old[1]) if old else Json(kept)
    given = {"text": asked.text, "series": asked.series, **(asked.model_extra or {})}
    file = None
    if asked.dataset:
        file = (await asyncio.to_thread(studio.datasets.find, asked.dataset)).path

    def work(run: Run) -> Response:
        found = look(run, view, given, file, studio.limits, studio.scratch)
        picture = drawn(found, accept, studio.scratch)
        if picture is not None:
            return Response(picture[0], media_type=picture[1])
        return Json({**found.to_json(), "model": model})

    return await _with(studio, model, work)


async def _with(studio: Studio, name: str, work: Callable[[Run], T]) -> T:
    """Some work with a loaded model, in a thread."""
    folder = await asyncio.to_thread(studio.shelf.folder, name)

    def loaded() -> T:
        with studio.loaded.use(name, folder) as run:
            return work(run)

    return await studio.gate.run(loaded)


async def _drawn(studio: Studio, name: str, asked: Prompted) -> AsyncIterator[bytes]:
    """The events of a text as it is drawn."""
    folder = await asyncio.to_thread(studio.shelf.folder, name)
    began, text, ended = time.perf_counter(), "", None

    def tokens() -> Iterator[dict[str, Any]]:
        with studio.loaded.use(name, folder) as run:
            yield from drawing(run, asked.prompt, asked.parameters, studio.limits)

    try:
        async for token in studio.gate.stream(tokens):
            text, ended = text + token["text"], token["ended"]
            yield _event("token", token)
    except SeqloomError as error:
        if not text:
            raise
        yield _event("error", problem_of(error))
        return
    spent = round(1000 * (time.perf_counter() - began), 2)
    yield _event("done", {"text": text, "ended": ended, "timing_ms": spent})


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for event in rest:
        yield event


def _event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {to_json(data)}\n\n".encode("utf-8", "backslashreplace")
