"""Several columns that are one field: text=title+body."""

from dataclasses import dataclass

from ...errors import DataError
from .found import Fault, Reading, Row, Rules


@dataclass(frozen=True)
class Joined:
    """The columns to be read as roles of their own, and how they become fields again."""

    roles: tuple[str, ...]
    columns: dict[str, str]
    empty: frozenset[str]
    widths: dict[str, int]  # how many columns each field has
    rules: Rules

    def together(self, reading: Reading[Row]) -> Reading[Row]:
        """The rows with one field for each role; of several columns one must have something."""
        if all(width == 1 for width in self.widths.values()):
            return reading
        rows, reading.rows = reading.rows, []
        for row in rows:
            fields, rest = [], list(row.fields)
            for role, width in self.widths.items():
                parts, rest = rest[:width], rest[width:]
                has_some = any(part.strip() for part in parts)
                if not has_some and role not in self.rules.empty:
                    reason = f'the field "{role}" is empty in all of its {width} columns'
                    reading.faults.append(Fault("D014", row.line, reason))
                    break
                fields.append(self.rules.between.join(parts) if width > 1 else parts[0])
            else:
                reading.rows.append(Row(row.line, (*fields, *rest)))
        return reading

    def explained(self, error: DataError, given: str) -> DataError:
        """An error of columns, in the words of the user."""
        if error.code != "D010" or all(width == 1 for width in self.widths.values()):
            return error
        help = [f"--columns {given}   names columns; those with + between them are one field"]
        return DataError(error.code, error.problem, place=error.place, notes=error.notes, help=help)


def joined(columns: dict[str, str], roles: tuple[str, ...], rules: Rules) -> Joined:
    """A role for each column that has its own name, where some fields have several."""
    found: dict[str, str] = {}
    order: list[str] = []
    empty, widths = set(rules.empty), {}
    for role in roles:
        names = [name.strip() for name in columns.get(role, "").split("+") if name.strip()]
        widths[role] = max(1, len(names))
        own = [role, *(f"{role} {number}" for number in range(2, len(names) + 1))]
        order += own
        found |= dict(zip(own, names, strict=False))
        empty |= set(own) if len(names) > 1 else set()
    return Joined(tuple(order), found, frozenset(empty), widths, rules)
