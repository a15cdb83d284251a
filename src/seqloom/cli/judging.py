"""Runs judged on examples: those of a file, or those a run put aside for its own test."""

import argparse
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..metrics import METRICS, Measured
from ..model import Search
from ..parts import fingerprint, read_parts
from ..run import Run, find, load, read_task, unknown_labels
from ..training.evaluation import Evaluation, evaluate
from .terminal import MARKS, can_show, is_live, say

NAMED = 5  # so many unknown symbols are told by name


@dataclass(frozen=True)
class Exam:
    """Examples to judge on, the file they are in, what they are called and what is odd of them."""

    examples: Sequence[Any]
    file: Path | None  # none where the task makes its own examples
    title: str
    notes: tuple[str, ...] = ()


def load_run(name: str, runs: str | Path) -> Run:
    """A run by its name in the runs folder, or by its own folder."""
    return load(find(name, Path(runs)))


def load_together(given: argparse.Namespace) -> Run:
    """The run that was asked for, and those that answer with it."""
    run = load_run(given.run, given.runs_dir)
    return run.together(*(load_run(name, given.runs_dir) for name in given.others))


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


def judged(run: Run, exam: Exam, search: Search, quiet: bool) -> Evaluation:
    """A run's score, with a line on the terminal that tells how far it is."""
    with Progress(f"evaluating {run.name}", len(exam.examples), quiet) as progress:
        return evaluate(run.model, run.task, exam.examples, search, progress.tell)


class Progress:
    """One line on stderr that is drawn again and wiped off at the end; only on a terminal."""

    def __init__(self, what: str, total: int | None = None, quiet: bool = False) -> None:
        self._what, self._total = what, total
        self._is_shown = is_live(sys.stderr) and not quiet

    def __enter__(self) -> "Progress":
        self.tell(0)
        return self

    def __exit__(self, *error: object) -> None:
        self._draw("")

    def tell(self, done: int) -> None:
        """So many are done."""
        whole = "" if self._total is None else f" of {self._total:,}"
        self._draw(f"{self._what}  {done:,}{whole}")

    def _draw(self, text: str) -> None:
        if self._is_shown:
            sys.stderr.write(f"\r\033[K{text}")
            sys.stderr.flush()


def say_notes(notes: Sequence[str], quiet: bool, tell: Callable[[str], None] = say) -> None:
    """Notes, unless nobody wants them."""
    for note in () if quiet else notes:
        tell(f"note: {note}")


class UnknownSymbols:
    """Symbols of texts that training never showed: each is told of once."""

    def __init__(self, run: Run, quiet: bool) -> None:
        self._run, self._quiet = run, quiet
        self._told: set[str] = set()
        self._new: dict[str, None] = {}

    def count(self, text: str) -> None:
        """Look at a text as the model reads it."""
        task = self._run.task
        found = task.unknown_symbols(task.question(text))
        self._new |= dict.fromkeys(symbol for symbol in found if symbol not in self._told)

    def tell(self) -> None:
        """Name those that are new."""
        if self._new:
            names = [repr(symbol) for symbol in self._new]
            more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            are = "is" if len(names) == 1 else "are"
            listed = f"{', '.join(names[:NAMED])}{more}"
            say_notes([f"{listed} {are} unknown to {self._run.name}: read as <unk>"], self._quiet)
        self._told |= self._new.keys()
        self._new = {}


def with_interval(name: str, measured: Measured) -> str:
    """A metric with its 95 % interval: 24.10 % (23.30 – 24.90)."""
    shown = METRICS[name].show
    low, high = (shown(value).removesuffix(" %") for value in (measured.low, measured.high))
    dash = MARKS["dash"][0 if can_show(MARKS["dash"][0], sys.stdout) else 1]
    return f"{shown(measured.value)} ({low} {dash} {high})"


def unknown_note(share: float) -> list[str]:
    """How much of the source was never seen in training."""
    return [f"{100 * share:.1f} % of symbols are unknown and read as <unk>"] if share else []


def impossible_note(score: Evaluation) -> list[str]:
    """Why a surprise can be infinite."""
    count = score.impossible()
    whose = f"{count:,} of {len(score.examples):,} examples have"
    told = f"{whose} a probability of 0 in this model, so their surprise is infinite"
    return [f"{told}; another model.smoothing leaves nothing impossible"] if count else []


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
