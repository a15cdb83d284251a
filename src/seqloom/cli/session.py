"""One training run of a command: progress, stopping by Ctrl-C, and evaluation on the test set.

The first Ctrl-C stops after the current step and saves a checkpoint; the second stops at once.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ..errors import MachineError, TrainingError
from ..evaluation.evaluate import Evaluation, evaluate
from ..metrics import METRICS, MetricValue
from ..model import Search
from ..recipe import Recipe
from ..runs.baseline import BaselineResult, compare_with_baseline
from ..runs.card import best_evaluation, metrics_in, write_card
from ..runs.names import RECIPE, run_argument
from ..runs.record import Record, read_record
from ..runs.run import Run
from ..runs.splits import unknown_label_note, with_known_labels
from ..runs.train import Callback, new_run_folder, resume, train_into
from ..training.events import Event
from ..training.learner import Learner
from .loading import cut_note, impossible_note, say_notes, visible_note
from .progress import TrainingProgress, progress_for
from .suggestions import improve
from .terminal import duration, mark, plural, say
from .watchdog import Watchdog

STOPPING = "Stopping after this step… (Ctrl-C again to quit now without saving)"
SHOW_CURSOR = b"\033[?25h\n"


class SignalStop:
    """Signal handler for training: the first signal asks to stop, the second exits at once.

    It also counts steps, so that the message of an exit can say how many are lost.
    """

    def __init__(
        self,
        announce: Callable[[str], None] = say,
        message: str = STOPPING,
        lost: Callable[[], str] | None = None,
    ) -> None:
        self.signal: int | None = None
        self.step, self.saved = 0, 0
        self.folder: Path | None = None  # the run that can be resumed
        self.has_short_steps = True  # else SIGTERM does not wait for the end of one
        self._began = False
        self._watchdog = Watchdog(self._must_heed, self._quit)
        self._announce, self._message, self._lost = announce, message, lost or self._lost_steps

    @property
    def exit_code(self) -> int:
        """128 + the signal: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""
        return 128 + (self.signal or signal.SIGINT)

    def should_stop(self) -> bool:
        """Whether a signal came; called after every training step, which counts the steps."""
        self.step += 1
        if self.signal is not None:
            self._watchdog.heed()
        return self.signal is not None

    def update(self, event: Event) -> None:
        """Keep the step of the last checkpoint."""
        if event.kind in ("start", "resume"):
            self._began, self.step, self.saved = True, event.step, event.step
        elif event.kind == "checkpoint":
            self.saved = event.step

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signals while training, and restore the handlers after it."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may set signal handlers
            return
        before = {
            kind: signal.signal(kind, self._heard)
            for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(kind) is not signal.SIG_IGN  # as SIGHUP under nohup
        }
        try:
            with self._watchdog.watching():
                yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _must_heed(self, number: int) -> bool:
        """Whether a first signal has to be heeded at once: little is lost, or nothing."""
        return self._began and number == signal.SIGTERM and not self.has_short_steps

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if not self._began:  # the data is still being read: nothing to save yet
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        if self.signal is None:
            self.signal = number
            try:
                self._announce(self._message)
            except RuntimeError:  # the signal interrupted a print: stderr cannot be entered again
                _write(f"{self._message}\n".encode())
            return
        self._quit(number)

    def _quit(self, number: int) -> None:
        """End the process, even in the middle of a save: files are replaced atomically."""
        _write(SHOW_CURSOR if sys.stderr.isatty() else b"")
        _write(f"{self._lost()}\n".encode())
        if self.folder is not None and (self.folder / RECIPE).exists():
            again = f"seqloom train --resume {run_argument(self.folder)}"
            _write(f"Resume with:  {again}\n".encode())
        os._exit(128 + number)

    def _lost_steps(self) -> str:
        lost = plural(max(0, self.step - self.saved), "step")
        if not self.saved:
            return f"Stopped at once. No checkpoint yet ({lost} lost)."
        return f"Stopped at once. Last checkpoint: step {self.saved:,} ({lost} lost)."


