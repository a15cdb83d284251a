"""Recipe: the configuration of a run, a TOML file with four tables.

Each table holds the keyword arguments of one constructor.

[data]      data files, formats and splits: Data
[task]      name + arguments of a class in TASKS
[model]     name + arguments of a class in MODELS
[training]  Training
"""

import math
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from .config import constructor_arguments, parse_toml, problems, to_toml, with_defaults
from .data.formats.parallel_names import files_of, name_of
from .data.options import Data
from .data.text.files import require_possible_name, require_regular_file
from .errors import ModelError, OldNamesWarning, Place, UsageError, unknown
from .model import Model
from .models import MODELS, SHORTCUTS
from .signature import Bits, Columns, Labels, Series, Signature, Space, Tokens, Vectors
from .task import Task
from .tasks import TASKS
from .training.options import Training

T = TypeVar("T")
Table = dict[str, Any]
TABLES = ("data", "task", "model", "training")
FILES = {  # the settings that name files
    "data": ("train", "valid", "test"),
    "task": ("tokenizer",),
    "model": ("pretrained_embeddings",),
}
SHIPPED = Path(__file__).parent / "recipes"
OLD_NAMES = Path(__file__).parent / "old_names.toml"
MAX_PROBLEMS = 40  # in one error
SHOWN = 3  # old names that a warning lists


