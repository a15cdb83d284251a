"""Runs one after another in one folder, each in a process of its own: ladders, folds, repeats.

NAME/                    a run; judged.safetensors in it once it was judged on its test part
RECIPES/NAME.toml        what it trains
RECIPES/NAME.log         what its process had to say
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..runs.run import EVENTS
from ..training.events import read_events
from .results import Climbed, read_climbed
from .worker import STOPPED

POLL_SECONDS, LAST_SECONDS = 0.1, 60.0


@dataclass(frozen=True)
class Moment:
    """How a series stands: which run is under way, how far it is, and what it is worth so far."""

    name: str
    number: int
    count: int
    progress: float  # of the whole series
    value: float | None = None  # of the headline on validation
    climbed: Climbed | None = None  # where the run has just been done
    problem: str = ""  # where it has just failed


@dataclass(frozen=True)
class Onlooker:
    """Who is told how a series stands, and who may ask it to stop."""

    tell: Callable[[Moment], None] = lambda moment: None
    must_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Ending:
    """How a series ended: what failed, with its last words, and whether it was stopped."""

    failed: dict[str, list[str]] = field(default_factory=dict)
    is_stopped: bool = False


@dataclass(frozen=True)
class Series:
    """Runs in the order in which they are trained, and how much of the whole each is."""

    folder: Path
    recipes: str  # the folder of the recipes
    metric: str
    weights: dict[str, float]

    def recipe(self, name: str) -> Path:
        """Where it stands what a run trains."""
        return self.folder / self.recipes / f"{name}.toml"

    def done(self) -> dict[str, Climbed]:
        """The runs that are done."""
        found = {name: read_climbed(self.folder / name) for name in self.weights}
        return {name: climbed for name, climbed in found.items() if climbed is not None}

    def progress(self, done: Iterable[str], name: str = "", share: float = 0.0) -> float:
        """How much of the whole is done."""
        finished = sum(self.weights[other] for other in done) + self.weights.get(name, 0.0) * share
        return finished / sum(self.weights.values())

    def train(
        self, onlooker: Onlooker, before: Callable[[str], None] = lambda name: None
    ) -> Ending:
        """Train and judge every run that is not done yet; what is done is kept."""
        failed: dict[str, list[str]] = {}
        for name in self.weights:
            if read_climbed(self.folder / name) is not None:
                continue
            before(name)
            code, words = _Apart(self, name, onlooker).run()
            if code == STOPPED:
                return Ending(failed, is_stopped=True)
            if code:
                failed[name] = words
        return Ending(failed)


class _Apart:
    """A run in its own process, watched from here through the events it writes."""

    def __init__(self, series: Series, name: str, onlooker: Onlooker) -> None:
        self.series, self.name, self.onlooker = series, name, onlooker
        self.folder, self.done = series.folder / name, list(series.done())

    def run(self) -> tuple[int, list[str]]:
        """Until it has ended: its exit code, and its last words."""
        recipe = self.series.recipe(self.name)
        log = recipe.with_suffix(".log")
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "seqloom.experiments.worker"]
                + [str(self.folder), str(recipe), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,  # Ctrl-C reaches it from here, not twice
            )
        try:
            self._watch(process)
        finally:
            _end(process)
        code = process.returncode
        climbed = read_climbed(self.folder)
        words = log.read_text(encoding="utf-8", errors="replace").strip().split("\n")[-6:]
        if code and code != STOPPED:
            self._tell(problem=words[0] or f"it ended with {code}")
        elif climbed is not None:
            self._tell(climbed=climbed)
        return code, words

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        """Tell what happens; pass on the wish to stop."""
        asked, seen, deadline = False, -1, float("inf")
        while process.poll() is None:
            if not asked and self.onlooker.must_stop():
                process.send_signal(signal.SIGINT)
                asked, deadline = True, time.monotonic() + LAST_SECONDS
            if time.monotonic() > deadline:
                return
            path = self.folder / EVENTS
            if (size := path.stat().st_size if path.exists() else 0) != seen:
                seen = size
                self._tell_events(read_events(path))
            time.sleep(POLL_SECONDS)

    def _tell_events(self, events: list[dict[str, Any]]) -> None:
        """The newest progress and the newest value."""
        metric = self.series.metric
        shares = [event["progress"] for event in events if "progress" in event]
        values = [event[metric] for event in events if metric in event]
        self._tell(min(1.0, shares[-1]) if shares else 0.0, values[-1] if values else None)

    def _tell(self, share: float = 1.0, value: float | None = None, **facts: Any) -> None:
        names = list(self.series.weights)
        whole = self.series.progress(self.done, self.name, share)
        number = names.index(self.name) + 1
        self.onlooker.tell(Moment(self.name, number, len(names), whole, value, **facts))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Nothing is left running: it is asked once more, then ended."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=LAST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def series_folder(name: str, stem: str, runs: Path, *, word: str, resume: str) -> Path:
    """A folder for a new series: the name given, or the stem with the next free number."""
    if name:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", name):
            raise UsageError("U009", f"{name!r} cannot name {word}: use a-z, 0-9 and -")
        if (runs / name).exists():
            raise UsageError(
                "U009",
                f"there is something called {name!r} already",
                help=[f"{resume} {name}   go on with {word}", "--name ANOTHER"],
            )
        return runs / name
    number = 1
    while (runs / f"{stem}-{number}").exists():
        number += 1
    return runs / f"{stem}-{number}"
