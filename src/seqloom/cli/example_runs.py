"""seqloom demo NAME: one of the examples, its models one after another, side by side at the end."""

import argparse
import shutil
from pathlib import Path

from ..examples import EXAMPLES, Example
from ..metrics import METRICS
from ..record import read_record, to_json
from ..run import RECIPE, load
from .session import Outcome, Session, call, shown_interval
from .terminal import duration, say, show, table

SHARE = 0.8  # of the time given, for the steps; the rest is reading and judging
EVALUATIONS = 6


def train_example(session: Session, given: argparse.Namespace) -> int:
    """Train every model of an example, or take up those of an earlier time, and compare them."""
    example = EXAMPLES[given.name]
    if not given.quiet:
        say(_opening(example))
    file = example.write(_folder(session.runs)) if example.file else None
    outcomes = []
    for model in example.models:
        outcome = _trained(session, example, model, file, given)
        if outcome.exit_code:
            session.say_saved(outcome, f"seqloom demo {example.name}")
            return outcome.exit_code
        outcomes.append(outcome)
    if given.json:
        show(to_json({outcome.run.name: outcome.facts() for outcome in outcomes}))
    elif given.quiet:
        show("\n".join(str(outcome.run.folder) for outcome in outcomes))
    else:
        show("\n".join(["", *_compared(outcomes), "", *_next(outcomes)]))
    return 0


def is_finished(folder: Path) -> bool:
    """Whether there is a run that was trained to its end."""
    return (folder / RECIPE).exists() and read_record(folder).state == "finished"


def _folder(runs: Path) -> Path:
    folder = runs.resolve() / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _trained(
    session: Session, example: Example, model: str, file: Path | None, given: argparse.Namespace
) -> Outcome:
    """One model: a training that begins or goes on, or is done already."""
    name = f"{example.name}-{model}"
    folder = session.runs / name
    if given.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    if is_finished(folder):
        return session.outcome(load(folder))
    if (folder / RECIPE).exists():
        return session.resume(folder)
    seconds = 60 * given.minutes * SHARE / len(example.models)
    often = max(0.5, round(seconds / EVALUATIONS, 1))
    timed = {"training.max_time": f"{seconds:.1f}s", "training.evaluate_seconds": often}
    return session.train(example.recipe(model, file).with_settings(timed), name)


def _opening(example: Example) -> str:
    about = example.as_dict()
    return f"{example.title}: {example.sentence}\n{about['about_data']}"


def _compared(outcomes: list[Outcome]) -> list[str]:
    """The models on the same examples that none has seen."""
    judged = [outcome.test.measured() if outcome.test else {} for outcome in outcomes]
    rows = [["", *(outcome.run.recipe.model["name"] for outcome in outcomes)]]
    for metric in [name for name in judged[0] if all(name in one for one in judged)]:
        rows.append(
            [METRICS[metric].title, *(shown_interval(metric, one[metric]) for one in judged)]
        )
    rows.append(["training time", *(duration(one.record.seconds()) for one in outcomes)])
    number = len(outcomes[0].test.examples) if outcomes[0].test else 0
    title = f"On {number:,} examples that no model has seen (95 % intervals in brackets):"
    return [title, *(f"  {line}" for line in table(rows, "lr"))]


def _next(outcomes: list[Outcome]) -> list[str]:
    names = " ".join(call(outcome.run.folder) for outcome in outcomes)
    return ["Next:", f"  seqloom compare {names} --where", "  seqloom studio"]
