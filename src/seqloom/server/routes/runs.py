"""Runs: what they are, how they stand, and their events as they happen.

One run in full, from its files and from what the job says that works on it.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import APIRouter, Header, Query
from fastapi import Path as PathParam
from starlette.responses import Response, StreamingResponse

from ...errors import SeqloomError
from ...experiments.results import RESULT, read_climbed
from ...recipe import TABLES, Recipe
from ...runs.card import metrics_in
from ...runs.record import Record
from ...runs.run import CHECKPOINT, EVENTS, RECIPE
from ..event_stream import frames
from ..jobs import Step
from ..problems import problem_of_dict
from ..run_store import probes_of, stands, waiting_row
from ..schemas.requests import Resumed, Started, Stopped
from ..schemas.responses import Begun, RunCommand, RunDetail, Runs, StateNow
from ..snippets import gone, resuming, training
from ..state import Here, Json, Studio
from ..training import begin, delete, go_on, stop

RESUMABLE = ("stopped", "vanished", "crashed", "diverged", "finished")


def described(studio: Studio, name: str, folder: Path, step: Step | None) -> dict[str, Any]:
    """A run that has begun."""
    record = studio.shelf.record(folder)
    state, best = stands(record, step), record.best or {}
    recipe = record.recipe
    return {
        **studio.shelf.row(name, folder, step),
        "recipe": {table: getattr(recipe, table) for table in TABLES},
        "toml": recipe.to_toml() if record.state != "damaged" else _text(folder),
        "start": record.start,
        "evaluations": len(record.evaluations),
        "best_step": best.get("step"),
        "best_metrics": metrics_in(best),
        "test": _test(folder, step),
        "job": _job(step),
        "resume_command": resuming(folder, studio.settings.runs),
        "error": _error(record, step, state),
        "can_resume": state in RESUMABLE and record.state != "damaged",
        "checkpoint_step": _saved(record) if (folder / CHECKPOINT).exists() else None,
        "probes": probes_of(folder),
        "folder": str(folder),
    }


def waiting(studio: Studio, name: str, step: Step | None) -> dict[str, Any]:
    """A run that has no folder yet: it waits, or it ended before it could begin."""
    if step is None:
        raise studio.shelf.missing(name)
    recipe = _ordered(step)
    state = stands(None, step)
    return {
        **waiting_row(name, step),
        "recipe": {table: getattr(recipe, table) for table in TABLES},
        "toml": recipe.to_toml(),
        "start": {},
        "evaluations": 0,
        "best_step": None,
        "best_metrics": {},
        "test": None,
        "job": _job(step),
        "resume_command": "",
        "error": problem_of_job(step) if state in ("crashed", "vanished") else None,
        "can_resume": False,
        "checkpoint_step": None,
        "probes": {"steps": [], "inputs": [], "views": []},
        "folder": str(studio.settings.runs / name),
    }


def command_of(studio: Studio, name: str) -> dict[str, Any]:
    """What would train a run again; nothing for one that was made of others, not trained."""
    folder, step = studio.shelf.known(name)
    record = studio.shelf.record(folder) if folder is not None else None
    if record is not None and (record.state == "damaged" or record.start.get("converted")):
        return {"command": "", "missing": []}
    if record is None and step is None:
        raise studio.shelf.missing(name)
    recipe = record.recipe if record is not None else _ordered(cast(Step, step))
    return {"command": training(recipe), "missing": gone(recipe)}


def problem_of_job(step: Step) -> dict[str, Any] | None:
    """The error that ended a training, as a problem; None where it said nothing."""
    told = step.error()
    return None if told is None else problem_of_dict(told)


def _error(record: Record, step: Step | None, state: str) -> dict[str, Any] | None:
    """What ended a run: divergence stands among its events, the rest in the log."""
    if state == "diverged" and record.events:
        return problem_of_dict(record.events[-1])
    return problem_of_job(step) if state == "crashed" and step is not None else None


def _job(step: Step | None) -> dict[str, Any] | None:
    return None if step is None else {"log": step.log(), "exit_code": step.exit_code}


def _test(folder: Path, step: Step | None) -> dict[str, Any] | None:
    """How a run did on its test part: a rung or a fold keeps it, and so does a job."""
    if (folder / RESULT).exists():
        try:
            judged = read_climbed(folder)
        except (SeqloomError, KeyError, TypeError, ValueError):
            judged = None
        if judged is not None:
            return {name: vars(value) for name, value in judged.measured.items()}
    result = step.result() if step is not None else None
    return result.get("test") if result else None


def _saved(record: Record) -> int | None:
    """The step of the last checkpoint."""
    steps = [event["step"] for event in record.events if event["kind"] == "checkpoint"]
    return steps[-1] if steps else None


def _ordered(step: Step) -> Recipe:
    """The recipe that a job was given."""
    try:
        return Recipe.read(step.folder / f"{step.stem}.toml")
    except SeqloomError:
        return Recipe(task={"name": step.task}, model={"name": step.model})


def _text(folder: Path) -> str:
    """A recipe that cannot be read, as it is."""
    try:
        return (folder / RECIPE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


router = APIRouter(prefix="/api/v1/runs", tags=["runs"])
RunId = Annotated[
    str, PathParam(description="The id of a run, as the list has it.", max_length=200)
]
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
