"""Which task a file is made for: the guess of `seqloom check`, and its reason in words."""

import re
from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from .data.formats import Row, Sentence, guess_format, read_rows, read_sentences
from .data.formats.found import count
from .data.formats.label_first import is_plain
from .data.formats.roles import has_few_kinds
from .data.formats.series import looks_like_series
from .data.settings import Data
from .errors import SeqloomError
from .tasks import TASKS

# Layouts that one task alone is made for.
_MADE_FOR = {
    "columns": ("tag", "one word a line, a blank line between sentences"),
    "text": ("language", "plain text"),
    "parallel": ("translate", "parallel files"),
}


def guess_task(path: Path, read: list[list[str]], settings: Data) -> tuple[str, str]:
    """The task a file is made for, and the reason in words."""
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


def _by_rows(path: Path, name: str, lenient: Data) -> tuple[str, str]:
    """The first task whose columns a file has."""
    for task in ("translate", "classify", "language"):
        try:
            rows = read_rows(path, TASKS[task].roles, lenient).rows
        except SeqloomError:
            continue
        kinds = len({row.fields[-1] for row in rows if isinstance(row, Row)})
        if task == "language":
            return task, "one column of text"
        if task == "translate" and name == "tsv" and _is_label([*rows]):
            return "classify", f"2 columns; the second has {count(kinds, 'value')}"
        role = TASKS[task].roles[-1]
        return task, f'2 columns; "{role}" has {count(kinds, "value")}'
    return "classify", f"a {name} file has columns"


def _are_sentences(path: Path, settings: Data) -> bool:
    """Whether JSON lines hold words with tags, or texts with spans."""
    try:
        return bool(read_sentences(path, TASKS["tag"].roles, settings).rows)
    except SeqloomError:
        return False


def _layout(path: Path, lines: list[str], settings: Data) -> str:
    """The format, by the user's word, the file's name or its lines."""
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
    if not is_plain(lines):
        found.discard("label-first")
    written = [line for line in lines if line.strip()]
    # One stray tab does not make a table.
    if 2 * sum("\t" in line for line in written) < len(written):
        found.discard("tsv")
    return min(found, default="text")


def _is_columns(lines: list[str]) -> bool:
    """Whether lines of equally many words stand in groups, the last words being of few kinds."""
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
    return is_even and single and has_few_kinds([cell[-1] for cell in cells])


def _is_label(rows: list[Row | Sentence]) -> bool:
    """Whether the last fields repeat as labels do."""
    return has_few_kinds([str(row.fields[-1]) for row in rows])
