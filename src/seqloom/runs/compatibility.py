"""Compatibility of runs for ensembles and mixtures: same task settings, vocabulary and stepping.

Both average token probabilities, so their models must generate token by token over the same
vocabulary. `experiments/ensemble.py` raises its own errors for `seqloom mix`.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from ..config import with_defaults
from ..errors import ModelError
from ..model import Generator, Model
from ..prediction import SEARCH_FORMS
from ..recipe import Recipe
from ..signature import Bits
from ..task import Task
from ..tasks import TASKS


@runtime_checkable
class ComparableRun(Protocol):
    """The attributes of a run that are compared."""

    @property
    def recipe(self) -> Recipe: ...
    @property
    def task(self) -> Task: ...
    @property
    def model(self) -> Model: ...
    @property
    def name(self) -> str: ...


def generates_tokens(run: ComparableRun) -> bool:
    """Whether the model generates its output token by token."""
    has_tokens = not isinstance(run.model.signature.target, Bits)
    return isinstance(run.model, Generator) and run.task.form in SEARCH_FORMS and has_tokens


def have_same_task(runs: Iterable[ComparableRun]) -> bool:
    """Whether all runs have the same task with the same settings, defaults included."""
    return all(_settings(one) == _settings(other) for one, other in pairwise(runs))


def have_same_vocabulary(runs: Iterable[ComparableRun]) -> bool:
    """Whether the tasks have the same vocabularies."""
    return all(
        one.task.vocabularies() == other.task.vocabularies() for one, other in pairwise(runs)
    )


def task_notes(runs: Iterable[ComparableRun]) -> list[str]:
    """The [task] table of each run, as notes of an error."""
    return [
        f"{run.name}: {', '.join(f'{key} = {value}' for key, value in run.recipe.task.items())}"
        for run in runs
    ]


def _settings(run: ComparableRun) -> tuple[str, dict[str, Any]]:
    name = str(run.recipe.task["name"])
    return name, with_defaults(TASKS.find(name), run.recipe.task)


def require_compatible(runs: Sequence[ComparableRun]) -> None:
    """Raise an error unless the runs can form an ensemble."""
    first, *others = runs
    for run in runs if others else ():
        if not generates_tokens(run):
            raise ModelError(
                "M191",
                f"{run.name} does not generate token by token, so it cannot join an ensemble",
            )
    for other in others:
        both = (first, other)
        if not have_same_task(both):
            raise ModelError(
                "M192",
                f"{first.name} and {other.name} do not tokenize their texts in the same way",
                notes=task_notes(both),
                help=["an ensemble needs runs of one task with the same settings"],
            )
        if not have_same_vocabulary(both):
            raise ModelError(
                "M193",
                f"the vocabularies of {first.name} and {other.name} differ,"
                " so they cannot form an ensemble",
                help=["train them on the same file, with the same [task] and split of [data]"],
            )
