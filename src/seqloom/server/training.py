"""Trainings that are begun, stopped, resumed and deleted through the web."""

import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import StudioError, UsageError
from ..recipe import Recipe
from ..runs.package import rename as rename_folder
from ..runs.record import INSIDE
from ..runs.run import RECIPE
from ..runs.train import new_folder
from .jobs import Order, holder, interrupt
from .recipes import recipe_of, with_known_files
from .run_store import State, stands
from .schemas.requests import Started
from .snippets import written
from .state import Studio

STOP_SECONDS, POLL_SECONDS = 60.0, 0.1
OVER = ("finished", "stopped", "diverged", "crashed", "vanished", "damaged")


def begin(studio: Studio, asked: Started) -> dict[str, Any]:
    """Train every recipe, one after another; all are checked before the first begins."""
    if asked.names and len(asked.names) != len(asked.recipes):
        raise StudioError(
            "S242", f"{len(asked.names)} names for {len(asked.recipes)} recipes do not go together"
        )
    recipes = [recipe_of(studio, one, asked.file_settings) for one in asked.recipes]
    names = _names(studio, recipes, asked.names)
    orders = [
        Order(
            run=name,
            task=str(recipe.task["name"]),
            model=str(recipe.model["name"]),
            arguments=("--name", name),
            recipe=recipe.to_toml(),
        )
        for name, recipe in zip(names, recipes, strict=True)
    ]
    return {"job": studio.jobs.start(orders), "runs": names}


def go_on(studio: Studio, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Resume a run from its last checkpoint."""
    folder = studio.shelf.folder(name)
    _must_be_over(studio, name)
    recipe = Recipe.read(folder / RECIPE)
    if settings:
        changed = with_known_files(studio, recipe.with_settings(settings))
        for table in ("task", "model"):
            if getattr(changed, table) != getattr(recipe, table):
                raise UsageError(
                    "U010",
                    f"[{table}] cannot change in a run that goes on",
                    help=["train a new run with this setting"],
                )
        changed.checked()
    given = [word for path, value in settings.items() for word in ("--set", _set(path, value))]
    order = Order(
        run=name,
        task=str(recipe.task.get("name", "")),
        model=str(recipe.model.get("name", "")),
        arguments=("--resume", str(folder.resolve()), *given),
    )
    return {"job": studio.jobs.start([order]), "runs": [name]}


def stop(studio: Studio, name: str, *, discard: bool) -> State:
    """End a training as Ctrl-C does; what it has learned is kept, unless it is to be discarded."""
    folder, step = studio.shelf.known(name)
    state = stands(studio.shelf.record(folder) if folder else None, step)
    if state in OVER and not discard:
        raise StudioError("S261", f"{name} is not being trained: it is {state}", status=409)
    if folder is not None and (pid := holder(folder)) is not None:
        interrupt(pid)
    elif step is not None and state == "waiting":
        studio.jobs.stop(step)
    if discard and _is_left_over(studio, name):
        delete(studio, name)
    return state


def _is_left_over(studio: Studio, name: str) -> bool:
    """Wait until nothing trains a run any more; whether there is anything of it then.

    The folder is free a moment before the job has noted how the training ended.
    """
    end = time.monotonic() + STOP_SECONDS
    while True:
        try:
            state = studio.shelf.state(name)
        except UsageError:
            return False
        if state in OVER:
            return True
        if time.monotonic() > end:
            raise StudioError(
                "S263",
                f"{name} is still being trained {STOP_SECONDS:.0f} s after it was stopped",
                status=409,
                help=["try again when its step is done"],
            )
        time.sleep(POLL_SECONDS)


def delete(studio: Studio, name: str) -> None:
    """Delete a run and all that was kept of it."""
    folder, _ = studio.shelf.known(name)
    _must_be_over(studio, name)
    studio.loaded.forget(name)
    studio.jobs.forget(name)
    if folder is not None:
        _remove(folder)


def rename(studio: Studio, name: str, wanted: str) -> str:
    """Give a run another name; what jobs know of it goes with it."""
    folder = studio.shelf.folder(name)
    _must_be_over(studio, name)
    if INSIDE in name:
        whole = name.split(INSIDE)[0]
        raise StudioError("S265", f"{folder.name} is a part of {whole}", status=409)
    if wanted in studio.shelf.ids():
        raise UsageError("U009", f"there is a run called {wanted!r} already")
    rename_folder(folder, wanted)
    studio.loaded.forget(name)
    studio.jobs.rename(name, wanted)
    return wanted


def _remove(folder: Path) -> None:
    """A folder; of one that lies elsewhere only the link to it."""
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder)


def _must_be_over(studio: Studio, name: str) -> None:
    if (state := studio.shelf.state(name)) not in OVER:
        told = "is being trained" if state == "running" else "waits to be trained"
        raise StudioError("S260", f"{name} {told}", status=409, help=["stop it first"])


def _names(studio: Studio, recipes: Sequence[Recipe], given: Sequence[str]) -> list[str]:
    """What the runs are called; those that are not named have the next free number."""
    taken, found = set(studio.shelf.ids()), list[str]()
    for place, recipe in enumerate(recipes):
        if given:
            name = new_folder(recipe, given[place], studio.settings.runs).name
            if name in taken:
                raise UsageError("U009", f"there is a run called {name!r} already")
        else:
            name = _numbered(studio, recipe, taken)
        taken.add(name)
        found.append(name)
    return found


def _numbered(studio: Studio, recipe: Recipe, taken: set[str]) -> str:
    stem, number = re.sub(r"[^a-z0-9]+", "-", str(recipe.model["name"]).lower()), 1
    while f"{stem}-{number}" in taken or (studio.settings.runs / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"


def _set(path: str, value: Any) -> str:
    return f"{path}={written(value)}"
