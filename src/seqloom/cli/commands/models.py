"""seqloom models: the models, what they predict, and how each is trained."""

import argparse
from typing import Any

from ...config import summary
from ...model import Model
from ...models import MODELS
from ...runs.record import to_json
from ...signature import Form
from ...task import Task
from ...tasks import TASKS
from ..terminal import say, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("task", metavar="TASK", nargs="?", help="only models for this task")


def run(args: argparse.Namespace) -> int:
    """Print each model with its summary, its tasks and its training, from simple to large."""
    wanted = None if args.task is None else TASKS.find(args.task)
    for name, kind in MODELS.items():
        if wanted is not None and not any(_can_do(kind, task) for task in wanted.varieties()):
            continue
        if args.json:
            show(to_json(_as_dict(name, kind)))
        else:
            show(name if args.quiet else "\n  ".join([name, *_lines(kind)]))
    if not (args.quiet or args.json):
        say("Next: seqloom explain MODEL   shows its equations and options")
    return 0


def _lines(kind: type[Model]) -> list[str]:
    predicts = [
        f"predicts {form.value}  ({', '.join(_tasks(kind, form))})" for form in _forms(kind)
    ]
    return [summary(kind), *predicts, f"trained by: {kind.learns}"]


def _as_dict(name: str, kind: type[Model]) -> dict[str, Any]:
    forms = _forms(kind)
    return {
        "name": name,
        "summary": summary(kind),
        "forms": [form.name.lower() for form in forms],
        "tasks": list(dict.fromkeys(task for form in forms for task in _tasks(kind, form))),
        "learns_by": kind.learns,
    }


def _forms(kind: type[Model]) -> list[Form]:
    return [form for form in Form if form in kind.forms]


def _tasks(kind: type[Model], form: Form) -> list[str]:
    """The tasks of a form of which the model can do some variety."""
    return [
        name
        for name, task in TASKS.items()
        if any(one.form is form and _can_do(kind, one) for one in task.varieties())
    ]


def _can_do(kind: type[Model], task: Task) -> bool:
    return kind.supports(task.signature())
