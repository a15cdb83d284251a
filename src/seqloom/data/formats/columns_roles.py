"""Column roles: which column is the text, the label, the source, …

As the user says (`--columns`), as the header says, or as can be guessed.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ...errors import DataError, Place, UsageError, nearest

ColumnValues = Callable[[int], Sequence[str]]  # the values of a column, by its index


def parse_columns(columns: str, roles: tuple[str, ...]) -> dict[str, str]:
    """Parse the --columns option: names or numbers of columns by role."""
    if not columns.strip():
        return {}
    parts = [part.strip() for part in columns.split(",")]
    named = [part.partition("=") for part in parts]
    if all(equals for _, equals, _ in named):
        found = {role.strip(): name.strip() for role, _, name in named}
    elif not any(equals for _, equals, _ in named) and len(parts) == len(roles):
        found = dict(zip(roles, parts, strict=True))
    else:
        raise _usage(columns, roles)
    unknown = next((role for role in found if role not in roles), None)
    if unknown is not None:
        near = nearest(unknown, roles)
        hint = f"did you mean {near!r} instead of {unknown!r}?" if near else ""
        raise _usage(columns, roles, hint)
    if not all(found.values()) or any(re.fullmatch("0+", name) for name in found.values()):
        raise _usage(columns, roles, "columns are counted from 1")
    return found


def all_numbers(columns: dict[str, str]) -> bool:
    """Whether the user gave all columns by number: then the file has no header."""
    found = [re.fullmatch("[0-9]{1,6}", name) for name in columns.values()]
    return bool(found) and all(found)


def columns_by_number(
    path: Path, roles: tuple[str, ...], columns: dict[str, str]
) -> tuple[int, ...]:
    """The column of each role, from 0, where the user gave numbers."""
    missing = [role for role in roles if role not in columns]
    if missing:
        raise UsageError(
            "U010",
            f'--columns gives no column for "{missing[0]}"',
            place=Place(str(path)),
            help=[_template(roles)],
        )
    return tuple(int(columns[role]) - 1 for role in roles)


def columns_by_name(
    path: Path,
    roles: tuple[str, ...],
    columns: dict[str, str],
    header: list[str],
    values: ColumnValues,
) -> tuple[int, ...]:
    """The column of each role, from 0, by its name in the header."""
    found = {role: _find(columns.get(role, role), header) for role in roles}
    if not columns and None in found.values():
        guessed = _guess(roles, header, values)
        if guessed is not None:
            return guessed
    missing = next((role for role in roles if found[role] is None), None)
    if missing is not None:
        raise _no_column(path, columns.get(missing, missing), found, header)
    return tuple(index for index in found.values() if index is not None)


MAX_LABELS = 50  # different ones that are taken for labels


def looks_like_labels(values: Sequence[str]) -> bool:
    """Whether values repeat as labels do: at most 50 different ones, each twice on average."""
    kinds = len(set(values))
    return kinds <= MAX_LABELS and 2 * kinds <= len(values)


def _find(name: str, header: list[str]) -> int | None:
    """The column with a name; its case may differ if that is unambiguous."""
    if name in header:
        return header.index(name)
    plain = [title.strip().casefold() for title in header]
    return plain.index(name.casefold()) if plain.count(name.casefold()) == 1 else None


def _guess(
    roles: tuple[str, ...], header: list[str], values: ColumnValues
) -> tuple[int, ...] | None:
    """The columns of the roles, if only one assignment is possible."""
    named = [index for index, title in enumerate(header) if title.strip()]
    if len(roles) == 1 and len(named) == 1:
        return (named[0],)
    if roles == ("text", "label") and len(named) == 2:
        labels = [index for index in named if looks_like_labels(values(index))]
        if len(labels) == 1:
            other = named[0] if labels[0] == named[1] else named[1]
            return other, labels[0]
    return None


def _no_column(path: Path, name: str, found: dict[str, int | None], header: list[str]) -> DataError:
    """An error with the columns of the header and the option to type."""
    taken = {index for index in found.values() if index is not None}
    rest = [title for index, title in enumerate(header) if title.strip() and index not in taken]
    open_roles = sum(index is None for index in found.values())
    guesses = iter(rest if len(rest) == open_roles else ["…"] * open_roles)
    pairs = [
        f"{role}={header[index] if index is not None else next(guesses)}"
        for role, index in found.items()
    ]
    near = nearest(name, header)
    hints = [f"did you mean {near!r}?"] if near else []
    return DataError(
        "D010",
        f'"{path.name}" has no column "{name}"',
        place=Place(str(path), 1),
        notes=[f"found: {shorten(', '.join(header))}"],
        help=[*hints, shorten(f"--columns {','.join(pairs)}")],
    )


def shorten(text: str, width: int = 100) -> str:
    """A text on one line, cut to so many characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def _usage(columns: str, roles: tuple[str, ...], hint: str = "") -> UsageError:
    """An error for a value of --columns that cannot be parsed."""
    return UsageError(
        "U010",
        f"columns = {columns!r}: expected a column for {' and '.join(roles)}",
        help=[hint] * bool(hint) + [_template(roles)],
    )


def _template(roles: tuple[str, ...]) -> str:
    """The two ways to write --columns for these roles."""
    numbers = ",".join(str(number) for number in range(1, len(roles) + 1))
    return f"--columns {','.join(f'{role}=NAME' for role in roles)}   or   --columns {numbers}"
