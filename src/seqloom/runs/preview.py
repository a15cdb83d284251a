"""The first rows of a file as a model will see them: in symbols, with those it will not know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ..data.formats.folders import parts_in
from ..data.options import Data
from ..evaluation.by_length import buckets_of, step_for
from ..recipe import Recipe
from ..task import Task
from ..tasks import TASKS
from ..views import LengthBucket
from .check import fitting_task

MOST_READ = 20_000  # rows from which symbols and lengths are learned
MOST_SYMBOLS = 200  # of a row are shown


@dataclass(frozen=True)
class Rows:
    """Rows of a file, and how long all that were looked at are, by role.

    Args:
        rows: the line, by role the symbols, each with whether training will know it, how many
            more there are, and the label, or one for each symbol.
        lengths: by role, how many rows have a length from `first` to `last`.
    """

    rows: list[dict[str, Any]]
    lengths: dict[str, list[dict[str, Any]]]

    def as_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {"rows": self.rows, "lengths": self.lengths}


def rows(path: Path, task: str, settings: Data, options: Mapping[str, Any], most: int = 20) -> Rows:
    """The first rows as the task gives them to a model, as if all of them were learned from."""
    path = parts_in(path).get("train", path)
    settings = replace(settings, skip_bad=True, max_length=0)
    if TASKS[task].reads_series:
        reader = Recipe(task={**options, "name": task}).build_task()
        examples: Sequence[Any] = reader.read(path, settings)
    else:
        opened = Recipe(task={**options, "name": task}).build_task().open(path, settings)
        source = replace(opened, rows=list(islice(opened.rows, MOST_READ)))
        reader = fitting_task(task, source, options)
        examples = [reader.example(row) for row in source.rows]
        reader.prepare(examples)
    seen = [reader.seen(example) for example in examples]
    shown = [_row(reader, *one) for one in islice(zip(examples, seen, strict=True), most)]
    roles = seen[0] if seen else {}
    return Rows(shown, {role: _lengths([len(one[role]) for one in seen]) for role in roles})


def _row(
    task: Task, example: Any, seen: Mapping[str, Sequence[tuple[str, bool]]]
) -> dict[str, Any]:
    labels = task.labels_of(example)
    symbols = {
        role: [{"text": text, "known": is_known} for text, is_known in found[:MOST_SYMBOLS]]
        for role, found in seen.items()
    }
    more = {role: len(found) - MOST_SYMBOLS for role, found in seen.items()}
    return {
        "line": example.line,
        "symbols": symbols,
        "more": {role: number for role, number in more.items() if number > 0},
        "label": labels[0] if len(labels) == 1 else labels[:MOST_SYMBOLS] or None,
    }


def _lengths(lengths: Sequence[int]) -> list[dict[str, Any]]:
    """How many are how long, in a few buckets of the same width."""
    return [
        {
            "title": LengthBucket(first, last, 0, 0, 0, 0).title,
            "first": first,
            "last": last,
            "n": len(places),
        }
        for first, last, places in buckets_of(lengths, step_for(lengths))
    ]
