"""seqloom ladder: the same text for every model from simple to large, under one budget of time."""

import argparse
import sys
from contextlib import closing
from pathlib import Path

from ...data.formats.parallel_names import name_of
from ...errors import UsageError
from ...experiments.ladder import climb, find_ladder, ladder_of, ladders, prepare
from ...experiments.queue import Onlooker
from ...experiments.results import Climb, Climbed
from ...metrics import METRICS
from ...runs.record import shown_bytes, to_json
from ...tasks import TASKS
from ...training.events import Event
from ..arguments import add_file, add_parts, add_reading, parts_of, reading_of
from ..loading import say_notes
from ..progress_ladder import report_for
from ..session import Stopper, call, shown_interval, untrained
from ..terminal import count, duration, mark, say, several, show, table

ASKED = "Stopping after this step… (Ctrl-C again to quit at once)"
AT_ONCE = "Stopped at once. The rung under way saves itself."
HEADING = ("rung", "training", "memory", "size", "symbols/s")
NARROW = HEADING[:2]  # where there are other metrics beside the headline
ABOUT = {
    "size": "size: learned numbers / bytes on disk",
    "memory": "memory: the peak of the whole process",
    "symbols/s": "symbols/s: read while judging",
}


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage = (
        "seqloom ladder TASK FILE [--max-time TIME] [--models RUNG ...] [options]\n"
        "       seqloom ladder --resume [LADDER]"
    )
    parser.add_argument("task", nargs="?", metavar="TASK", help=f"one of: {', '.join(ladders())}")
    add_file(parser, "what all rungs learn from")
    parser.add_argument(
        "--max-time", metavar="TIME", default="15m", help="for all rungs together (15m if left out)"
    )
    parser.add_argument(
        "--models", nargs="+", default=[], metavar="RUNG", help="only these rungs, or models"
    )
    parser.add_argument("-n", "--name", default="", help="what to call the ladder")
    add_parts(parser, "the rungs")
    add_reading(parser)
    parser.add_argument(
        "--picture", type=Path, metavar="FILE.svg", help="draw the metric against seconds"
    )
    parser.add_argument(
        "--resume", nargs="?", const="", metavar="LADDER", help="go on with a ladder, or the newest"
    )


def run(given: argparse.Namespace) -> int:
    """Climb, and print the table and what each rung bought."""
    folder = _folder(given)
    with closing(report_for(folder.name, quiet=given.quiet)) as report:
        stopper = Stopper(report.announce, ASKED, lambda: AT_ONCE)
        stopper.tell(Event("start", 0))  # every rung keeps what it has: a stop is always polite
        with stopper.listening():
            came = climb(folder, Onlooker(report.tell, stopper.ask))
    say_notes(came.notes, given.quiet)
    _show(came, given)
    if came.is_stopped:
        done = several(len(came.rungs), "rung")
        say(f"Stopped: {done} done, {len(came.left)} left. Nothing lost.")
        say(f"Continue with:  seqloom ladder --resume {call(folder)}")
        return stopper.exit_code
    if came.failed:
        raise untrained(came.failed, "ladder", came.folder)
    if not (given.json or given.quiet):
        _say_next(came)
    return 0


def lines(came: Climb) -> list[str]:
    """The table, then a sentence for each rung but the first."""
    if not came.rungs:
        return ["No rung is done yet."]
    best, is_measured = came.best(), came.against in {rung.name for rung in came.rungs}
    beside = {name: words for name, words in came.beside.items() if name in came.rungs[0].measured}
    more = [*beside.values(), *(["skill"] if is_measured else [])]
    last = (NARROW if more else HEADING)[1:]
    rows = [[HEADING[0], METRICS[came.metric].title, *more, *last]]
    for rung in came.rungs:
        star = f" {mark('best', sys.stdout)}" if rung is best and len(came.rungs) > 1 else ""
        rows.append(
            [
                rung.name,
                shown_interval(came.metric, rung.measured[came.metric]) + star,
                *(_short(name, rung.measured[name].value) for name in beside),
                *([_shown_skill(came.skill(rung))] if is_measured else []),
                *(_machine(rung)[name] for name in last),
            ]
        )
    examples = several(came.rungs[0].examples, "test example")
    about = [words for name, words in ABOUT.items() if name in last]
    titles = [(words, METRICS[name].title) for name, words in beside.items()]
    about += [f"{words}: {title}" for words, title in titles if words != title]
    if is_measured:
        about.append(f"skill: 1 - {METRICS[came.metric].title} / that of {came.against}")
    first = [f"n = {examples}, 95 % intervals", *about[:1]]
    told = [*table(rows, "lr"), f"{'; '.join(first)};", "; ".join(about[1:])]
    verdict = [came.verdict()] if came.verdict() else []
    return [*told, *([""] if len(came.rungs) > 1 else []), *came.sentences(), *verdict]


def _short(name: str, value: float) -> str:
    """A metric that stands beside others: shares without decimals."""
    return f"{100 * value:.0f} %" if METRICS[name].percent else METRICS[name].show(value)


def _machine(rung: Climbed) -> dict[str, str]:
    """What a rung took of the machine, by heading."""
    return {
        "training": duration(rung.seconds),
        "memory": shown_bytes(rung.memory),
        "size": f"{count(rung.learned)} / {shown_bytes(rung.bytes)}",
        "symbols/s": count(rung.symbols_per_second),
    }


def _shown_skill(skill: float | None) -> str:
    return "" if skill is None else f"{100 * skill:+.1f} %"


def _folder(given: argparse.Namespace) -> Path:
    """A ladder to go on with, or a new one."""
    if given.resume is not None:
        if given.task or given.file or given.models or given.name:
            raise UsageError(
                "U001",
                "--resume goes on with a ladder as it is: it takes no task, file, rungs or name",
                help=["seqloom ladder --resume LADDER"],
            )
        return find_ladder(given.resume, given.runs_dir)
    if given.task is None or not given.file:
        if given.task is not None:
            ladder_of(given.task)  # a task without a ladder is told first
        raise UsageError(
            "U001",
            "which task, and which file should all rungs learn from?",
            help=[f"seqloom ladder TASK FILE   a task is one of: {', '.join(ladders())}"],
        )
    models = [name for words in given.models for name in words.split(",") if name]
    file, settings = name_of(given.file), parts_of(given) | reading_of(given)
    return prepare(given.task, file, given.max_time, models, given.name, given.runs_dir, settings)


def _show(came: Climb, given: argparse.Namespace) -> None:
    """The result on stdout, and the picture where it was asked for."""
    picture = came.view().save(given.picture) if given.picture and came.rungs else None
    if given.json:
        show(to_json(came.as_dict() | {"picture": str(picture) if picture else None}))
    elif given.quiet:
        show(str(came.folder))
    else:
        show("\n".join(["", *lines(came), *([str(picture)] if picture else [])]))
    sys.stdout.flush()


def _say_next(came: Climb) -> None:
    best = came.best()
    if best is None:
        return
    say(f"Next: seqloom {TASKS[came.task].verb} {call(best.folder)}")
    others = [rung.folder for rung in came.rungs if rung is not best][-1:]
    if others:
        say(f"      seqloom compare {call(best.folder)} {call(others[0])}")
