"""What a person sees while a ladder is climbed: a line for each rung, and a bar for the whole."""

import sys
import time
from abc import ABC, abstractmethod
from datetime import UTC, datetime

from ..climbed import Climbed
from ..laddering import Moment
from ..metrics import METRICS
from .session import shown_interval
from .terminal import MARKS, can_show, clock, duration, is_live, mark, say, width

HEARTBEAT_SECONDS = 60.0


def report_for(name: str, *, quiet: bool = False) -> "LadderReport":
    """A live display on a terminal, plain lines elsewhere, nothing if asked to be quiet."""
    if quiet:
        return QuietLadder(name)
    return LiveLadder(name) if is_live(sys.stderr) else LineLadder(name)


class LadderReport(ABC):
    """Hears how a ladder stands and shows it on stderr."""

    def __init__(self, name: str) -> None:
        self.name, self._stream = name, sys.stderr
        self._began = time.monotonic()
        self._best: tuple[str, str, float] | None = None  # the metric, the rung, its value

    def tell(self, moment: Moment) -> None:
        """Show a moment, and remember the best rung."""
        if moment.climbed is not None:
            self._remember(moment.climbed)
            self.done(moment, moment.climbed)
        elif moment.problem:
            self.announce(f"{mark('bad', self._stream)} {moment.rung}: {moment.problem}")
        else:
            self.news(moment)

    def announce(self, text: str) -> None:
        """Words that must be seen, however quiet the user wants it."""
        say(text)

    def close(self) -> None:
        """Leave the terminal as it was."""
        return

    @abstractmethod
    def news(self, moment: Moment) -> None:
        """A rung is under way."""

    @abstractmethod
    def done(self, moment: Moment, climbed: Climbed) -> None:
        """A rung is done."""

    def seconds(self) -> float:
        """How long this has been going on."""
        return time.monotonic() - self._began

    def best(self) -> str:
        """The best rung so far, in words."""
        if self._best is None:
            return ""
        metric, rung, value = self._best
        return f"best {rung} {METRICS[metric].show(value)}"

    def _remember(self, climbed: Climbed) -> None:
        metric, measured = next(iter(climbed.measured.items()))
        sign = 1 if METRICS[metric].lower_is_better else -1
        if self._best is None or sign * measured.value < sign * self._best[2]:
            self._best = (metric, climbed.name, measured.value)


class QuietLadder(LadderReport):
    """Says nothing but what must be seen."""

    def news(self, moment: Moment) -> None:
        return

    def done(self, moment: Moment, climbed: Climbed) -> None:
        return


class LineLadder(LadderReport):
    """For log files: a line for each rung, and at most one a minute in between."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._said = time.monotonic()

    def news(self, moment: Moment) -> None:
        if time.monotonic() - self._said >= HEARTBEAT_SECONDS:
            value = [f"valid={moment.value:.4g}"] if moment.value is not None else []
            self._write(moment, [f"progress={moment.progress:.3g}", *value])

    def done(self, moment: Moment, climbed: Climbed) -> None:
        metric, measured = next(iter(climbed.measured.items()))
        self._write(moment, [f"{metric}={measured.value:.4g}", f"seconds={climbed.seconds:.4g}"])

    def _write(self, moment: Moment, facts: list[str]) -> None:
        self._said = time.monotonic()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        place = f"rung={moment.rung} {moment.number}/{moment.count}"
        say(" ".join([now, self.name, place, *facts]))


class LiveLadder(LadderReport):
    """For people: what is done above a bar of the whole."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # Drawn by hand at every moment, so that a signal never meets a second thread.
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._dot = "·" if can_show("·", self._stream) else "-"

    def announce(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        self._live.stop()

    def news(self, moment: Moment) -> None:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        value = "" if moment.value is None else f"valid {moment.value:.4g}"
        words = [f"{100 * moment.progress:3.0f} %", value, self.best(), clock(self.seconds())]
        told = f" {self._dot} ".join(filter(None, words))
        head = f" {moment.number}/{moment.count} {moment.rung}"
        room = max(4, min(30, width() - len(told) - len(head) - 4))
        grid = Table.grid(padding=(0, 1))
        grid.add_row(head, ProgressBar(total=1.0, completed=moment.progress, width=room), told)
        if not self._live.is_started:
            self._live.start()
        self._live.update(grid, refresh=True)

    def done(self, moment: Moment, climbed: Climbed) -> None:
        metric, measured = next(iter(climbed.measured.items()))
        good = MARKS["good"][not can_show(MARKS["good"][0], self._stream)]
        shown = f"{METRICS[metric].title} {shown_interval(metric, measured)}"
        self.announce(f"{good} {climbed.name:<14} {shown}  {duration(climbed.seconds)}")
