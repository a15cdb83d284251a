"""Training progress: a table of evaluations and a progress bar, or one log line per evaluation."""

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..metrics import METRICS
from ..training.events import Event
from .terminal import (
    MARKS,
    can_show,
    clock,
    count,
    is_interactive,
    mark,
    printable,
    say,
    visible,
    width,
)

SIGNS = ("best", "to")  # of MARKS
HEARTBEAT_SECONDS = 60.0
WIDTHS = {"step": 6, "epoch": 5, "loss": 6, "grad norm": 9, "tokens/s": 9, "time": 6}


def progress_for(name: str, *, quiet: bool = False) -> "TrainingProgress":
    """A progress bar on a terminal, log lines elsewhere, nothing with `quiet`."""
    if quiet:
        return QuietProgress(name)
    return LiveProgress(name) if is_interactive(sys.stderr) else LogProgress(name)


class TrainingProgress(ABC):
    """Shows the events of one training run on stderr."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._stream = sys.stderr  # rich replaces sys.stderr while it is live
        self._began = time.monotonic()
        self._recent: list[dict[str, Any]] = []  # train events since the last evaluation

    def update(self, event: Event) -> None:
        """Show an event."""
        if event.kind in ("start", "resume"):
            self._began = time.monotonic()  # reading the data is not training
        if event.kind == "start":
            self.line("\n".join(_header(self.name, event.values)))
        elif event.kind == "resume":
            self.line("\n".join(_resumed(self.name, event)))
        elif event.kind == "train":
            self._recent.append(event.values)
            self.on_train(event.step, event.values)
        elif event.kind == "eval":
            self.on_evaluate(self._facts(event), bool(event.values.get("best")))
            self._recent = []
        elif event.kind == "sample":
            self.on_samples(event.values["samples"])
        elif event.kind == "warn":
            sign = mark("warning", self._stream)
            self.line(f"{sign} {event.values.get('problem', event.values)}")

    def line(self, text: str) -> None:
        """Print a line between evaluations."""
        say(text)

    def announce(self, text: str) -> None:
        """Print a line even in quiet mode."""
        say(text)

    def close(self) -> None:
        """Restore the terminal."""
        return

    @abstractmethod
    def on_train(self, step: int, values: Mapping[str, Any]) -> None:
        """Called about once a second with the means over the last training steps."""

    @abstractmethod
    def on_evaluate(self, facts: dict[str, float], is_best: bool) -> None:
        """Called after an evaluation; `facts` are in the order of the columns."""

    @abstractmethod
    def on_samples(self, samples: list[dict[str, str]]) -> None:
        """Called with predictions for a few validation examples."""

    def seconds(self) -> float:
        """Seconds since training began."""
        return time.monotonic() - self._began

    def _facts(self, event: Event) -> dict[str, float]:
        """Metrics of an evaluation and means over the training steps since the last one."""
        metrics = {name: value for name, value in event.values.items() if name in METRICS}
        facts = {"step": event.step, "epoch": event.values["epoch"], "loss": self._mean("loss")}
        facts |= {name: value for name, value in metrics.items() if name != "loss"}
        facts["valid_loss"] = metrics.get("loss", math.nan)
        facts["gradient"] = self._mean("gradient")
        facts["symbols_per_second"] = self._mean("symbols_per_second")
        return facts | {"seconds": self.seconds()}

    def _mean(self, name: str) -> float:
        known = [values[name] for values in self._recent if name in values]
        return sum(known) / len(known) if known else math.nan


class QuietProgress(TrainingProgress):
    """Prints nothing."""

    def line(self, text: str) -> None:
        return

    def on_train(self, step: int, values: Mapping[str, Any]) -> None:
        return

    def on_evaluate(self, facts: dict[str, float], is_best: bool) -> None:
        return

    def on_samples(self, samples: list[dict[str, str]]) -> None:
        return


class LogProgress(TrainingProgress):
    """For log files: one line per evaluation, and a heartbeat at most once a minute."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._said = time.monotonic()

    def on_train(self, step: int, values: Mapping[str, Any]) -> None:
        if time.monotonic() - self._said >= HEARTBEAT_SECONDS:
            known = ("epoch", "progress", "level", "loss", "gradient", "symbols_per_second")
            self._write({"step": step} | {name: values[name] for name in known if name in values})

    def on_evaluate(self, facts: dict[str, float], is_best: bool) -> None:
        self._write(facts, "best=1" if is_best else "")

    def on_samples(self, samples: list[dict[str, str]]) -> None:
        return

    def _write(self, facts: Mapping[str, float], last: str = "") -> None:
        self._said = time.monotonic()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        known = [f"{name}={_short(value)}" for name, value in facts.items() if value == value]
        say(" ".join([now, self.name, *known, last]).rstrip())


