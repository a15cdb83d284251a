"""seqloom tasks: what models can be trained for, and the files each task reads."""

import argparse
from typing import Any

from ...config import summary
from ...metrics import METRICS
from ...runs.record import to_json
from ...task import Task
from ...tasks import TASKS
from ..terminal import say, show


def add(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments of its own."""


def run(given: argparse.Namespace) -> int:
    """Print each task with what it does, what it reads and how it is judged."""
    for name, kind in TASKS.items():
        if given.json:
            show(to_json(_as_dict(name, kind)))
        else:
            show(name if given.quiet else "\n  ".join([name, *_told(kind)]))
    if not (given.quiet or given.json):
        say("Next: seqloom models TASK   what can do it;  seqloom explain TASK   its options")
    return 0


def _told(kind: type[Task]) -> list[str]:
    kinds = kind.varieties()
    forms = " or ".join(dict.fromkeys(task.form.value for task in kinds))
    titles = " or ".join(dict.fromkeys(METRICS[task.headline].title for task in kinds))
    reads = f"reads {' and '.join(kind.roles)}" if kind.roles else "makes its own examples"
    return [
        summary(kind),
        f"predicts {forms}; judged by {titles}",
        f"{reads}; used with seqloom {kind.verb}",
    ]


def _as_dict(name: str, kind: type[Task]) -> dict[str, Any]:
    """The task for machines; form and headline are those it has by default."""
    kinds = kind.varieties()
    return {
        "name": name,
        "summary": summary(kind),
        "form": kinds[0].form.name.lower(),
        "columns": list(kind.roles),
        "verb": kind.verb,
        "headline": kinds[0].headline,
        "varieties": [
            {"name": one.variety, "form": one.form.name.lower(), "headline": one.headline}
            for one in kinds
            if one.variety
        ],
    }
