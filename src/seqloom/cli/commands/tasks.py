"""seqloom tasks: the tasks, what each predicts, and the files it reads."""

import argparse
from typing import Any

from ...config import summary
from ...metrics import METRICS
from ...runs.record import to_json
from ...task import Task
from ...tasks import TASKS
from ..terminal import say, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments of its own."""


def run(args: argparse.Namespace) -> int:
    """Print each task with its summary, its columns and its main metric."""
    for name, kind in TASKS.items():
        if args.json:
            show(to_json(_as_dict(name, kind)))
        else:
            show(name if args.quiet else "\n  ".join([name, *_lines(kind)]))
    if not (args.quiet or args.json):
        say("Next: seqloom models TASK   its models;  seqloom explain TASK   its options")
    return 0


def _lines(kind: type[Task]) -> list[str]:
    kinds = kind.varieties()
    forms = " or ".join(dict.fromkeys(task.form.value for task in kinds))
    titles = " or ".join(dict.fromkeys(METRICS[task.primary_metric].title for task in kinds))
    reads = f"reads {' and '.join(kind.roles)}" if kind.roles else "generates its own examples"
    return [
        summary(kind),
        f"predicts {forms}; evaluated by {titles}",
        f"{reads}; used with seqloom {kind.verb}",
    ]


def _as_dict(name: str, kind: type[Task]) -> dict[str, Any]:
    """The task as JSON; form and headline are those of its default variety."""
    kinds = kind.varieties()
    return {
        "name": name,
        "summary": summary(kind),
        "form": kinds[0].form.name.lower(),
        "columns": list(kind.roles),
        "verb": kind.verb,
        "headline": kinds[0].primary_metric,
        "varieties": [
            {"name": one.variety, "form": one.form.name.lower(), "headline": one.primary_metric}
            for one in kinds
            if one.variety
        ],
    }
