"""A recipe is four tables of a TOML file; each is the keyword arguments of one constructor.

[data]      the files, how they are read and cut into parts: Data
[task]      name + arguments of a class in TASKS
[model]     name + arguments of a class in MODELS
[training]  Training
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from .config import filled, problems, taken, to_toml
from .data.formats.parallel_names import files_of, name_of
from .data.options import Data
from .errors import ModelError, Place, UsageError, unknown
from .model import Model
from .models import MODELS
from .signature import Labels, Signature, Space, Tokens, Vectors
from .task import Task
from .tasks import TASKS
from .training.options import Training

T = TypeVar("T")
Table = dict[str, Any]
TABLES = ("data", "task", "model", "training")
FILES = {  # the settings that name files
    "data": ("train", "valid", "test"),
    "task": ("tokenizer",),
    "model": ("vectors",),
}
SHIPPED = Path(__file__).parent / "recipes"


@dataclass(frozen=True)
class Recipe:
    """All that is needed to train the same model again."""

    data: Table = field(default_factory=dict)
    task: Table = field(default_factory=dict)
    model: Table = field(default_factory=dict)
    training: Table = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Recipe":
        """A recipe file; the files it names are found beside it."""
        try:
            tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise UsageError("U004", f"cannot read the recipe {path}: {error.strerror}") from error
        except ValueError as error:
            raise UsageError("U004", f"{path} is not a TOML file: {error}") from error
        recipe = cls.of_tables(tables, str(path))
        return recipe.with_files(lambda name: path.parent / name)

    @classmethod
    def of_tables(cls, tables: Mapping[str, Any], file: str) -> "Recipe":
        """A recipe from what a TOML file holds."""
        for name, table in tables.items():
            if name not in TABLES:
                raise unknown("table in a recipe", name, TABLES)
            if not isinstance(table, dict):
                raise UsageError("U004", f"{name!r} must be a table: [{name}]", place=Place(file))
        return cls(**{name: dict(tables.get(name, {})) for name in TABLES})

    def with_model(self, name: str) -> "Recipe":
        """The recipe with another model; the settings of its own model are kept."""
        MODELS.find(name)
        return self if self.model.get("name") == name else replace(self, model={"name": name})

    def with_settings(self, settings: Mapping[str, Any]) -> "Recipe":
        """The recipe with `table.key` settings laid over it."""
        tables = {name: dict(getattr(self, name)) for name in TABLES}
        for path, value in settings.items():
            table, _, key = path.partition(".")
            if table not in TABLES or not key:
                raise UsageError(
                    "U005",
                    f"--set {path}: expected table.key=value",
                    help=[f"tables: {', '.join(TABLES)}; for example --set model.hidden=256"],
                )
            tables[table][key] = value
        return Recipe(**tables)

    def with_files(self, place: Callable[[str], Path]) -> "Recipe":
        """The recipe with every file it names in another place."""
        tables = {name: dict(getattr(self, name)) for name in TABLES}
        for table, names in FILES.items():
            for name in names:
                if isinstance(file := tables[table].get(name), str) and file:
                    tables[table][name] = name_of([place(str(one)) for one in files_of(file)])
        return Recipe(**tables)

    def build_data(self) -> Data:
        """Where the examples lie."""
        return _make(Data, "data", self.data)

    def build_task(self) -> Task:
        """The task, knowing nothing of the data yet."""
        return _make(_find("task", self.task, TASKS), "task", self.task)

    def build_training(self) -> Training:
        """How to learn."""
        return _make(Training, "training", self.training)

    def build_model(self, signature: Signature) -> Model:
        """The model, before it has learned anything."""
        kind = self.model_kind()
        _must_be_able(kind, self.model["name"], signature)
        kind.seed(self.build_training().seed)
        return _make(kind, "model", self.model, signature)

    def model_kind(self) -> type[Model]:
        """The class of the model."""
        return _find("model", self.model, MODELS)

    def checked(self) -> "Recipe":
        """The recipe with every default written out, or everything that is wrong with it."""
        kinds: dict[str, Any] = {"data": Data, "training": Training}
        kinds["task"] = _find("task", self.task, TASKS)
        kinds["model"] = self.model_kind()
        wrong = [
            f"[{name}] {problem}"
            for name in TABLES
            for problem in problems(kinds[name], _arguments(getattr(self, name)))
        ]
        if wrong:
            raise _wrong(wrong)
        tables = {
            name: _name(getattr(self, name)) | filled(kinds[name], getattr(self, name))
            for name in TABLES
        }
        _must_be_able(kinds["model"], self.model["name"], self.build_task().signature())
        self.build_training()
        return Recipe(**tables)

    def to_toml(self) -> str:
        """The recipe as a TOML file."""
        return to_toml({name: getattr(self, name) for name in TABLES})


def simplest_model(task: Table) -> str:
    """The first model that can do a task and is no mere baseline, if any, from simple to large."""
    # Wrong options are told later, together with all else that is wrong with the recipe.
    is_wrong = problems(_find("task", task, TASKS), _arguments(task))
    signature = Recipe(task=_name(task) if is_wrong else task).build_task().signature()
    kinds = ((name, MODELS[name]) for name in MODELS)
    baselines = []
    for name, kind in kinds:  # none is imported beyond the one that is found
        if kind.can_do(signature):
            if not kind.is_baseline:
                return name
            baselines.append(name)
    return baselines[0]


def shipped() -> dict[str, Path]:
    """The recipes that come with Seqloom, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def _find(what: str, table: Table, choices: Any) -> Any:
    if "name" not in table:
        raise UsageError(
            "U006", f"[{what}] has no name", help=[f"choose from: {', '.join(choices)}"]
        )
    return choices.find(table["name"])


def _must_be_able(kind: type[Model], name: str, signature: Signature) -> None:
    """Refuse a task whose form or spaces a model does not have, naming those models that can."""
    if kind.can_do(signature):
        return
    able = sorted(other for other in MODELS if MODELS[other].can_do(signature))
    help = [f"models that can: {', '.join(able)}"] if able else []
    if signature.form not in kind.forms:
        raise ModelError("M120", f"{name!r} cannot predict {signature.form.value}", help=help)
    what = "read", signature.source
    if type(signature.source) in kind.reads:
        what = "predict", signature.target
    raise ModelError("M123", f"{name!r} cannot {what[0]} {_told(what[1])}", help=help)


def _told(space: Space) -> str:
    """What values are, in words."""
    names = {Tokens: "symbols", Labels: "labels", Vectors: "vectors of real numbers"}
    return names[type(space)]


def _make(kind: Callable[..., T], what: str, table: Table, *inputs: Any) -> T:
    """Call `kind` with the table as keyword arguments, or tell everything wrong with them."""
    arguments = _arguments(table)
    if wrong := problems(kind, arguments):
        raise _wrong([f"[{what}] {problem}" for problem in wrong])
    return kind(*inputs, **taken(kind, arguments))


def _wrong(problems: list[str]) -> UsageError:
    return UsageError("U010", problems[0], notes=problems[1:])


def _arguments(table: Table) -> Table:
    return {name: value for name, value in table.items() if name != "name"}


def _name(table: Table) -> Table:
    return {name: value for name, value in table.items() if name == "name"}
