"""The rungs of a ladder one after another, under one budget of time: the work behind `ladder`.

A ladder is a folder, and what is done in it stays done:

ladder.json          the task, the rungs, the time, and how it was shared out
rungs/NAME.toml      the recipe of each rung
NAME/                the run of each rung; rung.safetensors in it once it was judged
table.json           what came of it
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .climbed import Climb, Climbed, read_climbed
from .climbing import STOPPED
from .errors import UsageError, nearest
from .parts import read_parts
from .recipe import Recipe
from .run import EVENTS, RUNS
from .rungs import ladder_of, without_missing
from .training.checkpoints import locked, write_whole
from .training.events import read_events
from .training.settings import Training

PLAN, TABLE, RECIPES = "ladder.json", "table.json", "rungs"
STEPS_SHARE = 0.85  # of the time, for the steps; the rest is reading and judging
LEAST_SHARE = 0.1  # of the time is left to those who share it, however long counting took
EVALUATIONS = 8  # of each rung that shares the time
POLL_SECONDS, LAST_SECONDS = 0.1, 60.0


@dataclass(frozen=True)
class Moment:
    """How a ladder stands: which rung is under way, how far it is, and what it is worth so far."""

    rung: str
    number: int
    count: int
    progress: float  # of the whole ladder
    value: float | None = None  # of the headline on validation
    climbed: Climbed | None = None  # where the rung has just been done
    problem: str = ""  # where it has just failed


@dataclass(frozen=True)
class Onlooker:
    """Who is told how a ladder stands, and who may ask it to stop."""

    tell: Callable[[Moment], None] = lambda moment: None
    must_stop: Callable[[], bool] = lambda: False


@dataclass
class Plan:
    """What a ladder is to do; kept in its folder, so that it can go on."""

    task: str
    metric: str
    budget: float
    shares: dict[str, float]
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)  # of those who share, once known

    def order(self) -> list[str]:
        """Those who take what they take come first: what they leave is shared."""
        return sorted(self.shares, key=lambda name: self.shares[name] > 0)

    def progress(self, done: Iterable[str], rung: str = "", share: float = 0.0) -> float:
        """How much of the whole is done, by the shares of time."""
        weights = {name: part or 0.01 for name, part in self.shares.items()}
        finished = sum(weights[name] for name in done) + weights.get(rung, 0.0) * share
        return finished / sum(weights.values())


def ladder(  # noqa: PLR0913 - keyword-only but for the first two
    task: str,
    file: str | Path,
    *,
    max_time: str = "15m",
    models: Iterable[str] = (),
    name: str = "",
    runs: str | Path = RUNS,
    settings: Mapping[str, Any] | None = None,
    onlooker: Onlooker | None = None,
) -> Climb:
    """Train the rungs of a task's ladder on the same text, split and measure, and compare them.

    `models` are names of rungs, or of models; `settings` are for all rungs.
    """
    folder = prepare(task, file, max_time, models, name, Path(runs), settings or {})
    return climb(folder, onlooker or Onlooker())


def prepare(  # noqa: PLR0913, PLR0917 - all that a ladder is
    task: str,
    file: str | Path,
    max_time: str,
    models: Iterable[str],
    name: str,
    runs: Path,
    settings: Mapping[str, Any],
) -> Path:
    """A folder with everything that is to be done, checked before the first rung begins."""
    budget = Training(max_time=max_time).seconds()
    if not 0 < budget < float("inf"):
        raise UsageError("U042", f"--max-time {max_time}: a ladder needs more than no time")
    found, missing = without_missing(ladder_of(task))
    found = found.of(models)
    recipes = {
        rung.name: found.recipe(rung, {"train": str(file)}, settings).with_files(
            lambda path: Path(path).resolve()  # they are kept in another folder
        )
        for rung in found.rungs
    }
    lowest = next(iter(recipes.values()))
    first = lowest.build_task()
    parts = read_parts(first, lowest.build_data())  # a file that no rung could read is told once
    first.prepare(parts.train)  # what answers are judged by may follow from the data
    notes = [f"left out, as their models are not here: {', '.join(missing)}"] if missing else []
    shares = {rung.name: rung.share for rung in found.rungs}
    plan = Plan(task, first.headline, budget, shares, notes)
    folder = _new_folder(name, runs)
    for rung, recipe in recipes.items():
        write_whole(folder / RECIPES / f"{rung}.toml", recipe.to_toml().encode())
    _write_plan(folder, plan)
    return folder


def climb(folder: Path, onlooker: Onlooker) -> Climb:
    """Train and judge every rung that is not done yet; what is done is kept whatever happens."""
    plan, failed = _read_plan(folder), dict[str, list[str]]()
    with locked(folder):
        stopped = False
        try:
            for rung in plan.order():
                if read_climbed(folder / rung) is not None:
                    continue
                _share_out(folder, plan, rung)
                code, words = _Rung(folder, plan, rung, onlooker).run()
                if stopped := code == STOPPED:
                    break
                if code:
                    failed[rung] = words
        finally:
            came = _came(folder, plan, failed, stopped)
            write_whole(folder / TABLE, json.dumps(came.as_dict(), ensure_ascii=False).encode())
    return came


def find_ladder(name: str, runs: Path = RUNS) -> Path:
    """The folder of a ladder: a path, a name in the runs folder, or else the newest."""
    known = sorted(runs.glob(f"*/{PLAN}"), key=lambda path: path.stat().st_mtime)
    for folder in (Path(name), runs / name) if name else [path.parent for path in known[-1:]]:
        if (folder / PLAN).is_file():
            return folder
    names = [path.parent.name for path in known]
    near = nearest(name, names)
    hints = [f"did you mean {near!r}?"] if near else []
    hints += (
        [f"you have: {', '.join(names)}"] if names else ["seqloom ladder TASK FILE   makes one"]
    )
    what = f"there is no ladder called {name!r}" if name else f"there is no ladder in {runs}"
    raise UsageError("U043", what, help=hints)


class _Rung:
    """A rung in its own process, watched from here through the events it writes."""

    def __init__(self, folder: Path, plan: Plan, name: str, onlooker: Onlooker) -> None:
        self.folder, self.plan, self.name, self.onlooker = folder, plan, name, onlooker
        self.done = [other for other in plan.shares if read_climbed(folder / other) is not None]

    def run(self) -> tuple[int, list[str]]:
        """Until it has ended: its exit code, and its last words."""
        log = self.folder / RECIPES / f"{self.name}.log"
        recipe = self.folder / RECIPES / f"{self.name}.toml"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "seqloom.climbing"]
                + [str(self.folder / self.name), str(recipe), str(os.getpid())],
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
        climbed = read_climbed(self.folder / self.name)
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
            path = self.folder / self.name / EVENTS
            if (size := path.stat().st_size if path.exists() else 0) != seen:
                seen = size
                self._tell_events(read_events(path))
            time.sleep(POLL_SECONDS)

    def _tell_events(self, events: list[dict[str, Any]]) -> None:
        """The newest progress and the newest value."""
        shares = [event["progress"] for event in events if "progress" in event]
        values = [event[self.plan.metric] for event in events if self.plan.metric in event]
        self._tell(min(1.0, shares[-1]) if shares else 0.0, values[-1] if values else None)

    def _tell(self, share: float = 1.0, value: float | None = None, **facts: Any) -> None:
        number = self.plan.order().index(self.name) + 1
        whole = self.plan.progress(self.done, self.name, share)
        moment = Moment(self.name, number, len(self.plan.shares), whole, value, **facts)
        self.onlooker.tell(moment)


def _share_out(folder: Path, plan: Plan, rung: str) -> None:
    """Before the first rung with a share, what is left of the time is given out once and for all.

    It is written into their recipes, so that a ladder that was stopped goes on as it began.
    """
    sharing = {name: share for name, share in plan.shares.items() if share > 0}
    if plan.seconds or not sharing or plan.shares[rung] == 0:
        return
    others = [read_climbed(folder / name) for name in plan.shares if name not in sharing]
    spent = sum(climbed.wall for climbed in others if climbed is not None)
    rest = max(plan.budget - spent, LEAST_SHARE * plan.budget) * STEPS_SHARE
    for name, share in sharing.items():
        seconds = rest * share / sum(sharing.values())
        path = folder / RECIPES / f"{name}.toml"
        given = Recipe.read(path).with_settings(
            {
                "training.max_time": f"{seconds:.1f}s",
                "training.evaluate_seconds": round(max(0.5, seconds / EVALUATIONS), 1),
            }
        )
        write_whole(path, given.to_toml().encode())
        plan.seconds[name] = seconds
    _write_plan(folder, plan)


def _came(folder: Path, plan: Plan, failed: dict[str, list[str]], stopped: bool) -> Climb:
    """What there is so far, in the order of the ladder."""
    found = {name: read_climbed(folder / name) for name in plan.shares}
    done = [climbed for climbed in found.values() if climbed is not None]
    left = [name for name, climbed in found.items() if climbed is None and name not in failed]
    return Climb(
        folder, plan.task, plan.metric, plan.budget, done, failed, left, plan.notes, stopped
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Nothing is left running: it is asked once more, then ended."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=LAST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _new_folder(name: str, runs: Path) -> Path:
    if name:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", name):
            raise UsageError("U009", f"{name!r} cannot name a ladder: use a-z, 0-9 and -")
        if (runs / name).exists():
            raise UsageError(
                "U009",
                f"there is something called {name!r} already",
                help=[f"seqloom ladder --resume {name}   go on with a ladder", "--name ANOTHER"],
            )
        return runs / name
    number = 1
    while (runs / f"ladder-{number}").exists():
        number += 1
    return runs / f"ladder-{number}"


def _write_plan(folder: Path, plan: Plan) -> None:
    write_whole(folder / PLAN, json.dumps(vars(plan), ensure_ascii=False).encode())


def _read_plan(folder: Path) -> Plan:
    try:
        return Plan(**json.loads((folder / PLAN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            "U043", f"{folder / PLAN} is damaged", notes=[str(error)], help=["begin a new ladder"]
        ) from error
