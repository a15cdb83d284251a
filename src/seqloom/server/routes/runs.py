"""Runs: list, start, stop, resume, delete, and stream their training events."""

import asyncio
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import APIRouter, Header, Query
from fastapi import Path as PathParam
from starlette.responses import Response, StreamingResponse

from ...errors import SeqloomError
from ...experiments.results import RESULT, read_result
from ...metrics import METRICS, MetricValue
from ...recipe import TABLES, Recipe
from ...runs.card import metrics_in
from ...runs.command import train_command
from ...runs.names import RECIPE
from ...runs.record import Record
from ...runs.run import CHECKPOINT, EVENTS
from ..event_stream import sse_frames
from ..jobs import JobStep
from ..problems import problem_of_dict
from ..run_store import run_state, snapshots_of, waiting_row
from ..schemas.requests import ResumeRequest, StopRequest, TrainRequest
from ..schemas.responses import RunCommand, RunDetail, RunList, StartedRuns, StopResponse
from ..snippets import missing_files, resume_command
from ..state import Json, Studio, StudioDep
from ..training import delete, resume, start, stop

RESUMABLE = ("stopped", "vanished", "crashed", "diverged", "finished")


def run_detail(studio: Studio, name: str, folder: Path, step: JobStep | None) -> dict[str, Any]:
    """A run that has started, from its files and from its job."""
    record = studio.run_store.record(folder)
    state, best = run_state(record, step), record.best or {}
    recipe = record.recipe
    return {
        **studio.run_store.row(name, folder, step),
        "recipe": {table: getattr(recipe, table) for table in TABLES},
        "toml": recipe.to_toml() if record.state != "damaged" else _text(folder),
        "start": record.start,
        "evaluations": len(record.evaluations),
        "best_step": best.get("step"),
        "best_metrics": metrics_in(best),
        "test": _test(folder, step),
        "job": _job(studio, step),
        "resume_command": resume_command(folder, studio.settings.runs),
        "error": _error(record, step, state),
        "can_resume": state in RESUMABLE and record.state != "damaged",
        "checkpoint_step": _checkpoint_step(record) if (folder / CHECKPOINT).exists() else None,
        "probes": snapshots_of(folder),
        "folder": str(folder),
    }


def queued_run_detail(studio: Studio, name: str, step: JobStep | None) -> dict[str, Any]:
    """A run without a folder: it is queued, or its process ended before it started."""
    if step is None:
        raise studio.run_store.not_found(name)
    recipe = _recipe_of(step)
    state = run_state(None, step)
    return {
        **waiting_row(name, step),
        "recipe": {table: getattr(recipe, table) for table in TABLES},
        "toml": recipe.to_toml(),
        "start": {},
        "evaluations": 0,
        "best_step": None,
        "best_metrics": {},
        "test": None,
        "job": _job(studio, step),
        "resume_command": "",
        "error": problem_of_job(step) if state in ("crashed", "vanished") else None,
        "can_resume": False,
        "checkpoint_step": None,
        "probes": {"steps": [], "inputs": [], "views": []},
        "folder": str(studio.settings.runs / name),
    }


def command_of(studio: Studio, name: str) -> dict[str, Any]:
    """The command that trains a run again; empty for a converted run, which was not trained."""
    folder, step = studio.run_store.find(name)
    record = studio.run_store.record(folder) if folder is not None else None
    if record is not None and (record.state == "damaged" or record.start.get("converted")):
        return {"command": "", "missing": []}
    if record is None and step is None:
        raise studio.run_store.not_found(name)
    recipe = record.recipe if record is not None else _recipe_of(cast(JobStep, step))
    return {"command": train_command(recipe), "missing": missing_files(recipe)}


def problem_of_job(step: JobStep) -> dict[str, Any] | None:
    """The error that ended a training, as problem details; None if it printed no error."""
    error = step.error()
    return None if error is None else problem_of_dict(error)


def _error(record: Record, step: JobStep | None, state: str) -> dict[str, Any] | None:
    """The error that ended a run: divergence is an event, others are in the log of the job."""
    if state == "diverged" and record.events:
        return problem_of_dict(record.events[-1])
    return problem_of_job(step) if state == "crashed" and step is not None else None


def _job(studio: Studio, step: JobStep | None) -> dict[str, Any] | None:
    if step is None:
        return None
    runs = [one.run for one in studio.jobs.steps().values() if one.job == step.job]
    return {"log": step.log(), "exit_code": step.exit_code, "runs": runs}


def _test(folder: Path, step: JobStep | None) -> dict[str, Any] | None:
    """Metrics on the test set, with titles, and as text with their intervals."""
    found = _measured(folder, step)
    return found and {name: _with_text(name, one) for name, one in found.items()}


def _with_text(name: str, one: Any) -> Any:
    try:
        # JSON has null where there is no interval
        numbers = [math.nan if one[key] is None else one[key] for key in ("value", "low", "high")]
        metric, shown = METRICS[name], METRICS[name].show_interval(MetricValue(*numbers))
    except (KeyError, TypeError, ValueError):  # a file of another version
        return one
    return {**one, "title": metric.title, "shown": shown}


