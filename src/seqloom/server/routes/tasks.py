"""Tasks, the models that can do them, and recipes."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from ..option_forms import models_for, tasks
from ..recipes import answered, recipe_of
from ..schemas.requests import RecipeAsked
from ..schemas.responses import CheckedRecipe, Estimated, ModelChoices, Tasks
from ..state import Here, Json

router = APIRouter(prefix="/api/v1", tags=["recipes"])


@router.get("/tasks", response_model=Tasks)
def every_task() -> Response:
    """What models can be trained for, and the files that each task reads."""
    return Json({"tasks": tasks()})


@router.get("/tasks/{task}/models", response_model=ModelChoices)
def models(task: Annotated[str, Path(max_length=100)]) -> Response:
    """The models that can do a task, from simple to large, with everything that can be set."""
    return Json(models_for(task))


@router.post("/recipes:check", response_model=CheckedRecipe)
def check(asked: RecipeAsked, studio: Here) -> Response:
    """A recipe with every default written out, or all that is wrong with it.

    It comes back whole, short, and as the command that does the same.
    """
    return Json(answered(recipe_of(studio, asked, {})))


@router.post("/recipes:estimate", response_model=Estimated)
async def estimate(asked: RecipeAsked, studio: Here, request: Request) -> Response:
    """How long a training would take here, as `seqloom train --estimate` finds out in seconds.

    A process of its own learns for about two seconds and keeps nothing. One is asked at a time, and
    it ends when you leave. Where it cannot tell, `reason` says why.
    """
    recipe = await asyncio.to_thread(recipe_of, studio, asked, {})
    return Json(await studio.estimates.of(recipe, request.is_disconnected))
