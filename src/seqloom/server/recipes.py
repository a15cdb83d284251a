"""Recipes in requests: validated as on the command line, with stricter rules for files.

A web page must not choose which files of the computer are read, or which Python files are run. Data
are uploaded data sets, or files that a run in the folder was trained on already.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..config import parse_toml
from ..errors import StudioError, UsageError
from ..models import MODELS
from ..recipe import FILES, Recipe, shipped
from ..runs.command import train_command
from ..runs.train import recipe_by_name
from ..tasks import TASKS
from .run_store import check_listed
from .schemas.requests import RecipeRequest
from .snippets import without_defaults
from .state import Studio

REGISTRIES: dict[str, Iterable[str]] = {"task": TASKS, "model": MODELS}


def recipe_of(studio: Studio, body: RecipeRequest, settings: Mapping[str, Any]) -> Recipe:
    """The recipe of a request with all defaults, or an error with everything that is invalid."""
    overrides = {**body.settings, **settings}
    for table, names in REGISTRIES.items():  # before anything is imported
        if f"{table}.name" in overrides:
            check_listed(table, overrides[f"{table}.name"], names)
    recipe = (
        _from_names(body, overrides) if body.toml is None else _from_toml(body.toml, body.model)
    )
    if body.data:
        recipe = recipe.with_settings({"data.train": body.data})
    recipe = with_known_files(studio, recipe.with_settings(overrides))
    _check_names(recipe)
    complete = recipe.checked()
    if TASKS[str(complete.task["name"])].roles and not complete.data["train"]:
        raise UsageError("U007", "there is no training file", help=["choose a data set"])
    return complete


def recipe_response(recipe: Recipe) -> dict[str, Any]:
    """A recipe as full TOML, as TOML without defaults, as a command and as tables."""
    return {
        "toml": recipe.to_toml(),
        "short_toml": without_defaults(recipe).to_toml(),
        "command": train_command(recipe),
        "problems": [],
        "tables": {
            table: getattr(recipe, table) for table in ("data", "task", "model", "training")
        },
    }


def with_known_files(studio: Studio, recipe: Recipe) -> Recipe:
    """The recipe with ids of data sets replaced by their paths; other files are refused."""
    uploaded = {one.id: str(one.path.resolve()) for one in studio.datasets.all()}
    known = {*uploaded.values(), *_trained_on(studio)}
    paths: dict[str, Any] = {}
    for table, names in FILES.items():
        for name in names:
            file = getattr(recipe, table).get(name)
            if not isinstance(file, str) or not file:
                continue
            path = uploaded.get(file, file)
            if path not in known and str(Path(path).absolute()) not in known:
                raise StudioError(
                    "S252",
                    f"[{table}] {name} = {file[:200]!r} is not a data set of the studio",
                    notes=["Web requests may not read other files of this computer."],
                    help=["upload the file on the start page", "seqloom train   reads any file"],
                )
            paths[f"{table}.{name}"] = path
    return recipe.with_settings(paths)


def _trained_on(studio: Studio) -> set[str]:
    """All files in the recipes of the runs: the owner of the folder has chosen them before."""
    files = set()
    for folder in studio.run_store.folders().values():
        recipe = studio.run_store.record(folder).recipe
        for table, names in FILES.items():
            files |= {getattr(recipe, table).get(name) for name in names}
    return {file for file in files if isinstance(file, str) and file}


def _from_toml(text: str, model: str | None) -> Recipe:
    try:
        tables = parse_toml(text)
    except ValueError as error:
        raise UsageError("U004", f"the recipe is not valid TOML: {error}") from error
    recipe = Recipe.of_tables(tables, "recipe")
    if model:
        check_listed("model", model, MODELS)
        return recipe.with_model(model)
    return recipe


def _check_names(recipe: Recipe) -> None:
    for table, names in REGISTRIES.items():
        if "name" in getattr(recipe, table):
            check_listed(table, getattr(recipe, table)["name"], names)


def _from_names(body: RecipeRequest, settings: Mapping[str, Any]) -> Recipe:
    """A task with a model, or a recipe that is shipped with Seqloom."""
    if body.task is None:
        help = ["send toml, or a task with a data set"]
        raise UsageError("U006", "expected a recipe or a task", help=help)
    check_listed("task", body.task, [*TASKS, *shipped()])
    if body.model:
        check_listed("model", body.model, MODELS)
    recipe = recipe_by_name(body.task, "", settings, body.model or "")
    return recipe.with_model(body.model) if body.model else recipe
