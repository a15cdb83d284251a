"""Code snippets to copy: `seqloom` commands, and requests with curl, Python and JavaScript.

The commands do the same as the buttons above them; the requests use standard libraries only.
"""

import json
import shlex
from pathlib import Path
from typing import Any

from ..data.formats.parallel_names import files_of
from ..recipe import FILES, TABLES, Recipe
from ..runs.command import non_default, shown_path


def missing_files(recipe: Recipe) -> list[str]:
    """The files of a recipe that no longer exist."""
    values = [getattr(recipe, table).get(name) for table, names in FILES.items() for name in names]
    files = [one for name in values if isinstance(name, str) and name for one in files_of(name)]
    return [shown_path(str(file)) for file in files if not file.exists()]


def resume_command(folder: Path, runs: Path) -> str:
    """`seqloom train --resume …`."""
    is_default = folder.parent == runs and str(runs) == "runs"
    return shlex.join(["seqloom", "train", "--resume", folder.name if is_default else str(folder)])


def without_defaults(recipe: Recipe) -> Recipe:
    """The recipe without the options that have their default value."""
    tables: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for path, value in non_default(recipe).items():
        table, _, name = path.partition(".")
        tables[table][name] = value
    return Recipe(tables["data"], tables["task"], tables["model"], tables["training"])


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
