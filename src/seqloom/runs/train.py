"""Training of a run: train a recipe into a new run folder, or resume one from its checkpoint."""

import contextlib
import json
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..data.formats.folders import splits_in
from ..data.formats.parallel_names import files_of
from ..data.options import Data
from ..data.text.files import is_file
from ..errors import SeqloomError, TrainingError, UsageError
from ..evaluation.conformal import fit_interval_calibration, forget_interval_calibration
from ..inspection.training_snapshots import SnapshotWriter, delete_after
from ..model import Model, PretrainedEmbeddings
from ..recipe import Recipe, shipped, simplest_model, without_folder
from ..task import Task
from ..tasks import TASKS
from ..training.checkpoints import load_arrays, save_arrays
from ..training.curriculum import CurriculumExamples, assign_levels
from ..training.events import Event, EventLog, read_events
from ..training.files import cannot_write, copy_whole, flush, locked, make_folder, write_whole
from ..training.learner import Learner, Snapshot
from ..training.loop import Trainer, fit, make_learner
from .card import write_card
from .code import keep_code, run_recipe
from .names import RECIPE, RUNS, model_stem, refuse_taken, run_name
from .resume_checks import (
    GOOD_CHECKPOINT,
    last_checkpoint,
    refuse_task_options,
    require_same_model,
)
from .run import CARD, CHECKPOINT, EVENTS, TASK, WEIGHTS, Run, load, read_task, restore_task
from .split_record import SplitRecord, parts_to_resume, refuse_split_options
from .splits import (
    FILES,
    Parts,
    curriculum_levels,
    fingerprint,
    read_parts,
    unknown_label_note,
    with_known_labels,
)


@dataclass(frozen=True)
class Callback:
    """Callbacks of training: `on_event` for each event, `should_stop` after each step.

    `on_learner` is called once, before the first step.
    """

    on_event: Callable[[Event], None] = lambda event: None
    should_stop: Callable[[], bool] = lambda: False
    on_learner: Callable[[Learner], None] = lambda learner: None


def train(  # noqa: PLR0913 - keyword-only but for the first two
    what: Recipe | str | Path,
    file: str | Path = "",
    *,
    model: str = "",
    name: str = "",
    runs: str | Path = RUNS,
    settings: Mapping[str, Any] | None = None,
    callback: Callback | None = None,
) -> Run:
    """Train a model into a new run folder, and return the run with its best weights.

    `what` is a recipe, a recipe file, the name of a shipped recipe, or the name of a task; for the
    last two, `file` is the training data.
    """
    run_name(name)  # a wrong one is refused before a file is read
    recipe = what if isinstance(what, Recipe) else recipe_by_name(str(what), str(file), settings)
    recipe = recipe.with_model(model) if model else recipe
    recipe = recipe.with_settings(settings or {}).checked()
    with new_run_folder(recipe, name, Path(runs)) as folder:
        return train_into(folder, recipe, callback)


def train_into(folder: Path, recipe: Recipe, callback: Callback | None = None) -> Run:
    """Train a model into a folder of `new_run_folder`."""
    recipe = _with_absolute_paths(recipe.checked())
    task = recipe.build_task()
    parts = read_parts(task, recipe.build_data())
    task.prepare(parts.train)
    training = _Training(folder, recipe, task, parts, callback or Callback())
    training.begin()
    save_task(folder, task, fingerprint(task, recipe.build_data()))
    SplitRecord.of(task, parts, training.train.examples).save(folder)
    write_whole(folder / RECIPE, keep_code(folder, recipe).to_toml().encode())
    return training.run()


def save_task(folder: Path, task: Task, of_data: Mapping[str, str]) -> None:
    """Save the state of a task (vocabularies, labels) and the fingerprint of its data."""
    state = {"codecs": task.state(), "fingerprint": of_data}
    write_whole(folder / TASK, json.dumps(state, ensure_ascii=False).encode())


