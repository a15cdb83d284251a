"""View: the base class of all pictures of a model, as text, SVG, PNG, HTML, JSON or in a notebook.

Also the effect of an intervention (an edit of a run) in one sentence: the largest change between
two tables of the same kind.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from ..errors import UsageError, cannot_save
from .draw.colours import GRID, INK, MUTED, PAGE
from .draw.svg import Picture
from .draw.text import fold, to_ascii, visible
from .draw.text_heatmap import text_width

Table = Sequence[Sequence[str]]
Cells = dict[tuple[str, str], str]


def intervention_effect(before: Table, after: Table, positions: Sequence[str] = ()) -> str:
    """The number that changed most, relative to the range of its column; and words that changed.

    Args:
        before: the table of the unedited run, the first row being the heading.
        after: the table of the edited run.
        positions: the input tokens of the edited run. Where the rows of `after` are these, rows are
            matched by position, so that a replaced token is compared with the one it replaced;
            otherwise rows are matched by name.
    """
    names = [[row[0] for row in table[1:]] for table in (before, after)]
    if len(names[0]) == len(names[1]) and names[1] == list(positions):
        renamed = zip(names[1], before[1:], strict=True)
        before = [before[0], *([name, *row[1:]] for name, row in renamed)]
    old, new = _cells(before), _cells(after)
    changed = [key for key in new if key in old and old[key] != new[key]]
    if old == new:
        return "Nothing shown here changes."
    numbers = [key for key in changed if None not in (_number(old[key]), _number(new[key]))]
    words = [key for key in changed if _is_word(old[key]) and _is_word(new[key])]
    if not numbers and not words:
        return "The rows shown here change and cannot be compared one by one."
    sentences = []
    if words:
        (row, column), count = words[0], len(words)
        sentences.append(
            f"{column} of {row}: {old[words[0]] or 'nothing'} becomes {new[words[0]] or 'nothing'}"
            + (f", and {count - 1} more change." if count > 1 else ".")
        )
    if numbers:
        ranges = {column: _range(column, old, new) for _, column in numbers}
        key = max(numbers, key=lambda key: _change(key, old, new) / ranges[key[1]])
        sentences.append(f"Largest change: {key[1]} of {key[0]}, from {old[key]} to {new[key]}.")
    return " ".join(sentences)


def _cells(table: Table) -> Cells:
    """The cells by names of row and column; rows of the same name are numbered."""
    heading, *rows = table
    counts = Counter(row[0] for row in rows)
    so_far: Counter[str] = Counter()
    cells: Cells = {}
    for row in rows:
        so_far[row[0]] += 1
        name = f"{row[0]} ({so_far[row[0]]})" if counts[row[0]] > 1 else row[0]
        cells |= {(name, column): cell for column, cell in zip(heading[1:], row[1:], strict=False)}
    return cells


def _number(text: str) -> float | None:
    try:
        return float(text.removesuffix("%").strip().lstrip("<").replace(",", ""))
    except ValueError:
        return None


def _is_word(text: str) -> bool:
    """Whether a cell is a label or a token, rather than several of them with their numbers."""
    return not any(character.isdigit() for character in text)


def _change(key: tuple[str, str], old: Cells, new: Cells) -> float:
    return abs((_number(new[key]) or 0.0) - (_number(old[key]) or 0.0))


def _range(column: str, old: Cells, new: Cells) -> float:
    known = [
        number
        for cells in (old, new)
        for (_, name), text in cells.items()
        if name == column and (number := _number(text)) is not None
    ]
    return (max(known) - min(known)) or 1.0


class View(ABC):
    """A picture of a model: prints as text, draws as SVG or PNG, saves as a file.

    Args:
        model: name of the model.
        caption: sentences computed from the numbers.
        data: the numbers themselves.
        notes: how the numbers were computed, and what was left out of them.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    stored_json: dict[str, Any] | None = None  # its JSON, where the view was restored from that
    edit: dict[str, str] | None = None  # the intervention: its text, a description, its effect
    before: "View | None" = None  # the view of the unedited run, where this one is of an edited run
    observations: Mapping[str, str] | None = None  # of a time series: the value at each time
    drawn_notes: tuple[str, ...] = ()  # what is left out where it is drawn, not in the JSON

    def __init__(
        self, model: str, caption: str, data: dict[str, Any], notes: Sequence[str] = ()
    ) -> None:
        self.model, self.caption, self.data, self.notes = model, caption, data, tuple(notes)

    @abstractmethod
    def to_picture(self) -> Picture:
        """The picture as shapes, from which SVG and PNG are written."""

    @abstractmethod
    def to_table(self) -> list[list[str]]:
        """The numbers as a table, the first row being the heading."""

    @abstractmethod
    def text_lines(self, width: int, ascii: bool) -> list[str]:
        """The picture in block characters, at most `width` columns wide."""

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """The fields of the JSON that only this kind of view has."""

    def to_json(self) -> dict[str, Any]:
        """The view as plain lists and numbers, from which the studio draws."""
        head = {"view": self.kind, "version": self.version, "model": self.model}
        if self.stored_json is not None:
            return self.stored_json
        fields = {**head, **self.content(), "caption": self.caption, "notes": list(self.notes)}
        if self.before is not None:
            fields |= {"edit": self.edit, "before": self.before.to_json()}
        if self.observations and "tokens" in fields:
            values = [self.observations.get(time, "") for time in fields["tokens"]["src"]]
            fields["tokens"] = {**fields["tokens"], "numbers": values}
        return fields

    def as_edited(self, before: "View", edit: str, description: str) -> "View":
        """Mark this view as one of an edited run, and describe the effect of the edit.

        Args:
            before: the same view of the unedited run.
            edit: the edit as it was written.
            description: the edit in words.
        """
        positions = [visible(name) for name in self.content().get("tokens", {}).get("src", [])]
        effect = intervention_effect(before.to_table(), self.to_table(), positions)
        self.edit = {"text": edit, "told": description, "effect": effect}
        self.before = before
        self.caption = f"Edited run: {description}. {effect} {self.caption}"
        return self

    def to_text(self, width: int = 80, ascii: bool = False) -> str:
        """The view for a terminal, with the caption and the notes below.

        Args:
            width: columns of the terminal; at least 12.
            ascii: use ASCII characters only.
        """
        width = text_width(width)
        lines = self.text_lines(width, ascii)
        notes = (*self.notes, *self.drawn_notes)
        for sentence in (self.caption, *(f"Note: {note}" for note in notes)):
            lines += ["", *fold(to_ascii(sentence) if ascii else sentence, width)]
        return "\n".join(lines).strip("\n")

    def to_svg(self) -> str:
        """The picture as self-contained SVG."""
        return self.to_picture().to_svg()

    def to_html(self) -> str:
        """A self-contained HTML page: the picture and its numbers as a table."""
        title = escape(f"{self.kind.capitalize()}: {self.model}")
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n"
            f"<body>\n{self._figure()}\n</body>\n</html>\n"
        )

    def save(self, path: str | Path) -> Path:
        """Write the view to a file: .svg, .png, .json or .html."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in _SUFFIXES:
            raise UsageError(
                "U011",
                f"cannot save a picture as {path.name!r}: the suffix selects the format",
                help=[f"end the name with one of: {', '.join(_SUFFIXES)}"],
            )
        try:
            self._write(path, suffix)
        except OSError as error:
            raise cannot_save(path, error) from error
        return path

    def __str__(self) -> str:
        return self.to_text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The forms of the view for Jupyter, which shows the richest it can."""
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
        # A lone surrogate has no UTF-8; escaped as \udc80 it is still correct JSON.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")

    def _figure(self) -> str:
        """The picture and its table as an HTML fragment without scripts."""
        heading, *rows = self.to_table()
        head = "".join(f'<th scope="col" dir="auto">{_html(cell)}</th>' for cell in heading)
        body = "\n".join(_row(cells) for cells in rows)
        notes = " ".join(_html(note) for note in (*self.notes, *self.drawn_notes))
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
