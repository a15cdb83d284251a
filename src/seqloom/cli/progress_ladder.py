"""What a person sees while runs are trained one after another: a line each, a bar for the whole."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from ..experiments.queue import Moment
from ..experiments.results import Climbed
from ..metrics import METRICS
from .session import shown_interval
from .terminal import MARKS, can_show, clock, duration, is_live, mark, say, width

HEARTBEAT_SECONDS = 60.0
SumUp = Callable[[Sequence[Climbed]], str]  # what is done so far, in a few words


def best_of(done: Sequence[Climbed]) -> str:
    """The best run so far, in words."""
    if not done:
        return ""
    metric = next(iter(done[0].measured))
    sign = 1 if METRICS[metric].lower_is_better else -1
    best = min(done, key=lambda climbed: sign * climbed.measured[metric].value)
    return f"best {best.name} {METRICS[metric].show(best.measured[metric].value)}"


def report_for(
    name: str, *, quiet: bool = False, word: str = "rung", sum_up: SumUp = best_of
) -> "LadderReport":
    """A live display on a terminal, plain lines elsewhere, nothing if asked to be quiet."""
    if quiet:
        return QuietLadder(name, word, sum_up)
    return (LiveLadder if is_live(sys.stderr) else LineLadder)(name, word, sum_up)


class LadderReport(ABC):
    """Hears how a ladder, or another series, stands and shows it on stderr."""

    def __init__(self, name: str, word: str = "rung", sum_up: SumUp = best_of) -> None:
        self.name, self.word, self._sum_up, self._stream = name, word, sum_up, sys.stderr
        self._began = time.monotonic()
        self._climbed: list[Climbed] = []

    def tell(self, moment: Moment) -> None:
        """Show a moment, and remember what is done."""
        if moment.climbed is not None:
            self._climbed.append(moment.climbed)
            self.done(moment, moment.climbed)
        elif moment.problem:
            self.announce(f"{mark('bad', self._stream)} {moment.name}: {moment.problem}")
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
        """A run is under way."""

    @abstractmethod
    def done(self, moment: Moment, climbed: Climbed) -> None:
        """A run is done."""

    def seconds(self) -> float:
        """How long this has been going on."""
        return time.monotonic() - self._began

    def so_far(self) -> str:
        """What is done so far, in a few words."""
        return self._sum_up(self._climbed)


class QuietLadder(LadderReport):
    """Says nothing but what must be seen."""

    def news(self, moment: Moment) -> None:
        return

    def done(self, moment: Moment, climbed: Climbed) -> None:
        return


class LineLadder(LadderReport):
    """For log files: a line for each rung, and at most one a minute in between."""

    def __init__(self, name: str, word: str = "rung", sum_up: SumUp = best_of) -> None:
        super().__init__(name, word, sum_up)
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
        place = f"{self.word}={moment.name} {moment.number}/{moment.count}"
        say(" ".join([now, self.name, place, *facts]))


class LiveLadder(LadderReport):
    """For people: what is done above a bar of the whole."""

    def __init__(self, name: str, word: str = "rung", sum_up: SumUp = best_of) -> None:
        super().__init__(name, word, sum_up)
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
        words = [f"{100 * moment.progress:3.0f} %", value, self.so_far(), clock(self.seconds())]
        told = f" {self._dot} ".join(filter(None, words))
        head = f" {moment.number}/{moment.count} {moment.name}"
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