def resume(
    folder: Path,
    *,
    settings: Mapping[str, Any] | None = None,
    data_changed: bool = False,
    callback: Callback | None = None,
) -> Run:
    """Resume training from the last checkpoint, with exactly the result of an uninterrupted run.

    With settings it is another training from there on. Until everything is known to fit, nothing
    in the folder changes.
    """
    with locked(folder):
        recipe = before = run_recipe(folder)
        saved = read_task(folder)
        if settings:
            refuse_split_options(settings, folder.name)
            recipe = before.with_settings(settings).checked()
            refuse_task_options(before, recipe, saved["fingerprint"])
        task, data = recipe.build_task(), recipe.build_data()
        if not data_changed:
            _require_same_data(task, data, saved["fingerprint"])
        restore_task(task, folder, saved)
        forget_interval_calibration(task)  # that of the weights of another time
        parts = parts_to_resume(folder, task, data, saved["fingerprint"])
        require_same_model(folder, before, recipe, task, parts.train)
        training = _Training(folder, recipe, task, parts, callback or Callback())
        training.resume()
        if settings:
            write_whole(folder / RECIPE, keep_code(folder, recipe).to_toml().encode())
        if data_changed and (record := SplitRecord.read(folder)) is not None:
            record.with_training(task, training.train.examples).save(folder)
        return training.run()


def save_converted(  # noqa: PLR0913 - two of them only say where
    recipe: Recipe, task: bytes, model: Model, note: str, *, name: str = "", runs: Path = RUNS
) -> Run:
    """Save a converted model as a new run; `task` is its task.json."""
    folder = new_folder(recipe, name, runs)
    with locked(folder):
        write_whole(folder / TASK, task)
        save_arrays(folder / WEIGHTS, model.weights())
        facts = _facts(recipe, model) | {"examples": {}, "notes": [note], "converted": True}
        with contextlib.closing(EventLog(folder / EVENTS)) as log:
            log.append(Event("start", 0, facts))
            log.append(Event("end", 0, {"reason": "converted"}))
        summary = recipe.summary()
        origin = f"Made by seqloom convert: {note}.\nNeither trained nor evaluated since."
        write_whole(folder / CARD, f"# {folder.name}\n\n{summary}\n\n{origin}\n".encode())
        # Last, because a folder with a recipe is a run.
        write_whole(folder / RECIPE, keep_code(folder, recipe).to_toml().encode())
    return load(folder)


def _facts(recipe: Recipe, model: Model) -> dict[str, Any]:
    """The facts of a start event: model, task, parameters, versions."""
    facts = {
        "size": model.num_parameters(),
        "model": without_folder(recipe.model["name"]),
        "task": without_folder(recipe.task["name"]),
    }
    return facts | {"seqloom": version("seqloom"), "python": platform.python_version()}


def recipe_by_name(
    name: str, file: str = "", settings: Mapping[str, Any] | None = None, model: str = ""
) -> Recipe:
    """The recipe for a recipe file, a shipped recipe or a task, with `file` as training data.

    A task has the options that suit the file. Without a model name, it has its simplest model.
    Which one that is may depend on settings that are applied to the recipe later.
    """
    data = {"train": file} if file else {}
    if name in TASKS:
        recipe = Recipe(data=data, task={"name": name})
        recipe = replace(recipe, task=recipe.task | suited_options(recipe, settings or {}))
        if not model:  # only if needed: the search imports models, and some import torch
            model = simplest_model(recipe.with_settings(settings or {}).task)
        # A shortcut such as lstm is resolved by the task with all its settings.
        resolved = recipe.with_settings(settings or {}).with_model(model)
        return replace(recipe, model=resolved.model, shortcut=resolved.shortcut)
    path = shipped().get(name, Path(name))
    if not is_file(path):
        raise UsageError(
            "U004",
            f"there is no recipe {name!r}",
            help=[f"a .toml file, or one of: {', '.join(shipped())}"],
        )
    recipe = Recipe.read(path)
    return replace(recipe, data=recipe.data | data)


