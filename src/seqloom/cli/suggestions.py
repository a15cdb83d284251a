"""Commands that messages suggest: each works as it is printed, where it is printed."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path
from shlex import quote
from typing import Any

from ..data.formats.parallel_names import files_of
from ..data.options import Data
from ..experiments.ladder import ladders
from ..model import EMTrained, GradientTrained
from ..recipe import Recipe
from ..runs.code import run_task
from ..runs.names import RECIPE, file_argument, run_argument
from ..runs.record import Record
from ..runs.run import Run
from ..signature import Columns, Form, Tokens
from ..task import Task
from .inputs import is_file
from .terminal import visible

LONGEST_EXAMPLE = 40  # characters of an input in a command


def prediction_command(
    folder: Path, recipe: Recipe, task: Task, examples: Iterable[Any] = ()
) -> str:
    """The command that uses a run: on the shortest of some examples, or else on its own file."""
    command = f"seqloom {task.verb} {run_argument(folder)}"
    if task.form is Form.NEXT:
        return command
    takes_texts = isinstance(task.signature().source, Tokens | Columns)
    shown = [task.show_question(example) for example in examples] if takes_texts else []
    if handy := [text for text in shown if _is_handy(text)]:
        return f"{command} {quote(min(handy, key=len))}"
    if file := recipe.data.get("test") or recipe.data.get("train"):
        return " ".join([command, file_argument(file), *_reading(recipe, task)])
    return f"seqloom evaluate {run_argument(folder)}"


def prediction_with(folder: Path) -> str:
    """The command that uses the run of a folder, on its own file."""
    return prediction_command(folder, Recipe.read(folder / RECIPE), run_task(folder))


def improve(run: Run, record: Record) -> str:
    """What to do about a model that is not better than the baseline, as a command."""
    best, task = record.best or {}, run.recipe.task["name"]
    is_gradual = isinstance(run.model, GradientTrained | EMTrained)
    if is_gradual and best and best["step"] == record.events[-1]["step"]:
        again = f"seqloom train --resume {run_argument(run.folder)}"
        return f"it was still improving; train longer:  {again} {_longer(run.recipe, best)}"
    if task in ladders() and run.recipe.data.get("train"):
        given = " ".join(["seqloom ladder", task, *data_arguments(run.recipe)])
        return f"try other models:  {given}"
    return "try other models:  seqloom models"


def data_arguments(recipe: Recipe) -> list[str]:
    """The training file of a recipe, and how it is read, as arguments of a command."""
    usual, given = Data(), recipe.data
    named = {name: given.get(name, "") for name in ("format", "encoding", "columns")}
    read = [
        f"--{name} {quote(str(value))}"
        for name, value in named.items()
        if value and value != getattr(usual, name)
    ]
    read += ["--skip-bad"] * bool(given.get("skip_bad"))
    return [*(file_argument(file) for file in files_of(given["train"])), *read]


def folder_arguments(folders: Sequence[Path]) -> str:
    """The names of runs as arguments."""
    return " ".join(map(run_argument, folders))


def _is_handy(text: str) -> bool:
    """Whether a text is short, can be typed, and is neither an option nor the name of a file."""
    is_typed = visible(text) == text and bool(text.strip()) and not text.startswith("-")
    return len(text) <= LONGEST_EXAMPLE and is_typed and not is_file(text)


def _reading(recipe: Recipe, task: Task) -> list[str]:
    """How `predict` reads the file of a recipe, where it does not ask the recipe itself."""
    if task.form is Form.FORECAST:
        return []
    usual, names = Data(), ("encoding",) if task.reads_series else ("encoding", "format")
    given = {name: recipe.data.get(name, "") for name in names}
    return [
        f"--{name} {quote(str(value))}"
        for name, value in given.items()
        if value and value != getattr(usual, name)
    ]


def _longer(recipe: Recipe, last: Mapping[str, Any]) -> str:
    """The settings with which a finished run goes on: without its limit, or twice the passes."""
    if recipe.training.get("max_steps"):
        return "--set training.max_steps=0"
    if recipe.training.get("max_time"):
        return "--set training.max_time=''"
    return f"--set training.epochs={2 * ceil(last['epoch'])}"
