"""Runs loaded and judged, with a line on the terminal that tells how far that is."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..evaluation.evaluate import Evaluation, evaluate
from ..experiments.compare import Exam
from ..metrics import METRICS, Measured
from ..model import Search
from ..runs.run import Run, find, load
from .terminal import MARKS, can_show, is_live, say

NAMED = 5  # so many unknown symbols are told by name


def load_run(name: str, runs: str | Path) -> Run:
    """A run by its name in the runs folder, or by its own folder."""
    return load(find(name, Path(runs)))


def load_together(given: argparse.Namespace) -> Run:
    """The run that was asked for, and those that answer with it."""
    run = load_run(given.run, given.runs_dir)
    return run.together(*(load_run(name, given.runs_dir) for name in given.others))


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

    def of(self, what: str, total: int, done: int) -> None:
        """So many are done of something else."""
        self._what, self._total = what, total
        self.tell(done)

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
