"""What every picture is: numbers with a sentence about them, in all forms a reader may need.

What an edit did, in a sentence: the largest change between two tables of the same kind.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from ..errors import MachineError, UsageError
from .draw.colours import GRID, INK, MUTED, PAGE
from .draw.svg import Picture
from .draw.text import fold, to_ascii, visible
from .draw.text_heatmap import text_width

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


class View(ABC):
    """A look inside a model that prints as text, draws as a picture and saves as a file.

    Args:
        model: name of the model that was looked into.
        caption: a sentence computed from the numbers.
        data: the numbers themselves.
        notes: what a reader must know about how the numbers came about.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    as_kept: dict[str, Any] | None = None  # its JSON, where that was kept and is drawn again
    edit: dict[str, str] | None = None  # what was changed in the run, in words
    before: "View | None" = None  # the same view of the run as it is, where this one is of an edit
    numbers: Mapping[str, str] | None = None  # what was observed at the steps of a series, by name

    def __init__(
        self, model: str, caption: str, data: dict[str, Any], notes: Sequence[str] = ()
    ) -> None:
        self.model, self.caption, self.data, self.notes = model, caption, data, tuple(notes)

    @abstractmethod
    def to_picture(self) -> Picture:
        """The picture as shapes, from which SVG and PNG are made."""

    @abstractmethod
    def to_table(self) -> list[list[str]]:
        """The numbers for those who cannot see the picture, the first row being the heading."""

    @abstractmethod
    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        """The picture in block characters, at most `width` columns wide."""

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """What is particular to this kind of view in its JSON."""

    def to_json(self) -> dict[str, Any]:
        """The view as plain lists and numbers: the form the studio draws from."""
        head = {"view": self.kind, "version": self.version, "model": self.model}
        if self.as_kept is not None:
            return self.as_kept
        told = {**head, **self.content(), "caption": self.caption, "notes": list(self.notes)}
        if self.before is not None:
            told |= {"edit": self.edit, "before": self.before.to_json()}
        if self.numbers and "tokens" in told:
            shown = [self.numbers.get(name, "") for name in told["tokens"]["src"]]
            told["tokens"] = {**told["tokens"], "numbers": shown}
        return told

    def edited(self, before: "View", edit: str, told: str) -> "View":
        """This view as one of an edited run, beside the same of the run as it is."""
        places = [visible(name) for name in self.content().get("tokens", {}).get("src", [])]
        found = effect(before.to_table(), self.to_table(), places)
        self.edit = {"text": edit, "told": told, "effect": found}
        self.before = before
        self.caption = f"Edited run: {told}. {found} {self.caption}"
        return self

    def to_text(self, width: int = 80, ascii: bool = False) -> str:
        """The view for a terminal, with the caption and the notes below.

        Args:
            width: columns of the terminal; fewer than 12 are taken as 12.
            ascii: use only characters that every terminal has.
        """
        width = text_width(width)
        lines = self.grid_lines(width, ascii)
        for sentence in (self.caption, *(f"Note: {note}" for note in self.notes)):
            lines += ["", *fold(to_ascii(sentence) if ascii else sentence, width)]
        return "\n".join(lines).strip("\n")

    def to_svg(self) -> str:
        """The picture as SVG that needs nothing from outside."""
        return self.to_picture().to_svg()

    def to_html(self) -> str:
        """A whole page in one file: the picture and its numbers as a table."""
        title = escape(f"{self.kind.capitalize()}: {self.model}")
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
            f"<body>\n{self._figure()}\n</body>\n</html>\n"
        )

    def save(self, path: str | Path) -> Path:
        """Write the view to a file; the suffix says in which form."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in _SUFFIXES:
            raise UsageError(
                "U011",
                f"cannot save a picture as {path.name!r}: the suffix says the form",
                help=[f"end the name with one of: {', '.join(_SUFFIXES)}"],
            )
        try:
            self._write(path, suffix)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return path

    def __str__(self) -> str:
        return self.to_text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: it takes the richest form it can."""
        return {
            "text/plain": self.to_text(),
            "text/html": self._figure(),
            "image/svg+xml": self.to_svg(),
        }

    def _write(self, path: Path, suffix: str) -> None:
        if suffix == ".png":
            self.to_picture().to_png(path)
            return
        if suffix == ".json":
            text = json.dumps(self.to_json(), ensure_ascii=False) + "\n"
        else:
            text = self.to_svg() if suffix == ".svg" else self.to_html()
        # Half a surrogate pair has no UTF-8; written as \udc80 it is still right in JSON.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")

    def _figure(self) -> str:
        """The picture and its table as a piece of HTML without scripts."""
        heading, *rows = self.to_table()
        head = "".join(f'<th scope="col" dir="auto">{_html(cell)}</th>' for cell in heading)
        body = "\n".join(_row(cells) for cells in rows)
        notes = " ".join(_html(note) for note in self.notes)
        return (
            f'<figure style="margin:0">\n{self.to_svg()}\n'
            f"<figcaption>{notes}</figcaption>\n"
            "<details><summary>The numbers as a table</summary>\n"
            '<div style="overflow-x:auto"><table>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n"
            "</table></div></details>\n</figure>"
        )


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    numbers = "".join(f"<td>{_html(cell)}</td>" for cell in others)
    return f'<tr><th scope="row" dir="auto">{_html(first)}</th>{numbers}</tr>'


def _html(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def _cannot_write(path: Path, error: OSError) -> MachineError:
    reason = error.strerror or str(error)
    help = ["save to a folder that exists and that you may write to"]
    if not path.parent.exists():
        help = [f"make the folder first:  mkdir -p '{path.parent}'"]
    return MachineError("E302", f"cannot write {str(path)!r}: {reason}", help=help)


_SUFFIXES = (".svg", ".png", ".json", ".html")
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;"
    f"color:light-dark({INK},{INK.dark});background:light-dark({PAGE},{PAGE.dark})}}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    f"th,td{{border:1px solid light-dark({GRID},{GRID.dark});padding:.15rem .5rem;"
    "text-align:right}"
    f"figcaption,summary{{color:light-dark({MUTED},{MUTED.dark})}}"
)
