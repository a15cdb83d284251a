"""The command that trains a recipe again."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..config import options, parse_toml
from ..data.options import Data
from ..models import MODELS
from ..recipe import TABLES, Recipe
from ..tasks import TASKS
from ..training.options import Training


def shown_path(file: str) -> str:
    """A path relative to the working directory of the server, if it is below it."""
    try:
        shown = str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
    return f"./{shown}" if shown.startswith("-") else shown  # else it would be parsed as an option


def train_command(recipe: Recipe, show: Callable[[str], str] = shown_path) -> str:
    """`seqloom train …` with every option that differs from its default; `show` writes its file."""
    words = ["seqloom", "train", str(recipe.task.get("name", "TASK"))]
    if file := recipe.data.get("train"):
        words.append(show(str(file)))
    if model := recipe.model.get("name"):
        words += ["-m", str(model)]
    for path, value in non_default(recipe).items():
        if path not in ("data.train", "task.name", "model.name"):
            words += ["--set", f"{path}={to_toml_value(value)}"]
    return shlex.join(words)


def non_default(recipe: Recipe) -> dict[str, Any]:
    """The options of a recipe that differ from their defaults, by table.key."""
    settings: dict[str, Any] = {}
    for table in TABLES:
        defaults = _defaults(table, getattr(recipe, table))
        for name, value in getattr(recipe, table).items():
            if name not in defaults or _as_list(defaults[name]) != _as_list(value):
                settings[f"{table}.{name}"] = value
    return settings


def _as_list(value: Any) -> Any:
    """Lists are tuples in options and lists in recipes: both as lists, to be compared."""
    return list(value) if isinstance(value, tuple) else value


def _defaults(table: str, values: dict[str, Any]) -> dict[str, Any]:
    classes: dict[str, Any] = {"data": Data, "training": Training}
    if table in ("task", "model"):
        registry: Any = TASKS if table == "task" else MODELS
        name = values.get("name")
        if not isinstance(name, str) or name not in list(registry):
            return {}
        classes[table] = registry[name]
    return {option.name: option.default for option in options(classes[table])}


def to_toml_value(value: Any) -> str:
    """A value as TOML, which is what --set parses; plain words need no quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value and not _is_toml(value) else _quoted(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_quoted(item) for item in value) + "]"
    return str(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else to_toml_value(value)


def _is_toml(text: str) -> bool:
    """Whether a text would be parsed as a TOML value, such as a number or a date."""
    try:
        parse_toml(f"value = {text}")
    except ValueError:
        return False
    return True
