"""JSON lines: each line is one object, and its keys are the columns."""

import json
from typing import Any

from ..text import unwritable
from .found import Fault, Reading, Request, Row
from .roles import by_name, shorten

_WHOLE = 'each line must be one whole object, such as {"text": "…", "label": "…"}'


def read(lines: list[str], request: Request) -> Reading[Row]:
    """One row a line, its fields by the keys of the first object."""
    reading: Reading[Row] = Reading()
    objects: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            reading.blank.append(number)
            continue
        found = parse(line, number)
        if isinstance(found, Fault):
            reading.faults.append(found)
        else:
            objects.append((number, found))
    if objects:
        reading.header = list(objects[0][1])
        keys = _keys(objects, request)
        for number, item in objects:
            _take(number, item, lines[number - 1], keys, reading)
    return reading


def _keys(objects: list[tuple[int, dict[str, Any]]], request: Request) -> dict[str, str]:
    """The key of each role; one that only the first object lacks is not missing."""
    header = list(objects[0][1])
    wanted = {role: request.columns.get(role, role) for role in request.roles}
    if any(all(key in item for key in wanted.values()) for _, item in objects):
        return wanted

    def values(place: int) -> list[str]:
        return [str(item.get(header[place])) for _, item in objects]

    places = by_name(request.path, request.roles, request.columns, header, values)
    return {role: header[place] for role, place in zip(request.roles, places, strict=True)}


def parse(line: str, number: int) -> dict[str, Any] | Fault:
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


def _take(
    line: int, item: dict[str, Any], text: str, keys: dict[str, str], reading: Reading[Row]
) -> None:
    """Add an object to what was read, as a row or a fault."""
    fields = []
    for role, key in keys.items():
        if key not in item:
            note = f"found: {shorten(', '.join(item))}" if item else "the object is empty"
            reading.faults.append(
                Fault("D010", line, f'the object has no key "{key}"', text, (0, len(text)), note)
            )
            return
        value = _plain(item[key])
        fault = _unfit(value, role, key)
        if fault is not None:
            reading.faults.append(Fault(fault[0], line, fault[1], text))
            return
        fields.append(value or "")
    reading.rows.append(Row(line, tuple(fields)))


def _plain(value: Any) -> str | None:
    """A value as text, written as in the file; nothing for a nested one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return value if isinstance(value, str) else None


def _unfit(value: str | None, role: str, key: str) -> tuple[str, str] | None:
    """The code and the reason if a value cannot be used."""
    if value is None:
        return "D013", f'"{key}" must be text, a number or true or false, not a list or an object'
    if not value.strip():
        return "D014", f'the field "{role}" is empty'
    if unwritable(value) is not None:
        return "D031", f'"{key}" holds a character that no text can: NUL or half a pair'
    return None
