"""The same request in three languages, to be copied: no snippet needs anything to be installed.

The command line that does the same: what the pages show under every button.
"""

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

from ..config import options
from ..data.formats.parallel_names import files_of
from ..data.options import Data
from ..models import MODELS
from ..recipe import FILES, TABLES, Recipe
from ..tasks import TASKS
from ..training.options import Training


def training(recipe: Recipe) -> str:
    """`seqloom train …` with every setting that is not as it would be anyway."""
    words = ["seqloom", "train", str(recipe.task.get("name", "TASK"))]
    if file := recipe.data.get("train"):
        words.append(shown_path(str(file)))
    if model := recipe.model.get("name"):
        words += ["-m", str(model)]
    for path, value in changed(recipe).items():
        if path not in ("data.train", "task.name", "model.name"):
            words += ["--set", f"{path}={written(value)}"]
    return shlex.join(words)


def gone(recipe: Recipe) -> list[str]:
    """The files that a recipe names and that are no longer there."""
    named = [getattr(recipe, table).get(name) for table, names in FILES.items() for name in names]
    files = [one for name in named if isinstance(name, str) and name for one in files_of(name)]
    return [shown_path(str(file)) for file in files if not file.exists()]


def resuming(folder: Path, runs: Path) -> str:
    """`seqloom train --resume …`."""
    is_usual = folder.parent == runs and str(runs) == "runs"
    return shlex.join(["seqloom", "train", "--resume", folder.name if is_usual else str(folder)])


def changed(recipe: Recipe) -> dict[str, Any]:
    """The settings of a recipe that differ from their defaults, as table.key."""
    found: dict[str, Any] = {}
    for table in TABLES:
        defaults = _defaults(table, getattr(recipe, table))
        for name, value in getattr(recipe, table).items():
            if name not in defaults or defaults[name] != value:
                found[f"{table}.{name}"] = value
    return found


def shortened(recipe: Recipe) -> Recipe:
    """The recipe without the settings that are as they would be anyway."""
    tables: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for path, value in changed(recipe).items():
        table, _, name = path.partition(".")
        tables[table][name] = value
    return Recipe(**tables)


def shown_path(file: str) -> str:
    """A file as it is called from where the server was started."""
    try:
        shown = str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
    return f"./{shown}" if shown.startswith("-") else shown  # else it would be taken for an option


def _defaults(table: str, given: dict[str, Any]) -> dict[str, Any]:
    kinds: dict[str, Any] = {"data": Data, "training": Training}
    if table in ("task", "model"):
        registry: Any = TASKS if table == "task" else MODELS
        name = given.get("name")
        if not isinstance(name, str) or name not in list(registry):
            return {}
        kinds[table] = registry[name]
    return {option.name: option.default for option in options(kinds[table])}


def written(value: Any) -> str:
    """A value as TOML, which is what --set reads; plain words need no quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if value and not _is_toml(value) else _quoted(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_quoted(item) for item in value) + "]"
    return str(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else written(value)


def _is_toml(text: str) -> bool:
    """Whether a text would be read as something else than itself."""
    try:
        tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return False
    return True


def snippets(base: str, model: str, body: dict[str, Any], token: bool) -> dict[str, str]:
    """How to ask a model from a terminal, from Python and from JavaScript."""
    address = f"{base.rstrip('/')}/api/v1/models/{model}:predict"
    return {
        "curl": _curl(address, body, token),
        "python": _python(address, body, token),
        "javascript": _javascript(address, body, token),
    }


def _curl(address: str, body: dict[str, Any], token: bool) -> str:
    lines = [f"curl {shlex.quote(address)}", "-H 'Content-Type: application/json'"]
    lines += ['-H "Authorization: Bearer $TOKEN"'] * token
    lines.append(f"-d {shlex.quote(_text(body))}")
    return " \\\n  ".join(lines)


def _python(address: str, body: dict[str, Any], token: bool) -> str:
    more = ', "Authorization": f"Bearer {TOKEN}"' if token else ""
    return "\n".join(
        [
            "import json",
            "from urllib.request import Request, urlopen",
            "",
            f"body = {body!r}",
            f'headers = {{"Content-Type": "application/json"{more}}}',
            f"request = Request({address!r}, json.dumps(body).encode(), headers)",
            "with urlopen(request) as answer:",
            '    print(json.load(answer)["outputs"])',
        ]
    )


def _javascript(address: str, body: dict[str, Any], token: bool) -> str:
    more = ", Authorization: `Bearer ${TOKEN}`" if token else ""
    return "\n".join(
        [
            f"const answer = await fetch({json.dumps(address)}, {{",
            '  method: "POST",',
            f'  headers: {{ "Content-Type": "application/json"{more} }},',
            f"  body: JSON.stringify({_text(body)}),",
            "});",
            "console.log((await answer.json()).outputs);",
        ]
    )


def _text(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)
