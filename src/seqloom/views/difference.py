"""What an edit did, in a sentence: the largest change between two tables of the same kind."""

from collections import Counter
from collections.abc import Sequence

Table = Sequence[Sequence[str]]
Cells = dict[tuple[str, str], str]


def effect(before: Table, after: Table, places: Sequence[str] = ()) -> str:
    """The number that changed most, next to the spread of its column; and words that changed.

    Rows go together by their names; where they are the places of what was read, by these.
    """
    names = [[row[0] for row in table[1:]] for table in (before, after)]
    if len(names[0]) == len(names[1]) and names[1] == list(places):
        renamed = zip(names[1], before[1:], strict=True)
        before = [before[0], *([name, *row[1:]] for name, row in renamed)]
    old, new = _cells(before), _cells(after)
    both = [key for key in new if key in old and old[key] != new[key]]
    if old == new:
        return "Nothing that is shown here changes."
    numbers = [key for key in both if None not in (_number(old[key]), _number(new[key]))]
    words = [key for key in both if _is_word(old[key]) and _is_word(new[key])]
    if not numbers and not words:
        return "What is shown here is made up otherwise."
    told = []
    if words:
        (row, column), count = words[0], len(words)
        told.append(
            f"{column} of {row}: {old[words[0]] or 'nothing'} becomes {new[words[0]] or 'nothing'}"
            + (f", and {count - 1} more change so." if count > 1 else ".")
        )
    if numbers:
        spreads = {column: _spread(column, old, new) for _, column in numbers}
        most = max(numbers, key=lambda key: _change(key, old, new) / spreads[key[1]])
        told.append(f"Most changed: {most[1]} of {most[0]}, from {old[most]} to {new[most]}.")
    return " ".join(told)


def _cells(table: Table) -> Cells:
    """By the names of row and column; rows of the same name are told apart by their number."""
    heading, *rows = table
    counts = Counter(row[0] for row in rows)
    seen: Counter[str] = Counter()
    found: Cells = {}
    for row in rows:
        seen[row[0]] += 1
        name = f"{row[0]} ({seen[row[0]]})" if counts[row[0]] > 1 else row[0]
        found |= {(name, column): cell for column, cell in zip(heading[1:], row[1:], strict=False)}
    return found


def _number(text: str) -> float | None:
    try:
        return float(text.removesuffix("%").strip().lstrip("<").replace(",", ""))
    except ValueError:
        return None


def _is_word(text: str) -> bool:
    """A label or a symbol, not several of them with their numbers."""
    return not any(character.isdigit() for character in text)


def _change(key: tuple[str, str], old: Cells, new: Cells) -> float:
    return abs((_number(new[key]) or 0.0) - (_number(old[key]) or 0.0))


def _spread(column: str, old: Cells, new: Cells) -> float:
    known = [
        number
        for cells in (old, new)
        for (_, name), text in cells.items()
        if name == column and (number := _number(text)) is not None
    ]
    return (max(known) - min(known)) or 1.0
