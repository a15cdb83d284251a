"""Code snippets to copy: `seqloom` commands, and requests with curl, Python and JavaScript.

The commands do the same as the buttons above them; the requests use standard libraries only.
"""

import json
import shlex
from pathlib import Path
from typing import Any

from ..config import options, parse_toml
from ..data.formats.parallel_names import files_of
from ..data.options import Data
from ..models import MODELS
from ..recipe import FILES, TABLES, Recipe
from ..tasks import TASKS
from ..training.options import Training


def train_command(recipe: Recipe) -> str:
    """`seqloom train …` with every option that differs from its default."""
    words = ["seqloom", "train", str(recipe.task.get("name", "TASK"))]
    if file := recipe.data.get("train"):
        words.append(shown_path(str(file)))
    if model := recipe.model.get("name"):
        words += ["-m", str(model)]
    for path, value in non_default(recipe).items():
        if path not in ("data.train", "task.name", "model.name"):
            words += ["--set", f"{path}={to_toml_value(value)}"]
    return shlex.join(words)


def missing_files(recipe: Recipe) -> list[str]:
    """The files of a recipe that no longer exist."""
    values = [getattr(recipe, table).get(name) for table, names in FILES.items() for name in names]
    files = [one for name in values if isinstance(name, str) and name for one in files_of(name)]
    return [shown_path(str(file)) for file in files if not file.exists()]


def resume_command(folder: Path, runs: Path) -> str:
    """`seqloom train --resume …`."""
    is_default = folder.parent == runs and str(runs) == "runs"
    return shlex.join(["seqloom", "train", "--resume", folder.name if is_default else str(folder)])


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


def without_defaults(recipe: Recipe) -> Recipe:
    """The recipe without the options that have their default value."""
    tables: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for path, value in non_default(recipe).items():
        table, _, name = path.partition(".")
        tables[table][name] = value
    return Recipe(tables["data"], tables["task"], tables["model"], tables["training"])


def shown_path(file: str) -> str:
    """A path relative to the working directory of the server, if it is below it."""
    try:
        shown = str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
    return f"./{shown}" if shown.startswith("-") else shown  # else it would be parsed as an option


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


def snippets(base: str, model: str, body: dict[str, Any], token: bool) -> dict[str, str]:
    """A predict request with curl, in Python and in JavaScript."""
    url = f"{base.rstrip('/')}/api/v1/models/{model}:predict"
    return {
        "curl": _curl(url, body, token),
        "python": _python(url, body, token),
        "javascript": _javascript(url, body, token),
    }


def _curl(url: str, body: dict[str, Any], token: bool) -> str:
    lines = [f"curl {shlex.quote(url)}", "-H 'Content-Type: application/json'"]
    lines += ['-H "Authorization: Bearer $TOKEN"'] * token
    lines.append(f"-d {shlex.quote(_text(body))}")
    return " \\\n  ".join(lines)


def _python(url: str, body: dict[str, Any], token: bool) -> str:
    more = ', "Authorization": f"Bearer {TOKEN}"' if token else ""
    return "\n".join(
        [
            "import json",
            "from urllib.request import Request, urlopen",
            "",
            f"body = {body!r}",
            f'headers = {{"Content-Type": "application/json"{more}}}',
            f"request = Request({url!r}, json.dumps(body).encode(), headers)",
            "with urlopen(request) as response:",
            '    print(json.load(response)["outputs"])',
        ]
    )


def _javascript(url: str, body: dict[str, Any], token: bool) -> str:
    more = ", Authorization: `Bearer ${TOKEN}`" if token else ""
    return "\n".join(
        [
            f"const response = await fetch({json.dumps(url)}, {{",
            '  method: "POST",',
            f'  headers: {{ "Content-Type": "application/json"{more} }},',
            f"  body: JSON.stringify({_text(body)}),",
            "});",
            "console.log((await response.json()).outputs);",
        ]
    )


def _text(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)
