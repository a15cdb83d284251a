"""Models: the runs that have weights, asked, streamed and looked into."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from ...errors import SeqloomError, StudioError
from ...inspecting.rebuilt import rebuilt
from ...record import to_json
from ...run import CARD, Run
from ..answers import Named
from ..asking import drawing, predict
from ..bodies import Asked, Looked, Prompted, Renamed
from ..downloading import archived
from ..exhibiting import exhibited, listed
from ..looking import DRAWN, drawn, kept_view, look
from ..model_answers import Answered, Card, ModelDetail, Models, ViewShown
from ..problems import problem_of
from ..starting import delete, rename
from ..studio import Here, Json, Studio

router = APIRouter(prefix="/api/v1/models", tags=["models"])
ModelId = Annotated[str, Path(description="The id of a model: that of its run.", max_length=200)]
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
    view: Annotated[str, Path(max_length=60, description="The kind of view, as attention.")],
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
