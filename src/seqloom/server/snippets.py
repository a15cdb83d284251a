"""The same request in three languages, to be copied: no snippet needs anything to be installed."""

import json
import shlex
from typing import Any


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
