"""One training as a command runs it: shown, stopped by Ctrl-C, judged on the test part."""

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..card import metrics_in
from ..errors import TrainingError
from ..fitting import Watcher, new_folder, resume, train
from ..metrics import METRICS, Measured
from ..model import Search
from ..parts import read_parts, with_known_labels
from ..recipe import Recipe
from ..record import Record, read_record
from ..run import RUNS, Run
from ..training.evaluation import Evaluation, evaluate
from ..training.events import Event
from .judging import impossible_note
from .progress import Report, report_for
from .stopping import Stopper
from .terminal import duration, mark, say


@dataclass(frozen=True)
class Outcome:
    """What a training came to; `exit_code` is not 0 where a signal ended it."""

    run: Run
    record: Record
    exit_code: int = 0
    test: Evaluation | None = None

    def facts(self) -> dict[str, Any]:
        """The outcome for machines."""
        best = self.record.best or {}
        test = self.test.measured() if self.test else {}
        return {
            "run": self.run.name,
            "folder": str(self.run.folder),
            "state": self.record.state,
            "best_step": best.get("step"),
            "valid": metrics_in(best),
            "test": {name: vars(measured) for name, measured in test.items()} or None,
            "test_examples": len(self.test.examples) if self.test else 0,
            "seconds": self.record.seconds(),
            "size": self.run.model.size(),
        }

    def lines(self) -> list[str]:
        """The outcome for people."""
        best, took = self.record.best, duration(self.record.seconds())
        lines = []
        if best is not None:
            lines = [f"{mark('best', sys.stdout)} best at step {best['step']:,}   ({took})"]
        rows = [
            (f"valid {METRICS[name].title}", METRICS[name].show(value))
            for name, value in metrics_in(best or {}).items()
        ]
        if self.test is not None:
            measured = self.test.measured()
            rows = [(f"test {METRICS[n].title}", shown_interval(n, m)) for n, m in measured.items()]
        room = max((len(title) for title, _ in rows), default=0)
        lines += [f"  {title:<{room}}  {value}" for title, value in rows]
        if self.test is not None:
            count = len(self.test.examples)
            lines.append(f"  on {count:,} held-out examples, 95 % intervals in brackets")
            lines += [f"  {note}" for note in impossible_note(self.test)]
        return [*lines, str(self.run.folder)]


class Session:
    """A command that trains: where runs are kept, and how much is said."""

    def __init__(self, runs: Path, *, quiet: bool = False) -> None:
        self.runs, self.quiet = runs, quiet
        self._tests: dict[str, Sequence[Any]] = {}  # test parts, as several runs often share one

    def train(self, recipe: Recipe, name: str = "") -> Outcome:
        """Train a new run."""
        folder = new_folder(recipe, name, self.runs)
        with self._watched(folder) as (stopper, watcher):
            run = train(recipe, name=folder.name, runs=self.runs, watcher=watcher)
        return self.outcome(run, stopper)

    def resume(
        self, folder: Path, settings: dict[str, Any] | None = None, *, data_changed: bool = False
    ) -> Outcome:
        """Go on with a run."""
        with self._watched(folder) as (stopper, watcher):
            run = resume(folder, settings=settings, data_changed=data_changed, watcher=watcher)
        return self.outcome(run, stopper)

    def outcome(self, run: Run, stopper: Stopper | None = None) -> Outcome:
        """A run with its record, judged on its test part unless the user wants to leave."""
        record = read_record(run.folder)
        if stopper is not None and stopper.signal is not None:
            return Outcome(run, record, stopper.exit_code)
        examples = self._test_part(run)
        judged = evaluate(run.model, run.task, examples, Search()) if examples else None
        return Outcome(run, record, test=judged)

    def say_saved(self, outcome: Outcome, go_on: str = "") -> None:
        """After a signal: nothing is lost, and how to go on."""
        step, folder = outcome.record.events[-1]["step"], outcome.run.folder
        say(f"Saved step {step:,} {mark('to', sys.stderr)} {folder}. Nothing lost.")
        say(f"Continue with:  {go_on or f'seqloom train --resume {call(folder)}'}")

    def _test_part(self, run: Run) -> Sequence[Any]:
        """What was kept apart to judge the run on; its labels must be those of training."""
        key = Recipe(data=run.recipe.data, task=run.recipe.task).to_toml()
        if key not in self._tests:
            parts = run.parts or read_parts(run.task, run.recipe.build_data())
            self._tests[key] = parts.test
        examples = self._tests[key]
        known = with_known_labels(run.task, examples)
        if len(known) < len(examples):
            left = len(examples) - len(known)
            say(f"{left:,} test examples left out: training never showed their labels")
        return known

    @contextlib.contextmanager
    def _watched(self, folder: Path) -> Iterator[tuple[Stopper, Watcher]]:
        with contextlib.closing(report_for(folder.name, quiet=self.quiet)) as report:
            stopper = Stopper(report.announce)
            with stopper.listening(), _advised(folder):
                yield stopper, Watcher(lambda event: _tell(event, stopper, report), stopper.ask)


def call(folder: Path) -> str:
    """How to name a run on the command line so that it is found again."""
    usual = Path(os.environ.get("SEQLOOM_RUNS") or RUNS)
    return folder.name if folder.parent == usual else shlex.quote(str(folder))


def untrained(failed: Mapping[str, list[str]], command: str, folder: Path) -> TrainingError:
    """Runs of a series that could not be trained, with what they said; the others stand."""
    return TrainingError(
        "T140",
        f"{', '.join(failed)} could not be trained; the table holds the others",
        notes=[f"{name}: {line}" for name, words in failed.items() for line in words],
        help=[f"seqloom {command} --resume {call(folder)}   tries again"],
    )


def shown_interval(name: str, measured: Measured) -> str:
    """A metric with its 95 % interval: 24.10 % (23.30-24.90 %)."""
    show = METRICS[name].show
    low, high = show(measured.low), show(measured.high)
    if METRICS[name].percent:
        low = low.removesuffix(" %")
    return f"{show(measured.value)} ({low}{mark('dash', sys.stdout)}{high})"


def _tell(event: Event, stopper: Stopper, report: Report) -> None:
    stopper.tell(event)
    with contextlib.suppress(OSError):  # a terminal that has gone is no reason to stop training
        report.tell(event)


@contextlib.contextmanager
def _advised(folder: Path) -> Iterator[None]:
    """Where training diverged, give the whole command that goes on with smaller steps."""
    try:
        yield
    except TrainingError as error:
        if error.code != "T130":
            raise
        again = f"seqloom train --resume {call(folder)}"
        helps = [f"{again} {settings}" for settings in error.help]
        raise TrainingError(error.code, error.problem, notes=error.notes, help=helps) from error
