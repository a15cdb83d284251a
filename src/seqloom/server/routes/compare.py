"""Compare runs: on the same examples, and on one input."""

import asyncio
import contextlib
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...errors import SeqloomError
from ...experiments.compare import compare
from ...model import Search
from ...runs.run import Run
from ..model_cache import Stamp, stamp_of
from ..predict import check_length, predict
from ..problems import problem_of
from ..schemas.model_responses import CompareInputsResponse, CompareResponse
from ..schemas.requests import CompareInputsRequest, CompareRequest
from ..state import Json, Studio, StudioDep
from ..work_queue import while_connected

router = APIRouter(prefix="/api/v1", tags=["compare"])
EXAMPLES = 500  # default number of evaluated examples
INPUT_VIEWS = ("surprise", "next")
COSTS = ("learned", "bytes", "training_seconds", "milliseconds_per_example")


@router.post("/compare", response_model=CompareResponse)
async def compare_runs(body: CompareRequest, studio: StudioDep, request: Request) -> Response:
    """Compare runs on the test set of the first: which is better, by how much and where.

    500 examples are evaluated, unless `limit` says otherwise.
    """
    names = list(dict.fromkeys(body.runs))
    stamps = await asyncio.to_thread(_stamps, studio, names)
    key = ("compare", tuple(names), stamps, body.limit, body.beam, body.length)
    work = studio.work_queue.run_cached(key, lambda: _comparison(studio, names, body))
    return Json(await while_connected(request, work))


@router.post("/compare:inputs", response_model=CompareInputsResponse)
async def compare_inputs(
    body: CompareInputsRequest, studio: StudioDep, request: Request
) -> Response:
    """Run several models on the same input: output, surprisal and next-token probabilities."""
    check_length(body.text, studio.limits.looked)
    names = list(dict.fromkeys(body.runs))
    await asyncio.to_thread(lambda: [studio.run_store.folder(name) for name in names])
    run = studio.work_queue.run
    rows = [await while_connected(request, run(_run_output, studio, name, body)) for name in names]
    return Json({"text": body.text, "runs": rows})


def _stamps(studio: Studio, names: list[str]) -> tuple[Stamp, ...]:
    return tuple(stamp_of(name, studio.run_store.folder(name)) for name in names)


def _comparison(studio: Studio, names: list[str], body: CompareRequest) -> dict[str, Any]:
    """Compare loaded runs; locks are taken in sorted order, so that requests cannot deadlock."""
    with contextlib.ExitStack() as stack:
        loaded: dict[str, Run] = {}
        for name in sorted(names):
            folder = studio.run_store.folder(name)
            loaded[name] = stack.enter_context(studio.model_cache.use(name, folder))
        runs = [loaded[name] for name in names]
        search = Search(beam=body.beam, limit=body.length)
        result = compare(runs, None, body.limit or EXAMPLES, search).as_dict()
    for name, row in zip(names, result["runs"], strict=True):
        row["id"] = name
    cost = [{"id": row["id"], **{key: row.get(key) for key in COSTS}} for row in result["runs"]]
    return {**result, "cost": cost}


def _run_output(studio: Studio, name: str, body: CompareInputsRequest) -> dict[str, Any]:
    """The output of one run; an error of one run does not stop the others."""
    row: dict[str, Any] = {"run": name, "output": None, "error": None}
    row |= dict.fromkeys(INPUT_VIEWS)
    try:
        with studio.model_cache.use(name, studio.run_store.folder(name)) as run:
            limits = studio.limits, studio.scratch
            result = predict(run, [body.text], body.parameters, *limits)
            row["output"] = result["outputs"][0]
            supported = {kind.view for kind in run.views().shown}
            for view in INPUT_VIEWS:
                if view in supported:
                    row[view] = run.inspect(body.text, view=view).to_json()
    except SeqloomError as error:
        row["error"] = problem_of(error)
    return row
