"""seqloom ladder: train baselines from simple to large on one file, within one time budget."""

import argparse
import sys
from contextlib import closing
from pathlib import Path

from ...data.formats.parallel_names import name_of
from ...errors import UsageError
from ...experiments.ladder import find_ladder, ladder_of, ladders, prepare, train_ladder
from ...experiments.queue import QueueCallback
from ...experiments.results import LadderResult, RunResult
from ...metrics import METRICS
from ...runs.names import run_argument
from ...runs.record import shown_bytes, to_json
from ...training.events import Event
from ..arguments import (
    add_data_options,
    add_file,
    add_name,
    add_split_files,
    data_settings,
    split_settings,
)
from ..loading import say_notes
from ..progress_ladder import progress_for
from ..session import SignalStop, shown_interval, training_failed
from ..suggestions import folder_arguments, prediction_with
from ..terminal import count, duration, mark, plural, say, show, table

STOPPING = "Stopping after this step… (Ctrl-C again to quit at once)"
AT_ONCE = "Stopped at once. The current run saves a checkpoint."
HEADING = ("model", "time", "memory", "size", "tokens/s")
NARROW = HEADING[:2]  # if there are further metrics beside the main one
ABOUT = {
    "size": "size: parameters / bytes on disk",
    "memory": "memory: peak of the whole process",
    "tokens/s": "tokens/s: in evaluation",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage = (
        "seqloom ladder TASK FILE [--max-time TIME] [--models RUNG ...] [options]\n"
        "       seqloom ladder --resume [LADDER]"
    )
    parser.add_argument("task", nargs="?", metavar="TASK", help=f"one of: {', '.join(ladders())}")
    add_file(parser, "training file of all models")
    parser.add_argument(
        "--max-time", metavar="TIME", default="15m", help="time limit of all models together (15m)"
    )
    parser.add_argument("--models", nargs="+", default=[], metavar="RUNG", help="only these models")
    add_name(parser, "name of the ladder", "-n")
    add_split_files(parser, "the models")
    add_data_options(parser)
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE.svg",
        help="save a plot of the metric against training time",
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="LADDER",
        help="resume a ladder; the newest if none is named",
    )


def run(args: argparse.Namespace) -> int:
    """Train the models, and print the table and what each model gains."""
    folder = _folder(args)
    with closing(progress_for(folder.name, quiet=args.quiet)) as progress:
        stop = SignalStop(progress.announce, STOPPING, lambda: AT_ONCE)
        stop.update(Event("start", 0))  # runs save checkpoints themselves, so none is ever lost
        with stop.listening():
            came = train_ladder(folder, QueueCallback(progress.update, stop.should_stop))
    say_notes(came.notes, args.quiet)
    _show(came, args)
    if came.is_stopped:
        done = plural(len(came.rungs), "model")
        say(f"Stopped: {done} done, {len(came.left)} left. Nothing lost.")
        say(f"Resume with:  seqloom ladder --resume {run_argument(folder)}")
        return stop.exit_code
    if came.failed:
        raise training_failed(came.failed, "ladder", came.folder)
    if not (args.json or args.quiet):
        _say_next(came)
    return 0


def lines(came: LadderResult) -> list[str]:
    """The table, then a sentence for each model but the first."""
    if not came.rungs:
        return ["No model is trained yet."]
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
    examples = plural(came.rungs[0].examples, "test example")
    about = [words for name, words in ABOUT.items() if name in last]
    titles = [(words, METRICS[name].title) for name, words in beside.items()]
    about += [f"{words}: {title}" for words, title in titles if words != title]
    if is_measured:
        about.append(f"skill: 1 - {METRICS[came.metric].title} / that of {came.against}")
    first = [f"n = {examples}, 95 % confidence intervals", *about[:1]]
    lines = [*table(rows, "lr"), f"{'; '.join(first)};", "; ".join(about[1:])]
    verdict = [came.verdict()] if came.verdict() else []
    return [*lines, *([""] if len(came.rungs) > 1 else []), *came.sentences(), *verdict]


def _short(name: str, value: float) -> str:
    """A further metric: percentages without decimals."""
    return f"{100 * value:.0f} %" if METRICS[name].percent else METRICS[name].show(value)


def _machine(rung: RunResult) -> dict[str, str]:
    """The costs of a model, by heading."""
    return {
        "time": duration(rung.seconds),
        "memory": shown_bytes(rung.memory),
        "size": f"{count(rung.learned)} / {shown_bytes(rung.bytes)}",
        "tokens/s": count(rung.symbols_per_second),
    }


def _shown_skill(skill: float | None) -> str:
    return "" if skill is None else f"{100 * skill:+.1f} %"


def _folder(args: argparse.Namespace) -> Path:
    """The folder of a ladder to resume, or of a new one."""
    if args.resume is not None:
        if args.task or args.file or args.models or args.name:
            raise UsageError(
                "U001",
                "--resume continues a ladder as it is: it takes no task, file, models or name",
                help=["seqloom ladder --resume LADDER"],
            )
        return find_ladder(args.resume, args.runs_dir)
    if args.task is None or not args.file:
        if args.task is not None:
            ladder_of(args.task)  # reports a task that has no ladder first
        raise UsageError(
            "U001",
            "no task or no training file",
            help=[f"seqloom ladder TASK FILE   TASK is one of: {', '.join(ladders())}"],
        )
    models = [name for words in args.models for name in words.split(",") if name]
    file, settings = name_of(args.file), split_settings(args) | data_settings(args)
    return prepare(args.task, file, args.max_time, models, args.name, args.runs_dir, settings)


def _show(came: LadderResult, args: argparse.Namespace) -> None:
    """Print the result, and save the plot if wanted."""
    picture = came.view().save(args.picture) if args.picture and came.rungs else None
    if args.json:
        show(to_json(came.as_dict() | {"picture": str(picture) if picture else None}))
    else:
        before = [] if args.quiet else [""]
        show("\n".join([*before, *lines(came), *([str(picture)] if picture else [])]))
    sys.stdout.flush()


def _say_next(came: LadderResult) -> None:
    best = came.best()
    if best is None:
        return
    say(f"Next: {prediction_with(best.folder)}")
    others = [rung.folder for rung in came.rungs if rung is not best][-1:]
    if others:
        say(f"      seqloom compare {folder_arguments([best.folder, others[0]])}")
