"""Examples: first trainings of about a minute, with data that is found or made."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from ..model_answers import ExampleChosen, Examples
from ..offering import warm_up
from ..studio import Here, Json
from ..trying_out import chosen, listed

router = APIRouter(prefix="/api/v1/examples", tags=["examples"])


@router.get("", response_model=Examples)
def examples(studio: Here) -> Response:
    """Every example; `seconds` is what its models took on this machine, once they were trained."""
    return Json({"examples": listed(studio)})


@router.post("/{name}", response_model=ExampleChosen, status_code=201)
def choose(name: Annotated[str, Path(max_length=100)], studio: Here) -> Response:
    """Keep the data of an example as a data set, and say what is to be trained on it."""
    found = chosen(studio, name)
    studio.warm(warm_up)
    return Json(found, 201)