@dataclass(frozen=True)
class Recipe:
    """The configuration of a run: tables for data, task, model and training."""

    data: Table = field(default_factory=dict)
    task: Table = field(default_factory=dict)
    model: Table = field(default_factory=dict)
    training: Table = field(default_factory=dict)
    shortcut: str = field(default="", compare=False)  # a model shortcut typed by the user, as lstm

    @classmethod
    def read(cls, path: Path) -> "Recipe":
        """Read a recipe file; the paths in it are relative to its folder."""
        try:
            require_possible_name(str(path))
            require_regular_file(path)
            tables = parse_toml(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise UsageError("U004", f"cannot read the recipe {path}: {error.strerror}") from error
        except ValueError as error:
            raise UsageError("U004", f"{path} is not a TOML file: {error}") from error
        recipe = cls.of_tables(tables, str(path))
        return recipe.with_files(lambda name: path.parent / name).with_code(
            lambda file: path.parent / file if (path.parent / file).is_file() else file
        )

    @classmethod
    def of_tables(cls, tables: Mapping[str, Any], file: str) -> "Recipe":
        """A recipe from parsed TOML tables, with old names replaced."""
        for name, table in tables.items():
            if name not in TABLES:
                raise unknown("table in a recipe", name, TABLES)
            if not isinstance(table, dict):
                raise UsageError("U004", f"{name!r} must be a table: [{name}]", place=Place(file))
        found, notes = new_names({name: dict(tables.get(name, {})) for name in TABLES})
        if notes:
            _warn_once(file, notes)
        return cls()._with(found)

    def with_model(self, name: str) -> "Recipe":
        """The recipe with another model; the settings of the same model are kept."""
        table = self._model_table(name)
        MODELS.find(table["name"])
        own = self.model if self.model.get("name") == table["name"] else {}
        return replace(self, model={**own, **table}, shortcut=name if name in SHORTCUTS else "")

    def _model_table(self, name: str) -> Table:
        """The [model] table for a name or a shortcut such as lstm."""
        if name not in SHORTCUTS:
            return {"name": name}
        signature = _signature_of(self.task)
        able = (t for t in SHORTCUTS[name] if MODELS[t["name"]].supports(signature))
        return dict(next(able, SHORTCUTS[name][0]))

    @property
    def model_name(self) -> str:
        """The name of the model, or the shortcut by which it was chosen, such as lstm."""
        return self.shortcut or without_folder(str(self.model.get("name", "")))

    def with_settings(self, settings: Mapping[str, Any]) -> "Recipe":
        """The recipe with `table.key` settings applied."""
        tables = {name: dict(getattr(self, name)) for name in TABLES}
        for path, value in settings.items():
            table, _, key = path.partition(".")
            if table not in TABLES or not key:
                raise UsageError(
                    "U005",
                    f"--set {path}: expected table.key=value",
                    help=[f"tables: {', '.join(TABLES)}; for example --set model.hidden_size=256"],
                )
            tables[table][key] = value
        return self._with(tables)

    def with_files(self, place: Callable[[str], Path]) -> "Recipe":
        """The recipe with every path mapped by `place`."""
        tables = {name: dict(getattr(self, name)) for name in TABLES}
        for table, names in FILES.items():
            for name in names:
                if isinstance(file := tables[table].get(name), str) and file:
                    require_possible_name(file)
                    tables[table][name] = name_of([place(str(one)) for one in files_of(file)])
        return self._with(tables)

    def code_files(self) -> list[Path]:
        """The Python files of the user that have the task, the model, or a part of a model."""
        return [Path(name.rpartition(":")[0]) for name in _classes_in_files(self)]

    def with_code(self, place: Callable[[Path], Path]) -> "Recipe":
        """The recipe with every Python file mapped by `place`."""
        return replace(self, task=_with_code(self.task, place), model=_with_code(self.model, place))

    def summary(self) -> str:
        """The model and the task in one sentence."""
        model, task = (without_folder(str(table["name"])) for table in (self.model, self.task))
        return f"Model {model}, task {task}."

    def _with(self, tables: Mapping[str, Table]) -> "Recipe":
        """The recipe with these tables."""
        data, task, model, training = (tables[name] for name in TABLES)
        return replace(self, data=data, task=task, model=model, training=training)

    def build_data(self) -> Data:
        """The data options."""
        return _construct(Data, "data", self.data)

    def build_task(self) -> Task:
        """The task, without vocabularies."""
        return _construct(_find("task", self.task, TASKS), "task", self.task)

    def build_training(self) -> Training:
        """The training options."""
        return _construct(Training, "training", self.training)

    def build_model(self, signature: Signature) -> Model:
        """The untrained model."""
        kind = self.model_kind()
        _require_support(kind, self.model["name"], signature)
        kind.seed(self.build_training().seed)
        return _construct(kind, "model", self.model, signature)

    def model_kind(self) -> type[Model]:
        """The class of the model."""
        return _find("model", self.model, MODELS)

    def checked(self) -> "Recipe":
        """The recipe with all defaults filled in; an error lists everything that is invalid."""
        kinds: dict[str, Any] = {"data": Data, "training": Training}
        kinds["task"] = _find("task", self.task, TASKS)
        kinds["model"] = self.model_kind()
        wrong = [
            f"[{name}] {problem}"
            for name in TABLES
            for problem in problems(kinds[name], _arguments(getattr(self, name)))
        ]
        if wrong:
            raise _invalid(wrong)
        tables = {
            name: _name(getattr(self, name)) | with_defaults(kinds[name], getattr(self, name))
            for name in TABLES
        }
        _require_support(kinds["model"], self.model["name"], self.build_task().signature())
        self.build_training()
        return self._with(tables)

    def to_toml(self) -> str:
        """The recipe as a TOML file."""
        return to_toml({name: getattr(self, name) for name in TABLES})


def new_names(tables: Mapping[str, Table]) -> tuple[dict[str, Table], list[str]]:
    """The tables with old names of models and options replaced, and notes on what was renamed."""
    notes: list[str] = []
    found = {name: dict(table) for name, table in tables.items()}
    if "model" in found:
        found["model"] = _new_model(found["model"], notes)
    for name in found.keys() - {"model"}:
        found[name] = _new_options(name, found[name], str(found[name].get("name", "")), notes)
    return found, notes


@cache
def _old_names() -> dict[str, list[dict[str, Any]]]:
    """The table of old names: `models` and `options`."""
    return tomllib.loads(OLD_NAMES.read_text(encoding="utf-8"))


def _new_model(table: Table, notes: list[str]) -> Table:
    """A [model] table, and those of its component models, under current names."""
    table = {k: _new_model(v, notes) if isinstance(v, dict) else v for k, v in table.items()}
    name = str(table.get("name", ""))
    if CODE in name:  # a user-defined class has its own options
        return table
    for rule in _old_names()["models"]:
        where = rule.get("where", {})
        if name == rule["old"] and all(table.get(key) == value for key, value in where.items()):
            notes.append(f"the model {name!r} is now {rule['new']!r}")
            name = str(rule["new"])
            left = {k: v for k, v in table.items() if k not in rule.get("drop", ())}
            table = left | {"name": name}
            break
    return _new_options("model", table, name, notes)


def _new_options(table: str, given: Table, owner: str, notes: list[str]) -> Table:
    """The options of a table under current names, in the same order."""
    found: Table = {}
    for key, value in given.items():
        rule = next(
            (r for r in _old_names()["options"] if _applies(r, table, key, value, owner)), None
        )
        if rule is None:
            found[key] = value
            continue
        new = _new_value(rule, value)
        if rule["new"] != key:
            notes.append(f"{table}.{key} is now {table}.{rule['new']}")
        elif new != value and not isinstance(new, list):
            notes.append(f"{table}.{key} = {value!r} is now {new!r}")
        found.setdefault(str(rule["new"]), new)  # the current name has priority
    return found


def _applies(rule: Mapping[str, Any], table: str, key: str, value: Any, owner: str) -> bool:
    if (rule["table"], rule["old"]) != (table, key) or owner in rule.get("but", ()):
        return False
    owners = rule.get("models") or rule.get("tasks")
    if owners is not None and owner not in owners:
        return False
    return "below" not in rule or (isinstance(value, int | float) and value < rule["below"])


def _new_value(rule: Mapping[str, Any], value: Any) -> Any:
    """The current form of an old value; invalid values are reported later by `checked`."""
    if "split" in rule and isinstance(value, str):
        parts = [part.strip() for part in value.split(rule["split"]) if part.strip()]
        is_whole = rule.get("integers") and all(re.fullmatch("[0-9]{1,9}", one) for one in parts)
        return [int(part) for part in parts] if is_whole else parts
    if rule.get("integers") and isinstance(value, float) and math.isfinite(value):
        return max(1, round(value))
    return (
        rule["values"].get(value, value) if isinstance(value, str) and "values" in rule else value
    )


_warned: set[str] = set()  # a list of old runs gives a single warning


def _warn_once(file: str, notes: list[str]) -> None:
    """Warn once per process that a recipe has old names."""
    if _warned:
        return
    _warned.add(file)
    unique = list(dict.fromkeys(notes))
    more = f", and {len(unique) - SHOWN} more" if len(unique) > SHOWN else ""
    warnings.warn(
        f"{file} uses names of an earlier version, which are still read:"
        f" {', '.join(unique[:SHOWN])}{more}",
        OldNamesWarning,
        stacklevel=2,
    )


def simplest_model(task: Table) -> str:
    """The simplest model that supports a task, baselines only if there is no other."""
    signature = _signature_of(task)
    kinds = ((name, MODELS[name]) for name in MODELS)
    baselines = []
    for name, kind in kinds:  # lazily, so that no further models are imported
        if kind.supports(signature):
            if not kind.is_baseline:
                return name
            baselines.append(name)
    return baselines[0]


def _signature_of(task: Table) -> Signature:
    """The signature of a task; invalid options are reported later by `checked`."""
    is_wrong = problems(_find("task", task, TASKS), _arguments(task))
    return Recipe(task=_name(task) if is_wrong else task).build_task().signature()


def shipped() -> dict[str, Path]:
    """The recipes shipped with Seqloom, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


CODE = ".py:"  # a name with it is a class in a Python file: model.py:Model


def without_folder(name: str) -> str:
    """A name of a task or model; of a class in a Python file without the folder of the file."""
    return Path(name).name if CODE in name else name


def _classes_in_files(recipe: Recipe) -> list[str]:
    """The names of all classes in Python files, each once."""
    names = [name for table in (recipe.task, recipe.model) for name in _names(table)]
    return list(dict.fromkeys(name for name in names if CODE in name))


def _names(table: Table) -> Iterator[str]:
    """The name of a table, and those of the tables in it."""
    if isinstance(name := table.get("name"), str):
        yield name
    for value in table.values():
        if isinstance(value, dict):
            yield from _names(value)


def _with_code(table: Table, place: Callable[[Path], Path]) -> Table:
    found = {key: _with_code(v, place) if isinstance(v, dict) else v for key, v in table.items()}
    if isinstance(name := table.get("name"), str) and CODE in name:
        file, _, kind = name.rpartition(":")
        found["name"] = f"{place(Path(file))}:{kind}"
    return found


def _find(what: str, table: Table, choices: Any) -> Any:
    if "name" not in table:
        raise UsageError(
            "U006", f"[{what}] has no name", help=[f"choose from: {', '.join(choices)}"]
        )
    return choices.find(table["name"])


def _require_support(kind: type[Model], name: str, signature: Signature) -> None:
    """Raise an error unless the model supports the task, listing models that do."""
    if kind.supports(signature):
        return
    able = sorted(other for other in MODELS if MODELS[other].supports(signature))
    help = [f"models that can: {', '.join(able)}"] if able else []
    if signature.form not in kind.forms:
        raise ModelError("M120", f"{name!r} cannot predict {signature.form.value}", help=help)
    what = "read", signature.source
    if type(signature.source) in kind.source_spaces:
        what = "predict", signature.target
    raise ModelError("M123", f"{name!r} cannot {what[0]} {_described(what[1])}", help=help)


def _described(space: Space) -> str:
    """The type of values, in words."""
    match space:
        case Tokens():
            return "tokens"
        case Columns():
            return "tokens with features"
        case Labels():
            return "labels"
        case Bits():
            return "rows of bits"
        case Vectors():
            return "vectors of real numbers"
        case Series():
            return "time series"


def _construct(kind: Callable[..., T], what: str, table: Table, *inputs: Any) -> T:
    """Call `kind` with the table as keyword arguments; an error lists all problems."""
    arguments = _arguments(table)
    if wrong := problems(kind, arguments):
        raise _invalid([f"[{what}] {problem}" for problem in wrong])
    return kind(*inputs, **constructor_arguments(kind, arguments))


def _invalid(problems: list[str]) -> UsageError:
    return UsageError("U010", problems[0], notes=problems[1:MAX_PROBLEMS])


def _arguments(table: Table) -> Table:
    return {name: value for name, value in table.items() if name != "name"}


def _name(table: Table) -> Table:
    return {name: value for name, value in table.items() if name == "name"}
