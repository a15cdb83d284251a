"""Snapshots of training: views of a model on the same few inputs, saved at evaluations.

RUN/probes/step-00000400.json     {step, inputs: [{text, answer, views: {kind: view}}]}
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ModelError, SeqloomError, UsageError
from ..inference.forecast import truncate_at_origin
from ..model import Model
from ..signature import Form
from ..task import Task
from ..training.files import write_whole
from ..training.stopwatch import cpu_seconds
from ..views import View
from .context import InspectedModel, Inspection
from .options import InspectionOptions
from .registry import VIEW_KINDS
from .replay import VIEW_BUILDERS, rebuild_view

FOLDER = "probes"
MAX_SNAPSHOTS = 40  # files: the first, the last, and evenly spaced ones between
MAX_TOKENS, MAX_CELLS, MAX_PAST = 64, 32, 64  # of an input, of a layer, of a series
# Snapshots may take this fraction of the time of training, and these seconds beside.
TIME_FRACTION, EXTRA_SECONDS = 0.02, 10.0
DIGITS = 4


class SnapshotWriter:
    """Saves views of a few inputs in a run folder at every evaluation."""

    def __init__(
        self, folder: Path, model: Model, task: Task, examples: Sequence[Any], count: int
    ) -> None:
        self.folder = folder / FOLDER
        self.subject = InspectedModel(model, task, folder.name)
        self.questions = _questions(task, examples, count)
        self._began, self._spent = cpu_seconds(), 0.0

    def save(self, step: int) -> None:
        """Save views of all inputs, unless snapshots have taken too much time already."""
        began = cpu_seconds()
        allowed = EXTRA_SECONDS + TIME_FRACTION * (began - self._began)
        if not self.questions or self._spent > allowed:
            return
        inputs = [self._views(text, question, step) for text, question in self.questions]
        text = json.dumps({"step": step, "inputs": inputs}, ensure_ascii=False, allow_nan=False)
        content = text.encode("utf-8", "backslashreplace")
        write_whole(self.folder / f"step-{step:08}.json", content)
        thin_out(self.folder)
        self._spent += cpu_seconds() - began

    def _views(self, text: str, question: Any, step: int) -> dict[str, Any]:
        inspection = Inspection(self.subject, question, InspectionOptions())
        views = {}
        for kind in self._kinds():
            try:
                view = VIEW_KINDS[kind].of(inspection).to_json()
            except (SeqloomError, ValueError, ArithmeticError):
                continue  # a view that cannot be made must not stop training
            views[kind] = {**_small(view), "step": step}
        has_answer = self.subject.form not in (Form.NEXT, Form.FORECAST)
        answer = self.subject.task.show(inspection.answer) if has_answer else ""
        return {"text": text, "answer": answer, "views": views}

    def _kinds(self) -> list[str]:
        """The kinds that can be rebuilt from JSON."""
        return [kind for kind in VIEW_BUILDERS if VIEW_KINDS[kind].can(self.subject)]


def delete_after(folder: Path, step: int) -> None:
    """Delete the snapshots after a step, from which training is resumed."""
    for path in _files(folder / FOLDER):
        if _step(path) > step:
            path.unlink()


def thin_out(folder: Path) -> None:
    """Delete snapshots until there are few enough: those closest to their neighbours."""
    paths = _files(folder)
    while len(paths) > MAX_SNAPSHOTS:
        gaps = [_step(paths[n + 1]) - _step(paths[n - 1]) for n in range(1, len(paths) - 1)]
        paths.pop(gaps.index(min(gaps)) + 1).unlink()


def saved_snapshots(folder: Path) -> dict[str, Any]:
    """The steps of the snapshots, and the texts of their inputs."""
    paths = _files(folder / FOLDER)
    inputs = [one["text"] for one in _read(paths[-1])["inputs"]] if paths else []
    return {"steps": [_step(path) for path in paths], "inputs": inputs}


def load_snapshot(
    folder: Path, name: str, text: str, options: InspectionOptions, step: int
) -> View:
    """The view of an input as it was at a step of training."""
    path = folder / FOLDER / f"step-{step:08}.json"
    steps = saved_snapshots(folder)["steps"]
    if not path.is_file():
        listed = ", ".join(map(str, steps)) if len(steps) <= 8 else f"{steps[0]} … {steps[-1]}"
        help = f"there are: {listed}" if steps else "train with training.probes above 0"
        raise UsageError("U352", f"{name} has no snapshot of step {step}", help=[help])
    inputs = {one["text"]: one["views"] for one in _read(path)["inputs"]}
    if text not in inputs:
        known = [f"--text {other!r}" for other in inputs]
        raise UsageError("U352", f"{text!r} is not an input of the snapshots", help=known)
    views = inputs[text]
    view = options.view or next(iter(views), "")
    if view not in views:
        able = ", ".join(views) or "nothing"
        raise ModelError(
            "M114", f"the snapshots of {name} have no view {view}", help=[f"they have: {able}"]
        )
    stored = views[view]
    if other := [name for name in options.changed() if stored.get(name) != getattr(options, name)]:
        raise UsageError("U352", f"{other[0]}: snapshots are saved with default options", help=[])
    return rebuild_view(stored)


def _questions(task: Task, examples: Sequence[Any], count: int) -> list[tuple[str, Any]]:
    """A few short examples, evenly spaced over the file, by their text."""
    chosen: dict[str, Any] = {}
    if not count:
        return []
    stride = max(1, len(examples) // (4 * count))
    for example in list(examples)[::stride]:
        text, question = _question(task, example)
        if text.strip() and text not in chosen and question is not None:
            chosen[text] = question
        if len(chosen) == count:
            break
    return list(chosen.items())


def _question(task: Task, example: Any) -> tuple[str, Any]:
    """The text of an example, and the example as a question; None where it is too long."""
    if task.form is Form.FORECAST:
        series = truncate_at_origin(example)
        late = slice(-MAX_PAST, None)
        last = series.times[-1] if series.times else str(len(series))
        cut = replace(
            series,
            values=series.values[late],
            known=series.known[late],
            times=series.times[late],
        )
        return f"{series.name or 'series'} up to {last}", [cut] if len(series) else None
    text = task.show_question(example)
    if task.form is Form.NEXT and task.continuous:
        text = text[:MAX_TOKENS]
        return text, task.question(text)
    return text, example if 0 < task.length(example) < MAX_TOKENS else None


def _small(view: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a view with fewer cells and digits."""
    if view["view"] == "states":
        view = {**view, "values": [row[:MAX_CELLS] for row in view["values"]]}
        view["order"] = [cell for cell in view["order"] if cell < MAX_CELLS]
    if view["view"] == "gates":
        gates = {
            name: {**one, "values": [row[:MAX_CELLS] for row in one["values"]]}
            for name, one in view["gates"].items()
        }
        view = {**view, "gates": gates, "order": [c for c in view["order"] if c < MAX_CELLS]}
    rounded: dict[str, Any] = _rounded(view)
    return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, float) and value:
        digits = DIGITS - 1 - math.floor(math.log10(abs(value)))
        return round(value, max(DIGITS, min(12, digits)) if abs(value) < 1 else DIGITS)
    return value


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*.json")) if folder.is_dir() else []


def _step(path: Path) -> int:
    return int(path.stem.removeprefix("step-"))


def _read(path: Path) -> dict[str, Any]:
    try:
        snapshot = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(snapshot, dict) or not isinstance(snapshot["inputs"], list):
            raise ValueError("it lacks a part")
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            "M113", f"{path} is damaged", notes=[str(error)], help=["delete the file"]
        ) from error
    return snapshot
