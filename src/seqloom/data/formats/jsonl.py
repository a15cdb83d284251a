"""JSON lines: each line is one object, and its keys are the columns."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..text.reading import unwritable
from .base import LISTED, Fault, Reading, Request, Row, Rules
from .columns_roles import by_name, shorten

_WHOLE = 'each line must be one whole object, such as {"text": "…", "label": "…"}'


def read(lines: list[str], request: Request) -> Reading[Row]:
    """One row a line, its fields by the keys of the first object."""
    reading: Reading[Row] = Reading()
    objects = list(objects_of(lines, reading))
    if objects:
        keys = _keys(objects, request)
        for number, item in objects:
            fields = _fields(item, keys, request.rules)
            if isinstance(fields, _Unfit):
                text = lines[number - 1]
                mark = (0, len(text)) if fields.note else None
                fault = Fault(fields.code, number, fields.reason, text, mark, fields.note)
                reading.faults.append(fault)
            else:
                reading.rows.append(Row(number, fields))
    return reading


def _keys(objects: list[tuple[int, dict[str, Any]]], request: Request) -> dict[str, str]:
    """The key of each role; one that only the first object lacks is not missing."""
    header = list(objects[0][1])
    wanted = {role: request.columns.get(role, role) for role in request.roles}
    needed = [key for role, key in wanted.items() if role not in request.rules.empty]
    is_somewhere = all(any(key in item for _, item in objects) for key in wanted.values())
    if is_somewhere and any(all(key in item for key in needed) for _, item in objects):
        return wanted

    def values(place: int) -> list[str]:
        return [str(item.get(header[place])) for _, item in objects]

    places = by_name(request.path, request.roles, request.columns, header, values)
    return {role: header[place] for role, place in zip(request.roles, places, strict=True)}


def objects_of(lines: list[str], reading: Reading[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and the object of each line; what is none, and the first keys, are noted."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            reading.blank.append(number)
            continue
        found = _parse(line, number)
        if isinstance(found, Fault):
            reading.faults.append(found)
            continue
        if reading.header is None:
            reading.header = list(found)
        yield number, found


def _parse(line: str, number: int) -> dict[str, Any] | Fault:
    """The object on a line; numbers stay as they are written."""
    try:
        found = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        mark, note = (error.pos, error.pos + 1), error.msg[:1].lower() + error.msg[1:]
        return Fault("D012", number, "this line is not JSON", line, mark, note, (_WHOLE,))
    except RecursionError:
        return Fault("D013", number, "this line is nested too deeply", line, help=(_WHOLE,))
    if not isinstance(found, dict):
        return Fault("D012", number, "this line is not a JSON object", line, help=(_WHOLE,))
    return found


def _fields(item: dict[str, Any], keys: dict[str, str], rules: Rules) -> "tuple[str, ...] | _Unfit":
    """The fields of an object, or why it is none of the rows."""
    fields = []
    for role, key in keys.items():
        if key not in item and role not in rules.empty:
            note = f"found: {shorten(', '.join(item))}" if item else "the object is empty"
            return _Unfit("D010", f'the object has no key "{key}"', note)
        value = _plain(item.get(key), role in rules.lists)
        unfit = _unfit(value, role, key, role in rules.empty)
        if unfit is not None:
            return unfit
        fields.append(value or "")
    return tuple(fields)


class _Unfit(NamedTuple):
    """Why a value cannot be used."""

    code: str
    reason: str
    note: str = ""


def _plain(value: Any, may_be_list: bool) -> str | None:
    """A value as text, written as in the file; nothing for a nested one."""
    if isinstance(value, list) and may_be_list:
        found = [_plain(one, False) for one in value]
        texts = [one for one in found if one is not None]
        return LISTED.join(texts) if len(texts) == len(found) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return value if isinstance(value, str) else None


def _unfit(value: str | None, role: str, key: str, may_be_empty: bool) -> _Unfit | None:
    """The code and the reason if a value cannot be used."""
    if value is None:
        reason = f'"{key}" must be text, a number or true or false, not a list or an object'
        return _Unfit("D013", reason)
    if not value.strip() and not may_be_empty:
        return _Unfit("D014", f'the field "{role}" is empty')
    if unwritable(value) is not None:
        return _Unfit("D031", f'"{key}" holds a character that no text can: NUL or half a pair')
    return None
