"""Train what a recipe describes into a run folder, or go on with one that was stopped."""

import contextlib
import json
import platform
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..data.formats.parallel_names import files_of
from ..data.options import Data
from ..errors import TrainingError, UsageError
from ..evaluation.conformal import calibrate
from ..inspection.training_snapshots import Prober, forget_after
from ..model import Model, TakesVectors
from ..recipe import Recipe, shipped, simplest_model
from ..task import Task
from ..tasks import TASKS
from ..training.checkpoints import cannot_write, load_arrays, locked, save_arrays, write_whole
from ..training.curriculum import Graded, graded
from ..training.events import Event, Story, read_events
from ..training.learner import Snapshot
from ..training.loop import Learner, learn, way_of
from .card import card
from .run import CARD, CHECKPOINT, EVENTS, RECIPE, RUNS, TASK, WEIGHTS, Run, load, read_task
from .splits import FILES, Parts, easier_parts, fingerprint, read_parts, with_known_labels

GOOD = CHECKPOINT.with_name("good.safetensors")


@dataclass(frozen=True)
class Watcher:
    """Who is told of events, and who may ask training to stop."""

    tell: Callable[[Event], None] = lambda event: None
    must_stop: Callable[[], bool] = lambda: False


def train(  # noqa: PLR0913 - keyword-only but for the first two
    what: Recipe | str | Path,
    file: str | Path = "",
    *,
    model: str = "",
    name: str = "",
    runs: str | Path = RUNS,
    settings: Mapping[str, Any] | None = None,
    watcher: Watcher | None = None,
) -> Run:
    """Train into a new run folder.

    `what` is a recipe, a recipe file, the name of a shipped recipe, or the name of a task; the
    last two are given the file to learn from.
    """
    recipe = what if isinstance(what, Recipe) else named(str(what), str(file), settings)
    recipe = recipe.with_model(model) if model else recipe
    recipe = _placed(recipe.with_settings(settings or {}).checked())
    folder = new_folder(recipe, name, Path(runs))
    task = recipe.build_task()
    parts = read_parts(task, recipe.build_data())
    task.prepare(parts.train)
    training = _Training(folder, recipe, task, parts, watcher or Watcher())
    with locked(folder):
        keep_task(folder, task, recipe)
        write_whole(folder / RECIPE, recipe.to_toml().encode())
        return training.run(None)


def keep_task(folder: Path, task: Task, recipe: Recipe) -> None:
    """Write down what a task learned, and from what."""
    state = {"codecs": task.state(), "fingerprint": fingerprint(task, recipe.build_data())}
    write_whole(folder / TASK, json.dumps(state, ensure_ascii=False).encode())


def resume(
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    data_changed: bool = False,
    watcher: Watcher | None = None,
) -> Run:
    """Go on with a run from its last checkpoint, exactly as if it had never been stopped."""
    with locked(folder):
        recipe = Recipe.read(folder / RECIPE)
        if settings:
            recipe = recipe.with_settings(settings).checked()
        task, data = recipe.build_task(), recipe.build_data()
        saved = read_task(folder)
        if not data_changed:
            _same_data(task, data, saved["fingerprint"])
        task.restore(saved["codecs"])
        parts = read_parts(task, data)
        training = _Training(folder, recipe, task, parts, watcher or Watcher())
        if settings:  # only now: what was refused above must not stay in the folder
            write_whole(folder / RECIPE, recipe.to_toml().encode())
        exists = (folder / CHECKPOINT).exists()
        snapshot = load_arrays(folder / CHECKPOINT) if exists else Snapshot()
        if not exists and _is_converted(folder):  # it begins with the weights it was given
            training.model.restore(load_arrays(folder / WEIGHTS).arrays)
        return training.run(snapshot)