class LiveProgress(TrainingProgress):
    """For terminals: a table of evaluations above a progress bar, with the latest samples below."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # No auto-refresh: rich would redraw in a second thread, which a signal could interrupt.
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._star, self._arrow = (MARKS[n][not can_show(MARKS[n][0], self._stream)] for n in SIGNS)
        self._has_header = False
        self._first: tuple[float, float] | None = None  # progress and seconds at the first event
        self._bar: Any = ""
        self._samples: list[dict[str, str]] = []

    def line(self, text: str) -> None:
        self._console.print(printable(text, self._stream), markup=False, soft_wrap=True)

    def announce(self, text: str) -> None:
        self.line(text)

    def close(self) -> None:
        self._live.stop()

    def on_train(self, step: int, values: Mapping[str, Any]) -> None:
        from rich.table import Table

        progress = min(1.0, values.get("progress", 0.0))
        words = [f"{100 * progress:3.0f} %", f"step {step:,}"]
        words += [f"loss {values['loss']:.3g}"] if "loss" in values else []
        words += [f"level {values['level']} of {values['levels']}"] if "level" in values else []
        words += [f"{count(values['symbols_per_second'])} tokens/s", self._left(progress)]
        status = "  ".join(filter(None, words))
        grid = Table.grid(padding=(0, 1))
        grid.add_row(" training", self._drawn(progress, width() - len(status) - 13), status)
        self._bar = grid
        self._draw()

    def on_evaluate(self, facts: dict[str, float], is_best: bool) -> None:
        names = _columns(facts, width())
        if not self._has_header:
            self._has_header = True
            self.line("  ".join(f"{_title(name):>{_room(name)}}" for name in names))
        cells = [f"{_cell(name, facts[name]):>{_room(name)}}" for name in names]
        row = "  ".join(cells)
        self.line(f"{row} {self._star if is_best else ''}".rstrip())

    def on_samples(self, samples: list[dict[str, str]]) -> None:
        self._samples = samples
        self._draw()

    def _draw(self) -> None:
        from rich.console import Group
        from rich.text import Text

        pairs = [(visible(s["question"]), visible(s["answer"])) for s in self._samples]
        lines = [f" sample   {source} {self._arrow} {predicted}" for source, predicted in pairs]
        shown = [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in lines]
        if not self._live.is_started:
            self._live.start()
        self._live.update(Group(self._bar, *shown), refresh=True)

    def _drawn(self, progress: float, room: int) -> Any:
        from rich.progress_bar import ProgressBar

        return ProgressBar(total=1.0, completed=progress, width=max(4, min(30, room)))

    def _left(self, progress: float) -> str:
        """Estimated time left, from the rate of progress since the first event."""
        if self._first is None:
            self._first = (progress, self.seconds())
        before, since = self._first
        if progress <= before:
            return ""
        left = (1 - progress) * (self.seconds() - since) / (progress - before)
        return f"{clock(left)} left"


def _header(name: str, facts: Mapping[str, Any]) -> list[str]:
    """Data, device, model and run name, printed before training."""
    sizes = " / ".join(f"{number:,} {part}" for part, number in facts["examples"].items())
    threads = _threads()
    # An n-gram model has no parameters before training: they are its counts.
    size = f", {count(facts['size'])} parameters" * bool(facts["size"])
    return [
        f"data    {sizes}",
        *(f"        {note}" for note in facts["notes"]),
        f"device  cpu ({threads} thread{'s' if threads > 1 else ''})",
        f"model   {facts['model']}{size}",
        f"run     {name}",
    ]


def _resumed(name: str, event: Event) -> list[str]:
    """What a resumed training goes on from, and what begins anew."""
    if notes := event.values.get("notes"):
        return [f"Resuming {name} at step {event.step:,}:", *(f"  {note}" for note in notes)]
    restored = "optimizer, random state and position in the data restored"
    return [f"Resuming {name} at step {event.step:,} ({restored})."]


def _threads() -> int:
    """The number of compute threads: torch's, if torch is loaded."""
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch else 1


def _columns(facts: Mapping[str, float], room: int) -> list[str]:
    """The columns that fit, the least important left out first."""
    names = [name for name in facts if name != "valid_loss"]
    for spare in ("gradient", "symbols_per_second", "epoch"):
        if sum(_room(name) + 2 for name in names) > room:
            names.remove(spare)
    return names


def _title(name: str) -> str:
    titles = {"symbols_per_second": "tokens/s", "gradient": "grad norm", "seconds": "time"}
    return titles.get(name, name.replace("_", " "))


def _room(name: str) -> int:
    title = _title(name)
    return WIDTHS.get(title, max(7, len(title)))


def _cell(name: str, value: float) -> str:
    """A number in the format of its column."""
    if value != value:
        return "-"
    if name in METRICS and name != "loss":
        return METRICS[name].show(value)
    shown = {
        "step": lambda: f"{value:.0f}",
        "epoch": lambda: f"{value:.1f}",
        "symbols_per_second": lambda: count(value),
        "seconds": lambda: clock(value),
    }
    return shown[name]() if name in shown else f"{value:.3g}"


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"
