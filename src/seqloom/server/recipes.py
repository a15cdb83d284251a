"""Recipes that come through the web: checked as the command line checks them, and more closely.

A web page must not choose which files of the computer are read, or which Python files are run: data
are data sets that were given to the studio, or files that a run in the folder already learned from.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import StudioError, UsageError
from ..models import MODELS
from ..recipe import FILES, Recipe, shipped
from ..runs.train import named
from ..tasks import TASKS
from .run_store import must_be_listed
from .schemas.requests import RecipeAsked
from .snippets import shortened, training
from .state import Studio

LISTED: dict[str, Iterable[str]] = {"task": TASKS, "model": MODELS}


def recipe_of(studio: Studio, asked: RecipeAsked, settings: Mapping[str, Any]) -> Recipe:
    """The whole recipe, or everything that is wrong with it."""
    laid = {**asked.settings, **settings}
    for table, names in LISTED.items():  # before anything is imported
        if f"{table}.name" in laid:
            must_be_listed(table, laid[f"{table}.name"], names)
    recipe = _of_names(asked, laid) if asked.toml is None else _of_toml(asked.toml, asked.model)
    if asked.data:
        recipe = recipe.with_settings({"data.train": asked.data})
    recipe = with_known_files(studio, recipe.with_settings(laid))
    _must_name_listed(recipe)
    whole = recipe.checked()
    if TASKS[str(whole.task["name"])].roles and not whole.data["train"]:
        raise UsageError("U007", "there is no training file", help=["choose a data set"])
    return whole


def answered(recipe: Recipe) -> dict[str, Any]:
    """A recipe in every form that a page shows."""
    return {
        "toml": recipe.to_toml(),
        "short_toml": shortened(recipe).to_toml(),
        "command": training(recipe),
        "problems": [],
        "tables": {
            table: getattr(recipe, table) for table in ("data", "task", "model", "training")
        },
    }


def with_known_files(studio: Studio, recipe: Recipe) -> Recipe:
    """The recipe with the paths of its data sets; files that nobody gave are refused."""
    given = {one.id: str(one.path.resolve()) for one in studio.datasets.all()}
    known = {*given.values(), *_learned_from(studio)}
    laid: dict[str, Any] = {}
    for table, names in FILES.items():
        for name in names:
            file = getattr(recipe, table).get(name)
            if not isinstance(file, str) or not file:
                continue
            path = given.get(file, file)
            if path not in known and str(Path(path).absolute()) not in known:
                raise StudioError(
                    "S252",
                    f"[{table}] {name} = {file[:200]!r} is no data set of the studio",
                    notes=["Pages may not choose among the files of this computer."],
                    help=["drop the file on the first page", "seqloom train   reads any file"],
                )
            laid[f"{table}.{name}"] = path
    return recipe.with_settings(laid)


def _learned_from(studio: Studio) -> set[str]:
    """Every file that a run of the folder names: its owner has chosen it before."""
    found = set()
    for folder in studio.shelf.folders().values():
        recipe = studio.shelf.record(folder).recipe
        for table, names in FILES.items():
            found |= {getattr(recipe, table).get(name) for name in names}
    return {file for file in found if isinstance(file, str) and file}


def _of_toml(text: str, model: str | None) -> Recipe:
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("U004", f"the recipe is not TOML: {error}") from error
    recipe = Recipe.of_tables(tables, "recipe")
    if model:
        must_be_listed("model", model, MODELS)
        return recipe.with_model(model)
    return recipe


def _must_name_listed(recipe: Recipe) -> None:
    for table, names in LISTED.items():
        if "name" in getattr(recipe, table):
            must_be_listed(table, getattr(recipe, table)["name"], names)


def _of_names(asked: RecipeAsked, settings: Mapping[str, Any]) -> Recipe:
    """A task with a model, or a recipe that comes with Seqloom."""
    if asked.task is None:
        help = ["send toml, or a task with a data set"]
        raise UsageError("U006", "neither a recipe nor a task was given", help=help)
    must_be_listed("task", asked.task, [*TASKS, *shipped()])
    if asked.model:
        must_be_listed("model", asked.model, MODELS)
    recipe = named(asked.task, "", settings, asked.model or "")
    return recipe.with_model(asked.model) if asked.model else recipe
