"""Examples: first trainings of about a minute, with data that is found or made.

Examples for those who have no file at hand: their data, and how long they took here.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from ...examples import EXAMPLES, Example
from ...runs.record import Record
from ..datasets import DataSet
from ..option_forms import warm_up
from ..run_store import must_be_listed
from ..schemas.model_responses import ExampleChosen, Examples
from ..state import Here, Json, Studio


def listed(studio: Studio) -> list[dict[str, Any]]:
    """Every example, with how long its models took on this machine, once all were trained."""
    given = {str(one.path.resolve()): one.example for one in studio.datasets.all() if one.example}
    folders = studio.shelf.folders().values()
    done = [one for one in map(studio.shelf.record, folders) if one.state == "finished"]
    return [
        {
            **{key: value for key, value in one.as_dict().items() if key != "settings"},
            "seconds": _seconds(one, done, given),
        }
        for one in EXAMPLES.values()
    ]


def chosen(studio: Studio, name: str) -> dict[str, Any]:
    """The data of an example, as a data set, and what is to be trained on it."""
    must_be_listed("example", name, EXAMPLES)
    example = EXAMPLES[name]
    data = _data(studio, example)
    return {
        "dataset": data.id if data else None,
        "task": example.task,
        "models": list(example.models),
        "settings": {model: example.settings_of(model) for model in example.models},
        "common": dict(example.settings),
    }


def _data(studio: Studio, example: Example) -> DataSet | None:
    """Its data set: made once, and then used again."""
    material = example.material()
    if material is None:
        return None
    for one in studio.datasets.all():
        if one.example == example.name and one.name == example.file:
            return one
    return studio.datasets.add(example.file, material.content().encode(), example.name)


def _seconds(example: Example, done: list[Record], given: dict[str, str]) -> float | None:
    """How long all its models took together, the last time that each was trained."""
    spent = {record.model: record.seconds() for record in done if _is_of(example, record, given)}
    if not all(model in spent for model in example.models):
        return None
    return sum(spent[model] for model in example.models)


def _is_of(example: Example, record: Record, given: dict[str, str]) -> bool:
    """Whether a run was trained on an example: on its data, or on questions drawn as its are."""
    if record.task != example.task:
        return False
    if example.file:
        return given.get(str(record.recipe.data.get("train"))) == example.name
    wanted = {k: v for k, v in example.settings.items() if k.startswith("task.")}
    return all(record.settings().get(path) == value for path, value in wanted.items())


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
