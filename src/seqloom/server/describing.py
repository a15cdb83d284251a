"""One run in full, from its files and from what the job says that works on it."""

from pathlib import Path
from typing import Any, cast

from ..card import metrics_in
from ..climbed import RESULT, read_climbed
from ..errors import SeqloomError
from ..recipe import TABLES, Recipe
from ..record import Record
from ..run import CHECKPOINT, RECIPE
from .commands import gone, resuming, training
from .jobs import Step
from .problems import problem_of_dict
from .shelf import probes_of, stands, waiting_row
from .studio import Studio

RESUMABLE = ("stopped", "vanished", "crashed", "diverged", "finished")


def described(studio: Studio, name: str, folder: Path, step: Step | None) -> dict[str, Any]:
    """A run that has begun."""
    record = studio.shelf.record(folder)
    state, best = stands(record, step), record.best or {}
    recipe = record.recipe
    return {
        **studio.shelf.row(name, folder, step),
        "recipe": {table: getattr(recipe, table) for table in TABLES},
        "toml": recipe.to_toml() if record.state != "damaged" else _text(folder),
        "start": record.start,
        "evaluations": len(record.evaluations),
        "best_step": best.get("step"),
        "best_metrics": metrics_in(best),
        "test": _test(folder, step),
        "job": _job(step),
        "resume_command": resuming(folder, studio.settings.runs),
        "error": _error(record, step, state),
        "can_resume": state in RESUMABLE and record.state != "damaged",
        "checkpoint_step": _saved(record) if (folder / CHECKPOINT).exists() else None,
        "probes": probes_of(folder),
        "folder": str(folder),
    }


def waiting(studio: Studio, name: str, step: Step | None) -> dict[str, Any]:
    """A run that has no folder yet: it waits, or it ended before it could begin."""
    if step is None:
        raise studio.shelf.missing(name)
    recipe = _ordered(step)
    state = stands(None, step)
    return {
        **waiting_row(name, step),
        "recipe": {table: getattr(recipe, table) for table in TABLES},
        "toml": recipe.to_toml(),
        "start": {},
        "evaluations": 0,
        "best_step": None,
        "best_metrics": {},
        "test": None,
        "job": _job(step),
        "resume_command": "",
        "error": problem_of_job(step) if state in ("crashed", "vanished") else None,
        "can_resume": False,
        "checkpoint_step": None,
        "probes": {"steps": [], "inputs": [], "views": []},
        "folder": str(studio.settings.runs / name),
    }


def command_of(studio: Studio, name: str) -> dict[str, Any]:
    """What would train a run again; nothing for one that was made of others, not trained."""
    folder, step = studio.shelf.known(name)
    record = studio.shelf.record(folder) if folder is not None else None
    if record is not None and (record.state == "damaged" or record.start.get("converted")):
        return {"command": "", "missing": []}
    if record is None and step is None:
        raise studio.shelf.missing(name)
    recipe = record.recipe if record is not None else _ordered(cast(Step, step))
    return {"command": training(recipe), "missing": gone(recipe)}


def problem_of_job(step: Step) -> dict[str, Any] | None:
    """The error that ended a training, as a problem; None where it said nothing."""
    told = step.error()
    return None if told is None else problem_of_dict(told)


def _error(record: Record, step: Step | None, state: str) -> dict[str, Any] | None:
    """What ended a run: divergence stands among its events, the rest in the log."""
    if state == "diverged" and record.events:
        return problem_of_dict(record.events[-1])
    return problem_of_job(step) if state == "crashed" and step is not None else None


def _job(step: Step | None) -> dict[str, Any] | None:
    return None if step is None else {"log": step.log(), "exit_code": step.exit_code}


def _test(folder: Path, step: Step | None) -> dict[str, Any] | None:
    """How a run did on its test part: a rung or a fold keeps it, and so does a job."""
    if (folder / RESULT).exists():
        try:
            judged = read_climbed(folder)
        except (SeqloomError, KeyError, TypeError, ValueError):
            judged = None
        if judged is not None:
            return {name: vars(value) for name, value in judged.measured.items()}
    result = step.result() if step is not None else None
    return result.get("test") if result else None


def _saved(record: Record) -> int | None:
    """The step of the last checkpoint."""
    steps = [event["step"] for event in record.events if event["kind"] == "checkpoint"]
    return steps[-1] if steps else None


def _ordered(step: Step) -> Recipe:
    """The recipe that a job was given."""
    try:
        return Recipe.read(step.folder / f"{step.stem}.toml")
    except SeqloomError:
        return Recipe(task={"name": step.task}, model={"name": step.model})


def _text(folder: Path) -> str:
    """A recipe that cannot be read, as it is."""
    try:
        return (folder / RECIPE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
