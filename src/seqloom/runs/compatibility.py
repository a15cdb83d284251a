"""Whether runs can answer as one: the same task, read in the same way, by models that go in steps.

Asked before two runs are mixed and before several answer together; each says it in its own words.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from ..config import filled
from ..errors import ModelError
from ..model import Generator, Model
from ..prediction import SEARCHED
from ..recipe import Recipe
from ..signature import Bits
from ..task import Task
from ..tasks import TASKS


@runtime_checkable
class Answering(Protocol):
    """What has to agree of a run."""

    @property
    def recipe(self) -> Recipe: ...
    @property
    def task(self) -> Task: ...
    @property
    def model(self) -> Model: ...
    @property
    def name(self) -> str: ...


def goes_by_symbols(run: Answering) -> bool:
    """Whether its model writes an answer symbol by symbol."""
    is_written = not isinstance(run.model.signature.target, Bits)
    return isinstance(run.model, Generator) and run.task.form in SEARCHED and is_written


def is_read_alike(runs: Iterable[Answering]) -> bool:
    """Whether all are runs of one task with the same settings, defaults filled in."""
    return all(_settings(one) == _settings(other) for one, other in pairwise(runs))


def has_same_symbols(runs: Iterable[Answering]) -> bool:
    """Whether the tasks learned the same vocabularies."""
    return all(one.task.state() == other.task.state() for one, other in pairwise(runs))


def told(runs: Iterable[Answering]) -> list[str]:
    """The [task] of each run, for a note."""
    return [
        f"{run.name}: {', '.join(f'{key} = {value}' for key, value in run.recipe.task.items())}"
        for run in runs
    ]


def _settings(run: Answering) -> tuple[str, dict[str, Any]]:
    name = str(run.recipe.task["name"])
    return name, filled(TASKS.find(name), run.recipe.task)


def must_agree(runs: Sequence[Answering]) -> None:
    """Refuse runs that cannot answer together: the symbols of one must be those of the others."""
    first, *others = runs
    for run in runs if others else ():
        if not goes_by_symbols(run):
            raise ModelError(
                "M191", f"{run.name} does not answer symbol by symbol, so no other can join it"
            )
    for other in others:
        both = (first, other)
        if not is_read_alike(both):
            raise ModelError(
                "M192",
                f"{first.name} and {other.name} do not cut their texts into the same symbols",
                notes=told(both),
                help=["only runs of one task with the same settings can answer together"],
            )
        if not has_same_symbols(both):
            raise ModelError(
                "M193",
                f"the vocabularies of {first.name} and {other.name} differ,"
                " so they cannot answer together",
                help=["train them on the same file, with the same [task] and split of [data]"],
            )
