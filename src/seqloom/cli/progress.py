"""What a person sees while a model trains: a table and a bar, or one line per evaluation."""

import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..metrics import METRICS
from ..training.events import Event
from .terminal import MARKS, can_show, clock, count, is_live, mark, say, visible, width

SIGNS = ("best", "to")
HEARTBEAT_SECONDS = 60.0
WIDTHS = {"step": 6, "epoch": 5, "loss": 6, "gradient": 8, "symbols/s": 9, "time": 6}


def report_for(name: str, *, quiet: bool = False) -> "Report":
    """A live display on a terminal, plain lines elsewhere, nothing if asked to be quiet."""
    if quiet:
        return QuietReport(name)
    return LiveReport(name) if is_live(sys.stderr) else LineReport(name)


class Report(ABC):
    """Hears the news of one training and shows it on stderr."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._stream = sys.stderr  # a live display puts itself in its place
        self._began = time.monotonic()
        self._recent: list[dict[str, Any]] = []  # train events since the last evaluation

    def tell(self, event: Event) -> None:
        """Show an event."""
        if event.kind in ("start", "resume"):
            self._began = time.monotonic()  # reading the data is not training
        if event.kind == "start":
            self.line("\n".join(_header(self.name, event.values)))
        elif event.kind == "resume":
            self.line(
                f"Resuming {self.name} at step {event.step:,}"
                " (optimiser, random state and position in the data restored)."
            )
        elif event.kind == "train":
            self._recent.append(event.values)
            self.trained(event.step, event.values)
        elif event.kind == "eval":
            self.evaluated(self._facts(event), bool(event.values.get("best")))
            self._recent = []
        elif event.kind == "sample":
            self.sampled(event.values["samples"])
        elif event.kind == "warn":
            sign = mark("warning", self._stream)
            self.line(f"{sign} {event.values.get('problem', event.values)}")

    def line(self, text: str) -> None:
        """Words in between."""
        say(text)

    def announce(self, text: str) -> None:
        """Words that must be seen, however quiet the user wants it."""
        say(text)

    def close(self) -> None:
        """Leave the terminal as it was."""
        return

    @abstractmethod
    def trained(self, step: int, values: Mapping[str, Any]) -> None:
        """Some steps were taken, as told about once a second."""

    @abstractmethod
    def evaluated(self, facts: dict[str, float], is_best: bool) -> None:
        """The model was judged; the facts are in the order of the columns."""

    @abstractmethod
    def sampled(self, samples: list[dict[str, str]]) -> None:
        """The model's answers to a few validation examples."""

    def seconds(self) -> float:
        """How long this has been going on."""
        return time.monotonic() - self._began

    def _facts(self, event: Event) -> dict[str, float]:
        """An evaluation beside how training went since the last one."""
        judged = {name: value for name, value in event.values.items() if name in METRICS}
        facts = {"step": event.step, "epoch": event.values["epoch"], "loss": self._mean("loss")}
        facts |= {name: value for name, value in judged.items() if name != "loss"}
        facts["valid_loss"] = judged.get("loss", math.nan)
        facts["gradient"] = self._mean("gradient")
        facts["symbols_per_second"] = self._mean("symbols_per_second")
        return facts | {"seconds": self.seconds()}

    def _mean(self, name: str) -> float:
        known = [values[name] for values in self._recent if name in values]
        return sum(known) / len(known) if known else math.nan


class QuietReport(Report):
    """Says nothing."""

    def line(self, text: str) -> None:
        return

    def trained(self, step: int, values: Mapping[str, Any]) -> None:
        return

    def evaluated(self, facts: dict[str, float], is_best: bool) -> None:
        return

    def sampled(self, samples: list[dict[str, str]]) -> None:
        return


