"""Runs side by side: on the same examples, and on one input."""

import asyncio
import contextlib
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from ...errors import SeqloomError
from ...experiments.compare import compare
from ...model import Search
from ...runs.run import Run
from ..model_cache import Stamp, stamp_of
from ..predict import must_be_short, predict
from ..problems import problem_of
from ..schemas.model_responses import ComparedAnswers, Comparison
from ..schemas.requests import Compared, ComparedInputs
from ..state import Here, Json, Studio

router = APIRouter(prefix="/api/v1", tags=["compare"])
EXAMPLES = 500  # that are judged where nobody says how many
SHOWN = ("surprise", "next")
COSTS = ("learned", "bytes", "training_seconds", "milliseconds_per_example")


@router.post("/compare", response_model=Comparison)
async def side_by_side(asked: Compared, studio: Here) -> Response:
    """Which run is better, by how much and where: on the test part of the first.

    500 examples are judged, unless `limit` says otherwise.
    """
    names = list(dict.fromkeys(asked.runs))
    stamps = await asyncio.to_thread(_stamps, studio, names)
    key = ("compare", tuple(names), stamps, asked.limit, asked.beam)
    return Json(await studio.gate.run_kept(key, lambda: _compared(studio, names, asked)))


@router.post("/compare:inputs", response_model=ComparedAnswers)
async def one_input(asked: ComparedInputs, studio: Here) -> Response:
    """The same input through several runs: what each answers, and what surprises it."""
    must_be_short(asked.text, studio.limits.looked)
    names = list(dict.fromkeys(asked.runs))
    await asyncio.to_thread(lambda: [studio.shelf.folder(name) for name in names])
    found = [await studio.gate.run(_answered, studio, name, asked) for name in names]
    return Json({"text": asked.text, "runs": found})


def _stamps(studio: Studio, names: list[str]) -> tuple[Stamp, ...]:
    return tuple(stamp_of(name, studio.shelf.folder(name)) for name in names)


def _compared(studio: Studio, names: list[str], asked: Compared) -> dict[str, Any]:
    """All runs at once: their locks are taken in one order, so that nobody waits in a circle."""
    with contextlib.ExitStack() as stack:
        loaded: dict[str, Run] = {}
        for name in sorted(names):
            folder = studio.shelf.folder(name)
            loaded[name] = stack.enter_context(studio.loaded.use(name, folder))
        runs = [loaded[name] for name in names]
        search = Search(beam=asked.beam)
        found = compare(runs, None, asked.limit or EXAMPLES, search).as_dict()
    for name, row in zip(names, found["runs"], strict=True):
        row["id"] = name
    cost = [{"id": row["id"], **{key: row.get(key) for key in COSTS}} for row in found["runs"]]
    return {**found, "cost": cost}


def _answered(studio: Studio, name: str, asked: ComparedInputs) -> dict[str, Any]:
    """What one run says; where it cannot answer, the others still can."""
    told: dict[str, Any] = {"run": name, "output": None, "error": None, **dict.fromkeys(SHOWN)}
    try:
        with studio.loaded.use(name, studio.shelf.folder(name)) as run:
            limits = studio.limits, studio.scratch
            answers = predict(run, [asked.text], asked.parameters, *limits)
            told["output"] = answers["outputs"][0]
            able = {kind.view for kind in run.views().shown}
            for view in SHOWN:
                if view in able:
                    told[view] = run.inspect(asked.text, view=view).to_json()
    except SeqloomError as error:
        told["error"] = problem_of(error)
    return told
