"""Data preview: the first rows of a file as tokens, with unknown tokens marked, and lengths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ..data.formats.folders import splits_in
from ..data.options import Data
from ..evaluation.by_length import bucket_width, length_buckets
from ..recipe import Recipe
from ..task import Task
from ..tasks import TASKS
from ..views import LengthBucket
from .check import fitting_task

MOST_READ = 20_000  # rows from which the vocabulary and the lengths are computed
MOST_SYMBOLS = 200  # tokens of a row that are shown


@dataclass(frozen=True)
class DataPreview:
    """The first rows of a file as tokens, and the distribution of lengths, by role.

    Args:
        rows: The line number, the tokens by role (each with whether it is in the vocabulary), how
            many more there are, and the label, or one for each token.
        lengths: A histogram of lengths by role, in buckets from `first` to `last`.
    """

    rows: list[dict[str, Any]]
    lengths: dict[str, list[dict[str, Any]]]

    def as_dict(self) -> dict[str, Any]:
        """The preview as JSON."""
        return {"rows": self.rows, "lengths": self.lengths}


def preview_rows(
    path: Path, task: str, settings: Data, options: Mapping[str, Any], most: int = 20
) -> DataPreview:
    """The first rows as the task encodes them, with the vocabulary of the rows that were read."""
    path = splits_in(path).get("train", path)
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
    tokens = [reader.tokens_with_known(example) for example in examples]
    shown = [_row(reader, *one) for one in islice(zip(examples, tokens, strict=True), most)]
    roles = tokens[0] if tokens else {}
    return DataPreview(
        shown, {role: _lengths([len(one[role]) for one in tokens]) for role in roles}
    )


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
    """A histogram of lengths, in a few buckets of equal width."""
    return [
        {
            "title": LengthBucket(first, last, 0, 0, 0, 0).title,
            "first": first,
            "last": last,
            "n": len(places),
        }
        for first, last, places in length_buckets(lengths, bucket_width(lengths))
    ]