class DeferredExit:
    """Signal handler that exits between two writes, so that streamed output ends cleanly."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def exit_if_asked(self) -> None:
        """Exit now if a signal came."""
        if self.signal is not None:
            raise SystemExit(128 + self.signal)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signals, and restore the handlers after it."""
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
            raise SystemExit(128 + number)  # a second signal: do not wait for the current token
        self.signal = number


def _write(text: bytes) -> None:
    """Write to the file descriptor: inside a signal handler `print` may not be reentered."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), text)


@dataclass(frozen=True)
class Outcome:
    """The result of a training run; `exit_code` is not 0 if a signal stopped it."""

    run: Run
    record: Record
    exit_code: int = 0
    test: Evaluation | None = None
    baseline: BaselineResult | None = None

    def facts(self) -> dict[str, Any]:
        """The outcome as JSON."""
        best = self.record.best or {}
        test = self.test.with_intervals() if self.test else {}
        return {
            "run": self.run.name,
            "folder": str(self.run.folder),
            "state": self.record.state,
            "best_step": best.get("step"),
            "valid": metrics_in(best),
            "test": {name: vars(measured) for name, measured in test.items()} or None,
            "test_examples": len(self.test.examples) if self.test else 0,
            "baseline": self.baseline.as_dict() if self.baseline else None,
            "seconds": self.record.seconds(),
            "size": self.run.model.num_parameters(),
        }

    def lines(self) -> list[str]:
        """The outcome as lines of text."""
        best, took = self.record.best, duration(self.record.seconds())
        lines = []
        if best is not None:
            lines = [f"{mark('best', sys.stdout)} best at step {best['step']:,}   ({took})"]
        elif best_evaluation(self.record.events) is not None:
            lines = [f"the last weights are kept: there were no validation examples   ({took})"]
        rows = [
            (f"valid {METRICS[name].title}", METRICS[name].show(value))
            for name, value in metrics_in(best or {}).items()
        ]
        if self.test is not None:
            measured = self.test.with_intervals()
            rows = [(f"test {METRICS[n].title}", shown_interval(n, m)) for n, m in measured.items()]
        room = max((len(title) for title, _ in rows), default=0)
        lines += [f"  {title:<{room}}  {value}" for title, value in rows]
        if self.test is not None:
            count = len(self.test.examples)
            examples = plural(count, "held-out example")
            lines.append(f"  on {examples}, 95 % confidence intervals in brackets")
            lines += [
                f"  {note}" for note in (*visible_note(self.test), *impossible_note(self.test))
            ]
        if self.baseline is not None:
            lines.append(f"  baseline: {self.baseline.words()}")
            if not self.baseline.is_beaten:
                what = improve(self.run, self.record)
                lines.append(f"{mark('bad', sys.stdout)} not better than the baseline: {what}")
            elif not self.baseline.difference.is_significant:
                lines.append("  better than the baseline, but on these examples that may be chance")
        return [*lines, str(self.run.folder)]


class Session:
    """Trains and resumes runs for a command, with progress on stderr."""

    def __init__(self, runs: Path, *, quiet: bool = False) -> None:
        self.runs, self.quiet = runs, quiet
        self._tests: dict[str, Sequence[Any]] = {}  # by data and task: runs may share one

    def train(self, recipe: Recipe, name: str = "") -> Outcome:
        """Train a new run."""
        with (
            new_run_folder(recipe, name, self.runs) as folder,
            self._watched(folder) as (stop, watcher),
        ):
            run = train_into(folder, recipe, watcher)
        return self.outcome(run, stop)

    def resume(
        self, folder: Path, settings: dict[str, Any] | None = None, *, data_changed: bool = False
    ) -> Outcome:
        """Resume a run."""
        with self._watched(folder) as (stop, watcher):
            run = resume(folder, settings=settings, data_changed=data_changed, callback=watcher)
        return self.outcome(run, stop)

    def outcome(self, run: Run, stop: SignalStop | None = None) -> Outcome:
        """A run and its record, evaluated on its test set unless the user stopped it."""
        record = read_record(run.folder)
        if stop is not None and stop.signal is not None:
            return Outcome(run, record, stop.exit_code)
        examples = self._test_part(run)
        if not examples:
            return Outcome(run, record)
        test = evaluate(run.model, run.task, examples, Search())
        remedy = f"seqloom evaluate {run_argument(run.folder)} --length N"
        say_notes(cut_note(test, remedy), self.quiet)
        parts = run.own_parts()
        baseline = compare_with_baseline(run.recipe, run.task, parts.train, test)
        with _advised(run.folder):
            write_card(run, parts, test.with_intervals(), len(examples), baseline)
        return Outcome(run, record, test=test, baseline=baseline)

    def say_saved(self, outcome: Outcome, go_on: str = "") -> None:
        """After a signal: print the checkpoint, and the command that resumes."""
        events, folder = outcome.record.events, outcome.run.folder
        step = max((one["step"] for one in events if one["kind"] == "checkpoint"), default=0)
        lost = "Nothing lost." if step == events[-1]["step"] else "The pass after it begins again."
        say(f"Saved step {step:,} {mark('to', sys.stderr)} {folder}. {lost}")
        say(f"Resume with:  {go_on or f'seqloom train --resume {run_argument(folder)}'}")

    def _test_part(self, run: Run) -> Sequence[Any]:
        """The test set of a run, without examples whose label is not in the training data."""
        key = Recipe(data=run.recipe.data, task=run.recipe.task).to_toml()
        if key not in self._tests:
            self._tests[key] = run.own_parts().test
        examples = self._tests[key]
        for note in unknown_label_note(run.task, examples, "test examples"):
            say(note)
        return with_known_labels(run.task, examples)

    @contextlib.contextmanager
    def _watched(self, folder: Path) -> Iterator[tuple[SignalStop, Callback]]:
        with contextlib.closing(progress_for(folder.name, quiet=self.quiet)) as progress:
            stop = SignalStop(progress.announce)
            stop.folder = folder

            def on_learner(learner: Learner) -> None:
                stop.has_short_steps = learner.has_short_steps

            with stop.listening(), _advised(folder):
                yield (
                    stop,
                    Callback(
                        lambda event: _update(event, stop, progress), stop.should_stop, on_learner
                    ),
                )


def training_failed(failed: Mapping[str, list[str]], command: str, folder: Path) -> TrainingError:
    """The error for failed runs of a queue, with their messages; the other runs are kept."""
    return TrainingError(
        "T140",
        f"{', '.join(failed)} could not be trained; the table has the others",
        notes=[f"{name}: {line}" for name, words in failed.items() for line in words],
        help=[f"seqloom {command} --resume {run_argument(folder)}   tries again"],
    )


def shown_interval(name: str, measured: MetricValue) -> str:
    """A metric with its 95 % interval: 24.10 % (23.30-24.90 %), if there is one."""
    show = METRICS[name].show
    if not measured.has_interval:
        return show(measured.value) + measured.without_interval
    low, high = show(measured.low), show(measured.high)
    if METRICS[name].percent:
        low = low.removesuffix(" %")
    return f"{show(measured.value)} ({low}{mark('dash', sys.stdout)}{high})"


def _update(event: Event, stop: SignalStop, progress: TrainingProgress) -> None:
    stop.update(event)
    with contextlib.suppress(OSError):  # training goes on if the terminal was closed
        progress.update(event)


@contextlib.contextmanager
def _advised(folder: Path) -> Iterator[None]:
    """If training diverges or the disk is full, add the command that resumes."""
    again = f"seqloom train --resume {run_argument(folder)}"
    try:
        yield
    except TrainingError as error:
        if error.code != "T130":
            raise
        helps = [f"{again} {settings}" for settings in error.help]
        raise TrainingError(error.code, error.problem, notes=error.notes, help=helps) from error
    except MachineError as error:
        if error.code == "E301" and (folder / RECIPE).exists():
            raise error.with_help(f"{again}   goes on where it was saved") from error
        raise
