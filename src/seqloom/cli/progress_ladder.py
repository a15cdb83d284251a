"""Progress of several runs trained one after another: a line per run, a bar for all of them."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from ..experiments.queue import QueueProgress
from ..experiments.results import RunResult
from ..metrics import METRICS
from .session import shown_interval
from .terminal import (
    MARKS,
    can_show,
    clock,
    duration,
    is_interactive,
    mark,
    printable,
    say,
    width,
)

HEARTBEAT_SECONDS = 60.0
Summarize = Callable[[Sequence[RunResult]], str]  # a summary of the finished runs, in a few words


def best_of(done: Sequence[RunResult]) -> str:
    """The best run so far, in words."""
    if not done:
        return ""
    metric = next(iter(done[0].measured))
    sign = 1 if METRICS[metric].lower_is_better else -1
    best = min(done, key=lambda result: sign * result.measured[metric].value)
    return f"best {best.name} {METRICS[metric].show(best.measured[metric].value)}"


def progress_for(
    name: str, *, quiet: bool = False, word: str = "rung", summarize: Summarize = best_of
) -> "LadderProgress":
    """A progress bar on a terminal, log lines elsewhere, only failures with `quiet`."""
    if quiet:
        return QuietLadderProgress(name, word, summarize)
    return (LiveLadderProgress if is_interactive(sys.stderr) else LogLadderProgress)(
        name, word, summarize
    )


class LadderProgress(ABC):
    """Shows the progress of a ladder, or of cross-validation, on stderr."""

    def __init__(self, name: str, word: str = "rung", summarize: Summarize = best_of) -> None:
        self.name, self.word, self._summarize, self._stream = name, word, summarize, sys.stderr
        self._began = time.monotonic()
        self._done: list[RunResult] = []

    def update(self, moment: QueueProgress) -> None:
        """Show an update, and keep the result of a finished run."""
        if moment.result is not None:
            self._done.append(moment.result)
            self.on_done(moment, moment.result)
        elif moment.problem:
            self.announce(f"{mark('bad', self._stream)} {moment.name}: {moment.problem}")
        else:
            self.on_progress(moment)

    def announce(self, text: str) -> None:
        """Print a line even in quiet mode."""
        say(text)

    def close(self) -> None:
        """Restore the terminal."""
        return

    @abstractmethod
    def on_progress(self, moment: QueueProgress) -> None:
        """Called while a run is trained."""

    @abstractmethod
    def on_done(self, moment: QueueProgress, result: RunResult) -> None:
        """Called when a run is finished."""

    def seconds(self) -> float:
        """Seconds since the first run began."""
        return time.monotonic() - self._began

    def so_far(self) -> str:
        """A summary of the finished runs, in a few words."""
        return self._summarize(self._done)


class QuietLadderProgress(LadderProgress):
    """Prints failures only."""

    def on_progress(self, moment: QueueProgress) -> None:
        return

    def on_done(self, moment: QueueProgress, result: RunResult) -> None:
        return


class LogLadderProgress(LadderProgress):
    """For log files: one line per finished run, and a heartbeat at most once a minute."""

    def __init__(self, name: str, word: str = "rung", summarize: Summarize = best_of) -> None:
        super().__init__(name, word, summarize)
        self._said = time.monotonic()

    def on_progress(self, moment: QueueProgress) -> None:
        if time.monotonic() - self._said >= HEARTBEAT_SECONDS:
            value = [f"valid={moment.value:.4g}"] if moment.value is not None else []
            self._write(moment, [f"progress={moment.progress:.3g}", *value])

    def on_done(self, moment: QueueProgress, result: RunResult) -> None:
        metric, measured = next(iter(result.measured.items()))
        self._write(moment, [f"{metric}={measured.value:.4g}", f"seconds={result.seconds:.4g}"])

    def _write(self, moment: QueueProgress, facts: list[str]) -> None:
        self._said = time.monotonic()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        run = f"{self.word}={moment.name} {moment.number}/{moment.count}"
        say(" ".join([now, self.name, run, *facts]))


class LiveLadderProgress(LadderProgress):
    """For terminals: finished runs above a progress bar for all runs."""

    def __init__(self, name: str, word: str = "rung", summarize: Summarize = best_of) -> None:
        super().__init__(name, word, summarize)
        # No auto-refresh: rich would redraw in a second thread, which a signal could interrupt.
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._dot = "·" if can_show("·", self._stream) else "-"

    def announce(self, text: str) -> None:
        self._console.print(printable(text, self._stream), markup=False, soft_wrap=True)

    def close(self) -> None:
        self._live.stop()

    def on_progress(self, moment: QueueProgress) -> None:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        value = "" if moment.value is None else f"valid {moment.value:.4g}"
        words = [f"{100 * moment.progress:3.0f} %", value, self.so_far(), clock(self.seconds())]
        status = f" {self._dot} ".join(filter(None, words))
        head = f" {moment.number}/{moment.count} {moment.name}"
        room = max(4, min(30, width() - len(status) - len(head) - 4))
        grid = Table.grid(padding=(0, 1))
        grid.add_row(head, ProgressBar(total=1.0, completed=moment.progress, width=room), status)
        if not self._live.is_started:
            self._live.start()
        self._live.update(grid, refresh=True)

    def on_done(self, moment: QueueProgress, result: RunResult) -> None:
        metric, measured = next(iter(result.measured.items()))
        good = MARKS["good"][not can_show(MARKS["good"][0], self._stream)]
        shown = f"{METRICS[metric].title} {shown_interval(metric, measured)}"
        self.announce(f"{good} {result.name:<14} {shown}  {duration(result.seconds)}")
