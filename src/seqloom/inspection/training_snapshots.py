"""What happens inside while a model learns: views of the same few inputs, kept at evaluations.

RUN/probes/step-00000400.json     {step, inputs: [{text, answer, views: {kind: view}}]}
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ModelError, SeqloomError, UsageError
from ..inference.forecast import until
from ..model import Model
from ..signature import Form
from ..task import Task
from ..training.checkpoints import write_whole
from ..training.options import worked
from ..views import View
from .context import Looking, Subject
from .options import Inspecting
from .registry import KINDS
from .replay import REBUILT, rebuilt

FOLDER = "probes"
STEPS = 40  # files that are kept: the first, the last, and an even choice of those between
SYMBOLS, CELLS, PAST = 64, 32, 64  # of an input, of a layer and of a series
SHARE, ALLOWANCE = 0.02, 10.0  # of the work of training that probes may take, and seconds beside
DIGITS = 4


class Prober:
    """Keeps views of a few inputs in a folder, whenever it is told that a model was judged."""

    def __init__(
        self, folder: Path, model: Model, task: Task, examples: Sequence[Any], count: int
    ) -> None:
        self.folder = folder / FOLDER
        self.subject = Subject(model, task, folder.name)
        self.questions = _questions(task, examples, count)
        self._began, self._spent = worked(), 0.0

    def keep(self, step: int) -> None:
        """Views of all inputs, unless that has taken too much time already."""
        began = worked()
        allowed = ALLOWANCE + SHARE * (began - self._began)
        if not self.questions or self._spent > allowed:
            return
        inputs = [self._kept(text, question, step) for text, question in self.questions]
        told = json.dumps({"step": step, "inputs": inputs}, ensure_ascii=False, allow_nan=False)
        content = told.encode("utf-8", "backslashreplace")
        write_whole(self.folder / f"step-{step:08}.json", content)
        thin(self.folder)
        self._spent += worked() - began

    def _kept(self, text: str, question: Any, step: int) -> dict[str, Any]:
        looking = Looking(self.subject, question, Inspecting())
        views = {}
        for kind in self._kinds():
            try:
                view = KINDS[kind].of(looking).to_json()
            except (SeqloomError, ValueError, ArithmeticError):
                continue  # what cannot be shown must not stop what is learned
            views[kind] = {**_small(view), "step": step}
        is_told = self.subject.form not in (Form.NEXT, Form.FORECAST)
        answer = self.subject.task.show(looking.answer) if is_told else ""
        return {"text": text, "answer": answer, "views": views}

    def _kinds(self) -> list[str]:
        """Those that can be drawn again."""
        return [kind for kind in REBUILT if KINDS[kind].can(self.subject)]


def forget_after(folder: Path, step: int) -> None:
    """Take away what a training kept that goes back to an earlier step."""
    for path in _files(folder / FOLDER):
        if _step(path) > step:
            path.unlink()


def thin(folder: Path) -> None:
    """Take away files until there are few enough: those that stand closest to their neighbours."""
    paths = _files(folder)
    while len(paths) > STEPS:
        gaps = [_step(paths[n + 1]) - _step(paths[n - 1]) for n in range(1, len(paths) - 1)]
        paths.pop(gaps.index(min(gaps)) + 1).unlink()


def kept(folder: Path) -> dict[str, Any]:
    """The steps of which there are probes, and the texts of the inputs."""
    paths = _files(folder / FOLDER)
    inputs = [one["text"] for one in _read(paths[-1])["inputs"]] if paths else []
    return {"steps": [_step(path) for path in paths], "inputs": inputs}


def probed(folder: Path, name: str, text: str, asked: Inspecting, step: int) -> View:
    """The view of an input as it was at a step."""
    path = folder / FOLDER / f"step-{step:08}.json"
    steps = kept(folder)["steps"]
    if not path.is_file():
        listed = ", ".join(map(str, steps)) if len(steps) <= 8 else f"{steps[0]} … {steps[-1]}"
        help = f"there are: {listed}" if steps else "train with training.probes above 0"
        raise UsageError("U352", f"no probes of step {step} were kept of {name}", help=[help])
    inputs = {one["text"]: one["views"] for one in _read(path)["inputs"]}
    if text not in inputs:
        known = [f"--text {other!r}" for other in inputs]
        raise UsageError("U352", f"{text!r} is none of the inputs that were probed", help=known)
    views = inputs[text]
    view = asked.view or next(iter(views), "")
    if view not in views:
        able = ", ".join(views) or "nothing"
        raise ModelError(
            "M114", f"the probes of {name} show no {view}", help=[f"they show: {able}"]
        )
    told = views[view]
    if strange := [n for n in asked.given() if told.get(n) != getattr(asked, n)]:
        raise UsageError("U352", f"{strange[0]}: probes are kept as a view shows itself", help=[])
    return rebuilt(told)


def _questions(task: Task, examples: Sequence[Any], count: int) -> list[tuple[str, Any]]:
    """A few examples from all over, none of them long, each with the text it is called by."""
    found: dict[str, Any] = {}
    if not count:
        return []
    stride = max(1, len(examples) // (4 * count))
    for example in list(examples)[::stride]:
        text, question = _question(task, example)
        if text.strip() and text not in found and question is not None:
            found[text] = question
        if len(found) == count:
            break
    return list(found.items())


def _question(task: Task, example: Any) -> tuple[str, Any]:
    """The text of an example, and the example as a question; none where it is too long."""
    if task.form is Form.FORECAST:
        series = until(example)
        late = slice(-PAST, None)
        last = series.times[-1] if series.times else str(len(series))
        cut = replace(
            series,
            values=series.values[late],
            known=series.known[late],
            times=series.times[late],
        )
        return f"{series.name or 'series'} up to {last}", [cut] if len(series) else None
    text = task.shown_question(example)
    if task.form is Form.NEXT and task.continuous:
        text = text[:SYMBOLS]
        return text, task.question(text)
    return text, example if 0 < task.length(example) < SYMBOLS else None


def _small(told: dict[str, Any]) -> dict[str, Any]:
    """With fewer cells and digits."""
    if told["view"] == "states":
        told = {**told, "values": [row[:CELLS] for row in told["values"]]}
        told["order"] = [cell for cell in told["order"] if cell < CELLS]
    if told["view"] == "gates":
        gates = {
            name: {**one, "values": [row[:CELLS] for row in one["values"]]}
            for name, one in told["gates"].items()
        }
        told = {**told, "gates": gates, "order": [c for c in told["order"] if c < CELLS]}
    found: dict[str, Any] = _rounded(told)
    return found


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
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not isinstance(found["inputs"], list):
            raise ValueError("it lacks a part")
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            "M113", f"{path} is damaged", notes=[str(error)], help=["take the file away"]
        ) from error
    return found
