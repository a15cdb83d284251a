"""One training as a command runs it: shown, stopped by Ctrl-C, judged on the test part.

Ctrl-C: the first asks to stop when a step is whole, the second stops at once.
"""

import contextlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ..errors import TrainingError
from ..evaluation.evaluate import Evaluation, evaluate
from ..metrics import METRICS, Measured
from ..model import Search
from ..recipe import Recipe
from ..runs.card import metrics_in
from ..runs.record import Record, read_record
from ..runs.run import RUNS, Run
from ..runs.splits import read_parts, with_known_labels
from ..runs.train import Watcher, new_folder, resume, train
from ..training.events import Event
from .loading import impossible_note
from .progress import Report, report_for
from .terminal import duration, mark, say, several

ASKED = "Stopping after this step… (Ctrl-C again to quit now without saving)"
SHOW_CURSOR = b"\033[?25h\n"


class Stopper:
    """Listens to the signals that end a program, and counts what would be lost."""

    def __init__(
        self,
        announce: Callable[[str], None] = say,
        asked: str = ASKED,
        loss: Callable[[], str] | None = None,
    ) -> None:
        self.signal: int | None = None
        self.step, self.saved = 0, 0
        self._began = False
        self._announce, self._asked, self._loss = announce, asked, loss or self._lost_steps

    @property
    def exit_code(self) -> int:
        """130 for Ctrl-C, 143 for a polite kill, 129 for a terminal that was closed."""
        return 128 + (self.signal or signal.SIGINT)

    def ask(self) -> bool:
        """Training asks this after every step, which is how steps are counted here."""
        self.step += 1
        return self.signal is not None

    def tell(self, event: Event) -> None:
        """Follow what happened."""
        if event.kind in ("start", "resume"):
            self._began, self.step, self.saved = True, event.step, event.step
        elif event.kind == "checkpoint":
            self.saved = event.step

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals while training, and give them back after."""
        if threading.current_thread() is not threading.main_thread():
            yield  # Python gives signals to the main thread only
            return
        before = {
            kind: signal.signal(kind, self._heard)
            for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(kind) is not signal.SIG_IGN  # nohup means: go on
        }
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if not self._began:  # the data is still being read: there is nothing to save
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        if self.signal is None:
            self.signal = number
            try:
                self._announce(self._asked)
            except RuntimeError:  # the signal came in the middle of a print
                _write(f"{self._asked}\n".encode())
            return
        _write(SHOW_CURSOR if sys.stderr.isatty() else b"")
        _write(f"{self._loss()}\n".encode())
        os._exit(128 + number)  # nothing may stand in the way, not even a save under way

    def _lost_steps(self) -> str:
        lost = several(max(0, self.step - self.saved), "step")
        if not self.saved:
            return f"Stopped at once. No checkpoint yet ({lost} lost)."
        return f"Stopped at once. Last checkpoint: step {self.saved:,} ({lost} lost)."


class Leaving:
    """Hears that somebody wants to leave, so that what is printed piece by piece ends whole."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def exit_if_asked(self) -> None:
        """Leave now, if anybody asked for it."""
        if self.signal is not None:
            raise SystemExit(128 + self.signal)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals, and give them back after."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self._heard) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise SystemExit(128 + number)  # the piece under way takes too long for them
        self.signal = number


def _write(text: bytes) -> None:
    """Straight to the system: a signal may come in the middle of a print."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), text)


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
