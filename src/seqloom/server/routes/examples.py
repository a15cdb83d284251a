"""Built-in examples: data sets, real or synthetic, with models that train in about a minute."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from ...examples import EXAMPLES, Example
from ...runs.record import Record
from ..datasets import DataSet
from ..option_forms import warm_up
from ..run_store import check_listed
from ..schemas.model_responses import ExampleList, ExampleSetup
from ..state import Json, Studio, StudioDep


def example_rows(studio: Studio) -> list[dict[str, Any]]:
    """All examples, with the measured training time on this machine, once all were trained."""
    example_of = {
        str(one.path.resolve()): one.example for one in studio.datasets.all() if one.example
    }
    folders = studio.run_store.folders().values()
    done = [one for one in map(studio.run_store.record, folders) if one.state == "finished"]
    return [
        {
            **{key: value for key, value in one.as_dict().items() if key != "settings"},
            "seconds": _seconds(one, done, example_of),
        }
        for one in EXAMPLES.values()
    ]


def example_setup(studio: Studio, name: str) -> dict[str, Any]:
    """Store the data of an example; its data set, task, models and settings."""
    check_listed("example", name, EXAMPLES)
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
    """The data set of an example, stored once."""
    material = example.material()
    if material is None:
        return None
    for one in studio.datasets.all():
        if one.example == example.name and one.name == example.file:
            return one
    return studio.datasets.add(example.file, material.content().encode(), example.name)


def _seconds(example: Example, done: list[Record], example_of: dict[str, str]) -> float | None:
    """The total training time of its models, from the last run of each."""
    runs = [record for record in done if _is_of(example, record, example_of)]
    seconds = {record.model: record.seconds() for record in runs}
    if not all(model in seconds for model in example.models):
        return None
    return sum(seconds[model] for model in example.models)


def _is_of(example: Example, record: Record, example_of: dict[str, str]) -> bool:
    """Whether a run was trained on an example: on its data set, or with its task settings."""
    if record.task != example.task:
        return False
    if example.file:
        return example_of.get(str(record.recipe.data.get("train"))) == example.name
    wanted = {k: v for k, v in example.settings.items() if k.startswith("task.")}
    return all(record.settings().get(path) == value for path, value in wanted.items())


router = APIRouter(prefix="/api/v1/examples", tags=["examples"])


@router.get("", response_model=ExampleList)
def list_examples(studio: StudioDep) -> Response:
    """All examples; `seconds` is the measured training time, once their models were trained."""
    return Json({"examples": example_rows(studio)})


@router.post("/{name}", response_model=ExampleSetup, status_code=201)
def prepare_example(name: Annotated[str, Path(max_length=100)], studio: StudioDep) -> Response:
    """Store the data of an example as a data set; returns its task, models and settings."""
    setup = example_setup(studio, name)
    studio.warm(warm_up)
    return Json(setup, 201)