def suited_options(recipe: Recipe, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a task that suit its training file, as `check` suggests them.

    Settings have priority: there are none where they leave no choice, and none for a file that
    cannot be read, which is reported when training reads it.
    """
    kind, given = TASKS[recipe.task["name"]], recipe.with_settings(settings)
    if kind.suggested_options.__func__ is Task.suggested_options.__func__:  # type: ignore[attr-defined]
        return {}
    try:
        path = Path(given.data.get("train", ""))
        source = given.build_task().open(splits_in(path).get("train", path), given.build_data())
        suited = kind.suggested_options(source)
        replace(given, task={**suited, **given.task}).build_task()
    except (SeqloomError, OSError):
        return {}
    return suited


@contextlib.contextmanager
def new_run_folder(recipe: Recipe, name: str, runs: Path) -> Iterator[Path]:
    """The folder of a new run, locked from when its name is chosen, before the data is read.

    It is removed again if it does not become a run.
    """
    has_runs, has_folder = runs.exists(), bool(name) and (runs / name).exists()
    folder = _created(recipe, name, runs)
    try:
        with locked(folder):
            refuse_taken(folder)  # another process may just have trained there
            try:
                yield folder
            finally:
                if not (has_folder or (folder / RECIPE).exists()):
                    shutil.rmtree(folder, ignore_errors=True)
    finally:
        if not has_folder:
            with contextlib.suppress(OSError):  # it is not empty, or gone
                folder.rmdir()
        if not has_runs:
            with contextlib.suppress(OSError):  # it is not empty
                runs.rmdir()


def _created(recipe: Recipe, name: str, runs: Path) -> Path:
    """The folder of `name`; or one that nobody had before, with the next free number."""
    while True:
        folder = new_folder(recipe, name, runs)
        try:
            make_folder(runs)
            folder.mkdir()
        except FileExistsError as error:
            if name and folder.is_dir():
                return folder
            if not (runs.is_dir() and folder.is_dir()):
                raise cannot_write(folder, error) from error
        except OSError as error:
            raise cannot_write(folder, error) from error
        else:
            flush(runs)
            return folder


def new_folder(recipe: Recipe, name: str, runs: Path) -> Path:
    """The folder of a new run: `name`, or the name of the model with the next free number."""
    if run_name(name):
        refuse_taken(runs / name)
        return runs / name
    stem, number = model_stem(recipe.model_name), 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return runs / f"{stem}-{number}"


def build_model_and_examples(
    recipe: Recipe, task: Task, parts: Parts
) -> tuple[Model, CurriculumExamples]:
    """The untrained model, and the training examples with their curriculum levels."""
    settings, model = recipe.build_training(), recipe.build_model(task.signature())
    easier: list[Sequence[Any]] = []
    if settings.curriculum != "none":
        easier = curriculum_levels(task, recipe.build_data(), parts)
    train = assign_levels(model, task, parts.train, easier, settings)
    model.check_length(max(task.length(example) for example in train.examples))
    return model, train


class _Training:
    """A training process in a run folder: the checkpointer of the training loop."""

    def __init__(
        self, folder: Path, recipe: Recipe, task: Task, parts: Parts, callback: Callback
    ) -> None:
        self.folder, self.recipe, self.task, self.parts = folder, recipe, task, parts
        self.callback, self.notes = (
            callback,
            [
                *task.read_notes,
                *parts.notes,
                *unknown_label_note(task, parts.valid, "validation examples"),
                *task.notes(),
                *_data_warnings(task, parts),
            ],
        )
        self.settings = recipe.build_training()
        self.is_stale = False  # whether task.json has interval factors of earlier weights
        self.model, self.train = build_model_and_examples(recipe, task, parts)

    def begin(self) -> None:
        """Prepare to train from the beginning."""
        if isinstance(self.model, PretrainedEmbeddings):
            self.notes += filter(None, [self.model.load_embeddings(self.task.input_vocabulary())])
        self._prepare()
        self.notes += self.trainer.notes()
        self.first = self._start_event()

    def resume(self) -> None:
        """Prepare to go on from the last checkpoint; raises an error unless it fits."""
        snapshot, notes = last_checkpoint(self.folder)
        if not snapshot.arrays and _is_converted(self.folder):  # go on from the converted weights
            self.model.restore(load_arrays(self.folder / WEIGHTS).arrays)
        elif not snapshot.arrays and isinstance(self.model, PretrainedEmbeddings):
            self.model.load_embeddings(self.task.input_vocabulary())
        self._prepare()
        self.is_stale = True
        if snapshot.arrays:
            notes += self.trainer.restore(snapshot)
        standing = self.trainer.standing
        facts = {"evaluated_step": standing.evaluated_step, **({"notes": notes} if notes else {})}
        self.first = Event("resume", standing.step, facts)

    def _prepare(self) -> None:
        learner = make_learner(self.model, self.task, self.train, self.settings)
        self.valid = with_known_labels(self.task, self.parts.valid)
        self.trainer = Trainer(self.model, self.task, learner, self.valid, self.settings)
        snapshot_inputs = self.model, self.task, self.trainer.valid, self.settings.probes
        self.snapshot_writer = SnapshotWriter(self.folder, *snapshot_inputs)

    def run(self) -> Run:
        """Train to the end or until stopped; the run with its best weights."""
        trainer = self.trainer
        self.callback.on_learner(trainer.learner)
        delete_after(self.folder, trainer.standing.step)
        try:
            log = EventLog(self.folder / EVENTS)
            try:
                self._log(log, self.first)
                for event in fit(trainer, self, self.callback.should_stop):
                    self._log(log, event)
            except TrainingError as error:
                self._restore_good_checkpoint()
                values = {"reason": "diverged", **error.as_dict()}
                self._log(log, Event("end", trainer.standing.step, values))
                raise
            finally:
                log.close()
        except OSError as error:
            raise cannot_write(self.folder / EVENTS, error) from error
        if not (self.folder / WEIGHTS).exists():  # stopped before the first evaluation
            self.save_best()
        run = replace(load(self.folder), parts=self.parts)
        if fit_interval_calibration(run.model, run.task, self.valid):
            self._save_codecs(run.task)
        write_card(run, self.parts)
        return run

    def save_best(self) -> None:
        """Save the weights: they are the best so far."""
        if self.is_stale:
            self._save_codecs(self.task)
            self.is_stale = False
        save_arrays(self.folder / WEIGHTS, self.model.weights())

    def _save_codecs(self, task: Task) -> None:
        save_task(self.folder, task, read_task(self.folder)["fingerprint"])

    def save_checkpoint(self, snapshot: Snapshot) -> None:
        """Save a checkpoint, from which training can be resumed."""
        save_arrays(self.folder / CHECKPOINT, snapshot.arrays, snapshot.facts)

    def mark_checkpoint_good(self) -> None:
        """Keep a copy of the last checkpoint, which the next one leaves alone.

        It is a file of its own, as what damages one file must not damage both.
        """
        copy_whole(self.folder / CHECKPOINT, self.folder / GOOD_CHECKPOINT)

    def save_snapshots(self, step: int) -> None:
        """Save views of a few inputs with the current weights."""
        self.snapshot_writer.save(step)

    def _restore_good_checkpoint(self) -> None:
        """After divergence, replace the last checkpoint by the last good one."""
        good, last = self.folder / GOOD_CHECKPOINT, self.folder / CHECKPOINT
        if good.exists():
            good.replace(last)
        else:
            last.unlink(missing_ok=True)

    def _start_event(self) -> Event:
        sizes = {name: len(getattr(self.parts, name)) for name in FILES}
        facts = {"examples": sizes, "notes": self.notes, **_facts(self.recipe, self.model)}
        return Event("start", 0, {**facts, "began": time.time()})

    def _log(self, log: EventLog, event: Event) -> None:
        log.append(event)
        self.callback.on_event(event)


def _data_warnings(task: Task, parts: Parts) -> list[str]:
    """Data warnings for validation and test; those for training come from `task.notes`."""
    parts_by_name = {"validation": parts.valid, "test": parts.test}
    found = [
        (name, task.data_warnings(examples).values()) for name, examples in parts_by_name.items()
    ]
    return [f"{name}: {sentence}" for name, sentences in found for sentence in sentences]


def _with_absolute_paths(recipe: Recipe) -> Recipe:
    """The recipe with absolute paths, so that a run can be resumed from any folder."""
    return recipe.with_files(lambda name: Path(name).resolve()).with_code(Path.resolve)


def _is_converted(folder: Path) -> bool:
    """Whether a run was made by `seqloom convert`."""
    return any(event.get("converted") for event in read_events(folder / EVENTS))


def _require_same_data(task: Task, data: Data, before: dict[str, str]) -> None:
    """Raise an error if the data has changed since the run began."""
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
                "--data-changed   resume anyway",
                "train a new run to compare fairly",
            ],
        )
