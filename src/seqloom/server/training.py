"""Start, stop, resume, rename and delete runs."""

import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import StudioError, UsageError
from ..recipe import Recipe
from ..runs.code import run_recipe
from ..runs.command import to_toml_value
from ..runs.package import rename as rename_folder
from ..runs.record import SEPARATOR
from ..runs.train import new_folder
from ..training.files import cannot_write
from .jobs import TrainingRequest, interrupt, lock_owner
from .recipes import recipe_of, with_known_files
from .run_store import RunState, run_state
from .schemas.requests import TrainRequest
from .state import Studio

STOP_SECONDS, POLL_SECONDS = 60.0, 0.1
OVER = ("finished", "stopped", "diverged", "crashed", "vanished", "damaged")


def start(studio: Studio, body: TrainRequest) -> dict[str, Any]:
    """Train all recipes in order; all are checked before the first starts."""
    if body.names and len(body.names) != len(body.recipes):
        raise StudioError(
            "S242", f"{len(body.names)} names for {len(body.recipes)} recipes: give one name each"
        )
    recipes = [recipe_of(studio, one, body.file_settings) for one in body.recipes]
    with studio.changes:  # two requests must not choose the same name
        return _start(studio, recipes, _names(studio, recipes, body.names))


def _start(studio: Studio, recipes: Sequence[Recipe], names: list[str]) -> dict[str, Any]:
    requests = [
        TrainingRequest(
            run=name,
            task=str(recipe.task["name"]),
            model=str(recipe.model["name"]),
            arguments=("--name", name),
            recipe=recipe.to_toml(),
        )
        for name, recipe in zip(names, recipes, strict=True)
    ]
    return {"job": studio.jobs.start(requests), "runs": names}


def resume(studio: Studio, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Resume a run from its last checkpoint."""
    folder = studio.run_store.folder(name)
    recipe = run_recipe(folder)
    if settings:
        changed = with_known_files(studio, recipe.with_settings(settings))
        for table in ("task", "model"):
            if getattr(changed, table) != getattr(recipe, table):
                raise UsageError(
                    "U010",
                    f"[{table}] cannot change in a run that is resumed",
                    help=["train a new run with this setting"],
                )
        changed.checked()
    overrides = [word for path, value in settings.items() for word in ("--set", _set(path, value))]
    request = TrainingRequest(
        run=name,
        task=str(recipe.task.get("name", "")),
        model=str(recipe.model.get("name", "")),
        arguments=("--resume", str(folder.resolve()), *overrides),
    )
    with studio.changes:
        _check_not_training(studio, name)
        return {"job": studio.jobs.start([request]), "runs": [name]}


def stop(studio: Studio, name: str, *, discard: bool) -> RunState:
    """Interrupt a training as Ctrl-C does; the run is kept unless `discard` is set."""
    folder, step = studio.run_store.find(name)
    state = run_state(studio.run_store.record(folder) if folder else None, step)
    if state in OVER and not discard:
        raise StudioError("S261", f"{name} is not training: its state is {state}", status=409)
    if folder is not None and (pid := lock_owner(folder)) is not None:
        interrupt(pid)
    elif step is not None and state in ("waiting", "running"):
        studio.jobs.stop(step)
    if discard and _exists_when_over(studio, name):
        delete(studio, name)
    return state


def _exists_when_over(studio: Studio, name: str) -> bool:
    """Wait until a training has ended; whether the run still exists then.

    The lock of the folder is free a moment before the job has recorded the exit code.
    """
    end = time.monotonic() + STOP_SECONDS
    while True:
        try:
            state = studio.run_store.state(name)
        except UsageError:
            return False
        if state in OVER:
            return True
        if time.monotonic() > end:
            raise StudioError(
                "S263",
                f"{name} is still training {STOP_SECONDS:.0f} s after it was stopped",
                status=409,
                help=["try again when the current training step is done"],
            )
        time.sleep(POLL_SECONDS)


def delete(studio: Studio, name: str) -> None:
    """Delete a run with all its files."""
    with studio.changes:
        folder, _ = studio.run_store.find(name)
        _check_not_training(studio, name)
        studio.model_cache.forget(name)
        studio.jobs.forget(name)
        if folder is not None:
            _remove(folder)


def rename(studio: Studio, name: str, wanted: str) -> str:
    """Rename a run, in its jobs as well."""
    with studio.changes:
        return _rename(studio, name, wanted)


def _rename(studio: Studio, name: str, wanted: str) -> str:
    folder = studio.run_store.folder(name)
    _check_not_training(studio, name)
    if SEPARATOR in name:
        parent = name.split(SEPARATOR)[0]
        raise StudioError("S265", f"{folder.name} is a part of {parent}", status=409)
    if wanted in studio.run_store.ids():
        raise UsageError("U009", f"there is a run called {wanted!r} already")
    rename_folder(folder, wanted)
    studio.model_cache.forget(name)
    studio.jobs.rename(name, wanted)
    return wanted


def _remove(folder: Path) -> None:
    """Delete a folder; of a symbolic link only the link."""
    try:
        if folder.is_symlink():
            folder.unlink()
        else:
            shutil.rmtree(folder)
    except FileNotFoundError:
        pass  # somebody else has deleted it
    except OSError as error:
        raise cannot_write(folder, error) from error


def _check_not_training(studio: Studio, name: str) -> None:
    if (state := studio.run_store.state(name)) not in OVER:
        reason = "is training" if state == "running" else "is queued for training"
        raise StudioError("S260", f"{name} {reason}", status=409, help=["stop it first"])


def _names(studio: Studio, recipes: Sequence[Recipe], given: Sequence[str]) -> list[str]:
    """The names of new runs; without given names the model's with the next free number."""
    taken, names = set(studio.run_store.ids()), list[str]()
    for index, recipe in enumerate(recipes):
        if given:
            name = new_folder(recipe, given[index], studio.settings.runs).name
            if name in taken:
                raise UsageError("U009", f"there is a run called {name!r} already")
        else:
            name = _numbered(studio, recipe, taken)
        taken.add(name)
        names.append(name)
    return names


def _numbered(studio: Studio, recipe: Recipe, taken: set[str]) -> str:
    stem, number = re.sub(r"[^a-z0-9]+", "-", str(recipe.model["name"]).lower()), 1
    while f"{stem}-{number}" in taken or (studio.settings.runs / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"


def _set(path: str, value: Any) -> str:
    return f"{path}={to_toml_value(value)}"
