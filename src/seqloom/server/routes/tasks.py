"""Tasks, their models, and recipes."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from ..option_forms import models_for, tasks
from ..recipes import recipe_of, recipe_response
from ..schemas.requests import RecipeRequest
from ..schemas.responses import CheckedRecipe, TaskList, TrainableModels, TrainingTimeEstimate
from ..state import Json, StudioDep

router = APIRouter(prefix="/api/v1", tags=["recipes"])


@router.get("/tasks", response_model=TaskList)
def list_tasks() -> Response:
    """All tasks, with the columns of their files and their options."""
    return Json({"tasks": tasks()})


@router.get("/tasks/{task}/models", response_model=TrainableModels)
def list_models_for(task: Annotated[str, Path(max_length=100)]) -> Response:
    """The models for a task, from simple to large, with all options."""
    return Json(models_for(task))


@router.post("/recipes:check", response_model=CheckedRecipe)
def check_recipe(body: RecipeRequest, studio: StudioDep) -> Response:
    """Validate a recipe: everything that is invalid, or the recipe with all defaults.

    It is returned in full, without defaults, and as the equivalent command.
    """
    return Json(recipe_response(recipe_of(studio, body, {})))


@router.post("/recipes:estimate", response_model=TrainingTimeEstimate)
async def estimate_training_time(
    body: RecipeRequest, studio: StudioDep, request: Request
) -> Response:
    """Estimate the training time on this machine, as `seqloom train --estimate` does.

    A subprocess trains for about two seconds and saves nothing. One runs at a time; it is killed if
    the client disconnects. If the time is unknown, `reason` says why.
    """
    recipe = await asyncio.to_thread(recipe_of, studio, body, {})
    return Json(await studio.time_estimator.estimate(recipe, request.is_disconnected))
