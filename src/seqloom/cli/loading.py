"""Loading and evaluating runs, with a progress line, and notes on unknown tokens."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import visible_controls
from ..evaluation.evaluate import Evaluation
from ..experiments.compare import TestSet
from ..metrics import METRICS, MetricValue
from ..model import Search
from ..runs.run import Run, find, load
from .terminal import MARKS, can_show, is_interactive, plural, say

NAMED = 5  # unknown tokens that are listed by name


def load_run(name: str, runs: str | Path) -> Run:
    """Load a run by its name in the runs folder, or by its folder."""
    return load(find(name, Path(runs)))


def load_ensemble(args: argparse.Namespace) -> Run:
    """The run of the command; an ensemble of it and those of --with, if any."""
    run = load_run(args.run, args.runs_dir)
    return run.ensemble(*(load_run(name, args.runs_dir) for name in args.others))


def evaluate_run(run: Run, exam: TestSet, search: Search, quiet: bool) -> Evaluation:
    """Evaluate a run, with a progress line."""
    with ProgressLine(f"evaluating {run.name}", len(exam.examples), quiet) as progress:
        return run.evaluate_examples(exam.examples, search, progress.update)


class ProgressLine:
    """One line on stderr that is redrawn, and erased at the end; only on a terminal."""

    def __init__(self, what: str, total: int | None = None, quiet: bool = False) -> None:
        self._what, self._total = what, total
        self._is_shown = is_interactive(sys.stderr) and not quiet

    def __enter__(self) -> "ProgressLine":
        self.update(0)
        return self

    def __exit__(self, *error: object) -> None:
        self._draw("")

    def start(self, what: str, total: int, done: int) -> None:
        """Show progress of another task."""
        self._what, self._total = what, total
        self.update(done)

    def update(self, done: int) -> None:
        """Show how many items are done."""
        whole = "" if self._total is None else f" of {self._total:,}"
        self._draw(f"{self._what}  {done:,}{whole}")

    def _draw(self, text: str) -> None:
        if self._is_shown:
            sys.stderr.write(f"\r\033[K{visible_controls(text)}")
            sys.stderr.flush()


def say_notes(notes: Sequence[str], quiet: bool, write: Callable[[str], None] = say) -> None:
    """Print notes, unless quiet."""
    for note in () if quiet else notes:
        write(f"note: {note}")


class UnknownTokens:
    """Tokens that are not in the vocabulary; each is reported once."""

    def __init__(self, run: Run, quiet: bool) -> None:
        self._run, self._quiet = run, quiet
        self._reported: set[str] = set()
        self._new: dict[str, None] = {}

    def count(self, text: str) -> None:
        """Collect the unknown tokens of a text."""
        task = self._run.task
        unknown = task.unknown_tokens(task.question(text))
        self._new |= dict.fromkeys(token for token in unknown if token not in self._reported)

    def report(self) -> None:
        """Print a note on tokens that were not reported before."""
        if self._new:
            names = [repr(token) for token in self._new]
            more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
            are = "is" if len(names) == 1 else "are"
            listed = f"{', '.join(names[:NAMED])}{more}"
            say_notes(
                [f"{listed} {are} not in the vocabulary of {self._run.name}: read as <unk>"],
                self._quiet,
            )
        self._reported |= self._new.keys()
        self._new = {}


def with_interval(name: str, measured: MetricValue) -> str:
    """A metric with its 95 % interval: 24.10 % (23.30 – 24.90), if there is one."""
    shown = METRICS[name].show
    if not measured.has_interval:
        return shown(measured.value) + measured.without_interval
    low, high = (shown(value).removesuffix(" %") for value in (measured.low, measured.high))
    dash = MARKS["dash"][0 if can_show(MARKS["dash"][0], sys.stdout) else 1]
    return f"{shown(measured.value)} ({low} {dash} {high})"


def visible_note(score: Evaluation) -> list[str]:
    """What difference between two models these examples could show, by the primary metric.

    Half of the interval: the difference of two models varies about as much as each of them, as what
    is hard for one is mostly hard for the other.
    """
    name, measured = next(iter(score.with_intervals().items()))
    if not measured.has_interval:
        return ["too few to tell two models apart"]
    half, metric = (measured.high - measured.low) / 2, METRICS[name]
    amount = f"{100 * half:.2g} points" if metric.percent else f"{half:.2g}"
    return [f"another model with {metric.title} less than about {amount} away could be as good"]


def unknown_note(fraction: float) -> list[str]:
    """A note on the fraction of tokens that are not in the vocabulary."""
    return (
        [f"{100 * fraction:.1f} % of tokens are not in the vocabulary and read as <unk>"]
        if fraction
        else []
    )


def trained_note(score: Evaluation) -> list[str]:
    """A note on examples that the run was trained on."""
    count, every = len(score.trained_on), len(score.examples)
    if not count:
        return []
    whose = "all examples were" if count == every else f"{count:,} of {every:,} examples were"
    return [f"{whose} trained on: these metrics are not those of unseen examples"]


def cut_note(score: Evaluation, remedy: str = "--length N") -> list[str]:
    """A note on outputs that were cut at the limit on their length."""
    count = score.num_cut()
    whose = (
        f"{count:,} of {plural(len(score.examples), 'output')} {'was' if count == 1 else 'were'}"
    )
    return [f"{whose} cut at the maximum number of tokens; {remedy} allows more"] * bool(count)


def impossible_note(score: Evaluation) -> list[str]:
    """A note on examples of probability 0, whose surprisal is infinite."""
    count = score.num_infinite()
    whose = f"{count:,} of {len(score.examples):,} examples have"
    note = f"{whose} probability 0 under this model, so their surprisal is infinite"
    return [f"{note}; another model.smoothing gives every token a probability"] if count else []