def keep_converted(  # noqa: PLR0913 - two of them only say where
    recipe: Recipe, task: bytes, model: Model, note: str, *, name: str = "", runs: Path = RUNS
) -> Run:
    """A new run that was made from something else, not trained; `task` is its task.json."""
    folder = new_folder(recipe, name, runs)
    with locked(folder):
        write_whole(folder / TASK, task)
        save_arrays(folder / WEIGHTS, model.weights())
        facts = _facts(recipe, model) | {"examples": {}, "notes": [note], "converted": True}
        with contextlib.closing(Story(folder / EVENTS)) as story:
            story.append(Event("start", 0, facts))
            story.append(Event("end", 0, {"reason": "converted"}))
        about = f"Model {recipe.model['name']}, task {recipe.task['name']}."
        told = f"Made by seqloom convert: {note}.\nNot trained and not judged since."
        write_whole(folder / CARD, f"# {folder.name}\n\n{about}\n\n{told}\n".encode())
        # Last, because a folder with a recipe in it is a run.
        write_whole(folder / RECIPE, recipe.to_toml().encode())
    return load(folder)


def _facts(recipe: Recipe, model: Model) -> dict[str, Any]:
    """What a run says of itself at the start."""
    facts = {"size": model.size(), "model": recipe.model["name"], "task": recipe.task["name"]}
    return facts | {"seqloom": version("seqloom"), "python": platform.python_version()}


def named(
    name: str, file: str = "", settings: Mapping[str, Any] | None = None, model: str = ""
) -> Recipe:
    """A recipe file, a shipped recipe, or a task with a model; with data if given.

    Where no model is named, a task has its simplest. Which that is may depend on settings, which
    are yet to be laid over the recipe.
    """
    data = {"train": file} if file else {}
    if name in TASKS:
        recipe = Recipe(data=data, task={"name": name})
        if not model:  # to look for it is to import the models there are, and some import torch
            model = simplest_model(recipe.with_settings(settings or {}).task)
        return recipe.with_model(model)
    path = shipped().get(name, Path(name))
    if not path.is_file():
        raise UsageError(
            "U004",
            f"there is no recipe {name!r}",
            help=[f"a .toml file, or one of: {', '.join(shipped())}"],
        )
    recipe = Recipe.read(path)
    return replace(recipe, data=recipe.data | data)


def new_folder(recipe: Recipe, name: str, runs: Path) -> Path:
    """A folder for a new run: the name given, or the model's with the next free number."""
    if name:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", name):
            raise UsageError(
                "U009", f"{name!r} cannot name a run: use a-z, 0-9 and -, at most 64 of them"
            )
        if (runs / name / RECIPE).exists():
            raise UsageError(
                "U009",
                f"there is a run called {name!r} already",
                help=[f"seqloom train --resume {name}   go on with it", "--name ANOTHER"],
            )
        return runs / name
    stem = re.sub(r"[^a-z0-9]+", "-", Path(str(recipe.model["name"])).stem.lower()).strip("-")
    number = 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return runs / f"{stem}-{number}"


def made(recipe: Recipe, task: Task, parts: Parts) -> tuple[Model, Graded]:
    """The model before it has learned anything, and what it is to learn from."""
    settings, model = recipe.build_training(), recipe.build_model(task.signature())
    easier: list[Sequence[Any]] = []
    if settings.curriculum != "none":
        easier = easier_parts(task, recipe.build_data(), parts)
    train = graded(model, task, parts.train, easier, settings)
    model.check_length(max(task.length(example) for example in train.examples))
    return model, train