class LineReport(Report):
    """For log files: a line for each evaluation, and at most one a minute in between."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._said = time.monotonic()

    def trained(self, step: int, values: Mapping[str, Any]) -> None:
        if time.monotonic() - self._said >= HEARTBEAT_SECONDS:
            known = ("epoch", "progress", "level", "loss", "gradient", "symbols_per_second")
            self._write({"step": step} | {name: values[name] for name in known if name in values})

    def evaluated(self, facts: dict[str, float], is_best: bool) -> None:
        self._write(facts, "best=1" if is_best else "")

    def sampled(self, samples: list[dict[str, str]]) -> None:
        return

    def _write(self, facts: Mapping[str, float], last: str = "") -> None:
        self._said = time.monotonic()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        known = [f"{name}={_short(value)}" for name, value in facts.items() if value == value]
        say(" ".join([now, self.name, *known, last]).rstrip())


class LiveReport(Report):
    """For people: a table that grows above a bar, with the newest samples under it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # Drawn by hand from the events, so that a signal never meets a second thread.
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)
        self._star, self._arrow = (MARKS[n][not can_show(MARKS[n][0], self._stream)] for n in SIGNS)
        self._has_header = False
        self._first: tuple[float, float] | None = None  # progress and seconds when first heard
        self._bar: Any = ""
        self._samples: list[dict[str, str]] = []

    def line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def announce(self, text: str) -> None:
        self.line(text)

    def close(self) -> None:
        self._live.stop()

    def trained(self, step: int, values: Mapping[str, Any]) -> None:
        from rich.table import Table

        progress = min(1.0, values.get("progress", 0.0))
        words = [f"{100 * progress:3.0f} %", f"step {step:,}"]
        words += [f"loss {values['loss']:.3g}"] if "loss" in values else []
        words += [f"level {values['level']} of {values['levels']}"] if "level" in values else []
        words += [f"{count(values['symbols_per_second'])} symbols/s", self._left(progress)]
        told = "  ".join(filter(None, words))
        grid = Table.grid(padding=(0, 1))
        grid.add_row(" training", self._drawn(progress, width() - len(told) - 13), told)
        self._bar = grid
        self._draw()

    def evaluated(self, facts: dict[str, float], is_best: bool) -> None:
        names = _columns(facts, width())
        if not self._has_header:
            self._has_header = True
            self.line("  ".join(f"{_title(name):>{_room(name)}}" for name in names))
        cells = [f"{_cell(name, facts[name]):>{_room(name)}}" for name in names]
        row = "  ".join(cells)
        self.line(f"{row} {self._star if is_best else ''}".rstrip())

    def sampled(self, samples: list[dict[str, str]]) -> None:
        self._samples = samples
        self._draw()

    def _draw(self) -> None:
        from rich.console import Group
        from rich.text import Text

        pairs = [(visible(s["question"]), visible(s["answer"])) for s in self._samples]
        lines = [f" sample   {question} {self._arrow} {answer}" for question, answer in pairs]
        shown = [Text(line, style="dim", no_wrap=True, overflow="ellipsis") for line in lines]
        if not self._live.is_started:
            self._live.start()
        self._live.update(Group(self._bar, *shown), refresh=True)

    def _drawn(self, progress: float, room: int) -> Any:
        from rich.progress_bar import ProgressBar

        return ProgressBar(total=1.0, completed=progress, width=max(4, min(30, room)))

    def _left(self, progress: float) -> str:
        """The time left, from how fast progress went since it was first heard of."""
        if self._first is None:
            self._first = (progress, self.seconds())
        before, since = self._first
        if progress <= before:
            return ""
        left = (1 - progress) * (self.seconds() - since) / (progress - before)
        return f"{clock(left)} left"


def _header(name: str, facts: Mapping[str, Any]) -> list[str]:
    """What is about to happen: the data, the machine, the model."""
    sizes = " / ".join(f"{number:,} {part}" for part, number in facts["examples"].items())
    threads = _threads()
    size = f", {count(facts['size'])} parameters" * bool(facts["size"])  # counts come later
    return [
        f"data    {sizes}",
        *(f"        {note}" for note in facts["notes"]),
        f"device  cpu ({threads} thread{'s' if threads > 1 else ''})",
        f"model   {facts['model']}{size}",
        f"run     {name}",
    ]


def _threads() -> int:
    """How many threads compute: torch's, where torch is in use at all."""
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch else 1


def _columns(facts: Mapping[str, float], room: int) -> list[str]:
    """The columns that fit, the least telling left out first."""
    names = [name for name in facts if name != "valid_loss"]
    for spare in ("gradient", "symbols_per_second", "epoch"):
        if sum(_room(name) + 2 for name in names) > room:
            names.remove(spare)
    return names


def _title(name: str) -> str:
    titles = {"symbols_per_second": "symbols/s", "seconds": "time"}
    return titles.get(name, name.replace("_", " "))


def _room(name: str) -> int:
    title = _title(name)
    return WIDTHS.get(title, max(7, len(title)))


def _cell(name: str, value: float) -> str:
    """A number as its column shows it."""
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
