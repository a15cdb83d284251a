"""Tasks, the models that can do them, and recipes."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from ..answers import CheckedRecipe, ModelChoices, Tasks
from ..bodies import RecipeAsked
from ..offering import models_for, tasks
from ..recipes import answered, recipe_of
from ..studio import Here, Json

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
