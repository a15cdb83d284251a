"""Which column plays which role: as the user says, as the header says, or as can be guessed."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ...errors import DataError, Place, UsageError, nearest

Values = Callable[[int], Sequence[str]]


def parse_columns(columns: str, roles: tuple[str, ...]) -> dict[str, str]:
    """The --columns option as a table from roles to names or numbers of columns."""
    if not columns.strip():
        return {}
    pieces = [piece.strip() for piece in columns.split(",")]
    named = [piece.partition("=") for piece in pieces]
    if all(equals for _, equals, _ in named):
        found = {role.strip(): name.strip() for role, _, name in named}
    elif not any(equals for _, equals, _ in named) and len(pieces) == len(roles):
        found = dict(zip(roles, pieces, strict=True))
    else:
        raise _usage(columns, roles)
    stranger = next((role for role in found if role not in roles), None)
    if stranger is not None:
        near = nearest(stranger, roles)
        hint = f"did you mean {near!r} instead of {stranger!r}?" if near else ""
        raise _usage(columns, roles, hint)
    if not all(found.values()) or any(re.fullmatch("0+", name) for name in found.values()):
        raise _usage(columns, roles, "columns are counted from 1")
    return found


def as_numbers(columns: dict[str, str]) -> bool:
    """Whether the user named columns, and all by number: then the file has no header."""
    found = [re.fullmatch("[0-9]{1,6}", name) for name in columns.values()]
    return bool(found) and all(found)


def by_number(path: Path, roles: tuple[str, ...], columns: dict[str, str]) -> tuple[int, ...]:
    """The place of each role, from 0, where the user gave numbers."""
    missing = [role for role in roles if role not in columns]
    if missing:
        raise UsageError(
            "U010",
            f'--columns gives no column for "{missing[0]}"',
            place=Place(str(path)),
            help=[_template(roles)],
        )
    return tuple(int(columns[role]) - 1 for role in roles)


def by_name(
    path: Path, roles: tuple[str, ...], columns: dict[str, str], header: list[str], values: Values
) -> tuple[int, ...]:
    """The place of each role in a header, from 0."""
    found = {role: _find(columns.get(role, role), header) for role in roles}
    if not columns and None in found.values():
        guessed = _guess(roles, header, values)
        if guessed is not None:
            return guessed
    missing = next((role for role in roles if found[role] is None), None)
    if missing is not None:
        raise _no_column(path, columns.get(missing, missing), found, header)
    return tuple(place for place in found.values() if place is not None)


def has_few_kinds(values: Sequence[str]) -> bool:
    """Whether values repeat as labels do: at most fifty kinds, each twice on average."""
    kinds = len(set(values))
    return kinds <= 50 and 2 * kinds <= len(values)


def _find(name: str, header: list[str]) -> int | None:
    """The place of a name, in any case of letters if there is only one such."""
    if name in header:
        return header.index(name)
    plain = [title.strip().casefold() for title in header]
    return plain.index(name.casefold()) if plain.count(name.casefold()) == 1 else None


def _guess(roles: tuple[str, ...], header: list[str], values: Values) -> tuple[int, ...] | None:
    """The places of the roles, where only one answer is possible."""
    named = [place for place, title in enumerate(header) if title.strip()]
    if len(roles) == 1 and len(named) == 1:
        return (named[0],)
    if roles == ("text", "label") and len(named) == 2:
        labels = [place for place in named if has_few_kinds(values(place))]
        if len(labels) == 1:
            other = named[0] if labels[0] == named[1] else named[1]
            return other, labels[0]
    return None


def _no_column(path: Path, name: str, found: dict[str, int | None], header: list[str]) -> DataError:
    """An error that lists what the header has and writes the option to type."""
    taken = {place for place in found.values() if place is not None}
    rest = [title for place, title in enumerate(header) if title.strip() and place not in taken]
    open_roles = sum(place is None for place in found.values())
    guesses = iter(rest if len(rest) == open_roles else ["…"] * open_roles)
    pairs = [
        f"{role}={header[place] if place is not None else next(guesses)}"
        for role, place in found.items()
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
    """At most so many characters, on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def _usage(columns: str, roles: tuple[str, ...], hint: str = "") -> UsageError:
    """An error for a --columns that cannot be understood."""
    return UsageError(
        "U010",
        f"columns = {columns!r}: expected a column for {' and '.join(roles)}",
        help=[hint] * bool(hint) + [_template(roles)],
    )


def _template(roles: tuple[str, ...]) -> str:
    """The two ways to write --columns for these roles."""
    numbers = ",".join(str(number) for number in range(1, len(roles) + 1))
    return f"--columns {','.join(f'{role}=NAME' for role in roles)}   or   --columns {numbers}"
