"""Runs: what they are, how they stand, and their events as they happen."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response, StreamingResponse

from ...run import EVENTS
from ..answers import Begun, RunCommand, RunDetail, Runs, StateNow
from ..bodies import Resumed, Started, Stopped
from ..describing import command_of, described, waiting
from ..starting import begin, delete, go_on, stop
from ..studio import Here, Json, Studio
from ..tailing import frames

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])
RunId = Annotated[str, Path(description="The id of a run, as the list has it.", max_length=200)]
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Events as they happen."}
}


@router.get("", response_model=Runs)
def runs(studio: Here) -> Response:
    """Every run, the newest first: those of the command line as well, and those that wait."""
    return Json({"runs": studio.shelf.rows()})


@router.post("", response_model=Begun, status_code=201)
def begin_runs(asked: Started, studio: Here) -> Response:
    """Train one recipe or several, one after another, in a process that outlives the server.

    All recipes are checked first. The ids of the runs are known at once; `events` can be listened
    to before training has begun.
    """
    return Json(begin(studio, asked), 201)


@router.post("/{run}:stop", response_model=StateNow, status_code=202)
def stop_run(run: RunId, asked: Stopped, studio: Here) -> Response:
    """Stop as Ctrl-C does: the step is finished, all is saved, and it can go on later."""
    state = stop(studio, run, discard=asked.discard)
    return Json({"id": run, "state": "discarded" if asked.discard else state}, 202)


@router.post("/{run}:resume", response_model=Begun, status_code=201)
def resume_run(run: RunId, asked: Resumed, studio: Here) -> Response:
    """Go on from the last checkpoint, exactly as if it had never been stopped."""
    return Json(go_on(studio, run, asked.settings), 201)


@router.delete("/{run}", status_code=204)
def delete_run(run: RunId, studio: Here) -> Response:
    """Delete a run that is not being trained, with its weights."""
    delete(studio, run)
    return Response(status_code=204)


@router.get("/{run}", response_model=RunDetail)
def run(run: RunId, studio: Here) -> Response:
    """All about one run: its recipe, how it stands, what ended it, how to go on."""
    folder, step = studio.shelf.known(run)
    if folder is None:
        return Json(waiting(studio, run, step))
    return Json(described(studio, run, folder, step))


@router.get("/{run}/command", response_model=RunCommand)
def command(run: RunId, studio: Here) -> Response:
    """The command that would train it again, with every setting that is not as it would be anyway.

    It needs the model's own defaults, so it is asked for by itself: the first time takes a moment.
    """
    return Json(command_of(studio, run))


@router.get("/{run}/events", responses=STREAM, response_class=Response)
async def events(
    run: RunId,
    studio: Here,
    after: Annotated[
        int, Query(ge=0, le=2**53, description="Begin after the line of this number.")
    ] = 0,
    kinds: Annotated[
        str, Query(max_length=200, description="Only these kinds: eval,sample,end")
    ] = "",
    last_event_id: Annotated[str, Header(max_length=100)] = "",
) -> Response:
    """The story of training as server-sent events, as far as it goes and then live.

    The id of an event is the number of its line in events.jsonl: who comes back with
    Last-Event-ID, or `after`, misses nothing and hears nothing twice. An event `state` without an
    id tells how the run stands: at the beginning, when that changes, and after the last line.
    """
    if last_event_id.isascii() and last_event_id.isdigit():
        after = int(last_event_id[:18])
    wanted = {kind for kind in kinds.split(",") if kind}
    told = _told(studio, run, after, wanted)
    first = await anext(told)  # so that a run that is not there is a 404, and no stream
    return StreamingResponse(
        _with(first, told),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


async def _told(studio: Studio, run: str, after: int, kinds: set[str]) -> AsyncIterator[bytes]:
    """The frames of one listener, from the tail that all listeners share."""
    folder, _ = await asyncio.to_thread(studio.shelf.known, run)
    path = (folder or studio.settings.runs / run) / EVENTS
    async with studio.tails.of(path, lambda: studio.shelf.state(run)) as tail:
        async for frame in frames(tail, after, kinds, studio.is_closing):
            yield frame


async def _with(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for frame in rest:
        yield frame