def _measured(folder: Path, step: JobStep | None) -> dict[str, Any] | None:
    """Metrics of a run of a ladder or of a fold, or of a job."""
    if (folder / RESULT).exists():
        try:
            kept = read_result(folder)
        except (SeqloomError, KeyError, TypeError, ValueError):
            kept = None
        if kept is not None:
            return {name: vars(value) for name, value in kept.measured.items()}
    result = step.result() if step is not None else None
    return result.get("test") if result else None


def _checkpoint_step(record: Record) -> int | None:
    """The step of the last checkpoint."""
    steps = [event["step"] for event in record.events if event["kind"] == "checkpoint"]
    return steps[-1] if steps else None


def _recipe_of(step: JobStep) -> Recipe:
    """The recipe of a job step."""
    try:
        return Recipe.read(step.folder / f"{step.stem}.toml")
    except SeqloomError:
        return Recipe(task={"name": step.task}, model={"name": step.model})


def _text(folder: Path) -> str:
    """The text of a recipe that cannot be parsed."""
    try:
        return (folder / RECIPE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


router = APIRouter(prefix="/api/v1/runs", tags=["runs"])
RunId = Annotated[str, PathParam(description="The id of a run, as listed.", max_length=200)]
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Training events, live."}
}


@router.get("", response_model=RunList)
def list_runs(studio: StudioDep) -> Response:
    """All runs, newest first, including queued runs and those of the command line."""
    return Json({"runs": studio.run_store.rows()})


@router.post("", response_model=StartedRuns, status_code=201)
def start_runs(body: TrainRequest, studio: StudioDep) -> Response:
    """Train one or several recipes in order, in a process that outlives the server.

    All recipes are validated first. The ids of the runs are returned at once; their `events` can be
    streamed before training has started.
    """
    return Json(start(studio, body), 201)


@router.post("/{run}:stop", response_model=StopResponse, status_code=202)
def stop_run(run: RunId, body: StopRequest, studio: StudioDep) -> Response:
    """Stop training as Ctrl-C does: finish the step and save a checkpoint, to be resumed later."""
    state = stop(studio, run, discard=body.discard)
    return Json({"id": run, "state": "discarded" if body.discard else state}, 202)


@router.post("/{run}:resume", response_model=StartedRuns, status_code=201)
def resume_run(run: RunId, body: ResumeRequest, studio: StudioDep) -> Response:
    """Resume from the last checkpoint; the result is the same as without the interruption."""
    return Json(resume(studio, run, body.settings), 201)


@router.delete("/{run}", status_code=204)
def delete_run(run: RunId, studio: StudioDep) -> Response:
    """Delete a run that is not training, with its weights."""
    delete(studio, run)
    return Response(status_code=204)


@router.get("/{run}", response_model=RunDetail)
def get_run(run: RunId, studio: StudioDep) -> Response:
    """A run in detail: recipe, state, metrics, error, and the command to resume it."""
    folder, step = studio.run_store.find(run)
    if folder is None:
        return Json(queued_run_detail(studio, run, step))
    return Json(run_detail(studio, run, folder, step))


@router.get("/{run}/command", response_model=RunCommand)
def get_train_command(run: RunId, studio: StudioDep) -> Response:
    """The command that trains a run again, with every option that differs from its default.

    This imports the class of the model for its defaults, so the first request takes a moment.
    """
    return Json(command_of(studio, run))


@router.get("/{run}/events", responses=STREAM, response_class=Response)
async def stream_events(
    run: RunId,
    studio: StudioDep,
    after: Annotated[
        int, Query(ge=0, le=2**53, description="Start after the line of this number.")
    ] = 0,
    kinds: Annotated[
        str, Query(max_length=200, description="Only these kinds of events: eval,sample,end")
    ] = "",
    last_event_id: Annotated[str, Header(max_length=100)] = "",
) -> Response:
    """Training events as server-sent events (SSE): all past events, then live ones.

    The id of an event is its line number in events.jsonl: a client that reconnects with
    Last-Event-ID, or `after`, gets every later event exactly once. An event `state` without an id
    has the state of the run: at the start, when it changes, and after the last line.
    """
    if last_event_id.isascii() and last_event_id.isdigit():
        after = int(last_event_id[:18])
    wanted = {kind for kind in kinds.split(",") if kind}
    frames = _frames(studio, run, after, wanted)
    first = await anext(frames)  # before the response starts: an unknown run must be a 404
    return StreamingResponse(
        _chain(first, frames),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


async def _frames(studio: Studio, run: str, after: int, kinds: set[str]) -> AsyncIterator[bytes]:
    """The SSE frames for one client, from the event stream that all clients share."""
    folder, _ = await asyncio.to_thread(studio.run_store.find, run)
    path = (folder or studio.settings.runs / run) / EVENTS
    async with studio.event_streams.subscribe(path, lambda: studio.run_store.state(run)) as stream:
        async for frame in sse_frames(stream, after, kinds, studio.is_closing):
            yield frame


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for frame in rest:
        yield frame
