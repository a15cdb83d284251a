"""What a resumed run goes on from, and which settings may change in it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, TrainingError
from ..model import Model
from ..recipe import Recipe
from ..task import Task
from ..training.checkpoints import load_arrays, unreadable
from ..training.learner import Snapshot
from .run import CHECKPOINT, WEIGHTS

GOOD_CHECKPOINT = CHECKPOINT.with_name("good.safetensors")
COMPARED = 8  # training examples by which two models are found to be the same


def last_checkpoint(folder: Path) -> tuple[Snapshot, list[str]]:
    """The checkpoint to go on from, and notes; an empty one if there is none yet.

    If the last checkpoint is damaged, it is the last good one.
    """
    last, good = folder / CHECKPOINT, folder / GOOD_CHECKPOINT
    if not (last.exists() or good.exists()):
        return Snapshot(), []
    try:
        return _load(last), []
    except ModelError as error:
        try:
            snapshot = _load(good)
        except ModelError:
            raise error from None
    step = snapshot.facts["standing"]["step"]
    what = "is damaged" if last.exists() else "is missing"
    return snapshot, [f"{CHECKPOINT} {what}: training goes on from {good.name}, of step {step:,}"]


def _load(path: Path) -> Snapshot:
    snapshot = load_arrays(path)
    if "standing" not in snapshot.facts:
        raise unreadable(path, ValueError("it has no counters"))
    return snapshot


def refuse_task_options(before: Recipe, after: Recipe, fingerprint: Mapping[str, str]) -> None:
    """Raise an error if an option of the task has changed.

    Options in the fingerprint, which generate the examples, are data: they are compared with it.
    """
    if changed := [name for name in _changed(before, after, "task") if name not in fingerprint]:
        raise _cannot_change("task", changed, "the examples would be read in another way")


def require_same_model(
    folder: Path, before: Recipe, after: Recipe, task: Task, examples: Sequence[Any]
) -> None:
    """Raise an error unless the weights fit the model with its new options, and mean the same.

    Options that act in training alone, such as dropout, may change. Which ones these are is found
    by comparing the probabilities of a few examples.
    """
    changed = _changed(before, after, "model")
    if not changed:
        return
    if "name" in changed:
        raise _cannot_change("model", ["name"], "the weights would not fit")
    one, other = (recipe.build_model(task.signature()) for recipe in (before, after))
    is_trained = (folder / WEIGHTS).exists()
    if is_trained:
        one.restore(load_arrays(folder / WEIGHTS).arrays)
    try:
        other.restore(one.weights())
    except ModelError as error:
        raise _cannot_change("model", changed, "the weights would not fit") from error
    if is_trained and not _agree(one, other, task, examples[:COMPARED]):
        raise _cannot_change("model", changed, "the same weights would be another model")


def _agree(one: Model, other: Model, task: Task, examples: Sequence[Any]) -> bool:
    batch, found = task.batch(list(examples)), []
    for model in (one, other):
        with model.inference_mode():
            found.append(np.asarray(model.log_prob(batch)))
    return np.array_equal(found[0], found[1], equal_nan=True)


def _changed(before: Recipe, after: Recipe, table: str) -> list[str]:
    """The options of a table that differ between two recipes."""
    old, new = (getattr(recipe.checked(), table) for recipe in (before, after))
    return [name for name in (old | new) if old.get(name) != new.get(name)]


def _cannot_change(table: str, names: Sequence[str], why: str) -> TrainingError:
    paths = [f"{table}.{name}" for name in names]
    return TrainingError(
        "T122",
        f"{', '.join(paths)} cannot change in a run that is resumed: {why}",
        notes=["The run is as it was."],
        help=[f"leave out --set {paths[0]}", "seqloom train TASK FILE   trains a new run"],
    )
