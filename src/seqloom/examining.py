"""The examples that a run is judged on: those of a file, or those it put aside for its own test."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import DataError
from .parts import fingerprint, read_parts
from .run import Run, read_task, unknown_labels


@dataclass(frozen=True)
class Exam:
    """Examples to judge on, the file they are in, what they are called and what is odd of them."""

    examples: Sequence[Any]
    file: Path | None  # none where the task makes its own examples
    title: str
    notes: tuple[str, ...] = ()


def exam(
    run: Run,
    file: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    skip_unknown_labels: bool = False,
    lines: Container[int] | None = None,
) -> Exam:
    """The examples of a file, or of the run's own test part; of some lines only, if asked."""
    data = run.recipe.with_settings(settings or {}).build_data()
    if file is not None:
        found = Exam(run.task.read(file, data), file, file.name)
    else:
        tested = read_parts(run.task, data).test
        changed = fingerprint(run.task, data) != read_task(run.folder)["fingerprint"]
        notes = (f"the data of {run.name} has changed since it was trained",) * changed
        place = Path(data.test or data.train) if run.task.roles else None
        found = Exam(tested, place, f"the test part of {run.name}", notes)
    found = replace(found, notes=(*found.notes, *run.task.remarks(found.examples).values()))
    if lines is not None:
        chosen = [example for example in found.examples if example.line in lines]
        found = replace(found, examples=chosen)
    return _answerable(run, found, skip_unknown_labels)


def _answerable(run: Run, found: Exam, skip_unknown_labels: bool) -> Exam:
    """Without the examples whose labels the run never saw, or an error that names them."""
    examples, notes = found.examples, found.notes
    if unknown := run.task.unknown_labels(examples):
        if not skip_unknown_labels:
            raise unknown_labels(found.file or Path(), unknown)
        lines = {line for places in unknown.values() for line in places}
        examples = [example for example in examples if example.line not in lines]
        left = len(found.examples) - len(examples)
        notes = (*notes, f"{left:,} examples left out: their labels were not in the training data")
    if not examples:
        raise DataError("D022", f"{found.title} has no examples to evaluate")
    return replace(found, examples=examples, notes=notes)