class _Training:
    """One training process in one folder: it keeps what the loop makes."""

    def __init__(
        self, folder: Path, recipe: Recipe, task: Task, parts: Parts, watcher: Watcher
    ) -> None:
        self.folder, self.recipe, self.task, self.parts = folder, recipe, task, parts
        self.watcher, self.notes = watcher, [*parts.notes, *task.notes(), *_odd(task, parts)]
        self.settings = recipe.build_training()
        self.model, self.train = made(recipe, task, parts)

    def run(self, snapshot: Snapshot | None) -> Run:
        """Learn to the end or until asked to stop; the run with its best weights."""
        if snapshot is None and isinstance(self.model, TakesVectors):
            self.notes += filter(None, [self.model.take_vectors(self.task.read_symbols())])
        way = way_of(self.model, self.task, self.train, self.settings)
        valid = with_known_labels(self.task, self.parts.valid)
        learner = Learner(self.model, self.task, way, valid, self.settings)
        probed = self.model, self.task, learner.valid, self.settings.probes
        self.prober = Prober(self.folder, *probed)
        if snapshot is not None and snapshot.arrays:
            learner.restore(snapshot)
        forget_after(self.folder, learner.standing.step)
        try:
            story = Story(self.folder / EVENTS)
            try:
                self._tell(story, self._first(learner, snapshot))
                for event in learn(learner, self, self.watcher.must_stop):
                    self._tell(story, event)
            except TrainingError as error:
                self._go_back()
                values = {"reason": "diverged", **error.as_dict()}
                self._tell(story, Event("end", learner.standing.step, values))
                raise
            finally:
                story.close()
        except OSError as error:
            raise cannot_write(self.folder / EVENTS, error) from error
        if not (self.folder / WEIGHTS).exists():  # stopped before the first evaluation
            self.keep_best()
        run = replace(load(self.folder), parts=self.parts)
        if calibrate(run.model, run.task, valid):
            keep_task(self.folder, run.task, self.recipe)
        write_whole(self.folder / CARD, card(run, self.parts).encode())
        return run

    def keep_best(self) -> None:
        """The model as it is now is the best so far."""
        save_arrays(self.folder / WEIGHTS, self.model.weights())

    def keep_place(self, snapshot: Snapshot) -> None:
        """Training can be taken up again from here."""
        save_arrays(self.folder / CHECKPOINT, snapshot.arrays, snapshot.facts)

    def keep_good(self) -> None:
        """A second name for the checkpoint just written; it outlives the next one."""
        good, last = self.folder / GOOD, self.folder / CHECKPOINT
        good.unlink(missing_ok=True)
        try:
            good.hardlink_to(last)
        except OSError:  # a file system without links
            shutil.copyfile(last, good)

    def keep_probes(self, step: int) -> None:
        """Views of a few inputs, as the model is now."""
        self.prober.keep(step)

    def _go_back(self) -> None:
        """After divergence the last checkpoint may hold ruined weights: take the last good one."""
        good, last = self.folder / GOOD, self.folder / CHECKPOINT
        if good.exists():
            good.replace(last)
        else:
            last.unlink(missing_ok=True)

    def _first(self, learner: Learner, snapshot: Snapshot | None) -> Event:
        if snapshot is not None:
            return Event("resume", learner.standing.step)
        sizes = {name: len(getattr(self.parts, name)) for name in FILES}
        facts = {"examples": sizes, "notes": self.notes, **_facts(self.recipe, self.model)}
        return Event("start", 0, {**facts, "began": time.time()})

    def _tell(self, story: Story, event: Event) -> None:
        story.append(event)
        self.watcher.tell(event)


def _odd(task: Task, parts: Parts) -> list[str]:
    """What is odd of examples that are only judged; of those to learn from, the task tells."""
    judged = {"validation": parts.valid, "test": parts.test}
    found = [(name, task.remarks(examples).values()) for name, examples in judged.items()]
    return [f"{name}: {sentence}" for name, sentences in found for sentence in sentences]


def _placed(recipe: Recipe) -> Recipe:
    """The recipe with whole paths, so that a run can be resumed from anywhere."""
    return recipe.with_files(lambda name: Path(name).resolve())


def _is_converted(folder: Path) -> bool:
    """Whether a run was made from weights, not trained."""
    return any(event.get("converted") for event in read_events(folder / EVENTS))


def _same_data(task: Task, data: Data, before: dict[str, str]) -> None:
    """A resumed run must see the data it began with, unless the user says otherwise."""
    files = {name: Path(getattr(data, name)) for name in before} if task.roles else {}
    gone = {name for name, path in files.items() if not all(f.is_file() for f in files_of(path))}
    now = {} if gone else fingerprint(task, data)
    for name, digest in before.items():
        if now.get(name) == digest:
            continue
        what = "is gone" if name in gone else "has changed"
        raise TrainingError(
            "T120",
            f"{files.get(name, f'the setting task.{name}')} {what} since this run began",
            help=[
                "--data-changed   go on all the same",
                "train a new run to compare fairly",
            ],
        )
