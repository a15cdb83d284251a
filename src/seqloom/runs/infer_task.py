"""Task inference: guess from a file's content which task it is made for."""

import re
from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ..data.formats import Row, Sentence, guess_format, read_rows, read_sentences
from ..data.formats.base import pluralize
from ..data.formats.columns_roles import looks_like_labels
from ..data.formats.fasttext import is_unambiguous
from ..data.formats.music import JSON_EXTENSIONS, is_midi, looks_like_piano_rolls
from ..data.formats.series import looks_like_series
from ..data.options import Data
from ..errors import SeqloomError
from ..tasks import TASKS

# Formats that only one task uses.
_MADE_FOR = {
    "columns": ("tag", "one word a line, a blank line between sentences"),
    "text": ("language", "plain text"),
    "parallel": ("translate", "parallel files"),
}


def guess_task(path: Path, read: list[list[str]], settings: Data) -> tuple[str, str]:
    """The task for a file, and the reason for the choice."""
    if music := _music(path, read, settings):
        return "music", music
    if path.is_dir():
        return "classify", "a folder of texts by label"
    if len(read) == 1 and (reason := looks_like_series(read[0], path, settings)):
        labelled = any(line.casefold().startswith("@classlabel true") for line in read[0][:99])
        return "series-classify" if labelled and "series-classify" in TASKS else "forecast", reason
    name = _layout(path, read[0], settings) if len(read) == 1 else "parallel"
    if name in _MADE_FOR:
        return _MADE_FOR[name]
    lenient = replace(settings, skip_bad=True)
    if name == "jsonl" and _are_sentences(path, lenient):
        return "tag", "words with tags, or texts with spans"
    return _by_rows(path, name, lenient)


def _music(path: Path, read: list[list[str]], settings: Data) -> str:
    """Why a file holds music; empty if it does not."""
    if is_midi(path):
        return "MIDI files"
    is_json = settings.format == "auto" and path.suffix.lower() in JSON_EXTENSIONS
    return "lists of frames of pitches" if is_json and looks_like_piano_rolls(read[0]) else ""


def _by_rows(path: Path, name: str, lenient: Data) -> tuple[str, str]:
    """The first task whose columns the file has."""
    for task in ("translate", "classify", "language"):
        try:
            rows = read_rows(path, TASKS[task].roles, lenient).rows
        except SeqloomError:
            continue
        kinds = len({row.fields[-1] for row in rows if isinstance(row, Row)})
        if task == "language":
            return task, "one column of text"
        if task == "translate" and name == "tsv" and _is_label([*rows]):
            rows = read_rows(path, TASKS["classify"].roles, lenient).rows  # perhaps with a header
            kinds = len({row.fields[-1] for row in rows if isinstance(row, Row)})
            return "classify", f"2 columns; the second has {pluralize(kinds, 'value')}"
        role = TASKS[task].roles[-1]
        return task, f'2 columns; "{role}" has {pluralize(kinds, "value")}'
    return "classify", f"a {name} file has columns"


def _are_sentences(path: Path, settings: Data) -> bool:
    """Whether JSON lines hold words with tags, or texts with spans."""
    try:
        return bool(read_sentences(path, TASKS["tag"].roles, settings).rows)
    except SeqloomError:
        return False


def _layout(path: Path, lines: list[str], settings: Data) -> str:
    """The format: as set by the user, or guessed from the file name and lines."""
    if settings.format != "auto":
        return settings.format
    named = guess_format(path, lines, TASKS["language"].roles)
    if named != "text":
        return named
    if _is_columns(lines):
        return "columns"
    found = set()
    for task in ("translate", "classify"):
        try:
            found.add(guess_format(path, lines, TASKS[task].roles))
        except SeqloomError:
            continue
    # Sentences may well begin with the same few words.
    if not is_unambiguous(lines):
        found.discard("label-first")
    written = [line for line in lines if line.strip()]
    # One stray tab does not make a table.
    if 2 * sum("\t" in line for line in written) < len(written):
        found.discard("tsv")
    return min(found, default="text")


def _is_columns(lines: list[str]) -> bool:
    """CoNLL-like columns: groups of lines with equally many fields, the last field label-like."""
    parted = [not line.strip() for line in lines]
    groups = [len(list(group)) for is_blank, group in groupby(parted) if not is_blank]
    words = [line for line in lines if line.strip() and not re.match(r"#(\s|$)", line)]
    if len(groups) < 2 or 2 * len(groups) > sum(groups) or not words:
        return False
    tabbed = all("\t" in line for line in words)
    cells = [line.split("\t") if tabbed else line.split() for line in words]
    width, times = Counter(len(cell) for cell in cells).most_common(1)[0]
    is_even = width > 1 and times > 0.95 * len(cells)
    single = all(len(cell[0].split()) == 1 for cell in cells)
    return is_even and single and looks_like_labels([cell[-1] for cell in cells])


def _is_label(rows: list[Row | Sentence]) -> bool:
    """Whether the last fields repeat as labels do."""
    return looks_like_labels([str(row.fields[-1]) for row in rows])
