"""JSON lines (JSONL): each line is one object, and its keys are the columns."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import DataError, Place
from ..text.reading import invalid_character
from .base import (
    LIST_SEPARATOR,
    BadLine,
    FieldRules,
    ParseResult,
    ReadRequest,
    Row,
    pluralize,
)
from .columns_roles import columns_by_name, shorten

_WHOLE = 'each line must be one whole object, such as {"text": "…", "label": "…"}'


def read(lines: list[str], request: ReadRequest) -> ParseResult[Row]:
    """Read JSON lines: one row a line, its fields by the keys of the first object."""
    result: ParseResult[Row] = ParseResult()
    objects = list(parse_objects(lines, result, request.path))
    if objects:
        keys = _keys(objects, request)
        for number, item in objects:
            fields = _fields(item, keys, request.rules)
            if isinstance(fields, _BadValue):
                text = lines[number - 1]
                mark = (0, len(text)) if fields.note else None
                bad_line = BadLine(fields.code, number, fields.reason, text, mark, fields.note)
                result.bad_lines.append(bad_line)
            else:
                result.rows.append(Row(number, fields))
    return result


def _keys(objects: list[tuple[int, dict[str, Any]]], request: ReadRequest) -> dict[str, str]:
    """The key of each role; a key that only some objects lack is not missing."""
    header = list(objects[0][1])
    keys = {role: request.columns.get(role, role) for role in request.roles}
    needed = [key for role, key in keys.items() if role not in request.rules.may_be_empty]
    all_exist = all(any(key in item for _, item in objects) for key in keys.values())
    if all_exist and any(all(key in item for key in needed) for _, item in objects):
        return keys

    def values(column: int) -> list[str]:
        return [str(item.get(header[column])) for _, item in objects]

    columns = columns_by_name(request.path, request.roles, request.columns, header, values)
    return {role: header[column] for role, column in zip(request.roles, columns, strict=True)}


def parse_objects(
    lines: list[str], result: ParseResult[Any], path: Path
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and object of each line; bad lines and the first keys go into the result."""
    _refuse_documents(lines, path)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            result.blank.append(number)
            continue
        found = _parse(line, number)
        if isinstance(found, BadLine):
            result.bad_lines.append(found)
            continue
        if result.header is None:
            result.header = list(found)
        yield number, found


def _refuse_documents(lines: list[str], path: Path) -> None:
    """Refuse a file that is one JSON document: an array, or an object over several lines."""
    first = next((line.strip() for line in lines if line.strip()), "")
    if not first.startswith(("[", "{")) or (first[0] == "{" and first.endswith("}")):
        return
    try:
        found = json.loads("\n".join(lines))
    except (json.JSONDecodeError, RecursionError):
        return  # each line has its own error
    what, rows, suffix = "object", [found], ".jsonl"
    if isinstance(found, list):
        are_objects = all(isinstance(one, dict) for one in found)
        what = f"array of {pluralize(len(found), 'object' if are_objects else 'item')}"
        rows, suffix = found, ".jsonl" if are_objects else ".txt"
    keys = rows[0] if rows and isinstance(rows[0], dict) else {}
    raise DataError(
        "D017",
        f'"{path.name}" is one JSON {what}, and JSON lines have an object on each line',
        place=Place(str(path)),
        notes=[f"keys: {shorten(', '.join(keys))}"] * bool(keys),
        help=[f"jq -c '{'.[]' if what != 'object' else '.'}' {path.name} > {path.stem}{suffix}"],
    )


def _parse(line: str, number: int) -> dict[str, Any] | BadLine:
    """The object on a line; numbers stay texts, as they are written."""
    try:
        found = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        mark, note = (error.pos, error.pos + 1), error.msg[:1].lower() + error.msg[1:]
        return BadLine("D012", number, "this line is not JSON", line, mark, note, (_WHOLE,))
    except RecursionError:
        return BadLine("D013", number, "this line is nested too deeply", line, help=(_WHOLE,))
    if not isinstance(found, dict):
        return BadLine("D012", number, "this line is not a JSON object", line, help=(_WHOLE,))
    return found


def _fields(
    item: dict[str, Any], keys: dict[str, str], rules: FieldRules
) -> "tuple[str, ...] | _BadValue":
    """The fields of an object, or its first bad value."""
    fields = []
    for role, key in keys.items():
        if key not in item and role not in rules.may_be_empty:
            note = f"found: {shorten(', '.join(item))}" if item else "the object is empty"
            return _BadValue("D010", f'the object has no key "{key}"', note)
        value = _as_text(item.get(key), role in rules.may_be_list)
        bad = _bad_value(value, role, key, role in rules.may_be_empty)
        if bad is not None:
            return bad
        fields.append(value or "")
    return tuple(fields)


class _BadValue(NamedTuple):
    """A value that cannot be used: the error code and the reason."""

    code: str
    reason: str
    note: str = ""


def _as_text(value: Any, may_be_list: bool) -> str | None:
    """A value as text, as it is written in the file; None for a nested value."""
    if isinstance(value, list) and may_be_list:
        found = [_as_text(one, False) for one in value]
        texts = [one for one in found if one is not None]
        return LIST_SEPARATOR.join(texts) if len(texts) == len(found) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return value if isinstance(value, str) else None


def _bad_value(value: str | None, role: str, key: str, may_be_empty: bool) -> _BadValue | None:
    """The error code and the reason if a value cannot be used; else None."""
    if value is None:
        reason = f'"{key}" must be text, a number or true or false, not a list or an object'
        return _BadValue("D013", reason)
    if not value.strip() and not may_be_empty:
        return _BadValue("D014", f'the field "{role}" is empty')
    if invalid_character(value) is not None:
        return _BadValue(
            "D031", f'"{key}" has a character that texts cannot have: NUL or a lone surrogate'
        )
    return None
