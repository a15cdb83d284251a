"""TOML as recipes need it: tables of texts, numbers, truths and lists, and tables in them.

Python reads TOML (`tomllib`) and does not write it. What is written here reads back equal.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_INDENT = "    "
_ESCAPES = {
    **{number: f"\\u{number:04x}" for number in (*range(0x20), 0x7F) if chr(number) != "\t"},
    **{ord(char): f"\\{name}" for char, name in zip('\b\n\f\r"\\', 'bnfr"\\', strict=True)},
}


def to_toml(tables: Mapping[str, Any]) -> str:
    """A TOML file; what TOML has no word for is a TypeError."""
    return "\n".join(_parts(tables, ""))


def _parts(table: Mapping[str, Any], name: str) -> Iterator[str]:
    """A table's own lines, then the tables in it; one that has only tables needs no lines."""
    inside = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [
        f"{_key(key)} = {_value(value)}\n" for key, value in table.items() if key not in inside
    ]
    if lines or (name and not inside):
        yield "".join([f"[{name}]\n"] * bool(name) + lines)
    for key, value in inside.items():
        yield from _parts(value, f"{name}.{_key(key)}" if name else _key(key))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any, depth: int = 0) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)  # not a number and the infinite have the same names in both
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        items = [f"{_INDENT * (depth + 1)}{_value(item, depth + 1)},\n" for item in value]
        return f"[\n{''.join(items)}{_INDENT * depth}]" if items else "[]"
    raise TypeError(f"a recipe cannot hold {value!r}, a {type(value).__name__}")


def _text(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
